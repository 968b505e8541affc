#include "codegen/lower/decompose_exp.h"

#include <cmath>
#include <limits>

#include "codegen/lower/polynomial.h"

namespace tg::lower {

using ir::Alu;
using ir::Bitcast;
using ir::Cast;
using ir::CmpEq;
using ir::CmpNe;
using ir::Const;
using ir::DType;
using ir::Op;
using ir::UOp;
using ir::Where;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// (2^f - 1)/f for |f| <= 1/2. Relative errors of 2^f: 1e-10 and 1.1e-19.
constexpr double kExp32[] = {0.69314718055994530942,    0.24022650922288758071,
                             0.055504108839096183929,   0.0096180566785246380754,
                             0.0013333502386162770741,  0.00015461444698569129083,
                             0.000015297323760701074108};
constexpr double kExp64[] = {
    0.69314718055994530925,     0.24022650695910071233,   0.055504108664821627039,
    0.0096181291076284794928,   0.0013333558146406470697, 0.00015403530393370733411,
    0.000015252733841556772589, 1.321548680870556279e-6,  1.0178057087733941105e-7,
    7.0548973041554992774e-9,   4.455817908336064493e-10, 2.5729324177362304214e-11};

// R with 2*atanh(s) = s*(2 + z*R(z)), z = s^2, for s up to (sqrt2-1)/(sqrt2+1). Relative errors
// of the sum: 1.5e-11 and 2e-22.
constexpr double kLog32[] = {0.66666666554497091551, 0.40000121839806126714, 0.28550820815960663296,
                             0.23330467216303836299};
constexpr double kLog64[] = {
    0.66666666666666666668, 0.39999999999999992501, 0.28571428571435359104,
    0.22222222219858735141, 0.18181818593656763045, 0.15384575132330097304,
    0.13335638669839822195, 0.11688123642863110896, 0.11881997202961458257};

// 2^n for the integers n of normal numbers.
UOp PowerOfTwo(const UOp& n, DType d) {
  const FloatLayout f(d);
  return Bitcast(Alu(Op::kShl, {n + Const(n.dtype(), f.bias), Const(n.dtype(), f.mantissa)}), d);
}

}  // namespace

// 2^x = 2^n * 2^f with n the integer next to x and |f| <= 1/2. Adding 1.5*2^mantissa rounds x to an
// integer, which then stands in the low bits of the sum. 2^n is applied in two factors: so the
// result may be denormal (the first product is exact, the second rounds once) or overflow.
// Arguments are clamped to where results are 0 and infinity; a NaN passes the clamps and the
// polynomial.
UOp Exp2Polynomial(const UOp& x) {
  const DType d = x.dtype();
  if (!IsFloat32Or64(d)) return Cast(Exp2Polynomial(Cast(x, ir::kFloat32.Vec(d.lanes()))), d);
  const FloatLayout f(d);
  const UOp low = Const(d, f.is64 ? -1077.0 : -152.0), high = Const(d, f.is64 ? 1025.0 : 129.0);
  const UOp v = Where(x < low, low, Where(high < x, high, x));
  const UOp magic = Const(d, std::ldexp(1.5, f.mantissa));
  const UOp shifted = v + magic;
  const UOp whole = shifted + Const(d, -std::ldexp(1.5, f.mantissa));
  const UOp fraction = v + whole * Const(d, -1.0);
  const UOp n = Bitcast(shifted, f.sbits) +
                Const(f.sbits, f.is64 ? -int64_t{0x4338000000000000} : -int64_t{0x4B400000});
  const UOp half = Alu(Op::kShr, {n, Const(f.sbits, 1)});
  const UOp rest = n + half * Const(f.sbits, -1);
  const UOp q = f.is64 ? Polynomial(fraction, kExp64) : Polynomial(fraction, kExp32);
  const UOp p = MulAcc(fraction, q, Const(d, 1.0));
  return p * PowerOfTwo(half, d) * PowerOfTwo(rest, d);
}

