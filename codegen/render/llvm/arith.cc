#include "codegen/render/llvm/arith.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "codegen/render/llvm/convert.h"
#include "llvm/IR/Intrinsics.h"

namespace tg::render {
namespace {

using ir::Bounds;
using ir::DType;
using ir::Op;
using ir::ScalarType;
using ir::UOp;
using llvm::Type;
using llvm::Value;
using Builder = llvm::IRBuilder<>;

Value* Int(Value* like, uint64_t v) { return llvm::ConstantInt::get(like->getType(), v); }

// Whether LLVM has the float type of values of `d` (others are held as their bits).
bool Computes(DType d) { return d.IsFloat() && !d.IsFp8() && d.scalar() != ScalarType::kBFloat16; }

Type* WithScalar(Value* like, Type* scalar) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return vector == nullptr ? scalar : llvm::FixedVectorType::get(scalar, vector->getNumElements());
}

// Quotient of integers of at most 32 bits through a float type that holds both exactly. It is
// exact: x / d is at least 1/d away from an integer that it is not, which relative to x / d is
// 1/x, and more than half a unit in the last place of a type with more bits than x has. Processors
// have no vector integer division; this vectorises.
Value* DivideAsFloats(Builder& b, Value* x, Value* d, bool is_unsigned, int bits) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  Type* type = WithScalar(x, bits <= 16 ? b.getFloatTy() : b.getDoubleTy());
  const auto widen = [&](Value* v) {
    return is_unsigned ? b.CreateUIToFP(v, type) : b.CreateSIToFP(v, type);
  };
  Value* quotient = b.CreateFDiv(widen(x), widen(d));
  return is_unsigned ? b.CreateFPToUI(quotient, x->getType())
                     : b.CreateFPToSI(quotient, x->getType());
}

// Quotient toward zero, without traps.
Value* Quotient(Builder& b, Value* x, Value* d, DType dtype, const Bounds& divisor,
                const Bounds& dividend) {
  const bool is_unsigned = dtype.IsUnsigned();
  if (!is_unsigned && divisor.min > 0 && dividend.min >= 0) {
    if (llvm::isa<llvm::Constant>(d) || dtype.lanes() == 1) return b.CreateUDiv(x, d);
  }
  Value* is_zero = nullptr;
  Value* is_minus_one = nullptr;
  Value* safe = d;
  if (divisor.min <= 0 && divisor.max >= 0) {
    is_zero = b.CreateICmpEQ(d, Int(d, 0));
    safe = b.CreateSelect(is_zero, Int(d, 1), safe);
  }
  if (!is_unsigned && divisor.min <= -1 && divisor.max >= -1) {
    is_minus_one = b.CreateICmpEQ(d, llvm::Constant::getAllOnesValue(d->getType()));
    safe = b.CreateSelect(is_minus_one, Int(d, 1), safe);
  }
  Value* q;
  if (dtype.lanes() > 1 && dtype.bits() <= 32 && !llvm::isa<llvm::Constant>(d)) {
    q = DivideAsFloats(b, x, safe, is_unsigned, dtype.bits());
  } else {
    q = is_unsigned ? b.CreateUDiv(x, safe) : b.CreateSDiv(x, safe);
  }
  if (is_minus_one != nullptr) q = b.CreateSelect(is_minus_one, b.CreateNeg(x), q);
  if (is_zero != nullptr) q = b.CreateSelect(is_zero, Int(q, 0), q);
  return q;
}

