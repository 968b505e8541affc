#include "codegen/opt/actions.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace tg::opt {
namespace {

using ir::AxisType;
using ir::Opt;
using ir::OptOp;

using Amounts = std::initializer_list<int64_t>;
// 0: the whole axis. Powers of two fill vector registers; odd ones divide what is left of common
// sizes (6 x 64 floats are 24 accumulators of 512 bits, 7 divides the sides of images).
constexpr Amounts kUpcasts = {0, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64};
constexpr Amounts kUnrolls = {0, 2, 3, 4, 5, 7, 8, 16, 32, 64};
constexpr Amounts kCacheTiles = {4, 8, 16, 32, 64, 128, 256, 512};
constexpr Amounts kLocals = {2, 3, 4, 8, 13, 16, 29, 32};
constexpr Amounts kGroups = {4, 8, 13, 16, 28, 29, 32, 49, 64, 256};
constexpr Amounts kThreads = {2, 3, 4, 5, 8, 12, 16, 24, 32, 64};
constexpr Amounts kPads = {4, 8, 16, 32};

// What decides how a kernel runs.
struct State {
  std::vector<Axis> axes;
  std::vector<int64_t> padded;

  bool operator==(const State&) const = default;
};

State StateOf(const Kernel& kernel) {
  State s{.axes = {kernel.axes().begin(), kernel.axes().end()}, .padded = {}};
  for (Axis& a : s.axes) a.id = 0;  // numbers of ranges say nothing
  for (const Root& r : kernel.roots()) s.padded.push_back(r.padded);
  return s;
}

class Actions {
 public:
  Actions(const Kernel& kernel, const ActionOptions& options) : kernel_(kernel), options_(options) {
    seen_.push_back(StateOf(kernel));
  }

  std::vector<Opt> Run() {
    for (AxisType type : {AxisType::kUpcast, AxisType::kUnroll}) {
      Splits(type, type == AxisType::kUpcast ? kUpcasts : kUnrolls, {false});
    }
    Splits(AxisType::kThread, kThreads, {true});
    Splits(AxisType::kLoop, kCacheTiles, {false});
    Splits(AxisType::kReduce, kCacheTiles, {false});
    if (kernel_.limits().work_groups) {
      Splits(AxisType::kLocal, kLocals, {false});
      Splits(AxisType::kGroupReduce, kGroups, {true, false});
    }
    const int count = static_cast<int>(kernel_.axes().size());
    for (int a = 0; a < count; ++a) {
      for (int b = a + 1; b < count; ++b) Try({.op = OptOp::kSwap, .axis = a, .amount = b});
    }
    for (int a = 0; options_.pad && a < count; ++a) {
      for (int64_t m : kPads) Try({.op = OptOp::kPadTo, .axis = a, .amount = m});
    }
    return std::move(legal_);
  }

 private:
  void Splits(AxisType to, Amounts amounts, std::initializer_list<bool> tops) {
    for (int axis = 0; axis < static_cast<int>(kernel_.axes().size()); ++axis) {
      for (bool top : tops) {
        for (int64_t amount : amounts) {
          Try({.op = OptOp::kSplit, .axis = axis, .amount = amount, .type = to, .top = top});
        }
      }
    }
  }

  void Try(const Opt& opt) {
    Kernel next = kernel_;
    if (!next.Apply(opt).ok() || !WithinOptions(next)) return;
    State state = StateOf(next);
    if (std::find(seen_.begin(), seen_.end(), state) != seen_.end()) return;
    seen_.push_back(std::move(state));
    legal_.push_back(opt);
  }

  bool WithinOptions(const Kernel& k) const {
    int64_t expanded = 1, local = 1;
    for (const Axis& a : k.axes()) {
      switch (a.type) {
        case AxisType::kUpcast:
        case AxisType::kUnroll:
          expanded *= a.size;
          break;
        case AxisType::kWarp:
        case AxisType::kLocal:
        case AxisType::kGroupReduce:
          local *= a.size;
          break;
        default:
          break;
      }
    }
    return expanded <= options_.max_upcast && local <= options_.max_local;
  }

  const Kernel& kernel_;
  const ActionOptions& options_;
  std::vector<State> seen_;
  std::vector<Opt> legal_;
};

}  // namespace

std::vector<Opt> LegalOpts(const Kernel& kernel, const ActionOptions& options) {
  return Actions(kernel, options).Run();
}

}  // namespace tg::opt
