#include "codegen/ir/dtype.h"

#include <bit>
#include <cmath>
#include <limits>
#include <ostream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tg::ir {
namespace {

enum class Kind : uint8_t { kVoid, kBool, kSigned, kUnsigned, kFloat };

struct ScalarInfo {
  const char* name;
  const char* alias;  // nullptr: none
  Kind kind;
  int bits;      // 0 for void and the weak types
  int priority;  // with `bits`, orders the candidates of a join
};

// Indexed by ScalarType.
constexpr ScalarInfo kScalars[kScalarTypeCount] = {
    {"void", nullptr, Kind::kVoid, 0, -1},         {"weakint", "index", Kind::kSigned, 0, 0},
    {"bool", nullptr, Kind::kBool, 1, 0},          {"int8", "char", Kind::kSigned, 8, 1},
    {"uint8", "uchar", Kind::kUnsigned, 8, 2},     {"int16", "short", Kind::kSigned, 16, 3},
    {"uint16", "ushort", Kind::kUnsigned, 16, 4},  {"int32", "int", Kind::kSigned, 32, 5},
    {"uint32", "uint", Kind::kUnsigned, 32, 6},    {"int64", "long", Kind::kSigned, 64, 7},
    {"uint64", "ulong", Kind::kUnsigned, 64, 8},   {"weakfloat", nullptr, Kind::kFloat, 0, 9},
    {"fp8e4m3", nullptr, Kind::kFloat, 8, 10},     {"fp8e5m2", nullptr, Kind::kFloat, 8, 11},
    {"fp8e4m3fnuz", nullptr, Kind::kFloat, 8, 10}, {"fp8e5m2fnuz", nullptr, Kind::kFloat, 8, 11},
    {"float16", "half", Kind::kFloat, 16, 12},     {"bfloat16", nullptr, Kind::kFloat, 16, 13},
    {"float32", "float", Kind::kFloat, 32, 14},    {"float64", "double", Kind::kFloat, 64, 15},
};

const ScalarInfo& Info(ScalarType s) { return kScalars[static_cast<int>(s)]; }
const ScalarInfo& Info(DType d) { return Info(d.scalar()); }

constexpr uint32_t Bit(ScalarType s) { return 1u << static_cast<int>(s); }

// The types directly above each one in the promotion lattice.
constexpr uint32_t kFp8Bits = Bit(ScalarType::kFp8E4M3) | Bit(ScalarType::kFp8E5M2) |
                              Bit(ScalarType::kFp8E4M3Fnuz) | Bit(ScalarType::kFp8E5M2Fnuz);
constexpr uint32_t Above(ScalarType s) {
  switch (s) {
    case ScalarType::kVoid:
      return Bit(ScalarType::kBool);
    case ScalarType::kBool:
      return Bit(ScalarType::kWeakInt);
    case ScalarType::kWeakInt:
      return Bit(ScalarType::kInt8) | Bit(ScalarType::kUInt8);
    case ScalarType::kInt8:
      return Bit(ScalarType::kInt16);
    case ScalarType::kInt16:
      return Bit(ScalarType::kInt32);
    case ScalarType::kInt32:
      return Bit(ScalarType::kInt64);
    case ScalarType::kInt64:
      return Bit(ScalarType::kWeakFloat);
    case ScalarType::kUInt8:
      return Bit(ScalarType::kInt16) | Bit(ScalarType::kUInt16);
    case ScalarType::kUInt16:
      return Bit(ScalarType::kInt32) | Bit(ScalarType::kUInt32);
    case ScalarType::kUInt32:
      return Bit(ScalarType::kInt64) | Bit(ScalarType::kUInt64);
    case ScalarType::kUInt64:
      return Bit(ScalarType::kWeakFloat);
    case ScalarType::kWeakFloat:
      return kFp8Bits;
    case ScalarType::kFp8E4M3:
    case ScalarType::kFp8E5M2:
    case ScalarType::kFp8E4M3Fnuz:
    case ScalarType::kFp8E5M2Fnuz:
      return Bit(ScalarType::kFloat16) | Bit(ScalarType::kBFloat16);
    case ScalarType::kFloat16:
    case ScalarType::kBFloat16:
      return Bit(ScalarType::kFloat32);
    case ScalarType::kFloat32:
      return Bit(ScalarType::kFloat64);
    case ScalarType::kFloat64:
      return 0;
  }
  return 0;
}

struct UpperSets {
  uint32_t set[kScalarTypeCount];  // the type itself and all above it
};
constexpr UpperSets MakeUpperSets() {
  UpperSets r{};
  for (int i = 0; i < kScalarTypeCount; ++i) r.set[i] = 1u << i;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < kScalarTypeCount; ++i) {
      uint32_t s = r.set[i];
      for (int j = 0; j < kScalarTypeCount; ++j) {
        if ((s >> j) & 1) s |= Above(static_cast<ScalarType>(j));
      }
      changed |= s != r.set[i];
      r.set[i] = s;
    }
  }
  return r;
}
constexpr UpperSets kUpper = MakeUpperSets();

