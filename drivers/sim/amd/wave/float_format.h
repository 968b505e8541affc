// Small floating-point formats: fp8, bf8, fp6, bf6, fp4 of both generations, bfloat16 and f16,
// exactly.
//
// Sources: OCP "8-bit Floating Point Specification (OFP8)" 1.0 and "Microscaling Formats (MX)" 1.0;
// AMD CDNA3 Instruction Set Architecture document (FNUZ formats), CDNA4 and RDNA4 documents (OCP
// formats).
#ifndef TG_DRIVERS_SIM_AMD_WAVE_FLOAT_FORMAT_H_
#define TG_DRIVERS_SIM_AMD_WAVE_FLOAT_FORMAT_H_

#include <cstdint>

#include "codegen/isa/amd/arch.h"

namespace tg::amd::sim {

// How a format spends its highest codes.
enum class Special : uint8_t {
  kIeee,  // All-ones exponents are infinities and NaNs.
  kFn,    // No infinity; only the code of all ones is NaN.
  kFnuz,  // No infinity, no -0: the code of -0 is the NaN.
  kNone,  // Neither: every code is a number.
};

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Special special;

  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  friend bool operator==(const FloatFormat&, const FloatFormat&) = default;
};

inline constexpr FloatFormat kE4M3Fn{4, 3, 7, Special::kFn};
inline constexpr FloatFormat kE5M2{5, 2, 15, Special::kIeee};
inline constexpr FloatFormat kE4M3Fnuz{4, 3, 8, Special::kFnuz};
inline constexpr FloatFormat kE5M2Fnuz{5, 2, 16, Special::kFnuz};
inline constexpr FloatFormat kE2M3{2, 3, 1, Special::kNone};  // fp6
inline constexpr FloatFormat kE3M2{3, 2, 3, Special::kNone};  // bf6
inline constexpr FloatFormat kE2M1{2, 1, 1, Special::kNone};  // fp4
inline constexpr FloatFormat kF16{5, 10, 15, Special::kIeee};
inline constexpr FloatFormat kBf16{8, 7, 127, Special::kIeee};

// What instructions call fp8 and bf8.
constexpr FloatFormat Fp8Of(Isa isa) { return isa == Isa::kGfx942 ? kE4M3Fnuz : kE4M3Fn; }
constexpr FloatFormat Bf8Of(Isa isa) { return isa == Isa::kGfx942 ? kE5M2Fnuz : kE5M2; }

// The value of a code, exactly. Bits above the format's are ignored. NaNs are quiet.
float Decode(FloatFormat format, uint32_t code);

enum class Rounding : uint8_t { kNearestEven, kUp, kDown, kToZero, kStochastic };

// The code of `x`. kStochastic adds the top bits of `random` below the last bit that is kept, then
// cuts. Without `saturate` numbers that are too large become infinity, or NaN where the format has
// none; with it, and always in formats without either, the largest number. NaN is NaN, or the
// largest number in formats without.
uint32_t Encode(FloatFormat format, float x, Rounding rounding = Rounding::kNearestEven,
                bool saturate = false, uint32_t random = 0);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_FLOAT_FORMAT_H_
