#include "codegen/render/llvm/convert.h"

#include <bit>
#include <cmath>

#include "base/check.h"
#include "codegen/render/small_float.h"
#include "llvm/IR/Intrinsics.h"

namespace tg::render {
namespace {

using ir::DType;
using ir::ScalarType;
using llvm::Type;
using llvm::Value;
using Builder = llvm::IRBuilder<>;

Type* WithLanes(Type* scalar, int lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

// `scalar` with the lanes of `like`.
Type* Like(Value* like, Type* scalar) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return WithLanes(scalar, vector == nullptr ? 1 : vector->getNumElements());
}

Value* Int(Value* like, uint64_t v) { return llvm::ConstantInt::get(like->getType(), v); }
Value* Fp(Value* like, double v) { return llvm::ConstantFP::get(like->getType(), v); }

Value* Abs(Builder& b, Value* v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); }

Type* ScalarValueType(llvm::LLVMContext& c, ScalarType s) {
  switch (s) {
    case ScalarType::kBool:
      return Type::getInt1Ty(c);
    case ScalarType::kFloat16:
      return Type::getHalfTy(c);
    case ScalarType::kFloat32:
      return Type::getFloatTy(c);
    case ScalarType::kFloat64:
      return Type::getDoubleTy(c);
    default:
      return Type::getIntNTy(c, DType(s).bits());
  }
}

// Float bits rounded to their upper half, ties to even. A NaN stays one: its quiet bit is set, for
// the rounding could carry its payload into the sign.
Value* Float32ToBFloat16(Builder& b, Value* v) {
  Value* bits = b.CreateBitCast(v, Like(v, b.getInt32Ty()));
  Value* odd = b.CreateAnd(b.CreateLShr(bits, Int(bits, 16)), Int(bits, 1));
  Value* rounded = b.CreateAdd(bits, b.CreateAdd(odd, Int(bits, 0x7FFF)));
  Value* nan = b.CreateOr(bits, Int(bits, 0x400000));
  Value* high = b.CreateLShr(b.CreateSelect(b.CreateFCmpUNO(v, v), nan, rounded), Int(bits, 16));
  return b.CreateTrunc(high, Like(v, b.getInt16Ty()));
}

Value* BFloat16ToFloat32(Builder& b, Value* v) {
  Value* wide = b.CreateZExt(v, Like(v, b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(wide, Int(wide, 16)), Like(v, b.getFloatTy()));
}

Value* Float32ToFp8(Builder& b, Value* v, const Fp8Layout& f) {
  Value* bits = b.CreateBitCast(v, Like(v, b.getInt32Ty()));
  Value* sign = b.CreateAnd(b.CreateLShr(bits, Int(bits, 24)), Int(bits, 0x80));
  Value* magnitude = b.CreateAnd(bits, Int(bits, 0x7FFFFFFF));
  // Finite values saturate. An infinity is itself, or NaN where there is none.
  Value* nan = f.has_infinity ? b.CreateICmpUGT(magnitude, Int(bits, 0x7F800000))
                              : b.CreateICmpUGE(magnitude, Int(bits, 0x7F800000));
  Value* a =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, magnitude, Int(bits, f.max_float_bits()));
  // Normal results: round the mantissa in place (a carry goes into the exponent) and rebias.
  Value* odd = b.CreateAnd(b.CreateLShr(a, Int(bits, f.shift())), Int(bits, 1));
  Value* rounded = b.CreateAdd(a, b.CreateAdd(odd, Int(bits, (1u << (f.shift() - 1)) - 1)));
  Value* normal = b.CreateSub(b.CreateLShr(rounded, Int(bits, f.shift())),
                              Int(bits, static_cast<uint64_t>(f.rebias()) << f.mantissa_bits));
  // Subnormal results: let the adder round.
  Value* magic = Int(bits, f.subnormal_magic_bits());
  Value* sum = b.CreateFAdd(b.CreateBitCast(a, v->getType()), b.CreateBitCast(magic, v->getType()));
  Value* subnormal = b.CreateSub(b.CreateBitCast(sum, bits->getType()), magic);
  Value* code =
      b.CreateSelect(b.CreateICmpULT(a, Int(bits, f.min_normal_float_bits())), subnormal, normal);
  if (f.has_infinity) {
    code = b.CreateSelect(b.CreateICmpEQ(magnitude, Int(bits, 0x7F800000)),
                          Int(bits, f.max_code + 1), code);
  }
  Value* coded = b.CreateOr(code, sign);
  if (f.has_negative_zero) {
    coded = b.CreateSelect(nan, b.CreateOr(sign, Int(bits, f.nan_code)), coded);
  } else {
    coded = b.CreateSelect(b.CreateICmpEQ(code, Int(bits, 0)), Int(bits, 0), coded);
    coded = b.CreateSelect(nan, Int(bits, f.nan_code), coded);
  }
  return b.CreateTrunc(coded, Like(v, b.getInt8Ty()));
}

Value* Fp8ToFloat32(Builder& b, Value* v, const Fp8Layout& f) {
  Type* float_type = Like(v, b.getFloatTy());
  Value* bits = b.CreateZExt(v, Like(v, b.getInt32Ty()));
  Value* code = b.CreateAnd(bits, Int(bits, 0x7F));
  Value* shifted = b.CreateShl(code, Int(bits, f.shift()));
  Value* value = b.CreateFMul(b.CreateBitCast(shifted, float_type),
                              llvm::ConstantFP::get(float_type, std::ldexp(1.0, f.rebias())));
  Value* magnitude = b.CreateBitCast(value, bits->getType());
  if (f.has_infinity) {
    // The code's exponent field is all ones: so is the float's.
    magnitude = b.CreateSelect(b.CreateICmpUGT(code, Int(bits, f.max_code)),
                               b.CreateOr(shifted, Int(bits, 0x7F800000)), magnitude);
  } else {
    Value* nan = b.CreateICmpEQ(f.has_negative_zero ? code : bits, Int(bits, f.nan_code));
    magnitude = b.CreateSelect(nan, Int(bits, 0x7FC00000), magnitude);
  }
  Value* sign = b.CreateShl(b.CreateAnd(bits, Int(bits, 0x80)), Int(bits, 24));
  return b.CreateBitCast(b.CreateOr(magnitude, sign), float_type);
}

// Double to float, rounded to odd: an inexact result gets an odd mantissa. Rounding that once more
// to a narrower type gives what rounding the double at once gives (Boldo and Melquiond, 2008).
Value* Float64ToOddFloat32(Builder& b, Value* v) {
  Value* nearest = b.CreateFPTrunc(v, Like(v, b.getFloatTy()));
  Value* back = b.CreateFPExt(nearest, v->getType());
  Value* bits = b.CreateBitCast(nearest, Like(v, b.getInt32Ty()));
  Value* above = b.CreateFCmpOGT(Abs(b, back), Abs(b, v));
  Value* down = b.CreateSelect(above, b.CreateSub(bits, Int(bits, 1)), bits);
  Value* odd = b.CreateOr(down, Int(bits, 1));
  Value* result = b.CreateSelect(b.CreateFCmpONE(back, v), odd, bits);
  return b.CreateBitCast(result, nearest->getType());
}

bool IsSmallFloat(DType d) { return d.IsFloat() && d.bits() < 32; }

Value* SmallFloatToFloat32(Builder& b, Value* v, DType from) {
  if (from.scalar() == ScalarType::kFloat16) return b.CreateFPExt(v, Like(v, b.getFloatTy()));
  if (from.scalar() == ScalarType::kBFloat16) return BFloat16ToFloat32(b, v);
  return Fp8ToFloat32(b, v, LayoutOf(from.scalar()));
}

Value* Float32ToSmallFloat(Builder& b, Value* v, DType to) {
  if (to.scalar() == ScalarType::kFloat16) return b.CreateFPTrunc(v, Like(v, b.getHalfTy()));
  if (to.scalar() == ScalarType::kBFloat16) return Float32ToBFloat16(b, v);
  return Float32ToFp8(b, v, LayoutOf(to.scalar()));
}

// Truncation to 32 bits or fewer of a float32 or float64. LLVM's own conversion is undefined beyond
// int32, so the value is reduced modulo 2^32 first, in floating point, where that is exact: it is
// what fmod does in one step for a power of two.
Value* FloatToInt32(Builder& b, Value* v) {
  const double k31 = std::ldexp(1.0, 31), k32 = std::ldexp(1.0, 32);
  Value* valid = b.CreateFCmpOLT(Abs(b, v), Fp(v, std::ldexp(1.0, 63)));
  Value* x = b.CreateSelect(valid, v, Fp(v, 0.0));
  x = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  Value* turns = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, b.CreateFMul(x, Fp(v, 1.0 / k32)));
  x = b.CreateFSub(x, b.CreateFMul(turns, Fp(v, k32)));
  x = b.CreateFSub(x, b.CreateSelect(b.CreateFCmpOGE(x, Fp(v, k31)), Fp(v, k32), Fp(v, 0.0)));
  x = b.CreateFAdd(x, b.CreateSelect(b.CreateFCmpOLT(x, Fp(v, -k31)), Fp(v, k32), Fp(v, 0.0)));
  return b.CreateFPToSI(x, Like(v, b.getInt32Ty()));
}

