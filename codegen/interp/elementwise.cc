// Elementwise operations, one handler per operation and type.
//
// Each rounds once to its type: + - * / and sqrt of float32 and narrower are computed in double,
// whose 53 bits are more than twice theirs plus two, so rounding again gives the correctly rounded
// result (Figueroa, "When is double rounding innocuous?", 1995).
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "codegen/interp/machine.h"
#include "codegen/ir/dtype.h"
#include "codegen/ir/fold.h"

namespace tg::interp {
namespace {

using ir::DType;
using ir::Op;
using ir::ScalarType;

// --- Rounding to a float type -----------------------------------------------------------------

struct Round64 {
  static double Do(double v, const Instruction&) { return v; }
};
struct Round32 {
  static double Do(double v, const Instruction&) {
    return static_cast<double>(static_cast<float>(v));
  }
};
struct RoundSmall {
  static double Do(double v, const Instruction& i) { return ir::RoundToFloat(v, DType(i.type)); }
};

// The value of x + err, where x = round(x + err), rounded to odd: a later rounding to at most 51
// bits then sees on which side of a midpoint the exact value lies.
double ToOdd(double x, double err) {
  if (err == 0 || !std::isfinite(x) || (std::bit_cast<uint64_t>(x) & 1) != 0) return x;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return std::nextafter(x, err > 0 ? kInf : -kInf);
}

// --- Floats
// ---------------------------------------------------------------------------------------

template <Op op>
double FloatUnary(double a) {
  if constexpr (op == Op::kExp2) return std::exp2(a);
  if constexpr (op == Op::kLog2) return std::log2(a);
  if constexpr (op == Op::kSin) return std::sin(a);
  if constexpr (op == Op::kSqrt) return std::sqrt(a);
  if constexpr (op == Op::kReciprocal) return 1.0 / a;
  if constexpr (op == Op::kNeg) return -a;
  if constexpr (op == Op::kTrunc) return std::trunc(a);
}

template <Op op>
double FloatBinary(double a, double b) {
  if constexpr (op == Op::kAdd) return a + b;
  if constexpr (op == Op::kSub) return a - b;
  if constexpr (op == Op::kMul) return a * b;
  if constexpr (op == Op::kFdiv) return a / b;
  if constexpr (op == Op::kPow) return std::pow(a, b);
  if constexpr (op == Op::kMax) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
    return a < b ? b : a;
  }
}

template <Op op, typename R>
const char* RunFloatUnary(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell* a = &m.cells[i.in[0]];
  for (uint32_t l = 0; l < i.lanes; ++l) out[l].f = R::Do(FloatUnary<op>(a[l].f), i);
  return nullptr;
}

template <Op op, typename R>
const char* RunFloatBinary(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell *a = &m.cells[i.in[0]], *b = &m.cells[i.in[1]];
  for (uint32_t l = 0; l < i.lanes; ++l) out[l].f = R::Do(FloatBinary<op>(a[l].f, b[l].f), i);
  return nullptr;
}

template <typename R>
const char* RunFloatMulAcc(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell *a = &m.cells[i.in[0]], *b = &m.cells[i.in[1]], *c = &m.cells[i.in[2]];
  for (uint32_t l = 0; l < i.lanes; ++l) {
    if constexpr (std::is_same_v<R, Round64>) {
      out[l].f = std::fma(a[l].f, b[l].f, c[l].f);
    } else if constexpr (std::is_same_v<R, Round32>) {
      out[l].f = static_cast<double>(std::fma(
          static_cast<float>(a[l].f), static_cast<float>(b[l].f), static_cast<float>(c[l].f)));
    } else {
      // The product of two small floats is exact in a double; the error of the sum is Knuth's.
      const double p = a[l].f * b[l].f, q = c[l].f, s = p + q, z = s - p;
      out[l].f = R::Do(ToOdd(s, (p - (s - z)) + (q - z)), i);
    }
  }
  return nullptr;
}

template <Op op>
const char* RunFloatCompare(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell *a = &m.cells[i.in[0]], *b = &m.cells[i.in[1]];
  for (uint32_t l = 0; l < i.lanes; ++l) {
    const double x = a[l].f, y = b[l].f;
    out[l].i = op == Op::kCmpLt ? x < y : op == Op::kCmpNe ? x != y : x == y;
  }
  return nullptr;
}

template <typename R>
Handler FindFloat(Op op) {
  switch (op) {
    case Op::kExp2:
      return RunFloatUnary<Op::kExp2, R>;
    case Op::kLog2:
      return RunFloatUnary<Op::kLog2, R>;
    case Op::kSin:
      return RunFloatUnary<Op::kSin, R>;
    case Op::kSqrt:
      return RunFloatUnary<Op::kSqrt, R>;
    case Op::kReciprocal:
      return RunFloatUnary<Op::kReciprocal, R>;
    case Op::kNeg:
      return RunFloatUnary<Op::kNeg, R>;
    case Op::kTrunc:
      return RunFloatUnary<Op::kTrunc, R>;
    case Op::kAdd:
      return RunFloatBinary<Op::kAdd, R>;
    case Op::kSub:
      return RunFloatBinary<Op::kSub, R>;
    case Op::kMul:
      return RunFloatBinary<Op::kMul, R>;
    case Op::kFdiv:
      return RunFloatBinary<Op::kFdiv, R>;
    case Op::kPow:
      return RunFloatBinary<Op::kPow, R>;
    case Op::kMax:
      return RunFloatBinary<Op::kMax, R>;
    case Op::kMulAcc:
      return RunFloatMulAcc<R>;
    default:
      return nullptr;
  }
}

// --- Integers
// -------------------------------------------------------------------------------------

constexpr const char* kDivisionByZero = "divides by zero";
constexpr const char* kShiftAmount = "shifts by a negative amount, or by as many bits as there are";
constexpr const char* kNegativePower = "raises an integer to a negative power";

template <typename T>
T PowInt(T base, uint64_t exponent) {
  uint64_t r = 1, b = static_cast<uint64_t>(base);
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) r *= b;
    b *= b;
  }
  return static_cast<T>(r);
}