// A binary floating-point format narrower than float32. Values are
// (-1)^sign * 2^(exponent - bias) * 1.mantissa, subnormals where the exponent field is 0.
struct SmallFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  uint64_t max_code;  // largest finite magnitude
  bool has_inf;       // the code after max_code
  bool fnuz;          // one zero, one NaN (the code of -0)
  bool saturates;     // finite values beyond the largest become the largest
  uint64_t nan_code;

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  uint64_t sign_bit() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
};

constexpr SmallFormat kE4M3{4, 3, 7, 0x7E, false, false, true, 0x7F};
constexpr SmallFormat kE5M2{5, 2, 15, 0x7B, true, false, true, 0x7F};
constexpr SmallFormat kE4M3Fnuz{4, 3, 8, 0x7F, false, true, true, 0x80};
constexpr SmallFormat kE5M2Fnuz{5, 2, 16, 0x7F, false, true, true, 0x80};
constexpr SmallFormat kHalf{5, 10, 15, 0x7BFF, true, false, false, 0x7E00};
constexpr SmallFormat kBrain{8, 7, 127, 0x7F7F, true, false, false, 0x7FC0};

const SmallFormat* FindFormat(ScalarType s) {
  switch (s) {
    case ScalarType::kFp8E4M3:
      return &kE4M3;
    case ScalarType::kFp8E5M2:
      return &kE5M2;
    case ScalarType::kFp8E4M3Fnuz:
      return &kE4M3Fnuz;
    case ScalarType::kFp8E5M2Fnuz:
      return &kE5M2Fnuz;
    case ScalarType::kFloat16:
      return &kHalf;
    case ScalarType::kBFloat16:
      return &kBrain;
    default:
      return nullptr;
  }
}

double PowerOfTwo(int e) { return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52); }

double MaxFinite(const SmallFormat& f) {
  int exponent = static_cast<int>(f.max_code >> f.mantissa_bits) - f.bias;
  uint64_t mantissa = f.max_code & ((uint64_t{1} << f.mantissa_bits) - 1);
  return PowerOfTwo(exponent) *
         (1.0 + static_cast<double>(mantissa) * PowerOfTwo(-f.mantissa_bits));
}

double RoundSmall(double v, const SmallFormat& f) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (std::isnan(v)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(v)) return f.has_inf ? v : std::numeric_limits<double>::quiet_NaN();
  double a = std::fabs(v);
  int min_exponent = 1 - f.bias;
  double r;
  if (a < PowerOfTwo(min_exponent)) {
    // Subnormal: adding 1.5 * 2^(52 + q) leaves a multiple of the quantum 2^q, rounded to even.
    double magic = 1.5 * PowerOfTwo(52 + min_exponent - f.mantissa_bits);
    r = (a + magic) - magic;
  } else {
    uint64_t u = std::bit_cast<uint64_t>(a);
    int drop = 52 - f.mantissa_bits;
    u += ((uint64_t{1} << (drop - 1)) - 1) + ((u >> drop) & 1);
    u &= ~((uint64_t{1} << drop) - 1);
    r = std::bit_cast<double>(u);
  }
  double max = MaxFinite(f);
  if (r > max) r = f.saturates ? max : kInf;
  if (f.fnuz && r == 0) return 0.0;
  return std::signbit(v) ? -r : r;
}

uint64_t EncodeSmall(double v, const SmallFormat& f) {
  double r = RoundSmall(v, f);
  if (std::isnan(r)) {
    // The sign of a NaN is kept where the format has one; infinities that the format lacks too.
    return f.fnuz ? f.nan_code : f.nan_code | (std::signbit(v) ? f.sign_bit() : 0);
  }
  uint64_t sign = std::signbit(r) ? f.sign_bit() : 0;
  if (std::isinf(r)) return sign | (f.max_code + 1);
  double a = std::fabs(r);
  if (a < PowerOfTwo(1 - f.bias)) {
    return sign | static_cast<uint64_t>(a * PowerOfTwo(f.bias - 1 + f.mantissa_bits));
  }
  uint64_t u = std::bit_cast<uint64_t>(a);
  uint64_t exponent = (u >> 52) - 1023 + f.bias;
  uint64_t mantissa = (u >> (52 - f.mantissa_bits)) & ((uint64_t{1} << f.mantissa_bits) - 1);
  return sign | (exponent << f.mantissa_bits) | mantissa;
}

