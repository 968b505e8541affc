#include "tg/schedule/kernel_rules.h"

#include <algorithm>
#include <vector>

#include "codegen/ir/rewrite.h"
#include "codegen/ir/simplify/simplify.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::UOp;

Op ReduceOp(const UOp& u) { return u.arg_as<ir::ReduceArg>().op; }

UOp MakeReduce(const UOp& like, const UOp& value, absl::Span<const UOp> ranges) {
  if (ranges.empty()) return value;
  std::vector<UOp> src = {value};
  src.insert(src.end(), ranges.begin(), ranges.end());
  return UOp::Make(Op::kReduce, like.dtype(), src, like.arg());
}

bool DependsOnAny(const UOp& x, absl::Span<const UOp> ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&x](const UOp& r) { return x.DependsOnRange(r); });
}

bool IsZero(const UOp& x) { return x.IsConstInt(0) || x.IsConstFloat(0); }

// sum over r1 of sum over r2 = sum over both; likewise under a condition that does not depend on
// the inner ranges: where(c, sum(v), 0) = sum(where(c, v, 0)).
UOp MergeSums(const UOp& u) {
  if (ReduceOp(u) != Op::kAdd && ReduceOp(u) != Op::kMax) return UOp();
  const UOp& inner = u.src(0);
  auto both = [&u](const UOp& reduce, const UOp& value) {
    std::vector<UOp> ranges(u.src().begin() + 1, u.src().end());
    ranges.insert(ranges.end(), reduce.src().begin() + 1, reduce.src().end());
    return MakeReduce(u, value, ranges);
  };
  if (inner.Is(Op::kReduce) && ReduceOp(inner) == ReduceOp(u)) return both(inner, inner.src(0));
  if (ReduceOp(u) == Op::kAdd && inner.Is(Op::kWhere) && IsZero(inner.src(2))) {
    const UOp& sum = inner.src(1);
    if (sum.Is(Op::kReduce) && ReduceOp(sum) == Op::kAdd &&
        !DependsOnAny(inner.src(0), sum.src().subspan(1))) {
      return both(sum, ir::Where(inner.src(0), sum.src(0), inner.src(2)));
    }
  }
  return UOp();
}

// Ranges that the value does not depend on: a sum is a product with their size, a maximum is the
// value. (A range of size 0 cannot occur: such kernels are not made.)
UOp DropUnusedRanges(const UOp& u) {
  std::vector<UOp> used, unused;
  for (const UOp& r : u.src().subspan(1)) (u.src(0).DependsOnRange(r) ? used : unused).push_back(r);
  if (unused.empty()) return UOp();
  if (ReduceOp(u) == Op::kMul) return UOp();
  UOp value = u.src(0);
  if (ReduceOp(u) == Op::kAdd) {
    for (const UOp& r : unused) value = value * ir::Cast(r.src(0), value.dtype());
  }
  return MakeReduce(u, value, used);
}

// `cond` as "range == e" with a range among `ranges` that e does not depend on.
bool MatchPick(const UOp& cond, absl::Span<const UOp> ranges, UOp* range, UOp* equal) {
  UOp c = cond;
  if (!c.Is(Op::kCmpEq)) return false;
  for (int side = 0; side < 2; ++side) {
    UOp r = c.src(side);
    const UOp& e = c.src(1 - side);
    // Indices are compared as integers of some width; the cast loses nothing.
    if (r.Is(Op::kCast) && r.src(0).Is(Op::kRange) && r.dtype().IsInt()) {
      if (r.src(0).vmax() > r.dtype().MaxInt()) continue;
      r = r.src(0);
    }
    if (!r.Is(Op::kRange) || std::find(ranges.begin(), ranges.end(), r) == ranges.end()) continue;
    if (e.DependsOnRange(r) || e.dtype().scalar() == ir::ScalarType::kUInt64) continue;
    *range = r;
    *equal = ir::Cast(e, ir::kIndex);
    return true;
  }
  return false;
}