// T: the C type of the values. Arithmetic is modulo 2^64, then wrapped to T.
template <Op op, typename T>
const char* IntBinary(T a, T b, T* r) {
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  if constexpr (op == Op::kAdd) *r = static_cast<T>(ua + ub);
  if constexpr (op == Op::kSub) *r = static_cast<T>(ua - ub);
  if constexpr (op == Op::kMul) *r = static_cast<T>(ua * ub);
  if constexpr (op == Op::kAnd) *r = static_cast<T>(ua & ub);
  if constexpr (op == Op::kOr) *r = static_cast<T>(ua | ub);
  if constexpr (op == Op::kXor) *r = static_cast<T>(ua ^ ub);
  if constexpr (op == Op::kMax) *r = a < b ? b : a;
  if constexpr (op == Op::kPow) {
    if (b < 0) return kNegativePower;
    *r = PowInt(a, ub);
  }
  if constexpr (op == Op::kThreefry) *r = static_cast<T>(ir::Threefry2x32(ua, ub));
  if constexpr (op == Op::kShl || op == Op::kShr) {
    if (b < 0 || ub >= 8 * sizeof(T)) return kShiftAmount;
    *r = op == Op::kShl ? static_cast<T>(ua << ub) : static_cast<T>(a >> b);
  }
  if constexpr (op == Op::kCdiv || op == Op::kFloorDiv || op == Op::kCmod || op == Op::kFloorMod) {
    constexpr bool kDivide = op == Op::kCdiv || op == Op::kFloorDiv;
    constexpr bool kFloor = op == Op::kFloorDiv || op == Op::kFloorMod;
    if (b == 0) return kDivisionByZero;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) {
        *r = kDivide ? static_cast<T>(0 - ua) : T{0};
        return nullptr;
      }
    }
    T q = static_cast<T>(a / b), rest = static_cast<T>(a % b);
    if (kFloor && rest != 0 && (a < 0) != (b < 0)) {
      q = static_cast<T>(q - 1);
      rest = static_cast<T>(rest + b);
    }
    *r = kDivide ? q : rest;
  }
  return nullptr;
}

