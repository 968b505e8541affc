#include "codegen/opt/pad_operand.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/ir/simplify/linear.h"
#include "codegen/ir/simplify/simplify.h"
#include "codegen/opt/access.h"
#include "codegen/opt/kernel.h"
#include "codegen/opt/optimize.h"
#include "codegen/opt/tile.h"

namespace tg::opt {
namespace {

using ir::LinearForm;
using ir::LinearTerm;
using ir::Op;
using ir::UOp;

constexpr double kMinUses = 16;
constexpr double kMaxGrowth = 4;

bool IsZero(const UOp& x) { return x.IsConstInt(0) || x.IsConstFloat(0); }

// lo <= sum of terms <= hi; the first term has a positive coefficient.
struct Interval {
  LinearForm sum;  // constant 0
  bool has_lo = false, has_hi = false;
  int64_t lo = 0, hi = 0;
};

// One axis of the padded memory: a sum of ranges, or one range.
struct Axis {
  LinearForm sum;    // constant 0
  int64_t stride;    // in the operand
  int64_t min, max;  // values that the axis has room for
  int64_t lo, hi;    // those that exist in the operand

  int64_t size() const { return max - min + 1; }
};

bool SameTerms(const LinearForm& a, const LinearForm& b) {
  return a.terms.size() == b.terms.size() &&
         std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(),
                    [](const LinearTerm& x, const LinearTerm& y) {
                      return x.term == y.term && x.coef == y.coef;
                    });
}

// Adds what `clause` says; false when it is no bound on a sum of ranges.
bool AddClause(const UOp& clause, std::vector<Interval>& intervals) {
  UOp less = clause;
  bool negated = false;
  if (less.Is(Op::kCmpNe) && less.src(1).IsConstInt(1)) {
    negated = true;
    less = less.src(0);
  }
  if (!less.Is(Op::kCmpLt) || less.src(0).dtype() != ir::kIndex) return false;
  // a < b is b - a - 1 >= 0; its negation is a - b >= 0.
  const LinearForm a = ir::SumTerms(less.src(0)), b = ir::SumTerms(less.src(1));
  std::optional<LinearForm> f = negated ? ir::AddForms(a, b, -1) : ir::AddForms(b, a, -1);
  if (!f.has_value() || f->terms.empty()) return false;
  if (!negated) f->constant -= 1;
  for (const LinearTerm& t : f->terms) {
    if (!t.term.Is(Op::kRange)) return false;
  }
  const bool upper = f->terms[0].coef < 0;  // -sum + c >= 0
  const int64_t constant = f->constant;
  LinearForm sum = *f;
  sum.constant = 0;
  if (upper) {
    for (LinearTerm& t : sum.terms) t.coef = -t.coef;
  }
  auto it = std::find_if(intervals.begin(), intervals.end(),
                         [&sum](const Interval& i) { return SameTerms(i.sum, sum); });
  if (it == intervals.end()) {
    intervals.push_back(Interval{.sum = sum});
    it = intervals.end() - 1;
  }
  if (upper) {
    it->hi = it->has_hi ? std::min(it->hi, constant) : constant;
    it->has_hi = true;
  } else {
    it->lo = it->has_lo ? std::max(it->lo, -constant) : -constant;
    it->has_lo = true;
  }
  return true;
}

// The intervals that `condition`, a conjunction, consists of; empty when it is something else.
std::vector<Interval> Intervals(const UOp& condition) {
  std::vector<Interval> intervals;
  std::vector<UOp> pending = {condition};
  while (!pending.empty()) {
    const UOp c = pending.back();
    pending.pop_back();
    if (c.Is(Op::kAnd)) {
      pending.push_back(c.src(0));
      pending.push_back(c.src(1));
    } else if (!AddClause(c, intervals)) {
      return {};
    }
  }
  return intervals;
}

// The operand's axes from its index and the intervals, outermost first; empty when the index is not
// made of them.
std::vector<Axis> Axes(const UOp& index, const std::vector<Interval>& intervals) {
  LinearForm rest = ir::SumTerms(index);
  std::vector<Axis> axes;
  for (const Interval& i : intervals) {
    const std::optional<ir::WideBounds> bounds = ir::FormBounds(i.sum);
    if (!bounds.has_value()) return {};
    const int64_t coef = rest.Coef(i.sum.terms[0].term);
    if (coef == 0 || coef % i.sum.terms[0].coef != 0) return {};
    Axis axis{.sum = i.sum,
              .stride = coef / i.sum.terms[0].coef,
              .min = static_cast<int64_t>(bounds->min),
              .max = static_cast<int64_t>(bounds->max),
              .lo = 0,
              .hi = 0};
    axis.lo = i.has_lo ? std::max(i.lo, axis.min) : axis.min;
    axis.hi = i.has_hi ? std::min(i.hi, axis.max) : axis.max;
    if (axis.stride < 0 || axis.lo > axis.hi) return {};
    const std::optional<LinearForm> without = ir::AddForms(rest, i.sum, -axis.stride);
    if (!without.has_value()) return {};
    rest = *without;
    // All of the sum's ranges are accounted for.
    for (const LinearTerm& t : i.sum.terms) {
      if (rest.Coef(t.term) != 0) return {};
    }
    axes.push_back(std::move(axis));
  }
  for (const LinearTerm& t : rest.terms) {
    if (!t.term.Is(Op::kRange) || t.coef < 0) return {};
    LinearForm one;
    one.terms.push_back({.term = t.term, .coef = 1});
    axes.push_back(Axis{.sum = one,
                        .stride = t.coef,
                        .min = 0,
                        .max = t.term.vmax(),
                        .lo = 0,
                        .hi = t.term.vmax()});
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  return axes;
}

UOp Load(const UOp& memory, const UOp& at) {
  return UOp::Make(Op::kLoad, memory.dtype(),
                   {UOp::Make(Op::kIndex, memory.dtype(), {memory, at})});
}

// Whether the access stays in its memory whatever the ranges are.
bool InBounds(const UOp& index_node) {
  const UOp& i = index_node.src(1);
  return i.vmin() >= 0 && i.vmax() < index_node.src(0).arg_as<ir::ParamArg>().size;
}

// Iterations of all loops that the body of `reduce` depends on.
double Iterations(const UOp& reduce) {
  double n = 1;
  for (const UOp& r : reduce.src(0).ranges()) n *= static_cast<double>(r.vmax() + 1);
  return n;
}

std::optional<OperandPack> Pad(const UOp& sink, const UOp& reduce, const UOp& where,
                               const UOp& load, absl::Span<const UOp> nodes) {
  const UOp& operand = load.src(0).src(0);
  if (!operand.Is(Op::kParam) || load.src(0).src_count() != 2) return std::nullopt;
  const std::vector<Interval> intervals = Intervals(where.src(0));
  if (intervals.empty()) return std::nullopt;
  const UOp index = ir::GetIndex(load.src(0).src(1));
  const std::vector<Axis> axes = Axes(index, intervals);
  if (axes.empty()) return std::nullopt;
  const int64_t constant = ir::SumTerms(index).constant;

  OperandPack pack{.slot = operand.arg_as<ir::ParamArg>().slot,
                   .packed_slot = operand.arg_as<ir::ParamArg>().slot,
                   .dtype = operand.dtype(),
                   .size = 1,
                   .pack = UOp(),
                   .kernel = UOp()};
  double size = 1;
  for (const Axis& a : axes) size *= static_cast<double>(a.size());
  if (size > kMaxGrowth * static_cast<double>(operand.arg_as<ir::ParamArg>().size) ||
      Iterations(reduce) / size < kMinUses) {
    return std::nullopt;
  }
  pack.size = static_cast<int64_t>(size);

  // Other readers and a writer of the operand keep their parameter.
  int most = 0;
  bool other_users = false;
  for (const UOp& u : nodes) {
    if (u.Is(Op::kParam)) most = std::max(most, u.arg_as<ir::ParamArg>().slot);
    if (u.Is(Op::kStore) && u.src(0).src(0) == operand) return std::nullopt;
    if (u.Is(Op::kIndex) && u.src(0) == operand && !(u == load.src(0))) other_users = true;
  }
  if (other_users) pack.packed_slot = most + 1;

  // The kernel: the padded memory without the condition.
  UOp at = ir::IndexConst(0);
  for (const Axis& a : axes) {
    at = at * a.size() + (ir::FromTerms(a.sum, ir::kIndex) - a.min);
  }
  const UOp padded = ir::Param(pack.packed_slot, operand.dtype(), pack.size);
  ir::UOpMap map = {{load, Load(padded, ir::Simplify(at))}};
  for (const UOp& u : ir::Toposort(where.src(1))) {
    if (!u.Is(Op::kIndex) || u == load.src(0)) continue;
    const UOp src[] = {u.src(0), ir::GetIndex(u.src(1))};
    const UOp free = u.WithSrc(src);
    if (!free.src(0).Is(Op::kParam) || !InBounds(free)) return std::nullopt;
    if (!(free == u)) map.emplace(u, free);
  }
  const UOp body = ir::Substitute(where.src(1), map);
  pack.kernel = ir::Simplify(ir::Substitute(sink, {{where, body}}));

  // The copy.
  std::vector<UOp> ranges;
  UOp from = ir::IndexConst(constant), to = ir::IndexConst(0), exists = ir::Const(ir::kBool, true);
  for (const Axis& a : axes) {
    ranges.push_back(ir::Range(a.size(), static_cast<int>(ranges.size())));
    const UOp value = ranges.back() + a.min;
    from = from + value * a.stride;
    to = to * a.size() + ranges.back();
    exists = exists & ir::Not(value < a.lo) & (value < a.hi + 1);
  }
  exists = ir::Simplify(exists);
  const UOp source = ir::Param(1, operand.dtype(), operand.arg_as<ir::ParamArg>().size);
  const UOp target = ir::Param(0, operand.dtype(), pack.size);
  const UOp value = ir::Where(exists, Load(source, ir::Simplify(ir::Valid(from, exists))),
                              ir::Const(operand.dtype(), 0));
  std::vector<UOp> end = {
      UOp::Make(Op::kStore, ir::kVoid,
                {UOp::Make(Op::kIndex, target.dtype(), {target, ir::Simplify(to)}), value})};
  end.insert(end.end(), ranges.begin(), ranges.end());
  pack.pack = ir::Simplify(ir::Sink({UOp::Make(Op::kEnd, ir::kVoid, end)}));
  return pack;
}

// Whether the tile that the kernel gets is large, and its conditions hold for all of it or none.
bool SkipsOutside(const UOp& kernel, const render::Target& target) {
  const absl::StatusOr<Kernel> k = PrepareKernel(kernel, target);
  if (!k.ok()) return false;
  const AccessMap map = AnalyzeAccesses(*k);
  const Core core = CoreOf(*k, map, target);
  const Tile tile = ChooseTile(*k, map, core);
  const int heaviest = HeaviestNest(map);
  const Nest& nest = map.nests[heaviest];
  if (tile.copies[heaviest] < core.accumulators / 3) return false;
  if (tile.lane.root >= 0 && SplitsCondition(nest, tile.lane.root)) return false;
  return std::none_of(tile.upcasts.begin(), tile.upcasts.end(),
                      [&nest](const auto& u) { return SplitsCondition(nest, u.first); });
}

}  // namespace

std::optional<OperandPack> FindPadding(const UOp& kernel, const render::Target& target) {
  if (SkipsOutside(kernel, target)) return std::nullopt;
  const std::vector<UOp> nodes = ir::Toposort(kernel);
  for (const UOp& reduce : nodes) {
    if (!reduce.Is(Op::kReduce) || reduce.src_count() < 2 ||
        reduce.arg_as<ir::ReduceArg>().op != Op::kAdd) {
      continue;
    }
    for (const UOp& where : ir::Toposort(reduce.src(0))) {
      if (!where.Is(Op::kWhere) || !IsZero(where.src(2))) continue;
      const UOp& value = where.src(1);
      if (value.Is(Op::kLoad)) {
        if (auto pack = Pad(kernel, reduce, where, value, nodes)) return pack;
      } else if (value.Is(Op::kMul) && where == reduce.src(0)) {
        for (const UOp& factor : value.src()) {
          if (!factor.Is(Op::kLoad)) continue;
          if (auto pack = Pad(kernel, reduce, where, factor, nodes)) return pack;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace tg::opt