// x = 2^e * m with m in [sqrt(1/2), sqrt(2)). With f = m - 1 (exact) and s = f/(2 + f),
//   ln(m) = 2*atanh(s) = 2s + s*P(s^2) = f - s*(f - P),   since 2s = f - s*f,
// where the subtracted term is about f^2/2, so its rounding is small beside f.
UOp Log2Polynomial(const UOp& x) {
  const DType d = x.dtype();
  if (!IsFloat32Or64(d)) return Cast(Log2Polynomial(Cast(x, ir::kFloat32.Vec(d.lanes()))), d);
  const FloatLayout layout(d);
  const DType n = layout.sbits;
  const UOp zero = Const(d, 0.0), one = Const(d, 1.0);
  const UOp is_denormal = x < Const(d, layout.is64 ? 0x1p-1022 : 0x1p-126);
  const UOp scaled = Where(is_denormal, x * Const(d, 0x1p54), x);
  const UOp bits = Bitcast(scaled, n);
  // sqrt(1/2) in bits, rounded up: the exponent field of the difference is e.
  const UOp from = Const(n, layout.is64 ? int64_t{0x3FE6A09E667F3BCD} : int64_t{0x3F3504F4});
  const UOp shift = Const(n, layout.mantissa);
  const UOp e = Alu(Op::kShr, {bits + from * Const(n, -1), shift});
  const UOp m = Bitcast(bits + Alu(Op::kShl, {e, shift}) * Const(n, -1), d);
  const UOp exponent = Cast(e, d) + Where(is_denormal, Const(d, -54.0), zero);

  const UOp f = m + Const(d, -1.0);
  const UOp s = Alu(Op::kFdiv, {f, f + Const(d, 2.0)});
  const UOp z = s * s;
  const UOp p = z * (layout.is64 ? Polynomial(z, kLog64) : Polynomial(z, kLog32));
  const UOp ln = f + s * (f + p * Const(d, -1.0)) * Const(d, -1.0);
  const UOp result = MulAcc(ln, Const(d, 1.4426950408889634074), exponent);

  const UOp inf = Const(d, kInf);
  const UOp positive = Where(x < inf, result, x);  // infinity and NaN are themselves
  return Where(CmpEq(x, zero), Const(d, -kInf), Where(x < zero, Const(d, kNan), positive * one));
}

UOp PowByLog2(const UOp& x, const UOp& y) {
  const DType d = x.dtype();
  const DType f64 = ir::kFloat64.Vec(d.lanes());
  if (d != f64) return Cast(PowByLog2(Cast(x, f64), Cast(y, f64)), d);
  const UOp zero = Const(d, 0.0), one = Const(d, 1.0), inf = Const(d, kInf);
  const UOp bits = Bitcast(x, ir::kInt64.Vec(d.lanes()));
  const UOp is_negative = bits < Const(bits.dtype(), 0);  // -0 too
  const UOp magnitude = Bitcast(bits & Const(bits.dtype(), std::numeric_limits<int64_t>::max()), d);
  // 0 * infinity does not count where the result is 1 whatever the other operand.
  const UOp unit = CmpEq(y, zero) | (CmpEq(magnitude, one) & CmpEq(y, y));
  const UOp power = Where(unit, one, Alu(Op::kExp2, {y * Alu(Op::kLog2, {magnitude})}));
  const UOp whole = CmpEq(Alu(Op::kTrunc, {y}), y);
  const UOp half = y * Const(d, 0.5);
  const UOp odd = whole & CmpNe(Alu(Op::kTrunc, {half}), half);
  const UOp result = Where(is_negative & odd, power * Const(d, -1.0), power);
  const UOp undefined =
      (x < zero) & CmpNe(magnitude, inf) & CmpNe(whole, Const(whole.dtype(), true)) & CmpEq(y, y);
  return Where(CmpEq(x, one), one, Where(undefined, Const(d, kNan), result));
}

}  // namespace tg::lower
