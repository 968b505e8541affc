// Scalar floating point of RDNA 3.5 and RDNA 4.
//
// Sources: AMD RDNA4 Instruction Set Architecture document, chapters "SOP1 instructions", "SOP2
// instructions" and "SOPC instructions".
#include <cmath>
#include <cstdint>

#include "drivers/sim/amd/wave/scalar.h"

namespace tg::amd::sim {
namespace {

uint32_t Pack(uint32_t lo, uint32_t hi) { return (lo & 0xffff) | hi << 16; }

#define BOTH(name, expression)                                        \
  Scalar(name "_f32", [](float a, float b) { return (expression); }), \
      Scalar(name "_f16", [](Half x, Half y) {                        \
        float a = x.f, b = y.f;                                       \
        return Half{(expression)};                                    \
      })
#define ONE(name, expression)                                                                 \
  Scalar(name "_f32", [](float a) { return (expression); }), Scalar(name "_f16", [](Half x) { \
    float a = x.f;                                                                            \
    return Half{(expression)};                                                                \
  })
#define COMPARE(name, expression)                                     \
  Scalar(name "_f32", [](float a, float b) { return (expression); }), \
      Scalar(name "_f16", [](Half x, Half y) {                        \
        float a = x.f, b = y.f;                                       \
        return (expression);                                          \
      })

constexpr Semantics kOps[] = {
    BOTH("s_add", a + b),
    BOTH("s_sub", a - b),
    BOTH("s_mul", a* b),
    BOTH("s_min_num", MinNum(a, b)),
    BOTH("s_max_num", MaxNum(a, b)),
    BOTH("s_minimum", Minimum(a, b)),
    BOTH("s_maximum", Maximum(a, b)),
    Scalar("s_fmac_f32", [](float a, float b, float d) { return std::fma(a, b, d); }),
    Scalar("s_fmac_f16", [](Half a, Half b, Half d) { return Half{FmaForHalf(a.f, b.f, d.f)}; }),
    Scalar("s_fmaak_f32", [](float a, float b, float k) { return std::fma(a, b, k); }),
    Scalar("s_fmamk_f32", [](float a, float k, float b) { return std::fma(a, k, b); }),
    ONE("s_ceil", std::ceil(a)),
    ONE("s_floor", std::floor(a)),
    ONE("s_trunc", std::trunc(a)),
    ONE("s_rndne", RoundEven(a)),
    Scalar("s_cvt_f32_i32", [](int32_t a) { return static_cast<float>(a); }),
    Scalar("s_cvt_f32_u32", [](uint32_t a) { return static_cast<float>(a); }),
    Scalar("s_cvt_i32_f32", [](float a) { return ToInteger<int32_t>(a); }),
    Scalar("s_cvt_u32_f32", [](float a) { return ToInteger<uint32_t>(a); }),
    Scalar("s_cvt_f16_f32", [](float a) { return Half{a}; }),
    Scalar("s_cvt_f32_f16", [](Half a) { return a.f; }),
    Scalar("s_cvt_hi_f32_f16", [](uint32_t a) { return HalfToFloat(a >> 16); }),
    Scalar("s_cvt_pk_rtz_f16_f32",
           [](float a, float b) { return Pack(FloatToHalfToZero(a), FloatToHalfToZero(b)); }),
    COMPARE("s_cmp_lt", a < b),
    COMPARE("s_cmp_eq", a == b),
    COMPARE("s_cmp_le", a <= b),
    COMPARE("s_cmp_gt", a > b),
    COMPARE("s_cmp_lg", a<b || a> b),
    COMPARE("s_cmp_ge", a >= b),
    COMPARE("s_cmp_o", !IsNan(a) && !IsNan(b)),
    COMPARE("s_cmp_u", IsNan(a) || IsNan(b)),
    COMPARE("s_cmp_nge", !(a >= b)),
    COMPARE("s_cmp_nlg", !(a < b || a > b)),
    COMPARE("s_cmp_ngt", !(a > b)),
    COMPARE("s_cmp_nle", !(a <= b)),
    COMPARE("s_cmp_neq", a != b),
    COMPARE("s_cmp_nlt", !(a < b)),
};

}  // namespace

absl::Span<const Semantics> ScalarFloatOps() { return kOps; }

}  // namespace tg::amd::sim
