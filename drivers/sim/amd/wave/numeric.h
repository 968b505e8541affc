// Arithmetic of single values: half and bfloat16, roundings that hosts lack, minimum and maximum as
// AMD's manuals define them.
//
// Everything here computes in the host's current rounding mode unless it says otherwise; files that
// use it are compiled without contraction and with -frounding-math.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_NUMERIC_H_
#define TG_DRIVERS_SIM_AMD_WAVE_NUMERIC_H_

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tg::amd::sim {

inline uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t Bits(double x) { return std::bit_cast<uint64_t>(x); }
inline float Float(uint32_t x) { return std::bit_cast<float>(x); }
inline double Double(uint64_t x) { return std::bit_cast<double>(x); }

// f16 by hardware instructions: NaNs keep their payload, signalling ones become quiet.
inline float HalfToFloat(uint32_t h) { return _cvtsh_ss(static_cast<uint16_t>(h)); }
// Rounds as MXCSR says.
inline uint16_t FloatToHalf(float x) { return _cvtss_sh(x, 4); }
inline uint16_t FloatToHalfToNearest(float x) { return _cvtss_sh(x, 0); }
inline uint16_t FloatToHalfToZero(float x) { return _cvtss_sh(x, 3); }

inline float Bf16ToFloat(uint32_t h) { return Float(h << 16); }
inline uint16_t FloatToBf16(float x) {
  uint32_t u = Bits(x);
  if ((u & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(u >> 16 | 0x40);
  return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

// x + y rounded to odd: rounding it again to at most 51 bits gives what one rounding would.
inline double AddToOdd(double x, double y) {
  double s = x + y;
  double t = s - x;
  double e = (x - (s - t)) + (y - t);
  if (e != 0 && std::isfinite(s)) {
    uint64_t u = Bits(s);
    // Away from the truncated value only if the error points the other way.
    if (!(u & 1)) u += ((e > 0) == (s > 0)) ? 1 : -1;
    return Double(u);
  }
  return s;
}
// To odd, so that a later rounding to f16 is right.
inline float DoubleToFloatOdd(double x) {
  float f = static_cast<float>(x);
  if (static_cast<double>(f) == x || !std::isfinite(f) || x != x) return f;
  uint32_t u = Bits(f);
  if (!(u & 1)) u += ((std::fabs(x) > std::fabs(static_cast<double>(f)))) ? 1 : -1;
  return Float(u);
}
// a * b + c on f16 values, to be rounded to f16: the product is exact in double.
inline float FmaForHalf(float a, float b, float c) {
  return DoubleToFloatOdd(AddToOdd(static_cast<double>(a) * b, c));
}

template <class T>
bool IsNan(T x) {
  return x != x;
}
inline bool IsSignalling(float x) { return x != x && !(Bits(x) & 0x400000); }
inline bool IsSignalling(double x) { return x != x && !(Bits(x) >> 51 & 1); }
inline float Quiet(float x) { return Float(Bits(x) | 0x400000); }
inline double Quiet(double x) { return Double(Bits(x) | uint64_t{1} << 51); }

// minNum and maxNum of IEEE 754-2008, -0 below +0: the other operand when one is no number.
template <class T>
T MinNum(T a, T b) {
  if (IsNan(a)) return IsNan(b) ? Quiet(a) : b;
  if (IsNan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T MaxNum(T a, T b) {
  if (IsNan(a)) return IsNan(b) ? Quiet(a) : b;
  if (IsNan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
// minimum and maximum of IEEE 754-2019: NaN when one operand is.
template <class T>
T Minimum(T a, T b) {
  if (IsNan(a)) return Quiet(a);
  if (IsNan(b)) return Quiet(b);
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T Maximum(T a, T b) {
  if (IsNan(a)) return Quiet(a);
  if (IsNan(b)) return Quiet(b);
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
// The middle one of three; with a NaN among them, the least by MinNum.
template <class T>
T Med3(T a, T b, T c) {
  if (IsNan(a) || IsNan(b) || IsNan(c)) return MinNum(MinNum(a, b), c);
  T max = MaxNum(MaxNum(a, b), c);
  if (max == a) return MaxNum(b, c);
  if (max == b) return MaxNum(a, c);
  return MaxNum(a, b);
}

// To nearest even, whatever the host's mode is.
inline float RoundEven(float x) {
  return _mm_cvtss_f32(_mm_round_ss(_mm_set_ss(x), _mm_set_ss(x), 8));
}
inline double RoundEven(double x) {
  return _mm_cvtsd_f64(_mm_round_sd(_mm_set_sd(x), _mm_set_sd(x), 8));
}

// A number to an integer, toward zero; saturates, and NaN is 0 (the manuals' float-to-integer
// rules).
template <class I, class T>
I ToInteger(T x) {
  if (IsNan(x)) return 0;
  constexpr T kLimit = static_cast<T>(std::is_signed_v<I> ? uint64_t{1} << (sizeof(I) * 8 - 1)
                                                          : uint64_t{1} << (sizeof(I) * 8 - 1)) *
                       (std::is_signed_v<I> ? 1 : 2);
  if (x >= kLimit) return std::numeric_limits<I>::max();
  if (std::is_signed_v<I> ? x < -kLimit : x <= T{-1}) return std::numeric_limits<I>::min();
  return static_cast<I>(static_cast<int64_t>(x));
}

// NaN becomes 0.
template <class T>
T Clamp01(T x) {
  return x > T{0} ? (x < T{1} ? x : T{1}) : T{0};
}

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_NUMERIC_H_
