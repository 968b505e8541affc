#include "codegen/ir/fold.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tg::ir {
namespace {

// Round a float result of the type `d`; operations on float32 and narrower are computed in double
// and rounded once, which is correctly rounded for + - * / sqrt (double has more than 2p+2 bits).
UOp Float(DType d, double v) { return Const(d, v); }

bool IsUInt64(DType d) { return d.scalar() == ScalarType::kUInt64; }

int64_t FloorDivInt(int64_t a, int64_t b) {
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

UOp FoldInt(Op op, DType d, absl::Span<const UOp> src) {
  const DType in = src[0].dtype();
  int64_t v[3] = {};
  for (size_t i = 0; i < src.size(); ++i) {
    const int64_t* p = std::get_if<int64_t>(&src[i].arg());
    if (p == nullptr) return UOp();
    v[i] = *p;
  }
  const int64_t a = v[0], b = v[1];
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool u64 = IsUInt64(in);
  auto wrap = [d](uint64_t r) { return Const(d, static_cast<int64_t>(r)); };
  const int bits = in.IsWeak() ? 64 : in.bits();
  // Exact integers do not wrap: a result beyond int64 is not folded.
  const bool exact = in.IsWeak();
  int64_t ignored;
  switch (op) {
    case Op::kNeg:
      if (exact && __builtin_sub_overflow(int64_t{0}, a, &ignored)) return UOp();
      return in.IsBool() ? wrap(a == 0) : wrap(0 - ua);
    case Op::kTrunc:
      return src[0];
    case Op::kAdd:
      if (exact && __builtin_add_overflow(a, b, &ignored)) return UOp();
      return in.IsBool() ? wrap(ua | ub) : wrap(ua + ub);
    case Op::kSub:
      if (exact && __builtin_sub_overflow(a, b, &ignored)) return UOp();
      return wrap(ua - ub);
    case Op::kMul:
      if (exact && __builtin_mul_overflow(a, b, &ignored)) return UOp();
      return wrap(ua * ub);
    case Op::kMulAcc:
      if (exact && (__builtin_mul_overflow(a, b, &ignored) ||
                    __builtin_add_overflow(ignored, v[2], &ignored))) {
        return UOp();
      }
      return wrap(ua * ub + static_cast<uint64_t>(v[2]));
    case Op::kShl:
      if (b < 0 || b >= bits) return UOp();
      if (exact && (b > 62 || __builtin_mul_overflow(a, int64_t{1} << b, &ignored))) return UOp();
      return wrap(ua << b);
    case Op::kShr:
      if (b < 0 || b >= bits) return UOp();
      return u64 ? wrap(ua >> b) : wrap(static_cast<uint64_t>(a >> b));
    case Op::kCdiv:
    case Op::kFloorDiv:
      if (b == 0) return UOp();
      if (u64) return wrap(ua / ub);
      if (b == -1) return exact && ua == uint64_t{1} << 63 ? UOp() : wrap(0 - ua);
      return wrap(static_cast<uint64_t>(op == Op::kCdiv ? a / b : FloorDivInt(a, b)));
    case Op::kCmod:
    case Op::kFloorMod:
      if (b == 0) return UOp();
      if (u64) return wrap(ua % ub);
      if (b == -1) return wrap(0);
      if (op == Op::kCmod) return wrap(static_cast<uint64_t>(a % b));
      return wrap(ua - static_cast<uint64_t>(FloorDivInt(a, b)) * ub);
    case Op::kMax:
      return u64 ? wrap(std::max(ua, ub)) : wrap(static_cast<uint64_t>(std::max(a, b)));
    case Op::kCmpLt:
      return Const(d, u64 ? ua < ub : a < b);
    case Op::kCmpNe:
      return Const(d, a != b);
    case Op::kCmpEq:
      return Const(d, a == b);
    case Op::kXor:
      return wrap(ua ^ ub);
    case Op::kOr:
      return wrap(ua | ub);
    case Op::kAnd:
      return wrap(ua & ub);
    case Op::kThreefry:
      return wrap(Threefry2x32(ua, ub));
    default:
      return UOp();
  }
}

UOp FoldFloat(Op op, DType d, absl::Span<const UOp> src) {
  double v[3] = {};
  for (size_t i = 0; i < src.size(); ++i) {
    const ConstFloat* p = std::get_if<ConstFloat>(&src[i].arg());
    if (p == nullptr) return UOp();
    v[i] = p->value;
  }
  const double a = v[0], b = v[1];
  switch (op) {
    case Op::kExp2:
      return Float(d, std::exp2(a));
    case Op::kLog2:
      return Float(d, std::log2(a));
    case Op::kSin:
      return Float(d, std::sin(a));
    case Op::kSqrt:
      return Float(d, std::sqrt(a));
    case Op::kReciprocal:
      return Float(d, 1 / a);
    case Op::kNeg:
      return Float(d, -a);
    case Op::kTrunc:
      return Float(d, std::trunc(a));
    case Op::kAdd:
      return Float(d, a + b);
    case Op::kSub:
      return Float(d, a - b);
    case Op::kMul:
      return Float(d, a * b);
    case Op::kFdiv:
      return Float(d, a / b);
    case Op::kPow:
      return Float(d, std::pow(a, b));
    case Op::kMulAcc:
      return Float(d, std::fma(a, b, v[2]));
    case Op::kMax:
      if (std::isnan(a) || std::isnan(b)) return Float(d, NAN);
      return Float(d, std::max(a, b));
    case Op::kCmpLt:
      return Const(d, a < b);
    case Op::kCmpNe:
      return Const(d, a != b);
    case Op::kCmpEq:
      return Const(d, a == b);
    default:
      return UOp();
  }
}

UOp FoldCast(DType d, const UOp& x) {
  if (const ConstFloat* v = std::get_if<ConstFloat>(&x.arg())) return Const(d, v->value);
  const int64_t v = x.const_int();
  if (d.scalar() == ScalarType::kWeakInt && IsUInt64(x.dtype()) && v < 0) return UOp();
  if (d.scalar() == ScalarType::kFloat32) {
    // By way of double, a large integer would be rounded twice.
    return Const(
        d, static_cast<double>(IsUInt64(x.dtype()) ? static_cast<float>(static_cast<uint64_t>(v))
                                                   : static_cast<float>(v)));
  }
  return d.IsFloat() ? Const(d, IntToDouble(v, x.dtype())) : Const(d, v);
}

UOp FoldBitcast(DType d, const UOp& x) {
  if (d.IsWeak() || x.dtype().IsWeak() || d.bits() != x.dtype().bits()) return UOp();
  uint64_t bits;
  if (const ConstFloat* v = std::get_if<ConstFloat>(&x.arg())) {
    bits = EncodeFloat(v->value, x.dtype().Scalar());
  } else {
    bits = static_cast<uint64_t>(x.const_int());
  }
  return d.IsFloat() ? Const(d, DecodeFloat(bits, d.Scalar()))
                     : Const(d, static_cast<int64_t>(bits));
}

}  // namespace

UOp FoldAlu(Op op, DType dtype, absl::Span<const UOp> src) {
  if (!IsElementwise(op) || src.empty()) return UOp();
  for (const UOp& s : src) {
    if (!s.IsConst() || s.IsInvalid()) return UOp();
  }
  switch (op) {
    case Op::kCast:
      return FoldCast(dtype, src[0]);
    case Op::kBitcast:
      return FoldBitcast(dtype, src[0]);
    case Op::kWhere:
      return src[0].const_int() != 0 ? src[1] : src[2];
    default:
      return src[0].dtype().IsFloat() ? FoldFloat(op, dtype, src) : FoldInt(op, dtype, src);
  }
}

uint64_t Threefry2x32(uint64_t x, uint64_t key) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  const uint32_t ks[3] = {k1, k0 ^ k1 ^ 0x1BD11BDAu, k0};
  uint32_t a = static_cast<uint32_t>(x) + ks[2], b = static_cast<uint32_t>(x >> 32) + ks[0];
  for (int i = 0; i < 5; ++i) {
    for (int r : kRotations[i % 2]) {
      a += b;
      b = std::rotl(b, r) ^ a;
    }
    a += ks[i % 3];
    b += ks[(i + 1) % 3] + static_cast<uint32_t>(i) + 1;
  }
  return static_cast<uint64_t>(b) << 32 | a;
}

}  // namespace tg::ir