template <Op op, typename T>
const char* RunIntBinary(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell *a = &m.cells[i.in[0]], *b = &m.cells[i.in[1]];
  for (uint32_t l = 0; l < i.lanes; ++l) {
    T r{};
    if (const char* e = IntBinary<op, T>(static_cast<T>(a[l].i), static_cast<T>(b[l].i), &r)) {
      return e;
    }
    out[l].i = static_cast<int64_t>(r);
  }
  return nullptr;
}

template <Op op, typename T>
const char* RunIntOther(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell* a = &m.cells[i.in[0]];
  for (uint32_t l = 0; l < i.lanes; ++l) {
    const uint64_t ua = static_cast<uint64_t>(a[l].i);
    if constexpr (op == Op::kNeg) out[l].i = static_cast<int64_t>(static_cast<T>(0 - ua));
    if constexpr (op == Op::kTrunc) out[l].i = a[l].i;
    if constexpr (op == Op::kMulAcc) {
      const uint64_t ub = static_cast<uint64_t>(m.cells[i.in[1] + l].i);
      const uint64_t uc = static_cast<uint64_t>(m.cells[i.in[2] + l].i);
      out[l].i = static_cast<int64_t>(static_cast<T>(ua * ub + uc));
    }
  }
  return nullptr;
}

template <Op op, typename T>
const char* RunIntCompare(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell *a = &m.cells[i.in[0]], *b = &m.cells[i.in[1]];
  for (uint32_t l = 0; l < i.lanes; ++l) {
    const T x = static_cast<T>(a[l].i), y = static_cast<T>(b[l].i);
    out[l].i = op == Op::kCmpLt ? x < y : op == Op::kCmpNe ? x != y : x == y;
  }
  return nullptr;
}

template <typename T>
Handler FindInt(Op op) {
  switch (op) {
    case Op::kNeg:
      return RunIntOther<Op::kNeg, T>;
    case Op::kTrunc:
      return RunIntOther<Op::kTrunc, T>;
    case Op::kMulAcc:
      return RunIntOther<Op::kMulAcc, T>;
    case Op::kAdd:
      return RunIntBinary<Op::kAdd, T>;
    case Op::kSub:
      return RunIntBinary<Op::kSub, T>;
    case Op::kMul:
      return RunIntBinary<Op::kMul, T>;
    case Op::kShl:
      return RunIntBinary<Op::kShl, T>;
    case Op::kShr:
      return RunIntBinary<Op::kShr, T>;
    case Op::kCdiv:
      return RunIntBinary<Op::kCdiv, T>;
    case Op::kCmod:
      return RunIntBinary<Op::kCmod, T>;
    case Op::kFloorDiv:
      return RunIntBinary<Op::kFloorDiv, T>;
    case Op::kFloorMod:
      return RunIntBinary<Op::kFloorMod, T>;
    case Op::kMax:
      return RunIntBinary<Op::kMax, T>;
    case Op::kPow:
      return RunIntBinary<Op::kPow, T>;
    case Op::kXor:
      return RunIntBinary<Op::kXor, T>;
    case Op::kOr:
      return RunIntBinary<Op::kOr, T>;
    case Op::kAnd:
      return RunIntBinary<Op::kAnd, T>;
    case Op::kThreefry:
      if constexpr (std::is_same_v<T, uint64_t>) return RunIntBinary<Op::kThreefry, T>;
      return nullptr;
    default:
      return nullptr;
  }
}

template <Op op>
Handler FindIntCompare(ScalarType t) {
  return t == ScalarType::kUInt64 ? RunIntCompare<op, uint64_t> : RunIntCompare<op, int64_t>;
}

// --- Bool: + is or, * is and, - is not ----------------------------------------------------------

template <Op op>
const char* RunBool(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell* a = &m.cells[i.in[0]];
  for (uint32_t l = 0; l < i.lanes; ++l) {
    if constexpr (op == Op::kNeg) {
      out[l].i = a[l].i == 0;
    } else {
      const int64_t x = a[l].i, y = m.cells[i.in[1] + l].i;
      out[l].i = op == Op::kAnd ? x & y : op == Op::kOr ? x | y : x ^ y;
    }
  }
  return nullptr;
}