double DecodeSmall(uint64_t bits, const SmallFormat& f) {
  bits &= (f.sign_bit() << 1) - 1;
  uint64_t magnitude = bits & (f.sign_bit() - 1);
  bool negative = (bits & f.sign_bit()) != 0;
  if (f.fnuz ? bits == f.nan_code : magnitude > f.max_code + (f.has_inf ? 1 : 0)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  double a;
  if (magnitude > f.max_code) {
    a = std::numeric_limits<double>::infinity();
  } else {
    int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
    double mantissa = static_cast<double>(magnitude & ((uint64_t{1} << f.mantissa_bits) - 1)) *
                      PowerOfTwo(-f.mantissa_bits);
    a = exponent == 0 ? mantissa * PowerOfTwo(1 - f.bias)
                      : (1.0 + mantissa) * PowerOfTwo(exponent - f.bias);
  }
  return negative ? -a : a;
}

// Integer bits that the type holds besides the sign.
int MagnitudeBits(DType d) { return d.bits() - (d.IsSigned() ? 1 : 0); }

// What a float kind can hold: significant bits, the exponent of its least subnormal, that of its
// greatest value, and whether it has -0.
struct FloatRange {
  int significant;
  int min_exponent;
  int max_exponent;
  bool negative_zero;
  bool infinity;
};
FloatRange RangeOf(DType d) {
  if (const SmallFormat* f = FindFormat(d.scalar())) {
    return {f->mantissa_bits + 1, 1 - f->bias - f->mantissa_bits,
            static_cast<int>(f->max_code >> f->mantissa_bits) - f->bias, !f->fnuz, f->has_inf};
  }
  if (d.scalar() == ScalarType::kFloat32) return {24, -149, 127, true, true};
  return {53, -1074, 1023, true, true};
}

}  // namespace

int DType::bits() const { return kScalars[static_cast<int>(scalar_)].bits; }

bool DType::IsInt() const {
  Kind k = Info(scalar_).kind;
  return k == Kind::kSigned || k == Kind::kUnsigned;
}
bool DType::IsUnsigned() const { return Info(scalar_).kind == Kind::kUnsigned; }
bool DType::IsFloat() const { return Info(scalar_).kind == Kind::kFloat; }
bool DType::IsFp8() const { return IsFloat() && bits() == 8; }

int64_t DType::MinInt() const {
  if (IsBool() || IsUnsigned()) return 0;
  if (scalar_ == ScalarType::kWeakInt || bits() == 64) return std::numeric_limits<int64_t>::min();
  return -(int64_t{1} << (bits() - 1));
}
int64_t DType::MaxInt() const {
  if (IsBool()) return 1;
  if (scalar_ == ScalarType::kWeakInt || bits() == 64) return std::numeric_limits<int64_t>::max();
  return (int64_t{1} << MagnitudeBits(*this)) - 1;
}

std::string DType::ToString() const {
  if (lanes_ == 1) return Info(scalar_).name;
  return absl::StrCat(Info(scalar_).name, "x", lanes_);
}

std::optional<DType> DType::Parse(absl::string_view name) {
  int lanes = 1;
  size_t x = name.find_last_of('x');
  if (x != absl::string_view::npos) {
    absl::string_view digits = name.substr(x + 1);
    bool plain = !digits.empty() && digits.size() <= 5 && digits[0] != '0' &&
                 digits.find_first_not_of("0123456789") == absl::string_view::npos;
    if (!plain || !absl::SimpleAtoi(digits, &lanes) || lanes > 65535) return std::nullopt;
    name = name.substr(0, x);
  }
  for (int i = 0; i < kScalarTypeCount; ++i) {
    const ScalarInfo& info = kScalars[i];
    if (name == info.name || (info.alias != nullptr && name == info.alias)) {
      return DType(static_cast<ScalarType>(i), lanes);
    }
  }
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& os, const DType& d) { return os << d.ToString(); }

DType LeastUpperDType(absl::Span<const DType> types) {
  uint32_t candidates = ~0u;
  for (DType d : types) candidates &= kUpper.set[static_cast<int>(d.scalar())];
  DType best = kFloat64;
  for (int i = 0; i < kScalarTypeCount; ++i) {
    if (((candidates >> i) & 1) == 0) continue;
    const ScalarInfo& a = kScalars[i];
    const ScalarInfo& b = Info(best);
    // A weak integer is above bool though both have priority 0.
    int a_bits = i == static_cast<int>(ScalarType::kWeakInt) ? 800 : a.bits;
    int b_bits = best == kWeakInt ? 800 : b.bits;
    if (a.priority < b.priority || (a.priority == b.priority && a_bits < b_bits)) {
      best = DType(static_cast<ScalarType>(i));
    }
  }
  return best;
}