Value* EmitDivision(Builder& b, const UOp& u, Value* x, Value* d) {
  const DType dtype = u.dtype();
  const Bounds& dividend = u.src(0).bounds();
  const Bounds& divisor = u.src(1).bounds();
  const bool floor = u.op() == Op::kFloorDiv || u.op() == Op::kFloorMod;
  const bool wants_quotient = u.op() == Op::kFloorDiv || u.op() == Op::kCdiv;
  if (floor && divisor.min == divisor.max && divisor.min > 0 &&
      std::has_single_bit(static_cast<uint64_t>(divisor.min))) {
    const uint64_t mask = static_cast<uint64_t>(divisor.min) - 1;
    if (!wants_quotient) return b.CreateAnd(x, Int(x, mask));
    Value* shift = Int(x, std::countr_zero(static_cast<uint64_t>(divisor.min)));
    return dtype.IsUnsigned() ? b.CreateLShr(x, shift) : b.CreateAShr(x, shift);
  }
  Value* q = Quotient(b, x, d, dtype, divisor, dividend);
  Value* r = b.CreateSub(x, b.CreateMul(q, d));
  const bool same_sign = (dividend.min >= 0 && divisor.min >= 0) || dtype.IsUnsigned();
  if (!floor || same_sign) return wants_quotient ? q : r;
  // Where the remainder has not the divisor's sign the floor is one lower. Division by zero is not
  // adjusted.
  Value* signs_differ = b.CreateICmpSLT(b.CreateXor(r, d), Int(r, 0));
  Value* adjust = b.CreateAnd(b.CreateICmpNE(r, Int(r, 0)), signs_differ);
  if (divisor.min <= 0 && divisor.max >= 0) {
    adjust = b.CreateAnd(adjust, b.CreateICmpNE(d, Int(d, 0)));
  }
  if (wants_quotient) return b.CreateSub(q, b.CreateZExt(adjust, q->getType()));
  return b.CreateAdd(r, b.CreateSelect(adjust, d, Int(d, 0)));
}

Value* EmitMax(Builder& b, DType d, Value* x, Value* y) {
  if (d.IsBool()) return b.CreateOr(x, y);
  if (!d.IsFloat()) {
    return b.CreateBinaryIntrinsic(d.IsUnsigned() ? llvm::Intrinsic::umax : llvm::Intrinsic::smax,
                                   x, y);
  }
  llvm::FastMathFlags flags = b.getFastMathFlags();
  flags.setNoSignedZeros();  // else each maximum tests for zeros
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, y, flags);
}

Value* EmitComparison(Builder& b, Op op, DType d, Value* x, Value* y) {
  using Predicate = llvm::CmpInst::Predicate;
  if (d.IsFloat()) {
    return b.CreateFCmp(op == Op::kCmpLt   ? Predicate::FCMP_OLT
                        : op == Op::kCmpNe ? Predicate::FCMP_UNE
                                           : Predicate::FCMP_OEQ,
                        x, y);
  }
  const Predicate less = d.IsUnsigned() || d.IsBool() ? Predicate::ICMP_ULT : Predicate::ICMP_SLT;
  return b.CreateICmp(op == Op::kCmpLt   ? less
                      : op == Op::kCmpNe ? Predicate::ICMP_NE
                                         : Predicate::ICMP_EQ,
                      x, y);
}

llvm::Intrinsic::ID UnaryIntrinsic(Op op) {
  switch (op) {
    case Op::kExp2:
      return llvm::Intrinsic::exp2;
    case Op::kLog2:
      return llvm::Intrinsic::log2;
    case Op::kSin:
      return llvm::Intrinsic::sin;
    case Op::kSqrt:
      return llvm::Intrinsic::sqrt;
    default:
      return llvm::Intrinsic::trunc;
  }
}

}  // namespace

bool CanEmitAlu(const UOp& u) {
  if (u.op() == Op::kWhere) return true;
  const DType d = u.src(0).dtype();
  if (d.IsWeak() || d.IsVoid()) return false;
  if (d.IsFloat() && !Computes(d)) return false;
  switch (u.op()) {
    case Op::kExp2:
    case Op::kLog2:
    case Op::kSin:
    case Op::kSqrt:
    case Op::kReciprocal:
    case Op::kFdiv:
    case Op::kPow:
      return d.IsFloat();
    case Op::kNeg:
    case Op::kTrunc:
    case Op::kAdd:
    case Op::kMul:
    case Op::kSub:
    case Op::kMax:
    case Op::kMulAcc:
    case Op::kCmpLt:
    case Op::kCmpNe:
    case Op::kCmpEq:
      return true;
    case Op::kShl:
    case Op::kShr:
    case Op::kCdiv:
    case Op::kCmod:
    case Op::kFloorDiv:
    case Op::kFloorMod:
      return d.IsInt();
    case Op::kXor:
    case Op::kOr:
    case Op::kAnd:
      return d.IsInt() || d.IsBool();
    default:
      return false;
  }
}