Value* FloatToInt64(Builder& b, Value* v, bool is_unsigned) {
  const double k63 = std::ldexp(1.0, 63);
  Type* result_type = Like(v, b.getInt64Ty());
  Value* magnitude = Abs(b, v);
  if (!is_unsigned) {
    Value* valid = b.CreateFCmpOLT(magnitude, Fp(v, k63));
    return b.CreateFPToSI(b.CreateSelect(valid, v, Fp(v, 0.0)), result_type);
  }
  // [2^63, 2^64) and its negatives: take 2^63 off the magnitude, and put it back as the top bit.
  Value* valid = b.CreateFCmpOLT(magnitude, Fp(v, 2 * k63));
  Value* x = b.CreateSelect(valid, v, Fp(v, 0.0));
  Value* big = b.CreateFCmpOGE(Abs(b, x), Fp(v, k63));
  Value* offset = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign,
                                          b.CreateSelect(big, Fp(v, k63), Fp(v, 0.0)), x);
  Value* low = b.CreateFPToSI(b.CreateFSub(x, offset), result_type);
  Value* top = b.CreateSelect(big, Int(low, uint64_t{1} << 63), Int(low, 0));
  return b.CreateXor(low, top);
}

Value* FloatToInt(Builder& b, Value* v, DType to) {
  if (to.bits() == 64) return FloatToInt64(b, v, to.IsUnsigned());
  Value* wide = FloatToInt32(b, v);
  return b.CreateTrunc(wide, Like(v, b.getIntNTy(to.bits())));
}

