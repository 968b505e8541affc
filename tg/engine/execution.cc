#include "tg/engine/execution.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/settings.h"
#include "drivers/all/devices.h"
#include "drivers/runtime/counters.h"
#include "tg/schedule/memory_planner.h"

namespace tg::engine {
namespace {

using schedule::Schedule;
using schedule::ScheduleBuffer;
using schedule::ScheduleItem;

absl::StatusOr<std::shared_ptr<drivers::Device>> OpenDevice(const std::string& name) {
  return drivers::Devices().Open(name);
}

// Memory for what the schedule makes.
absl::Status AllocateInternals(const Schedule& s, std::vector<drivers::BufferRef>& buffers) {
  std::vector<int> first(s.buffers.size(), -1), last(s.buffers.size(), -1);
  for (size_t i = 0; i < s.items.size(); ++i) {
    for (int b : s.items[i].buffers) {
      if (first[b] < 0) first[b] = static_cast<int>(i);
      last[b] = static_cast<int>(i);
    }
  }
  std::map<std::string, std::vector<int>> by_device;
  int64_t unplanned = 0;
  for (size_t b = 0; b < s.buffers.size(); ++b) {
    const ScheduleBuffer& info = s.buffers[b];
    if (buffers[b] != nullptr || first[b] < 0) continue;
    const int64_t bytes = info.size * info.dtype.bytes();
    const bool plan =
        info.kind == ScheduleBuffer::Kind::kInternal && base::Get(base::kNoMemoryPlanner) == 0;
    if (plan) {
      by_device[info.device].push_back(static_cast<int>(b));
      unplanned += bytes;
      continue;
    }
    absl::StatusOr<std::shared_ptr<drivers::Device>> device = OpenDevice(info.device);
    if (!device.ok()) return device.status();
    buffers[b] = drivers::Buffer::Create(*device, bytes);
  }
  for (const auto& [name, members] : by_device) {
    std::vector<schedule::Lifetime> lifetimes;
    for (int b : members) {
      lifetimes.push_back({.bytes = s.buffers[b].size * s.buffers[b].dtype.bytes(),
                           .first = first[b],
                           .last = last[b]});
    }
    const schedule::MemoryPlan plan = schedule::PlanMemory(lifetimes);
    absl::StatusOr<std::shared_ptr<drivers::Device>> device = OpenDevice(name);
    if (!device.ok()) return device.status();
    const drivers::BufferRef arena = drivers::Buffer::Create(*device, plan.total);
    for (size_t i = 0; i < members.size(); ++i) {
      absl::StatusOr<drivers::BufferRef> view =
          drivers::Buffer::View(arena, lifetimes[i].bytes, plan.offsets[i]);
      if (!view.ok()) return view.status();
      buffers[members[i]] = *std::move(view);
    }
    if (base::Get(base::kDebug) >= 1 && members.size() > 1) {
      std::fprintf(stderr, "%s: memory reduced from %.2f MB to %.2f MB (%zu buffers)\n",
                   name.c_str(), static_cast<double>(unplanned) / 1e6,
                   static_cast<double>(plan.total) / 1e6, members.size());
    }
  }
  return absl::OkStatus();
}

void PrintLine(const ExecItem& item, double seconds, bool in_jit) {
  const drivers::CounterValues total = drivers::GlobalCounters().Read();
  const std::string& device = item.buffers[0]->device()->name();
  std::string name;
  double ops = 0, mem = 0, lds = 0;
  if (item.kernel != nullptr) {
    name = item.kernel->name;
    ops = item.kernel->estimates.ops;
    mem = item.kernel->estimates.mem_bytes;
    lds = item.kernel->estimates.lds_bytes;
  } else {
    name = absl::StrFormat("copy %.2f MB, %s <- %s",
                           static_cast<double>(item.buffers[0]->size()) / 1e6, device,
                           item.buffers[1]->device()->name());
    mem = static_cast<double>(item.buffers[0]->size());
  }
  std::fprintf(stderr,
               "*** %-7s %4lld %s%-46s arg %2zu mem %6.3f GB tm %9.2fus/%9.2fms (%7.1f GFLOPS "
               "%6.1f|%-7.1f GB/s)\n",
               device.substr(0, 7).c_str(), static_cast<long long>(total.kernels),
               in_jit ? "jit " : "", name.c_str(), item.buffers.size(),
               static_cast<double>(total.mem_used) / 1e9, seconds * 1e6,
               static_cast<double>(total.nanoseconds) / 1e6, ops / seconds / 1e9,
               mem / seconds / 1e9, lds / seconds / 1e9);
}

}  // namespace

absl::StatusOr<std::vector<ExecItem>> BindSchedule(const Schedule& s,
                                                   absl::Span<const drivers::BufferRef> inputs) {
  std::vector<std::pair<ir::UOp, std::string>> kernels;
  for (const ScheduleItem& item : s.items) {
    if (item.kind == ScheduleItem::Kind::kKernel) kernels.emplace_back(item.ast, item.device);
  }
  absl::StatusOr<std::vector<LoadedKernelRef>> loaded = GetKernels(kernels);
  if (!loaded.ok()) return loaded.status();
  std::vector<drivers::BufferRef> buffers(s.buffers.size());
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    if (s.inputs[i] >= 0) buffers[s.inputs[i]] = inputs[i];
  }
  if (absl::Status status = AllocateInternals(s, buffers); !status.ok()) return status;
  std::vector<ExecItem> items;
  size_t next = 0;
  for (const ScheduleItem& item : s.items) {
    ExecItem e;
    if (item.kind == ScheduleItem::Kind::kKernel) e.kernel = (*loaded)[next++];
    for (int b : item.buffers) e.buffers.push_back(buffers[b]);
    items.push_back(std::move(e));
  }
  return items;
}

absl::Status RunItems(absl::Span<const ExecItem> items, const VariableValues& variables,
                      bool in_jit) {
  const bool timed = base::Get(base::kDebug) >= 2 || base::Get(base::kProfile) != 0;
  for (const ExecItem& item : items) {
    for (const drivers::BufferRef& b : item.buffers) {
      if (absl::Status status = b->Allocate(); !status.ok()) return status;
    }
    double seconds = 0;
    if (item.kernel == nullptr) {
      if (absl::Status status = drivers::Buffer::Copy(*item.buffers[0], *item.buffers[1]);
          !status.ok()) {
        return status;
      }
      drivers::GlobalCounters().AddKernel(0, item.buffers[0]->size(), 0);
      continue;
    }
    absl::InlinedVector<void*, 8> pointers;
    for (const drivers::BufferRef& b : item.buffers) pointers.push_back(b->device_pointer());
    absl::InlinedVector<int64_t, 4> values;
    for (const ir::UOp& v : item.kernel->variables) {
      const std::string& name = v.arg_as<ir::VariableArg>().name;
      auto it = std::find_if(variables.begin(), variables.end(),
                             [&name](const auto& p) { return p.first == name; });
      TG_CHECK(it != variables.end()) << "variable " << name << " has no value";
      values.push_back(it->second);
    }
    absl::Status status = item.kernel->program->Run(pointers, values, timed ? &seconds : nullptr);
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("kernel ", item.kernel->name, ": ", status.message()));
    }
    drivers::GlobalCounters().AddKernel(static_cast<int64_t>(item.kernel->estimates.ops),
                                        static_cast<int64_t>(item.kernel->estimates.mem_bytes),
                                        seconds);
    if (base::Get(base::kDebug) >= 2) PrintLine(item, seconds, in_jit);
  }
  return absl::OkStatus();
}

}  // namespace tg::engine
