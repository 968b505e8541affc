#include "tg/schedule/schedule.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <sstream>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/error.h"
#include "base/settings.h"
#include "codegen/ir/print.h"
#include "codegen/ir/rewrite.h"
#include "codegen/ir/shape.h"
#include "tg/schedule/order.h"
#include "tg/schedule/rangeify.h"
#include "tg/schedule/split_reduce.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::UOp;

// A copy takes a whole memory.
UOp MakeCopySourceMemory(const UOp& u) {
  UOp source = u.src(0);
  while (source.Is(Op::kReshape)) source = source.src(0);
  if (source.Is(Op::kBuffer) || source.Is(Op::kAfter) || source.Is(Op::kContiguous) ||
      source.Is(Op::kCopy)) {
    return UOp();
  }
  const UOp src[] = {ir::Contiguous(u.src(0)), u.src(1)};
  return u.WithSrc(src);
}

// A reduction of nothing is the identity of its operation: kernels have no empty loops.
UOp MakeEmptyReduceConst(const UOp& u) {
  const ir::Shape& shape = ir::ShapeOf(u);
  if (!ir::NumElements(ir::ShapeOf(u.src(0))).Is(0) || ir::NumElements(shape).Is(0)) return UOp();
  const ir::DType d = u.dtype();
  UOp identity = ir::Const(d, u.arg_as<ir::ReduceArg>().op == Op::kMul ? 1 : 0);
  if (u.arg_as<ir::ReduceArg>().op == Op::kMax) {
    identity = d.IsFloat() ? ir::Const(d, -std::numeric_limits<double>::infinity())
                           : ir::Const(d, d.MinInt());
  }
  return ir::Expand(ir::Reshape(identity, ir::Shape(shape.size(), 1)), shape);
}

const ir::RuleSet& PrepareRules() {
  static const ir::RuleSet* rules = new ir::RuleSet{
      ir::On(
          {Op::kReduce}, [](const UOp& u, void*) { return MakeEmptyReduceConst(u); },
          "reduce_of_nothing"),
      ir::On(
          {Op::kCopy}, [](const UOp& u, void*) { return MakeCopySourceMemory(u); },
          "copy_source_is_memory"),
  };
  return *rules;
}

// Gives buffers numbers and kernels parameters.
class Assembler {
 public:
  explicit Assembler(const UOp& sink) {
    for (const UOp& u : ir::Toposort(sink)) {
      if (u.Is(Op::kBuffer)) {
        const ir::BufferArg& a = u.arg_as<ir::BufferArg>();
        schedule_.inputs.resize(std::max(schedule_.inputs.size(), static_cast<size_t>(a.id) + 1),
                                -1);
        schedule_.inputs[static_cast<size_t>(a.id)] = Number(u, ScheduleBuffer::Kind::kInput);
      }
      if (u.Is(Op::kVariable)) schedule_.variables.push_back(u);
    }
    std::sort(schedule_.variables.begin(), schedule_.variables.end(),
              [](const UOp& a, const UOp& b) {
                return a.arg_as<ir::VariableArg>().name < b.arg_as<ir::VariableArg>().name;
              });
  }

  void AddOutput(const UOp& buffer) {
    const int n = Number(buffer, ScheduleBuffer::Kind::kOutput);
    if (schedule_.buffers[n].kind == ScheduleBuffer::Kind::kInternal) {
      schedule_.buffers[n].kind = ScheduleBuffer::Kind::kOutput;
    }
    schedule_.outputs.push_back(n);
  }

  void AddKernel(const RangeifiedKernel& k) {
    ScheduleItem item;
    item.device = k.device;
    if (!k.ast) {
      item.kind = ScheduleItem::Kind::kCopy;
      item.buffers = {Number(k.target, ScheduleBuffer::Kind::kInternal),
                      Number(k.reads[0].first, ScheduleBuffer::Kind::kInternal)};
    } else {
      item.kind = ScheduleItem::Kind::kKernel;
      // The written buffer is parameter 0, the others follow in the order of their use; ranges are
      // numbered from 0, so that equal kernels of one graph are equal nodes.
      ir::UOpMap map;
      auto param = [&](const UOp& buffer) {
        if (map.contains(buffer)) return;
        map.emplace(buffer, ir::Param(static_cast<int>(item.buffers.size()), buffer.dtype(),
                                      buffer.arg_as<ir::BufferArg>().size));
        item.buffers.push_back(Number(buffer, ScheduleBuffer::Kind::kInternal));
      };
      param(k.target);
      const std::vector<UOp> nodes = ir::Toposort(k.ast);
      std::vector<UOp> ranges;
      for (const UOp& u : nodes) {
        if (u.Is(Op::kBuffer)) param(u);
        if (u.Is(Op::kRange)) ranges.push_back(u);
      }
      std::sort(ranges.begin(), ranges.end(), [](const UOp& a, const UOp& b) {
        return a.arg_as<ir::RangeArg>().id < b.arg_as<ir::RangeArg>().id;
      });
      int id = 0;
      for (const UOp& r : ranges) {
        map.emplace(r, ir::Range(r.src(0), id++, r.arg_as<ir::RangeArg>().type));
      }
      item.ast = ir::Substitute(k.ast, map);
    }
    schedule_.items.push_back(std::move(item));
  }