bool CannotWrap(const UOp& u) {
  const DType d = u.dtype();
  if (!d.IsSigned() || d.bits() < 32 || u.src_count() != 2) return false;
  const Bounds& x = u.src(0).bounds();
  const Bounds& y = u.src(1).bounds();
  using Wide = __int128;
  Wide low, high;
  switch (u.op()) {
    case Op::kAdd:
      low = static_cast<Wide>(x.min) + y.min;
      high = static_cast<Wide>(x.max) + y.max;
      break;
    case Op::kSub:
      low = static_cast<Wide>(x.min) - y.max;
      high = static_cast<Wide>(x.max) - y.min;
      break;
    case Op::kMul: {
      const Wide corners[4] = {static_cast<Wide>(x.min) * y.min, static_cast<Wide>(x.min) * y.max,
                               static_cast<Wide>(x.max) * y.min, static_cast<Wide>(x.max) * y.max};
      low = *std::min_element(corners, corners + 4);
      high = *std::max_element(corners, corners + 4);
      break;
    }
    default:
      return false;
  }
  return low >= d.MinInt() && high <= d.MaxInt();
}

Value* EmitCombine(Builder& b, Op op, DType d, Value* x, Value* y) {
  if (op == Op::kMax) return EmitMax(b, d, x, y);
  if (d.IsBool()) return op == Op::kAdd ? b.CreateOr(x, y) : b.CreateAnd(x, y);
  if (d.IsFloat()) return op == Op::kAdd ? b.CreateFAdd(x, y) : b.CreateFMul(x, y);
  return op == Op::kAdd ? b.CreateAdd(x, y) : b.CreateMul(x, y);
}

Value* EmitAlu(Builder& b, const UOp& u, absl::Span<Value* const> src) {
  const DType d = u.src(u.op() == Op::kWhere ? 1 : 0).dtype();
  const bool is_float = d.IsFloat();
  Value* x = src[0];
  switch (u.op()) {
    case Op::kExp2:
    case Op::kLog2:
    case Op::kSin:
    case Op::kSqrt:
      return b.CreateUnaryIntrinsic(UnaryIntrinsic(u.op()), x);
    case Op::kTrunc:
      return is_float ? b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x) : x;
    case Op::kReciprocal:
      return b.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1.0), x);
    case Op::kFdiv:
      return b.CreateFDiv(x, src[1]);
    case Op::kPow:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::pow, x, src[1]);
    case Op::kNeg:
      if (d.IsBool()) return b.CreateNot(x);
      return is_float ? b.CreateFNeg(x) : b.CreateNeg(x);
    case Op::kAdd:
    case Op::kMul:
      if (CannotWrap(u)) {
        return u.op() == Op::kAdd ? b.CreateNSWAdd(x, src[1]) : b.CreateNSWMul(x, src[1]);
      }
      return EmitCombine(b, u.op(), d, x, src[1]);
    case Op::kSub:
      if (d.IsBool()) return b.CreateXor(x, src[1]);
      if (is_float) return b.CreateFSub(x, src[1]);
      return b.CreateSub(x, src[1], "", /*HasNUW=*/false, /*HasNSW=*/CannotWrap(u));
    case Op::kShl:
      return b.CreateShl(x, src[1]);
    case Op::kShr:
      return d.IsUnsigned() ? b.CreateLShr(x, src[1]) : b.CreateAShr(x, src[1]);
    case Op::kCdiv:
    case Op::kCmod:
    case Op::kFloorDiv:
    case Op::kFloorMod:
      return EmitDivision(b, u, x, src[1]);
    case Op::kMax:
      return EmitMax(b, d, x, src[1]);
    case Op::kCmpLt:
    case Op::kCmpNe:
    case Op::kCmpEq:
      return EmitComparison(b, u.op(), d, x, src[1]);
    case Op::kXor:
      return b.CreateXor(x, src[1]);
    case Op::kOr:
      return b.CreateOr(x, src[1]);
    case Op::kAnd:
      return b.CreateAnd(x, src[1]);
    case Op::kWhere:
      return b.CreateSelect(x, src[1], src[2]);
    case Op::kMulAcc:
      if (is_float) {
        return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, src[1], src[2]});
      }
      return EmitCombine(b, Op::kAdd, d, EmitCombine(b, Op::kMul, d, x, src[1]), src[2]);
    default:
      TG_FATAL() << "not an elementwise operation: " << u.op();
  }
}

}  // namespace tg::render