DType LeastUpperFloat(DType d, DType default_float) {
  return d.IsFloat() ? d.Scalar() : LeastUpperDType({d, default_float});
}

bool CanLosslessCast(DType from, DType to) {
  if (from == to) return true;
  if (from.lanes() != to.lanes() || from.IsVoid() || to.IsVoid()) return false;
  from = from.Scalar();
  to = to.Scalar();
  if (from.IsBool()) return true;
  if (from == kWeakInt || to.IsBool()) return false;
  if (to == kWeakInt) return from.IsInt() && from != kUInt64;
  if (from.IsInt() && to.IsInt()) {
    return MagnitudeBits(from) <= MagnitudeBits(to) && (from.IsUnsigned() || to.IsSigned());
  }
  if (!to.IsFloat()) return false;
  FloatRange t = RangeOf(to);
  if (from.IsInt()) {
    // -2^n of a signed type is a power of two: it needs the exponent only.
    int n = MagnitudeBits(from);
    return n <= t.significant && (from.IsSigned() ? n : n - 1) <= t.max_exponent;
  }
  FloatRange f = RangeOf(from);
  return f.significant <= t.significant && f.min_exponent >= t.min_exponent &&
         f.max_exponent <= t.max_exponent && (t.negative_zero || !f.negative_zero) &&
         (t.infinity || !f.infinity);
}

DType SumAccDType(DType d, DType sum_dtype) {
  if (d.IsUnsigned()) return LeastUpperDType({d, kUInt32});
  if (d.IsInt() || d.IsBool()) return LeastUpperDType({d, kInt32});
  return LeastUpperDType({d, sum_dtype});
}

std::optional<FloatInfo> Finfo(DType d) {
  if (!d.IsFloat() || d.IsWeak()) return std::nullopt;
  if (const SmallFormat* f = FindFormat(d.scalar())) {
    return FloatInfo{f->exponent_bits, f->mantissa_bits};
  }
  return d.scalar() == ScalarType::kFloat32 ? FloatInfo{8, 23} : FloatInfo{11, 52};
}

double RoundToFloat(double v, DType d) {
  if (d.scalar() == ScalarType::kFloat32) return static_cast<double>(static_cast<float>(v));
  const SmallFormat* f = FindFormat(d.scalar());
  return f == nullptr ? v : RoundSmall(v, *f);
}

int64_t WrapToInt(int64_t v, DType d) {
  switch (d.scalar()) {
    case ScalarType::kBool:
      return v != 0;
    case ScalarType::kInt8:
      return static_cast<int8_t>(v);
    case ScalarType::kUInt8:
      return static_cast<uint8_t>(v);
    case ScalarType::kInt16:
      return static_cast<int16_t>(v);
    case ScalarType::kUInt16:
      return static_cast<uint16_t>(v);
    case ScalarType::kInt32:
      return static_cast<int32_t>(v);
    case ScalarType::kUInt32:
      return static_cast<uint32_t>(v);
    default:
      return v;
  }
}

int64_t FloatToInt(double v, DType d) {
  if (d.IsBool()) return v != 0;
  if (std::isnan(v)) return 0;
  bool wide = d.scalar() == ScalarType::kUInt64;
  if (std::fabs(v) >= (wide ? 0x1p64 : 0x1p63)) return 0;
  if (wide && std::fabs(v) >= 0x1p63) {
    uint64_t magnitude = static_cast<uint64_t>(std::fabs(v));
    return static_cast<int64_t>(v < 0 ? uint64_t{0} - magnitude : magnitude);
  }
  return WrapToInt(static_cast<int64_t>(v), d);
}

double IntToDouble(int64_t v, DType from) {
  return from.scalar() == ScalarType::kUInt64 ? static_cast<double>(static_cast<uint64_t>(v))
                                              : static_cast<double>(v);
}

uint64_t EncodeFloat(double v, DType d) {
  if (d.scalar() == ScalarType::kFloat32) return std::bit_cast<uint32_t>(static_cast<float>(v));
  const SmallFormat* f = FindFormat(d.scalar());
  return f == nullptr ? std::bit_cast<uint64_t>(v) : EncodeSmall(v, *f);
}

double DecodeFloat(uint64_t bits, DType d) {
  if (d.scalar() == ScalarType::kFloat32) {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  const SmallFormat* f = FindFormat(d.scalar());
  return f == nullptr ? std::bit_cast<double>(bits) : DecodeSmall(bits, *f);
}

}  // namespace tg::ir
