#include <limits>

#include "codegen/ir/fold.h"
#include "codegen/ir/simplify/rules.h"

namespace tg::ir {
namespace {

using namespace tg::ir::pattern;  // NOLINT: rules are written with its names

bool IsIntegral(DType d) { return d.IsInt() || d.IsBool(); }

// The values of integer x are values of the integer type d.
bool FitsIn(const UOp& x, DType d) {
  if (!IsIntegral(x.dtype()) || !d.IsInt()) return false;
  const Bounds& v = x.bounds();
  // An exact integer that is bounded by int64 only may be beyond it.
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  if (x.dtype().IsWeak() && !d.IsWeak() && (v.min == kMin || v.max == kMax)) return false;
  if (x.dtype().scalar() == ScalarType::kUInt64) {
    return d.scalar() == ScalarType::kUInt64 || (v.min >= 0 && v.max <= d.MaxInt());
  }
  return v.min >= d.MinInt() && v.max <= d.MaxInt();
}

// cast(cast(x, a), b) >> cast(x, b) where the first conversion
//   keeps every value, by its types or by the bounds of x; or
//   wraps integers to at least the width that the second wraps to.
UOp CastOfCast(const UOp& u, void*) {
  const UOp& inner = u.src(0);
  if (!inner.Is(Op::kCast)) return UOp();
  const UOp& x = inner.src(0);
  const DType from = x.dtype().Scalar(), a = inner.dtype().Scalar(), b = u.dtype().Scalar();
  const bool keeps = CanLosslessCast(from, a) || FitsIn(x, a);
  const bool wraps =
      from.IsInt() && a.IsInt() && b.IsInt() && !b.IsWeak() && (a.IsWeak() || b.bits() <= a.bits());
  return keeps || wraps ? Cast(x, u.dtype()) : UOp();
}

// The value of fixed-width integer `x` as an exact integer expression, where x is arithmetic on
// converted exact integers that cannot wrap; else null. `budget` bounds the work.
UOp Lifted(const UOp& x, int* budget) {
  if (--*budget < 0 || x.dtype().lanes() != 1 || !x.dtype().IsInt()) return UOp();
  if (x.dtype().IsWeak()) return x;
  if (x.IsConst()) {
    const bool upper_half = x.dtype().scalar() == ScalarType::kUInt64 && x.vmin() < 0;
    return x.IsInvalid() || upper_half ? UOp() : IndexConst(x.const_int());
  }
  switch (x.op()) {
    case Op::kCast: {
      const UOp& v = x.src(0);
      return v.dtype() == kIndex && FitsIn(v, x.dtype()) ? v : UOp();
    }
    case Op::kFloorDiv:
    case Op::kFloorMod:
    case Op::kCdiv:
    case Op::kCmod:
      if (!x.src(1).IsConst()) return UOp();
      break;
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMax:
      break;
    default:
      return UOp();
  }
  const UOp a = Lifted(x.src(0), budget);
  const UOp b = a ? Lifted(x.src(1), budget) : UOp();
  if (!b) return UOp();
  const UOp r = Alu(x.op(), {a, b});
  return FitsIn(r, x.dtype()) ? r : UOp();
}

constexpr int kLiftBudget = 48;

// cast(arithmetic, index) >> the arithmetic on exact integers
UOp CastToIndex(const UOp& u, void*) {
  if (u.dtype() != kIndex || !u.src(0).dtype().IsInt() || u.src(0).IsConst()) return UOp();
  int budget = kLiftBudget;
  return Lifted(u.src(0), &budget);
}

// A comparison of such arithmetic is one of exact integers.
UOp CompareLifted(const UOp& u, void*) {
  const UOp& x = u.src(0);
  if (!x.dtype().IsInt() || x.dtype().IsWeak()) return UOp();
  int budget = kLiftBudget;
  const UOp a = Lifted(x, &budget);
  const UOp b = a ? Lifted(u.src(1), &budget) : UOp();
  return b ? Alu(u.op(), {a, b}) : UOp();
}

UOp CastToSameType(const UOp& u, void*) { return u.src(0).dtype() == u.dtype() ? u.src(0) : UOp(); }

// cast(x, bool) >> x != 0; NaN is true either way.
UOp CastToBool(const UOp& u, void*) {
  if (!u.dtype().IsBool() || u.src(0).dtype().IsBool()) return UOp();
  return CmpNe(u.src(0), Const(u.src(0).dtype(), 0));
}

// cast(WHERE(t, c0, c1), d) >> WHERE(t, cast(c0, d), cast(c1, d))
UOp CastOfConstantChoice(const UOp& u, void*) {
  const UOp& w = u.src(0);
  if (!w.Is(Op::kWhere)) return UOp();
  const UOp a = FoldAlu(Op::kCast, u.dtype(), {w.src(1)});
  const UOp b = FoldAlu(Op::kCast, u.dtype(), {w.src(2)});
  return a && b ? Where(w.src(0), a, b) : UOp();
}

UOp BitcastOfBitcast(const UOp& u, void*) {
  return u.src(0).Is(Op::kBitcast) ? Bitcast(u.src(0).src(0), u.dtype()) : UOp();
}

// A converted condition against a constant: cast(t) != 0 >> t, cast(t) == 0 >> !t,
// cast(t) < 1 >> !t, and any other constant alike.
UOp CompareOfCondition(const UOp& u, void*) {
  const UOp &x = u.src(0), &c = u.src(1);
  if (!x.Is(Op::kCast) || !x.src(0).dtype().IsBool() || !c.IsConst()) return UOp();
  const UOp one = FoldAlu(u.op(), u.dtype(), {Const(x.dtype(), 1), c});
  const UOp zero = FoldAlu(u.op(), u.dtype(), {Const(x.dtype(), 0), c});
  return one && zero ? Where(x.src(0), one, zero) : UOp();
}

}  // namespace

const RuleSet& CastRules() {
  static const RuleSet& rules = *new RuleSet{
      On({Op::kCast, Op::kBitcast}, CastToSameType, "cast_to_same_type"),
      On({Op::kCast}, CastOfCast, "cast_of_cast"),
      On({Op::kCast}, CastToIndex, "cast_to_index"),
      On({Op::kCast}, CastToBool, "cast_to_bool"),
      On({Op::kCast}, CastOfConstantChoice, "cast_of_constant_choice"),
      On({Op::kBitcast}, BitcastOfBitcast, "bitcast_of_bitcast"),
      On({Op::kCmpLt, Op::kCmpEq, Op::kCmpNe}, CompareOfCondition, "compare_of_condition"),
      On({Op::kCmpLt, Op::kCmpEq, Op::kCmpNe}, CompareLifted, "compare_lifted"),
  };
  return rules;
}

}  // namespace tg::ir
