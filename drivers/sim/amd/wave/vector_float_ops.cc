// Vector instructions on 32-bit floats.
//
// Sources: AMD RDNA3, RDNA4, CDNA3 and CDNA4 Instruction Set Architecture documents, chapters "VOP1
// instructions", "VOP2 instructions" and "VOP3 instructions". Approximations (reciprocal, roots,
// logarithms, sine) are documented to one unit in the last place; here they are rounded from double
// precision, with the documented special values.
#include <cmath>
#include <cstdint>

#include "drivers/sim/amd/wave/float_functions.h"
#include "drivers/sim/amd/wave/lanes.h"
#include "drivers/sim/amd/wave/scalar.h"

namespace tg::amd::sim {
namespace {

// 0 times anything is 0, infinity and NaN included.
float MulZero(float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }
float FmaZero(float a, float b, float c) { return a == 0 || b == 0 ? 0.0f + c : std::fma(a, b, c); }

float Mullit(float a, float b, float c) {
  constexpr float kMax = 3.402823466e38f;
  if (b == -kMax || (std::isinf(b) && b < 0) || IsNan(b) || !(c > 0)) return -kMax;
  return MulZero(a, b);
}

// In IEEE mode a signalling NaN wins, quieted.
float MinMode(const Ctx& x, float a, float b) {
  if (x.wave.mode.ieee && (IsSignalling(a) || IsSignalling(b)))
    return Quiet(IsSignalling(a) ? a : b);
  return MinNum(a, b);
}
float MaxMode(const Ctx& x, float a, float b) {
  if (x.wave.mode.ieee && (IsSignalling(a) || IsSignalling(b)))
    return Quiet(IsSignalling(a) ? a : b);
  return MaxNum(a, b);
}

// Faces of a cube: z before y before x where magnitudes are equal.
int Major(float x, float y, float z) {
  float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  return az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
}
float CubeId(float x, float y, float z) {
  switch (Major(x, y, z)) {
    case 2:
      return z < 0 ? 5.0f : 4.0f;
    case 1:
      return y < 0 ? 3.0f : 2.0f;
    default:
      return x < 0 ? 1.0f : 0.0f;
  }
}
float CubeS(float x, float y, float z) {
  switch (Major(x, y, z)) {
    case 2:
      return z < 0 ? -x : x;
    case 1:
      return x;
    default:
      return x < 0 ? z : -z;
  }
}
float CubeT(float x, float y, float z) { return Major(x, y, z) != 1 ? -y : y < 0 ? -z : z; }
float CubeMajor(float x, float y, float z) {
  int m = Major(x, y, z);
  return 2 * (m == 2 ? z : m == 1 ? y : x);
}

float Exp2(float x) { return static_cast<float>(std::exp2(static_cast<double>(x))); }
float Log2(float x) { return static_cast<float>(std::log2(static_cast<double>(x))); }
float Rcp(float x) { return 1 / x; }

#define MIN_MAX_MODE(name, expression)                             \
  Vector(name, [](Ctx x, float a, float b, float c) {              \
    auto min = [&](float p, float q) { return MinMode(x, p, q); }; \
    auto max = [&](float p, float q) { return MaxMode(x, p, q); }; \
    (void)min, (void)max;                                          \
    return (expression);                                           \
  })

constexpr Semantics kOps[] = {
    Vector("v_add_f32", [](float a, float b) { return a + b; }),
    Vector("v_sub_f32", [](float a, float b) { return a - b; }),
    Vector("v_subrev_f32", [](float a, float b) { return b - a; }),
    Vector("v_mul_f32", [](float a, float b) { return a * b; }),
    Vector("v_mul_dx9_zero_f32", [](float a, float b) { return MulZero(a, b); }),
    Vector("v_fma_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
    Vector("v_fmac_f32", [](float a, float b, float d) { return std::fma(a, b, d); }),
    Vector("v_fmaak_f32", [](float a, float b, float k) { return std::fma(a, b, k); }),
    Vector("v_fmamk_f32", [](float a, float k, float b) { return std::fma(a, k, b); }),
    Vector("v_fma_dx9_zero_f32", [](float a, float b, float c) { return FmaZero(a, b, c); }),
    Vector("v_fmac_dx9_zero_f32", [](float a, float b, float d) { return FmaZero(a, b, d); }),
    Vector("v_mullit_f32", [](float a, float b, float c) { return Mullit(a, b, c); }),

    Vector("v_min_f32", [](Ctx x, float a, float b) { return MinMode(x, a, b); }),
    Vector("v_max_f32", [](Ctx x, float a, float b) { return MaxMode(x, a, b); }),
    Vector("v_min_num_f32", [](float a, float b) { return MinNum(a, b); }),
    Vector("v_max_num_f32", [](float a, float b) { return MaxNum(a, b); }),
    Vector("v_minimum_f32", [](float a, float b) { return Minimum(a, b); }),
    Vector("v_maximum_f32", [](float a, float b) { return Maximum(a, b); }),
    MIN_MAX_MODE("v_min3_f32", min(min(a, b), c)),
    MIN_MAX_MODE("v_max3_f32", max(max(a, b), c)),
    MIN_MAX_MODE("v_maxmin_f32", min(max(a, b), c)),
    MIN_MAX_MODE("v_minmax_f32", max(min(a, b), c)),
    Vector("v_med3_f32", [](float a, float b, float c) { return Med3(a, b, c); }),
    Vector("v_min3_num_f32", [](float a, float b, float c) { return MinNum(MinNum(a, b), c); }),
    Vector("v_max3_num_f32", [](float a, float b, float c) { return MaxNum(MaxNum(a, b), c); }),
    Vector("v_maxmin_num_f32", [](float a, float b, float c) { return MinNum(MaxNum(a, b), c); }),
    Vector("v_minmax_num_f32", [](float a, float b, float c) { return MaxNum(MinNum(a, b), c); }),
    Vector("v_med3_num_f32", [](float a, float b, float c) { return Med3(a, b, c); }),
    Vector("v_minimum3_f32", [](float a, float b, float c) { return Minimum(Minimum(a, b), c); }),
    Vector("v_maximum3_f32", [](float a, float b, float c) { return Maximum(Maximum(a, b), c); }),
    Vector("v_maximumminimum_f32",
           [](float a, float b, float c) { return Minimum(Maximum(a, b), c); }),
    Vector("v_minimummaximum_f32",
           [](float a, float b, float c) { return Maximum(Minimum(a, b), c); }),

    Vector("v_ceil_f32", [](float a) { return std::ceil(a); }),
    Vector("v_floor_f32", [](float a) { return std::floor(a); }),
    Vector("v_trunc_f32", [](float a) { return std::trunc(a); }),
    Vector("v_rndne_f32", [](float a) { return RoundEven(a); }),
    Vector("v_fract_f32", [](float a) { return Fract(a, Float(0x3f7fffff)); }),
    Vector("v_frexp_mant_f32", [](float a) { return FrexpMantissa(a); }),
    Vector("v_frexp_exp_i32_f32", [](float a) { return FrexpExponent(a); }),
    Vector("v_ldexp_f32", [](float a, int32_t b) { return Ldexp(a, b); }),

    Vector("v_rcp_f32", [](float a) { return Rcp(a); }),
    Vector("v_rcp_iflag_f32", [](float a) { return Rcp(a); }),
    Vector("v_rsq_f32", [](float a) { return Rsq(a); }),
    Vector("v_sqrt_f32", [](float a) { return std::sqrt(a); }),
    Vector("v_exp_f32", [](float a) { return Exp2(a); }),
    Vector("v_log_f32", [](float a) { return Log2(a); }),
    Vector("v_sin_f32", [](float a) { return SinTurns(a); }),
    Vector("v_cos_f32", [](float a) { return CosTurns(a); }),
    Scalar("v_s_rcp_f32", [](float a) { return Rcp(a); }),
    Scalar("v_s_rsq_f32", [](float a) { return Rsq(a); }),
    Scalar("v_s_sqrt_f32", [](float a) { return std::sqrt(a); }),
    Scalar("v_s_exp_f32", [](float a) { return Exp2(a); }),
    Scalar("v_s_log_f32", [](float a) { return Log2(a); }),

    Vector("v_div_scale_f32",
           [](float a, float b, float c) {
             Scaled<float> r = DivScale(a, b, c);
             return WithBit<float>{r.value, r.scaled};
           }),
    Vector("v_div_fmas_f32",
           [](Ctx x, float a, float b, float c) {
             return DivFmas(a, b, c, x.wave.mask(code::kVccLo) >> x.lane & 1);
           }),
    Vector("v_div_fixup_f32", [](float a, float b, float c) { return DivFixup(a, b, c); }),

    Vector("v_cubeid_f32", [](float a, float b, float c) { return CubeId(a, b, c); }),
    Vector("v_cubesc_f32", [](float a, float b, float c) { return CubeS(a, b, c); }),
    Vector("v_cubetc_f32", [](float a, float b, float c) { return CubeT(a, b, c); }),
    Vector("v_cubema_f32", [](float a, float b, float c) { return CubeMajor(a, b, c); }),
};

}  // namespace

absl::Span<const Semantics> VectorFloatOps() { return kOps; }

}  // namespace tg::amd::sim
