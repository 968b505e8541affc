#include "drivers/sim/amd/wave/float_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tg::amd::sim {
namespace {

uint32_t SignBit(FloatFormat f) { return 1u << (f.bits() - 1); }

// The code of the largest number.
uint32_t Largest(FloatFormat f) {
  uint32_t all = SignBit(f) - 1;
  switch (f.special) {
    case Special::kIeee:
      return all - (1u << f.mantissa_bits);
    case Special::kFn:
      return all - 1;
    case Special::kFnuz:
    case Special::kNone:
      break;
  }
  return all;
}

uint32_t NanCode(FloatFormat f, bool negative) {
  uint32_t sign = negative ? SignBit(f) : 0;
  switch (f.special) {
    case Special::kIeee:
      return sign | (Largest(f) + 1) | 1u << (f.mantissa_bits - 1);
    case Special::kFn:
      return sign | (SignBit(f) - 1);
    case Special::kFnuz:
      return SignBit(f);
    case Special::kNone:
      break;
  }
  return sign | Largest(f);
}

}  // namespace

float Decode(FloatFormat f, uint32_t code) {
  code &= SignBit(f) * 2 - 1;
  bool negative = code & SignBit(f);
  uint32_t magnitude = code & (SignBit(f) - 1);
  int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  if (f.special == Special::kFnuz && code == SignBit(f)) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (magnitude > Largest(f)) {
    bool infinite = f.special == Special::kIeee && mantissa == 0;
    float x =
        infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    return negative ? -x : x;
  }
  float x = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa_bits)
                          : std::ldexp(static_cast<float>(mantissa | 1u << f.mantissa_bits),
                                       exponent - f.bias - f.mantissa_bits);
  return negative ? -x : x;
}

uint32_t Encode(FloatFormat f, float x, Rounding rounding, bool saturate, uint32_t random) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  bool negative = bits >> 31;
  uint32_t sign = negative ? SignBit(f) : 0;
  if (x != x) return NanCode(f, negative);
  uint32_t overflow = saturate || f.special == Special::kNone ? sign | Largest(f)
                      : f.special == Special::kIeee           ? sign | (Largest(f) + 1)
                                                              : NanCode(f, negative);
  if (std::isinf(x)) return overflow;
  int field = static_cast<int>(bits >> 23 & 0xff);
  uint64_t significand = (bits & 0x7fffff) | (field != 0 ? 0x800000 : 0);
  int exponent = std::max(field, 1) - 127;  // Of the bit of weight 2^23.
  if (significand == 0) return f.special == Special::kFnuz ? 0 : sign;

  // Denormal inputs are normalized, so that `exponent` says where the first bit is.
  while (!(significand & 0x800000)) {
    significand <<= 1;
    --exponent;
  }
  int min_exponent = 1 - f.bias;
  int drop = 23 - f.mantissa_bits + std::max(0, min_exponent - exponent);
  drop = std::min(drop, 40);
  uint64_t rest = significand & ((uint64_t{1} << drop) - 1);
  uint64_t kept = significand >> drop;
  bool up = false;
  switch (rounding) {
    case Rounding::kNearestEven: {
      uint64_t half = uint64_t{1} << (drop - 1);
      up = rest > half || (rest == half && (kept & 1));
      break;
    }
    case Rounding::kUp:
      up = rest != 0 && !negative;
      break;
    case Rounding::kDown:
      up = rest != 0 && negative;
      break;
    case Rounding::kToZero:
      break;
    case Rounding::kStochastic: {
      uint64_t noise = drop <= 32 ? static_cast<uint64_t>(random) >> (32 - drop)
                                  : static_cast<uint64_t>(random) << (drop - 32);
      up = ((rest + noise) >> drop) != 0;
      break;
    }
  }
  kept += up;
  // As an integer code: a carry out of the mantissa moves the exponent by itself.
  uint64_t code = exponent >= min_exponent
                      ? (static_cast<uint64_t>(exponent + f.bias - 1) << f.mantissa_bits) + kept
                      : kept;
  if (code > Largest(f)) {
    bool to_infinity = rounding == Rounding::kNearestEven || rounding == Rounding::kStochastic ||
                       rounding == (negative ? Rounding::kDown : Rounding::kUp);
    return to_infinity ? overflow : sign | Largest(f);
  }
  if (code == 0 && f.special == Special::kFnuz) return 0;
  return sign | static_cast<uint32_t>(code);
}

}  // namespace tg::amd::sim