// sum over r of where(r == e, v(r), 0) = where(0 <= e < size, v(e), 0).
UOp PickElement(const UOp& u) {
  if (ReduceOp(u) != Op::kAdd || !u.src(0).Is(Op::kWhere) || !IsZero(u.src(0).src(2))) return UOp();
  const absl::Span<const UOp> ranges = u.src().subspan(1);
  // The condition may be a conjunction.
  std::vector<UOp> clauses = {u.src(0).src(0)}, rest;
  UOp range, equal;
  while (!clauses.empty()) {
    const UOp c = clauses.back();
    clauses.pop_back();
    if (c.Is(Op::kAnd)) {
      clauses.push_back(c.src(0));
      clauses.push_back(c.src(1));
    } else if (range || !MatchPick(c, ranges, &range, &equal)) {
      rest.push_back(c);
    }
  }
  if (!range) return UOp();
  const UOp in_range = ir::Not(equal < 0) & (equal < range.src(0));
  UOp condition = in_range;
  for (const UOp& c : rest) condition = condition & c;
  const UOp& zero = u.src(0).src(2);
  const UOp where = ir::Where(condition, u.src(0).src(1), zero);
  // Outside of the range nothing may be loaded: memory indices become Invalid there.
  ir::UOpMap at_element = {{range, equal}};
  for (const UOp& n : ir::Toposort(where)) {
    if (!n.Is(Op::kIndex) || !n.DependsOnRange(range)) continue;
    // Indices may hold loads, which come before them.
    const UOp index = ir::Substitute(ir::GetIndex(n.src(1)), at_element);
    const UOp valid = ir::Substitute(ir::GetValid(n.src(1)), at_element);
    at_element.emplace(
        n,
        UOp::Make(Op::kIndex, n.dtype(),
                  {n.src(0), ir::Valid(index, valid.IsConstInt(1) ? in_range : valid & in_range)}));
  }
  const UOp value = ir::Substitute(where, at_element);
  std::vector<UOp> others;
  for (const UOp& r : ranges) {
    if (!(r == range)) others.push_back(r);
  }
  return MakeReduce(u, value, others);
}

// one_hot * table is written as a product with a cast comparison: where(c, 1, 0) * v, cast(c) * v.
UOp SelectInsteadOfMultiply(const UOp& u) {
  for (int side = 0; side < 2; ++side) {
    const UOp &m = u.src(side), &v = u.src(1 - side);
    UOp c;
    if (m.Is(Op::kCast) && m.src(0).dtype().IsBool()) c = m.src(0);
    if (m.Is(Op::kWhere) && IsZero(m.src(2)) &&
        (m.src(1).IsConstInt(1) || m.src(1).IsConstFloat(1))) {
      c = m.src(0);
    }
    // Only comparisons that may pick: elsewhere 0 * inf must stay NaN.
    if (c && c.Is(Op::kCmpEq) &&
        (c.src(0).Is(Op::kRange) || c.src(1).Is(Op::kRange) || c.src(0).Is(Op::kCast) ||
         c.src(1).Is(Op::kCast))) {
      return ir::Where(c, v, ir::Const(v.dtype(), 0));
    }
  }
  return UOp();
}

const ir::RuleSet& Rules() {
  static const ir::RuleSet* rules = new ir::RuleSet{
      ir::On(
          {Op::kReduce}, [](const UOp& u, void*) { return MergeSums(u); }, "merge_sums"),
      ir::On(
          {Op::kReduce}, [](const UOp& u, void*) { return DropUnusedRanges(u); },
          "drop_unused_ranges"),
      ir::On(
          {Op::kReduce}, [](const UOp& u, void*) { return PickElement(u); }, "pick_element"),
  };
  return *rules;
}

const ir::RuleSet& PickRules() {
  static const ir::RuleSet* rules = new ir::RuleSet{
      ir::On(
          {Op::kReduce},
          [](const UOp& u, void*) -> UOp {
            if (ReduceOp(u) != Op::kAdd || !u.src(0).Is(Op::kMul)) return UOp();
            const UOp value = SelectInsteadOfMultiply(u.src(0));
            return value ? MakeReduce(u, value, u.src().subspan(1)) : UOp();
          },
          "select_instead_of_multiply"),
  };
  return *rules;
}

}  // namespace

UOp CleanKernel(const UOp& sink) {
  UOp u = ir::Simplify(sink);
  const UOp cleaned = ir::GraphRewrite(u, Rules() + PickRules());
  return cleaned == u ? u : ir::Simplify(cleaned);
}

}  // namespace tg::schedule