  Schedule Take() { return std::move(schedule_); }

 private:
  int Number(const UOp& buffer, ScheduleBuffer::Kind kind) {
    auto [it, added] = numbers_.emplace(buffer, static_cast<int>(schedule_.buffers.size()));
    if (added) {
      const ir::BufferArg& a = buffer.arg_as<ir::BufferArg>();
      schedule_.buffers.push_back(ScheduleBuffer{
          .kind = kind, .dtype = buffer.dtype(), .size = a.size, .device = a.device});
    }
    return it->second;
  }

  Schedule schedule_;
  absl::flat_hash_map<UOp, int> numbers_;
};

}  // namespace

NormalizedGraph Normalize(const UOp& sink) {
  NormalizedGraph g;
  ir::UOpMap map;
  for (const UOp& u : ir::Toposort(sink)) {
    if (u.Is(Op::kBuffer)) {
      ir::BufferArg a = u.arg_as<ir::BufferArg>();
      a.id = static_cast<int64_t>(g.buffers.size());
      a.storage = nullptr;
      map.emplace(u, u.WithArg(ir::Arg(std::move(a))));
      g.buffers.push_back(u);
    } else if (u.Is(Op::kBind)) {
      const UOp& variable = u.src(0);
      const int64_t value = u.src(1).const_int();
      for (const auto& [v, bound] : g.bindings) {
        if (v == variable && bound != value) {
          throw UsageError(absl::StrCat("variable ", variable.arg_as<ir::VariableArg>().name,
                                        " is bound to ", bound, " and to ", value,
                                        " in one graph; give it one value"));
        }
      }
      g.bindings.emplace_back(variable, value);
      map.emplace(u, variable);
    }
  }
  std::sort(g.bindings.begin(), g.bindings.end(), [](const auto& a, const auto& b) {
    return a.first.template arg_as<ir::VariableArg>().name <
           b.first.template arg_as<ir::VariableArg>().name;
  });
  g.bindings.erase(std::unique(g.bindings.begin(), g.bindings.end()), g.bindings.end());
  g.sink = ir::Substitute(sink, map);
  return g;
}

Schedule CreateSchedule(const UOp& normalized_sink, const std::string& default_device) {
  const UOp sink = SplitReduces(
      ir::GraphRewrite(normalized_sink, PrepareRules(), {.order = ir::RewriteOrder::kWalk}));
  BufferVersions snapshots;
  while (true) {
    const RangeifyResult r = Rangeify(sink, default_device, snapshots);
    const OrderResult order = OrderKernels(r.kernels);
    if (!order.snapshots.empty()) {
      const size_t before = snapshots.size();
      snapshots.insert(order.snapshots.begin(), order.snapshots.end());
      TG_CHECK(snapshots.size() > before) << "snapshots do not break the cycle between kernels";
      continue;
    }
    Assembler assembler(normalized_sink);
    for (int i : order.order) assembler.AddKernel(r.kernels[i]);
    for (const UOp& b : r.outputs) assembler.AddOutput(b);
    return assembler.Take();
  }
}

std::shared_ptr<const Schedule> CachedSchedule(const UOp& normalized_sink,
                                               const std::string& default_device,
                                               const std::string& key_text,
                                               absl::FunctionRef<Schedule(Schedule)> finish) {
  // Programs that make a new graph for each step (symbolic sizes written as constants, say) would
  // grow the cache without bound.
  constexpr size_t kMaxEntries = 1000;
  struct Cache {
    std::mutex mutex;
    absl::flat_hash_map<std::pair<UOp, std::string>, std::shared_ptr<const Schedule>> entries;
  };
  static Cache* cache = new Cache;
  const bool use = base::Get(base::kScache) != 0;
  const std::pair<UOp, std::string> key(normalized_sink,
                                        absl::StrCat(default_device, "\n", key_text));
  if (use) {
    std::lock_guard<std::mutex> lock(cache->mutex);
    if (auto it = cache->entries.find(key); it != cache->entries.end()) return it->second;
  }
  auto schedule =
      std::make_shared<const Schedule>(finish(CreateSchedule(normalized_sink, default_device)));
  if (use) {
    std::lock_guard<std::mutex> lock(cache->mutex);
    if (cache->entries.size() >= kMaxEntries) cache->entries.clear();
    cache->entries.emplace(key, schedule);
  }
  return schedule;
}

std::string ToString(const Schedule& schedule) {
  std::ostringstream os;
  for (size_t i = 0; i < schedule.items.size(); ++i) {
    const ScheduleItem& item = schedule.items[i];
    os << "item " << i << (item.kind == ScheduleItem::Kind::kCopy ? " copy" : " kernel") << " on "
       << item.device << ":";
    for (int b : item.buffers) {
      const ScheduleBuffer& buffer = schedule.buffers[b];
      static constexpr const char* kKinds[] = {"in", "out", "tmp"};
      os << " " << kKinds[static_cast<int>(buffer.kind)] << b << "[" << buffer.size << " "
         << buffer.dtype << "]";
    }
    os << "\n";
    if (item.ast) os << ir::PrintTree(item.ast);
  }
  return os.str();
}

}  // namespace tg::schedule