Handler FindBool(Op op) {
  switch (op) {
    case Op::kNeg:
      return RunBool<Op::kNeg>;
    case Op::kAdd:
    case Op::kMax:
    case Op::kOr:
      return RunBool<Op::kOr>;
    case Op::kMul:
    case Op::kAnd:
      return RunBool<Op::kAnd>;
    case Op::kXor:
      return RunBool<Op::kXor>;
    default:
      return nullptr;
  }
}

// --- Any type
// -------------------------------------------------------------------------------------

const char* RunWhere(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell *c = &m.cells[i.in[0]], *a = &m.cells[i.in[1]], *b = &m.cells[i.in[2]];
  for (uint32_t l = 0; l < i.lanes; ++l) out[l] = c[l].i != 0 ? a[l] : b[l];
  return nullptr;
}

// Correctly rounded: integers beyond 2^53 are first rounded to odd.
double IntToFloat(int64_t v, DType from, DType to) {
  if (to.scalar() == ScalarType::kFloat64) return ir::IntToDouble(v, from);
  const bool negative = v < 0 && from.scalar() != ScalarType::kUInt64;
  const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  const int extra = static_cast<int>(std::bit_width(magnitude)) - 53;
  double d;
  if (extra <= 0) {
    d = static_cast<double>(magnitude);
  } else {
    uint64_t top = magnitude >> extra;
    if ((magnitude & ((uint64_t{1} << extra) - 1)) != 0) top |= 1;
    d = std::ldexp(static_cast<double>(top), extra);
  }
  return ir::RoundToFloat(negative ? -d : d, to);
}

const char* RunCast(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell* a = &m.cells[i.in[0]];
  const DType from(i.in_type), to(i.type);
  for (uint32_t l = 0; l < i.lanes; ++l) {
    if (from.IsFloat()) {
      if (to.IsFloat()) {
        out[l].f = ir::RoundToFloat(a[l].f, to);
      } else {
        out[l].i = ir::FloatToInt(a[l].f, to);
      }
    } else if (to.IsFloat()) {
      out[l].f = IntToFloat(a[l].i, from, to);
    } else {
      out[l].i = ir::WrapToInt(a[l].i, to);
    }
  }
  return nullptr;
}

const char* RunBitcast(const Instruction& i, Machine& m) {
  Cell* out = &m.cells[i.out];
  const Cell* a = &m.cells[i.in[0]];
  const DType from(i.in_type), to(i.type);
  // Lane by lane through the little-endian bytes of the whole vector.
  std::vector<uint8_t> bytes(static_cast<size_t>(from.bytes()) * i.in_lanes + 8, 0);
  for (uint32_t l = 0; l < i.in_lanes; ++l) {
    const uint64_t v =
        from.IsFloat() ? ir::EncodeFloat(a[l].f, from) : static_cast<uint64_t>(a[l].i);
    std::memcpy(&bytes[static_cast<size_t>(l) * from.bytes()], &v, from.bytes());
  }
  for (uint32_t l = 0; l < i.lanes; ++l) {
    uint64_t v = 0;
    std::memcpy(&v, &bytes[static_cast<size_t>(l) * to.bytes()], to.bytes());
    if (to.IsFloat()) {
      out[l].f = ir::DecodeFloat(v, to);
    } else {
      out[l].i = ir::WrapToInt(static_cast<int64_t>(v), to);
    }
  }
  return nullptr;
}

// --- Reductions over lanes, in their order
// --------------------------------------------------------

template <Op op, typename R>
const char* ReduceFloat(const Instruction& i, Machine& m) {
  const Cell* a = &m.cells[i.in[0]];
  double r = a[0].f;
  for (uint32_t l = 1; l < i.in_lanes; ++l) r = R::Do(FloatBinary<op>(r, a[l].f), i);
  m.cells[i.out].f = r;
  return nullptr;
}

template <Op op, typename T>
const char* ReduceInt(const Instruction& i, Machine& m) {
  const Cell* a = &m.cells[i.in[0]];
  T r = static_cast<T>(a[0].i);
  for (uint32_t l = 1; l < i.in_lanes; ++l) {
    if (const char* e = IntBinary<op, T>(r, static_cast<T>(a[l].i), &r)) return e;
  }
  m.cells[i.out].i = static_cast<int64_t>(r);
  return nullptr;
}

