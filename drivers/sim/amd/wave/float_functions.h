// Functions of floats that vector instructions of several widths share.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_FLOAT_FUNCTIONS_H_
#define TG_DRIVERS_SIM_AMD_WAVE_FLOAT_FUNCTIONS_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "drivers/sim/amd/wave/numeric.h"

namespace tg::amd::sim {

template <class T>
struct Layout;
template <>
struct Layout<float> {
  using U = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr int kMaxExponent = 255;
};
template <>
struct Layout<double> {
  using U = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr int kMaxExponent = 2047;
};

// The exponent field.
template <class T>
int Exponent(T x) {
  return static_cast<int>(Bits(x) >> Layout<T>::kMantissa & Layout<T>::kMaxExponent);
}
template <class T>
bool IsDenormal(T x) {
  return Exponent(x) == 0 && (Bits(x) << 1) != 0;
}

// Below 1 always: the manual's x + -floor(x), with the largest number below 1 instead of 1.
template <class T>
T Fract(T x, T below_one) {
  T r = x - std::floor(x);
  return r > below_one ? below_one : r;
}

// x = mantissa * 2^exponent with the mantissa in [0.5, 1); exponent 0 and x itself for 0,
// infinities and NaN.
template <class T>
T FrexpMantissa(T x) {
  if (!std::isfinite(x)) return IsNan(x) ? Quiet(x) : x;
  if (x == 0) return std::copysign(T{0}, x);
  int e;
  return std::frexp(x, &e);
}
template <class T>
int32_t FrexpExponent(T x) {
  if (!std::isfinite(x) || x == 0) return 0;
  int e;
  std::frexp(x, &e);
  return e;
}

// Scaling by a power of two, rounded once. Huge exponents are cut to where the result does not
// change.
template <class T>
T Ldexp(T x, int32_t e) {
  if (IsNan(x)) return Quiet(x);
  if (x == 0) return std::copysign(T{0}, x);
  return std::ldexp(x, e < -5000 ? -5000 : e > 5000 ? 5000 : e);
}

// The functions of a turn: x is in turns, not radians. NaN for infinities.
template <class T>
T SinTurns(T x) {
  if (!std::isfinite(x)) return std::numeric_limits<T>::quiet_NaN();
  double r = static_cast<double>(x) - std::floor(static_cast<double>(x));
  // Exact where it is exact.
  if (r == 0 || r == 0.5) return std::copysign(T{0}, x);
  return static_cast<T>(std::sin(r * 6.283185307179586476925));
}
template <class T>
T CosTurns(T x) {
  if (!std::isfinite(x)) return std::numeric_limits<T>::quiet_NaN();
  double r = static_cast<double>(x) - std::floor(static_cast<double>(x));
  if (r == 0.25 || r == 0.75) return T{0};
  return static_cast<T>(std::cos(r * 6.283185307179586476925));
}

// 1 / sqrt(x). -infinity for -0; NaN below 0.
template <class T>
T Rsq(T x) {
  if (x == 0) return std::copysign(std::numeric_limits<T>::infinity(), x);
  return static_cast<T>(1 / std::sqrt(static_cast<double>(x)));
}

// Classes of numbers that v_cmp_class knows, a bit each: signalling NaN, quiet NaN, -infinity,
// -normal, -denormal, -0, +0, +denormal, +normal, +infinity. `exponent` all ones is infinity and
// NaN.
template <int kMantissa, int kExponent>
bool InClass(uint64_t bits, uint32_t mask) {
  uint64_t mantissa = bits & ((uint64_t{1} << kMantissa) - 1);
  uint32_t exponent = static_cast<uint32_t>(bits >> kMantissa) & ((1u << kExponent) - 1);
  bool negative = bits >> (kMantissa + kExponent) & 1;
  int c;
  if (exponent == (1u << kExponent) - 1) {
    c = mantissa != 0 ? (mantissa >> (kMantissa - 1) & 1 ? 1 : 0) : negative ? 2 : 9;
  } else if (exponent != 0) {
    c = negative ? 3 : 8;
  } else if (mantissa != 0) {
    c = negative ? 4 : 7;
  } else {
    c = negative ? 5 : 6;
  }
  return mask >> c & 1;
}

// Division by three instructions: scale, iterate, fix up.
//
// Limits of the manuals' pseudo-code: `kNear` exponents apart the quotient is near the largest
// number; a numerator with an exponent up to `kTiny` loses bits; scaling is by 2^kScale.
template <class T>
struct Division;
template <>
struct Division<float> {
  static constexpr int kNear = 96, kTiny = 23, kScale = 64, kUnderflow = -150;
};
template <>
struct Division<double> {
  static constexpr int kNear = 768, kTiny = 53, kScale = 128, kUnderflow = -1075;
};

// Whether x / y is denormal, whatever the host flushes.
template <class T>
bool HasDenormalQuotient(T x, T y) {
  if (!std::isfinite(x) || !std::isfinite(y) || Bits(x) << 1 == 0 || Bits(y) << 1 == 0)
    return false;
  int ex, ey;
  T q = std::frexp(std::fabs(x), &ex) / std::frexp(std::fabs(y), &ey);  // In (0.5, 2).
  int exponent = ex - ey - (q < 1 ? 1 : 0);
  constexpr int kLeast = std::numeric_limits<T>::min_exponent - 1;
  return exponent < kLeast && exponent >= kLeast - Layout<T>::kMantissa - 1;
}

template <class T>
struct Scaled {
  T value;
  bool scaled;
};

// `x` is the denominator or the numerator; the result is x with the scale that both need.
template <class T>
Scaled<T> DivScale(T x, T denominator, T numerator) {
  using D = Division<T>;
  Scaled<T> r{x, false};
  auto is = [](T a, T b) { return Bits(a) == Bits(b); };
  auto up = [&] { return std::ldexp(x, D::kScale); };
  if (numerator == 0 || denominator == 0) {
    r.value = std::numeric_limits<T>::quiet_NaN();
  } else if (Exponent(numerator) - Exponent(denominator) >= D::kNear) {
    r.scaled = true;
    if (is(x, denominator)) r.value = up();
  } else if (IsDenormal(denominator)) {
    r.value = up();
  } else if (HasDenormalQuotient(T{1}, denominator) &&
             HasDenormalQuotient(numerator, denominator)) {
    r.scaled = true;
    if (is(x, denominator)) r.value = up();
  } else if (HasDenormalQuotient(T{1}, denominator)) {
    r.value = std::ldexp(x, -D::kScale);
  } else if (HasDenormalQuotient(numerator, denominator)) {
    r.scaled = true;
    if (is(x, numerator)) r.value = up();
  } else if (Exponent(numerator) <= D::kTiny) {
    r.value = up();
  }
  return r;
}

// Takes the scale out again where `scaled`: up when the quotient was near the largest number.
template <class T>
T DivFmas(T a, T b, T c, bool scaled) {
  T r = std::fma(a, b, c);
  if (!scaled) return r;
  bool large = Exponent(c) > Layout<T>::kMaxExponent / 2;
  return std::ldexp(r, large ? Division<T>::kScale : -Division<T>::kScale);
}

// Special values; else the quotient with the right sign.
template <class T>
T DivFixup(T quotient, T denominator, T numerator) {
  bool negative = std::signbit(denominator) != std::signbit(numerator);
  auto sign = [&](T x) { return negative ? -x : x; };
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  if (IsNan(numerator)) return Quiet(numerator);
  if (IsNan(denominator)) return Quiet(denominator);
  bool inf_d = std::isinf(denominator), inf_n = std::isinf(numerator);
  if ((numerator == 0 && denominator == 0) || (inf_d && inf_n)) {
    return -std::numeric_limits<T>::quiet_NaN();
  }
  if (denominator == 0 || inf_n) return sign(kInfinity);
  if (inf_d || numerator == 0) return sign(T{0});
  if (Exponent(numerator) - Exponent(denominator) < Division<T>::kUnderflow) {
    return sign(std::numeric_limits<T>::denorm_min() / 2);
  }
  return sign(std::fabs(quotient));
}

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_FLOAT_FUNCTIONS_H_
