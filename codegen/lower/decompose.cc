#include "codegen/lower/decompose.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

#include "codegen/ir/rewrite.h"
#include "codegen/lower/decompose_exp.h"
#include "codegen/lower/decompose_sin.h"
#include "codegen/lower/decompose_threefry.h"

namespace tg::lower {
namespace {

using ir::Alu;
using ir::Const;
using ir::DType;
using ir::Op;
using ir::UOp;
using render::Target;

// The type at which native_op is asked: of the operands, for comparisons too.
bool IsNative(const Target& target, Op op, DType d) { return target.native_op(op, d.Scalar()); }

bool IsPowerOfTwo(const UOp& c) {
  return c.IsConst() && c.const_int() > 0 &&
         std::has_single_bit(static_cast<uint64_t>(c.const_int()));
}

UOp Log2Const(const UOp& c) {
  return Const(c.dtype(), std::countr_zero(static_cast<uint64_t>(c.const_int())));
}

// Whether the sign of `u` is known to be that of a number >= 0 (unsigned 64-bit values are).
bool NonNegative(const UOp& u) { return u.dtype().IsUnsigned() || u.vmin() >= 0; }

// a - b in operations the target has.
UOp Minus(const UOp& a, const UOp& b, const Target& target) {
  if (IsNative(target, Op::kSub, a.dtype())) return Alu(Op::kSub, {a, b});
  return a + b * Const(b.dtype(), -1);
}

UOp LowerFloorDiv(const UOp& u, const Target& target) {
  const UOp &a = u.src(0), &b = u.src(1);
  // An arithmetic shift rounds toward minus infinity.
  if (IsPowerOfTwo(b) && IsNative(target, Op::kShr, a.dtype())) {
    return b.IsConstInt(1) ? a : Alu(Op::kShr, {a, Log2Const(b)});
  }
  const UOp q = ir::Cdiv(a, b);
  if ((NonNegative(a) && NonNegative(b)) || (a.vmax() <= 0 && b.vmax() < 0)) return q;
  // One less where there is a remainder whose sign is not the divisor's.
  const UOp zero = Const(a.dtype(), 0);
  const UOp r = ir::Cmod(a, b);
  const UOp below = NonNegative(b) ? r < zero : ir::CmpNe(r, zero) & ir::CmpNe(r < zero, b < zero);
  return ir::Where(below, q + Const(a.dtype(), -1), q);
}

UOp LowerFloorMod(const UOp& u, const Target& target) {
  const UOp &a = u.src(0), &b = u.src(1);
  if (IsPowerOfTwo(b) && IsNative(target, Op::kAnd, a.dtype())) {
    return a & Const(a.dtype(), b.const_int() - 1);
  }
  const UOp r = ir::Cmod(a, b);
  if ((NonNegative(a) && NonNegative(b)) || (a.vmax() <= 0 && b.vmax() < 0)) return r;
  const UOp zero = Const(a.dtype(), 0);
  const UOp wrong = NonNegative(b) ? r < zero : ir::CmpNe(r, zero) & ir::CmpNe(r < zero, b < zero);
  return ir::Where(wrong, r + b, r);
}

// C division by a power of two of what is not negative.
UOp LowerCdiv(const UOp& u, const Target& target) {
  if (IsPowerOfTwo(u.src(1)) && NonNegative(u.src(0)) && IsNative(target, Op::kShr, u.dtype())) {
    return Alu(Op::kShr, {u.src(0), Log2Const(u.src(1))});
  }
  return UOp();
}

UOp LowerCmod(const UOp& u, const Target& target) {
  if (IsPowerOfTwo(u.src(1)) && NonNegative(u.src(0)) && IsNative(target, Op::kAnd, u.dtype())) {
    return u.src(0) & Const(u.dtype(), u.src(1).const_int() - 1);
  }
  if (IsNative(target, Op::kCmod, u.dtype())) return UOp();
  return Minus(u.src(0), ir::Cdiv(u.src(0), u.src(1)) * u.src(1), target);
}

// Arithmetic of truth values.
UOp LowerBool(const UOp& u) {
  switch (u.op()) {
    case Op::kAdd:
    case Op::kMax:
      return u.src(0) | u.src(1);
    case Op::kMul:
      return u.src(0) & u.src(1);
    case Op::kNeg:
      return u.src(0) ^ Const(u.dtype(), true);
    case Op::kSub:
    case Op::kCmpNe:
      return u.src(0) ^ u.src(1);
    case Op::kCmpEq:
      return u.src(0) ^ u.src(1) ^ Const(u.dtype(), true);
    case Op::kCmpLt:
      return (u.src(0) ^ Const(u.src(0).dtype(), true)) & u.src(1);
    default:
      return UOp();
  }
}

UOp LowerNode(const UOp& u, const Target& target) {
  const DType in = u.src(0).dtype(), d = u.dtype();
  if (in.IsWeak() && in.IsInt()) return UOp();
  // These have a cheaper form whether they are native or not.
  if (u.Is(Op::kFloorDiv) || u.Is(Op::kFloorMod)) {
    const bool cheap = IsPowerOfTwo(u.src(1)) || (NonNegative(u.src(0)) && NonNegative(u.src(1)));
    if (!cheap && IsNative(target, u.op(), in)) return UOp();
    return u.Is(Op::kFloorDiv) ? LowerFloorDiv(u, target) : LowerFloorMod(u, target);
  }
  if (u.Is(Op::kCdiv)) return LowerCdiv(u, target);
  if (u.Is(Op::kCmod)) return LowerCmod(u, target);
  if (IsNative(target, u.op(), u.Is(Op::kWhere) ? d : in)) return UOp();
  if (in.IsBool() && !u.Is(Op::kWhere)) return LowerBool(u);
  switch (u.op()) {
    case Op::kThreefry:
      return ThreefryAsUint32(u.src(0), u.src(1));
    case Op::kExp2:
      return d.IsFloat() ? Exp2Polynomial(u.src(0)) : UOp();
    case Op::kLog2:
      return Log2Polynomial(u.src(0));
    case Op::kSin:
      return SinPolynomial(u.src(0));
    case Op::kPow:
      return PowByLog2(u.src(0), u.src(1));
    case Op::kReciprocal:
      return Alu(Op::kFdiv, {Const(d, 1), u.src(0)});
    case Op::kFdiv:
      return IsNative(target, Op::kReciprocal, d) ? u.src(0) * Alu(Op::kReciprocal, {u.src(1)})
                                                  : UOp();
    case Op::kSub:
      return u.src(0) + u.src(1) * Const(d, -1);
    case Op::kNeg:
      return u.src(0) * Const(d, -1);
    case Op::kMulAcc:
      return u.src(0) * u.src(1) + u.src(2);
    case Op::kMax: {
      const UOp &a = u.src(0), &b = u.src(1);
      UOp take_b = a < b;
      if (d.IsFloat()) take_b = take_b | ir::CmpNe(b, b);
      return ir::Where(take_b, b, a);
    }
    case Op::kTrunc:
      return d.IsInt() ? u.src(0) : UOp();
    case Op::kCmpEq:
      return ir::CmpNe(u.src(0), u.src(1)) ^ Const(d, true);
    case Op::kCmpNe:
      return IsNative(target, Op::kCmpEq, in) ? ir::CmpEq(u.src(0), u.src(1)) ^ Const(d, true)
                                              : UOp();
    default:
      return UOp();
  }
}

}  // namespace

UOp Decompose(const UOp& root, const Target& target) {
  static constexpr Op kDivisions[] = {Op::kFloorDiv, Op::kFloorMod, Op::kCdiv, Op::kCmod};
  const std::vector<UOp> nodes = ir::Toposort(root);
  const bool any = std::any_of(nodes.begin(), nodes.end(), [&](const UOp& u) {
    if (!ir::IsAlu(u.op()) || u.Is(Op::kWhere)) return false;
    return std::find(std::begin(kDivisions), std::end(kDivisions), u.op()) !=
               std::end(kDivisions) ||
           !IsNative(target, u.op(), u.src(0).dtype());
  });
  if (!any) return root;
  static const ir::RuleSet& rules = *new ir::RuleSet({ir::On<const Target>(
      {Op::kExp2, Op::kLog2,  Op::kSin,   Op::kReciprocal, Op::kNeg,      Op::kTrunc,
       Op::kAdd,  Op::kMul,   Op::kCdiv,  Op::kCmod,       Op::kFloorDiv, Op::kFloorMod,
       Op::kMax,  Op::kCmpLt, Op::kCmpNe, Op::kCmpEq,      Op::kThreefry, Op::kSub,
       Op::kFdiv, Op::kPow,   Op::kMulAcc},
      [](const UOp& u, const Target& t) { return LowerNode(u, t); }, "decompose")});
  return ir::GraphRewrite(
      root, rules, {.order = ir::RewriteOrder::kBottomUp, .ctx = const_cast<Target*>(&target)});
}

}  // namespace tg::lower
