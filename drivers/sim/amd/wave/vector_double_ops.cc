// Vector instructions on 64-bit floats.
//
// Sources: AMD RDNA3, RDNA4 and CDNA3 Instruction Set Architecture documents, chapters "VOP1
// instructions" and "VOP3 instructions". Approximations are computed in double precision, better
// than the documented accuracy.
#include <cmath>
#include <cstdint>

#include "drivers/sim/amd/wave/float_functions.h"
#include "drivers/sim/amd/wave/lanes.h"

namespace tg::amd::sim {
namespace {

// The first 1201 bits of 2 / pi, from the bit of weight 1/2 on.
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000};

// 53 bits of 2 / pi, the segment-th such group from where the argument's exponent begins to matter.
double TrigPreop(double x, uint32_t segment) {
  int exponent = Exponent(x);
  int shift = static_cast<int>(segment & 31) * 53;
  if (exponent > 1077) shift += exponent - 1077;
  uint64_t bits = 0;
  for (int i = 0; i < 53; ++i) {
    int at = shift + i;
    uint64_t bit = at < 1201 ? kTwoOverPi[at / 64] >> (63 - at % 64) & 1 : 0;
    bits = bits << 1 | bit;
  }
  int scale = -53 - shift;
  if (exponent >= 1968) scale += 128;
  return std::ldexp(static_cast<double>(bits), scale);
}

double MinMode(const Ctx& x, double a, double b) {
  if (x.wave.mode.ieee && (IsSignalling(a) || IsSignalling(b)))
    return Quiet(IsSignalling(a) ? a : b);
  return MinNum(a, b);
}
double MaxMode(const Ctx& x, double a, double b) {
  if (x.wave.mode.ieee && (IsSignalling(a) || IsSignalling(b)))
    return Quiet(IsSignalling(a) ? a : b);
  return MaxNum(a, b);
}

constexpr Semantics kOps[] = {
    Vector("v_add_f64", [](double a, double b) { return a + b; }),
    Vector("v_mul_f64", [](double a, double b) { return a * b; }),
    Vector("v_fma_f64", [](double a, double b, double c) { return std::fma(a, b, c); }),
    Vector("v_fmac_f64", [](double a, double b, double d) { return std::fma(a, b, d); }),
    Vector("v_min_f64", [](Ctx x, double a, double b) { return MinMode(x, a, b); }),
    Vector("v_max_f64", [](Ctx x, double a, double b) { return MaxMode(x, a, b); }),
    Vector("v_min_num_f64", [](double a, double b) { return MinNum(a, b); }),
    Vector("v_max_num_f64", [](double a, double b) { return MaxNum(a, b); }),
    Vector("v_minimum_f64", [](double a, double b) { return Minimum(a, b); }),
    Vector("v_maximum_f64", [](double a, double b) { return Maximum(a, b); }),
    Vector("v_ceil_f64", [](double a) { return std::ceil(a); }),
    Vector("v_floor_f64", [](double a) { return std::floor(a); }),
    Vector("v_trunc_f64", [](double a) { return std::trunc(a); }),
    Vector("v_rndne_f64", [](double a) { return RoundEven(a); }),
    Vector("v_fract_f64", [](double a) { return Fract(a, Double(0x3fefffffffffffff)); }),
    Vector("v_frexp_mant_f64", [](double a) { return FrexpMantissa(a); }),
    Vector("v_frexp_exp_i32_f64", [](double a) { return FrexpExponent(a); }),
    Vector("v_ldexp_f64", [](double a, int32_t b) { return Ldexp(a, b); }),
    Vector("v_rcp_f64", [](double a) { return 1 / a; }),
    Vector("v_rsq_f64", [](double a) { return Rsq(a); }),
    Vector("v_sqrt_f64", [](double a) { return std::sqrt(a); }),
    Vector("v_div_scale_f64",
           [](double a, double b, double c) {
             Scaled<double> r = DivScale(a, b, c);
             return WithBit<double>{r.value, r.scaled};
           }),
    Vector("v_div_fmas_f64",
           [](Ctx x, double a, double b, double c) {
             return DivFmas(a, b, c, x.wave.mask(code::kVccLo) >> x.lane & 1);
           }),
    Vector("v_div_fixup_f64", [](double a, double b, double c) { return DivFixup(a, b, c); }),
    Vector("v_trig_preop_f64", [](double a, uint32_t b) { return TrigPreop(a, b); }),
};

}  // namespace

absl::Span<const Semantics> VectorDoubleOps() { return kOps; }

}  // namespace tg::amd::sim