template <template <Op, typename> class Pick, typename T>
Handler PickReduce(Op op) {
  switch (op) {
    case Op::kAdd:
      return Pick<Op::kAdd, T>::Get();
    case Op::kMul:
      return Pick<Op::kMul, T>::Get();
    case Op::kMax:
      return Pick<Op::kMax, T>::Get();
    default:
      return nullptr;
  }
}
template <Op op, typename T>
struct PickFloat {
  static Handler Get() { return ReduceFloat<op, T>; }
};
template <Op op, typename T>
struct PickInt {
  static Handler Get() { return ReduceInt<op, T>; }
};

}  // namespace

Handler FindElementwise(Op op, DType result, DType source) {
  switch (op) {
    case Op::kCast:
      return RunCast;
    case Op::kBitcast:
      return RunBitcast;
    case Op::kWhere:
      return RunWhere;
    case Op::kCmpLt:
      return source.IsFloat() ? RunFloatCompare<Op::kCmpLt>
                              : FindIntCompare<Op::kCmpLt>(source.scalar());
    case Op::kCmpNe:
      return source.IsFloat() ? RunFloatCompare<Op::kCmpNe>
                              : FindIntCompare<Op::kCmpNe>(source.scalar());
    case Op::kCmpEq:
      return source.IsFloat() ? RunFloatCompare<Op::kCmpEq>
                              : FindIntCompare<Op::kCmpEq>(source.scalar());
    default:
      break;
  }
  switch (result.scalar()) {
    case ScalarType::kBool:
      return FindBool(op);
    case ScalarType::kInt8:
      return FindInt<int8_t>(op);
    case ScalarType::kUInt8:
      return FindInt<uint8_t>(op);
    case ScalarType::kInt16:
      return FindInt<int16_t>(op);
    case ScalarType::kUInt16:
      return FindInt<uint16_t>(op);
    case ScalarType::kInt32:
      return FindInt<int32_t>(op);
    case ScalarType::kUInt32:
      return FindInt<uint32_t>(op);
    case ScalarType::kInt64:
      return FindInt<int64_t>(op);
    case ScalarType::kUInt64:
      return FindInt<uint64_t>(op);
    case ScalarType::kFloat32:
      return FindFloat<Round32>(op);
    case ScalarType::kFloat64:
      return FindFloat<Round64>(op);
    case ScalarType::kFp8E4M3:
    case ScalarType::kFp8E5M2:
    case ScalarType::kFp8E4M3Fnuz:
    case ScalarType::kFp8E5M2Fnuz:
    case ScalarType::kFloat16:
    case ScalarType::kBFloat16:
      return FindFloat<RoundSmall>(op);
    case ScalarType::kVoid:
    case ScalarType::kWeakInt:
    case ScalarType::kWeakFloat:
      return nullptr;
  }
  return nullptr;
}

Handler FindReduce(Op op, DType type) {
  switch (type.scalar()) {
    case ScalarType::kBool:
      return PickReduce<PickInt, bool>(op);
    case ScalarType::kInt8:
      return PickReduce<PickInt, int8_t>(op);
    case ScalarType::kUInt8:
      return PickReduce<PickInt, uint8_t>(op);
    case ScalarType::kInt16:
      return PickReduce<PickInt, int16_t>(op);
    case ScalarType::kUInt16:
      return PickReduce<PickInt, uint16_t>(op);
    case ScalarType::kInt32:
      return PickReduce<PickInt, int32_t>(op);
    case ScalarType::kUInt32:
      return PickReduce<PickInt, uint32_t>(op);
    case ScalarType::kInt64:
      return PickReduce<PickInt, int64_t>(op);
    case ScalarType::kUInt64:
      return PickReduce<PickInt, uint64_t>(op);
    case ScalarType::kFloat32:
      return PickReduce<PickFloat, Round32>(op);
    case ScalarType::kFloat64:
      return PickReduce<PickFloat, Round64>(op);
    default:
      return type.IsFloat() && !type.IsWeak() ? PickReduce<PickFloat, RoundSmall>(op) : nullptr;
  }
}

}  // namespace tg::interp
