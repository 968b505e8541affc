// Vector instructions on 16-bit floats, computed as 32-bit ones and rounded once to f16.
//
// Sums, products, quotients and square roots of f16 that are rounded to f32 and then to f16 are
// right, because f32 has more than twice the bits of f16 plus two; fused multiplication goes
// through FmaForHalf.
//
// Sources: AMD RDNA3, RDNA4 and CDNA3 Instruction Set Architecture documents, chapters "VOP1
// instructions", "VOP2 instructions" and "VOP3 instructions".
#include <cmath>
#include <cstdint>

#include "drivers/sim/amd/wave/float_functions.h"
#include "drivers/sim/amd/wave/lanes.h"
#include "drivers/sim/amd/wave/scalar.h"

namespace tg::amd::sim {
namespace {

// Multiplication and addition with a rounding between.
float MulAdd(float a, float b, float c) { return HalfToFloat(FloatToHalf(a * b)) + c; }

float Exp2(float x) { return static_cast<float>(std::exp2(static_cast<double>(x))); }
float Log2(float x) { return static_cast<float>(std::log2(static_cast<double>(x))); }
float RsqHalf(float x) { return Rsq(x); }

// Quotients of f16 need no scaling; special values as for f32.
float DivFixupHalf(float quotient, float denominator, float numerator) {
  bool negative = std::signbit(denominator) != std::signbit(numerator);
  if (IsNan(numerator)) return Quiet(numerator);
  if (IsNan(denominator)) return Quiet(denominator);
  bool inf_d = std::isinf(denominator), inf_n = std::isinf(numerator);
  if ((numerator == 0 && denominator == 0) || (inf_d && inf_n)) return Float(0xffc00000);
  float r = denominator == 0 || inf_n ? std::numeric_limits<float>::infinity()
            : inf_d || numerator == 0 ? 0.0f
                                      : std::fabs(quotient);
  return negative ? -r : r;
}

#define HALF1(name, expression) \
  Vector(name, [](Half x) {     \
    float a = x.f;              \
    return Half{(expression)};  \
  })
#define HALF2(name, expression)     \
  Vector(name, [](Half x, Half y) { \
    float a = x.f, b = y.f;         \
    return Half{(expression)};      \
  })
#define HALF3(name, expression)             \
  Vector(name, [](Half x, Half y, Half z) { \
    float a = x.f, b = y.f, c = z.f;        \
    return Half{(expression)};              \
  })
#define TRANSCENDENTAL(name, function)                           \
  Vector("v_" name, [](Half a) { return Half{function(a.f)}; }), \
      Scalar("v_s_" name, [](Half a) { return Half{function(a.f)}; })

constexpr Semantics kOps[] = {
    HALF2("v_add_f16", a + b),
    HALF2("v_sub_f16", a - b),
    HALF2("v_subrev_f16", b - a),
    HALF2("v_mul_f16", a* b),
    HALF3("v_fma_f16", FmaForHalf(a, b, c)),
    HALF3("v_fmac_f16", FmaForHalf(a, b, c)),
    HALF3("v_fmaak_f16", FmaForHalf(a, b, c)),
    HALF3("v_fmamk_f16", FmaForHalf(a, c, b)),
    HALF3("v_mad_f16", MulAdd(a, b, c)),
    HALF3("v_madak_f16", MulAdd(a, b, c)),
    HALF3("v_madmk_f16", MulAdd(a, c, b)),

    HALF2("v_min_f16", MinNum(a, b)),
    HALF2("v_max_f16", MaxNum(a, b)),
    HALF3("v_min3_f16", MinNum(MinNum(a, b), c)),
    HALF3("v_max3_f16", MaxNum(MaxNum(a, b), c)),
    HALF3("v_med3_f16", Med3(a, b, c)),
    HALF3("v_maxmin_f16", MinNum(MaxNum(a, b), c)),
    HALF3("v_minmax_f16", MaxNum(MinNum(a, b), c)),
    HALF2("v_minimum_f16", Minimum(a, b)),
    HALF2("v_maximum_f16", Maximum(a, b)),
    HALF3("v_minimum3_f16", Minimum(Minimum(a, b), c)),
    HALF3("v_maximum3_f16", Maximum(Maximum(a, b), c)),
    HALF3("v_maximumminimum_f16", Minimum(Maximum(a, b), c)),
    HALF3("v_minimummaximum_f16", Maximum(Minimum(a, b), c)),

    HALF1("v_ceil_f16", std::ceil(a)),
    HALF1("v_floor_f16", std::floor(a)),
    HALF1("v_trunc_f16", std::trunc(a)),
    HALF1("v_rndne_f16", RoundEven(a)),
    HALF1("v_fract_f16", Fract(a, HalfToFloat(0x3bff))),
    HALF1("v_frexp_mant_f16", FrexpMantissa(a)),
    Vector("v_frexp_exp_i16_f16", [](Half a) { return static_cast<int16_t>(FrexpExponent(a.f)); }),
    Vector("v_ldexp_f16",
           [](Half a, int16_t b) {  // Through double, so that only the last rounding rounds.
             return Half{DoubleToFloatOdd(Ldexp(static_cast<double>(a.f), b))};
           }),

    TRANSCENDENTAL("rcp_f16", 1.0f /),
    TRANSCENDENTAL("rsq_f16", RsqHalf),
    TRANSCENDENTAL("sqrt_f16", std::sqrt),
    TRANSCENDENTAL("exp_f16", Exp2),
    TRANSCENDENTAL("log_f16", Log2),
    HALF1("v_sin_f16", SinTurns(a)),
    HALF1("v_cos_f16", CosTurns(a)),
    HALF3("v_div_fixup_f16", DivFixupHalf(a, b, c)),
    Vector("v_pack_b32_f16",
           [](uint16_t a, uint16_t b) {
             return static_cast<uint32_t>(a) | static_cast<uint32_t>(b) << 16;
           }),
};

}  // namespace

absl::Span<const Semantics> VectorHalfOps() { return kOps; }

}  // namespace tg::amd::sim
