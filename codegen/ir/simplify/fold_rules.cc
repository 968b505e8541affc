#include <algorithm>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "codegen/ir/fold.h"
#include "codegen/ir/simplify/order.h"
#include "codegen/ir/simplify/rules.h"

namespace tg::ir {
namespace {

#define TG_IR_ELEMENTWISE_OPS                                                                    \
  Op::kCast, Op::kBitcast, Op::kExp2, Op::kLog2, Op::kSin, Op::kSqrt, Op::kReciprocal, Op::kNeg, \
      Op::kTrunc, Op::kAdd, Op::kMul, Op::kShl, Op::kShr, Op::kCdiv, Op::kCmod, Op::kFloorDiv,   \
      Op::kFloorMod, Op::kMax, Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kXor, Op::kOr, Op::kAnd,  \
      Op::kThreefry, Op::kSub, Op::kFdiv, Op::kPow, Op::kMulAcc

bool IsGuarded(const UOp& u) { return u.Is(Op::kWhere) && u.src(2).IsInvalid(); }

// op(WHERE(v, x, Invalid), y) >> WHERE(v, op(x, y), Invalid), for any source; two conditions are
// joined. op(Invalid, y) >> Invalid. It stands first: nothing may drop the condition.
UOp PushIntoGuard(const UOp& u, void*) {
  UOp guard;
  for (const UOp& s : u.src()) {
    if (s.IsInvalid()) return InvalidConst(u.dtype());
    if (!IsGuarded(s)) continue;
    guard = guard && !(guard == s.src(0)) ? guard & s.src(0) : s.src(0);
  }
  if (!guard) return UOp();
  absl::InlinedVector<UOp, 3> src;
  for (const UOp& s : u.src()) src.push_back(IsGuarded(s) ? s.src(1) : s);
  return Where(guard, UOp::Make(u.op(), u.dtype(), src, u.arg()), InvalidConst(u.dtype()));
}

// WHERE(WHERE(v, c, Invalid), x, y) >> WHERE(v, WHERE(c, x, y), Invalid)
UOp PushConditionIntoGuard(const UOp& u, void*) {
  const UOp& c = u.src(0);
  if (c.IsInvalid()) return InvalidConst(u.dtype());
  if (!IsGuarded(c)) return UOp();
  return Where(c.src(0), Where(c.src(1), u.src(1), u.src(2)), InvalidConst(u.dtype()));
}

UOp FoldConstants(const UOp& u, void*) {
  for (const UOp& s : u.src()) {
    if (!s.IsConst()) return UOp();
  }
  return FoldAlu(u.op(), u.dtype(), u.src());
}

// vmin == vmax >> the constant. Bounds that reach the end of int64 mean "unknown".
UOp FoldBounds(const UOp& u, void*) {
  if (u.vmin() != u.vmax() || !(u.dtype().IsInt() || u.dtype().IsBool())) return UOp();
  if (u.vmin() == std::numeric_limits<int64_t>::min() ||
      u.vmin() == std::numeric_limits<int64_t>::max()) {
    return UOp();
  }
  return Const(u.dtype(), u.vmin());
}

// Exact sums and comparisons, integer products and chains of conditions have an order of their own
// (combine.cc, compare.cc, logic.cc).
UOp OrderOperands(const UOp& u, void*) {
  if (u.Is(Op::kAdd) && u.dtype().scalar() == ScalarType::kWeakInt) return UOp();
  if (u.Is(Op::kMul) && u.dtype().IsInt()) return UOp();
  if (IsComparison(u.op()) && u.src(0).dtype() == kIndex) return UOp();
  if ((u.Is(Op::kAnd) || u.Is(Op::kOr)) && u.dtype().IsBool()) return UOp();
  const UOp &a = u.src(0), &b = u.src(1);
  // Chains lean to the left: (x + y) + z, not z + (x + y).
  const bool a_chains = a.op() == u.op(), b_chains = b.op() == u.op();
  return (a_chains == b_chains ? OrderLess(b, a) : b_chains) ? UOp::Make(u.op(), u.dtype(), {b, a})
                                                             : UOp();
}

}  // namespace

const RuleSet& FoldRules() {
  static const RuleSet& rules = *new RuleSet{
      On({TG_IR_ELEMENTWISE_OPS}, PushIntoGuard, "push_into_guard"),
      On({Op::kWhere}, PushConditionIntoGuard, "push_condition_into_guard"),
      On({TG_IR_ELEMENTWISE_OPS}, FoldConstants, "fold_constants"),
      On({TG_IR_ELEMENTWISE_OPS}, FoldBounds, "fold_bounds"),
      On({Op::kAdd, Op::kMul, Op::kMax, Op::kCmpNe, Op::kCmpEq, Op::kXor, Op::kOr, Op::kAnd},
         OrderOperands, "order_operands"),
  };
  return rules;
}

}  // namespace tg::ir