Value* IntToFloat(Builder& b, Value* v, DType from, DType to) {
  const bool is_unsigned = from.IsUnsigned() || from.IsBool();
  const auto convert = [&](Type* scalar) {
    Type* type = Like(v, scalar);
    return is_unsigned ? b.CreateUIToFP(v, type) : b.CreateSIToFP(v, type);
  };
  if (!IsSmallFloat(to)) return convert(ScalarValueType(b.getContext(), to.scalar()));
  // An integer of more than 24 bits rounds when it becomes a float32. Half and fp8 overflow long
  // before that matters; bfloat16 does not.
  if (to.scalar() == ScalarType::kBFloat16 && from.bits() >= 32) {
    return Float32ToBFloat16(b, Float64ToOddFloat32(b, convert(b.getDoubleTy())));
  }
  return Float32ToSmallFloat(b, convert(b.getFloatTy()), to);
}

}  // namespace

Type* ValueType(llvm::LLVMContext& context, DType d) {
  return WithLanes(ScalarValueType(context, d.scalar()), d.lanes());
}

Type* MemoryType(llvm::LLVMContext& context, DType d) {
  if (d.IsBool()) return WithLanes(Type::getInt8Ty(context), d.lanes());
  return ValueType(context, d);
}

llvm::Constant* IntConstant(llvm::LLVMContext& context, DType d, int64_t value) {
  return llvm::ConstantInt::get(
      ValueType(context, d),
      llvm::APInt(d.IsBool() ? 1 : d.bits(), static_cast<uint64_t>(value), /*isSigned=*/false,
                  /*implicitTrunc=*/true));
}

llvm::Constant* FloatConstant(llvm::LLVMContext& context, DType d, double value) {
  Type* type = ValueType(context, d);
  if (d.IsFp8() || d.scalar() == ScalarType::kBFloat16) {
    return llvm::ConstantInt::get(type, ir::EncodeFloat(value, d));
  }
  return llvm::ConstantFP::get(type, value);
}

Value* ToMemory(Builder& b, Value* v, DType d) {
  return d.IsBool() ? b.CreateZExt(v, MemoryType(b.getContext(), d)) : v;
}

Value* FromMemory(Builder& b, Value* v, DType d) {
  return d.IsBool() ? b.CreateICmpNE(v, Int(v, 0)) : v;
}

Value* EmitCast(Builder& b, Value* v, DType from, DType to) {
  TG_CHECK_EQ(from.lanes(), to.lanes());
  if (from == to) return v;
  // These sequences say exactly what they mean.
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  Type* type = ValueType(b.getContext(), to);
  if (!from.IsFloat()) {
    if (to.IsBool()) return b.CreateICmpNE(v, Int(v, 0));
    if (to.IsFloat()) return IntToFloat(b, v, from, to);
    if (from.IsBool() || from.IsUnsigned()) return b.CreateZExtOrTrunc(v, type);
    return b.CreateSExtOrTrunc(v, type);
  }
  if (IsSmallFloat(from)) {
    v = SmallFloatToFloat32(b, v, from);
    from = ir::kFloat32.Vec(from.lanes());
    if (from == to) return v;
  }
  if (to.IsBool()) return b.CreateFCmpUNE(v, Fp(v, 0.0));
  if (!to.IsFloat()) return FloatToInt(b, v, to);
  if (!IsSmallFloat(to)) return b.CreateFPCast(v, type);
  if (from.scalar() == ScalarType::kFloat64) v = Float64ToOddFloat32(b, v);
  return Float32ToSmallFloat(b, v, to);
}

Value* EmitBitcast(Builder& b, Value* v, DType from, DType to) {
  TG_CHECK_EQ(from.size(), to.size());
  Value* image = ToMemory(b, v, from);
  return FromMemory(b, b.CreateBitCast(image, MemoryType(b.getContext(), to)), to);
}

}  // namespace tg::render
