#include "tg/engine/backend.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/settings.h"
#include "codegen/ir/verify.h"
#include "drivers/all/devices.h"
#include "drivers/runtime/buffer.h"
#include "drivers/runtime/target.h"
#include "tg/engine/capture.h"
#include "tg/engine/execution.h"
#include "tg/engine/renderers.h"
#include "tg/schedule/pack_operands.h"
#include "tg/schedule/schedule.h"
#include "tg/tensor/backend.h"

namespace tg::engine {
namespace {

using drivers::BufferRef;
using ir::UOp;

// Statuses of the layers below become exceptions here, where the frontend begins.
void ThrowIfError(const char* what, const absl::Status& status) {
  if (status.ok()) return;
  const std::string text = absl::StrCat(what, ": ", status.message());
  if (status.code() == absl::StatusCode::kResourceExhausted ||
      status.code() == absl::StatusCode::kNotFound) {
    throw DeviceError(text);
  }
  throw UsageError(text);
}

// The roots, and all other stores below them: they must happen even where simplification finds that
// nothing needs their results.
UOp WithAllStores(absl::Span<const UOp> roots) {
  std::vector<UOp> all(roots.begin(), roots.end());
  ir::UOpSet known(roots.begin(), roots.end());
  for (const UOp& u : ir::Toposort(ir::Sink(roots))) {
    if (u.Is(ir::Op::kAfter) && known.insert(u).second) all.push_back(u);
  }
  return ir::Sink(all);
}

class EngineBackend : public Backend {
 public:
  std::string DefaultDevice() override {
    const std::string& dev = base::Get(base::kDev);
    return dev.empty() ? "CPU" : CanonicalDevice(dev);
  }

  std::string CanonicalDevice(absl::string_view name) override {
    absl::StatusOr<drivers::Target> target = drivers::ParseTarget(name);
    ThrowIfError("device", target.status());
    absl::StatusOr<std::shared_ptr<drivers::Device>> device = drivers::Devices().Open(*target);
    ThrowIfError("device", device.status());
    return (*device)->name();
  }

  UOp NewBuffer(ir::DType dtype, int64_t size, const std::string& device) override {
    static std::atomic<int64_t> next_id{0};
    absl::StatusOr<std::shared_ptr<drivers::Device>> d = drivers::Devices().Open(device);
    ThrowIfError("new buffer", d.status());
    if (size > (int64_t{1} << 62) / std::max(dtype.bytes(), 1)) {
      throw DeviceError(
          absl::StrCat("out of memory: asked for ", size, " elements of ", dtype.ToString()));
    }
    BufferRef buffer = drivers::Buffer::Create(*d, size * dtype.bytes());
    return UOp::Make(ir::Op::kBuffer, dtype, {},
                     ir::Arg(ir::BufferArg{.id = next_id.fetch_add(1),
                                           .size = size,
                                           .space = ir::AddrSpace::kGlobal,
                                           .device = device,
                                           .storage = std::move(buffer)}));
  }

  void Realize(absl::Span<const UOp> roots) override {
    const UOp sink = WithAllStores(roots);
    if (base::Get(base::kSpec) >= 1) ThrowIfError("graph", ir::VerifyTensor(sink));
    const schedule::NormalizedGraph g = schedule::Normalize(sink);
    const auto schedule = Schedule(g.sink);
    if (base::Get(base::kDebug) >= 3) {
      std::fprintf(stderr, "%s", schedule::ToString(*schedule).c_str());
    }
    std::vector<BufferRef> inputs;
    for (const UOp& b : g.buffers) inputs.push_back(BufferOf(b));
    absl::StatusOr<std::vector<ExecItem>> items = BindSchedule(*schedule, inputs);
    ThrowIfError("realize", items.status());
    VariableValues variables;
    for (const auto& [variable, value] : g.bindings) {
      variables.emplace_back(variable.arg_as<ir::VariableArg>().name, value);
    }
    ThrowIfError("realize", RunItems(*items, variables, /*in_jit=*/false));
    if (Capture* capture = CurrentCapture()) capture->Add(*std::move(items), variables);
  }

  void CopyIn(const UOp& buffer, absl::Span<const std::byte> from) override {
    ThrowIfError("copy in", BufferOf(buffer)->CopyIn(from));
  }

  void CopyOut(const UOp& buffer, absl::Span<std::byte> to) override {
    const BufferRef b = BufferOf(buffer);
    ThrowIfError("copy out", b->device()->Synchronize());
    // Memory that nothing was written to (Empty) is taken now.
    ThrowIfError("copy out", b->Allocate());
    ThrowIfError("copy out", b->CopyOut(to));
  }

  bool Capturing() override { return CurrentCapture() != nullptr; }

 private:
  std::shared_ptr<const schedule::Schedule> Schedule(const UOp& sink) {
    const bool pack = base::Get(base::kNoOpt) == 0;
    // The target of a device is that of the renderer in DEV.
    const std::string key = pack ? absl::StrCat("pack for ", base::Get(base::kDev)) : "";
    return schedule::CachedSchedule(sink, DefaultDevice(), key, [pack](schedule::Schedule s) {
      if (!pack) return s;
      return schedule::PackOperands(
          std::move(s), [](const std::string& device) -> const render::Target* {
            absl::StatusOr<drivers::Target> target = drivers::ParseTarget(device);
            if (!target.ok()) return nullptr;
            absl::StatusOr<const render::Renderer*> renderer = RendererFor(*target);
            return renderer.ok() ? &(*renderer)->target() : nullptr;
          });
    });
  }
};

// Linking the engine in is choosing it.
const bool registered = [] {
  SetBackend(new EngineBackend);
  return true;
}();

}  // namespace

BufferRef BufferOf(const UOp& buffer) {
  return std::static_pointer_cast<drivers::Buffer>(buffer.arg_as<ir::BufferArg>().storage);
}

bool EngineIsBackend() { return registered; }

}  // namespace tg::engine
