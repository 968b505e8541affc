#include "codegen/lower/decompose_sin.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "codegen/lower/polynomial.h"

namespace tg::lower {

using ir::Alu;
using ir::Bitcast;
using ir::Cast;
using ir::CmpNe;
using ir::Const;
using ir::DType;
using ir::Op;
using ir::UOp;
using ir::Where;

namespace {

// The binary digits of 2/pi, 32 to a word, the first worth 1/2.
constexpr uint32_t kTwoOverPi[] = {
    0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561,
    0xB7246E3A, 0x424DD2E0, 0x06492EEA, 0x09D1921C, 0xFE1DEB1C, 0xB129A73E, 0xE88235F5, 0x2EBB4484,
    0xE99C7026, 0xB45F7E41, 0x3991D639, 0x835339F4, 0x9C845F8B, 0xBDF9283B, 0x1FF897FF, 0xDE05980F,
    0xEF2F118B, 0x5A0A6D1F, 0x6D367ECF, 0x27CB09B7, 0x4F463F66, 0x9E5FEA2D, 0x7527BAC7, 0xEBE5F17B,
    0x3D0739F7, 0x8A5292EA, 0x6BFB5FB1, 0x1F8D5D08, 0x56033046, 0xFC7B6BAB, 0xF0CFBC20, 0x9AF4361D};

// For |r| <= pi/4, z = r^2: sin(r) = r + r*z*S(z), cos(r) = 1 - z/2 + z^2*C(z). Relative errors
// 1.8e-11 and 1.2e-12, for float64 8e-21 and 3e-22.
constexpr double kSin32[] = {-0.16666666663855289533, 0.0083333318747102087881,
                             -0.00019840086735384845598, 2.7249925803059792302e-6};
constexpr double kCos32[] = {0.041666666664321203341, -0.0013888887672016790051,
                             0.000024800600377156728018, -2.7300959203901469961e-7};
constexpr double kSin64[] = {-0.16666666666666666666,    0.0083333333333333314921,
                             -0.00019841269841265064947, 2.7557319219339166518e-6,
                             -2.5052106232447577328e-8,  1.6058531618986146836e-10,
                             -7.5866971177069179847e-13};
constexpr double kCos64[] = {0.041666666666666666666,    -0.0013888888888888887865,
                             0.000024801587301584646428, -2.7557319221402824394e-7,
                             2.0876755791080423807e-9,   -1.1470460887609959107e-11,
                             4.7458719020432915366e-14};

struct Reduced {
  UOp quadrant;  // low two bits count
  UOp r;         // in [-pi/4, pi/4]
};

class Reducer {
 public:
  explicit Reducer(DType d)
      : d_(d), layout_(d), u64_(ir::kUInt64.Vec(d.lanes())), words_(layout_.is64 ? 6 : 3) {}

  // |x| = m * 2^e with an integer m. Digits of 2/pi whose product with m*2^e is a multiple of 4
  // quarter turns for sure do not matter, so a window of 32*words_ digits from the one worth 2
  // after scaling by 2^e is taken. m times the window, modulo its width, is then the number of
  // quarter turns modulo 4 with 2 bits before the binary point, and off by less than 2^-70
  // (float32: the closest that a float comes to a multiple of pi/2 is 2^-31) or 2^-137 (float64:
  // 2^-62).
  Reduced Run(const UOp& magnitude) const {
    const UOp bits = Cast(Bitcast(magnitude, layout_.bits), u64_);
    const UOp exponent = Shr(bits, layout_.mantissa);
    const UOp mantissa = (bits & U(Mask(layout_.mantissa))) | U(uint64_t{1} << layout_.mantissa);
    // The window's first digit, counted in the table with a zero word (float64: two) before it.
    // Exponents below that of pi/4 are not reduced; what they give here is not used.
    const UOp first = exponent + U(-static_cast<uint64_t>(layout_.is64 ? 1013 : 120));
    const std::vector<UOp> window = Window(first);
    std::vector<UOp> product = Times(mantissa & U(Mask(32)), window, 0);
    if (layout_.is64) product = Sum(product, Times(Shr(mantissa, 32), window, 1));

    const UOp high = Join(product[0], product[1]);
    const UOp quadrant = Shr(high + U(uint64_t{1} << 61), 62);
    const DType s64 = ir::kInt64.Vec(d_.lanes());
    const UOp fraction = Bitcast(high + Shl(quadrant, 62) * U(~uint64_t{0}), s64);
    UOp turns = Cast(fraction, d_) * Const(d_, 0x1p-62);
    if (layout_.is64) {
      // After cancellation the digits below count.
      const UOp low = Join(product[2], product[3]);
      turns = MulAcc(Cast(Shr(low, 1), d_), Const(d_, 0x1p-125), turns);
    }
    // pi/2 in two parts.
    const double half_pi = 1.5707963267948966192;
    const double rest =
        layout_.is64 ? 6.123233995736765886e-17 : half_pi - ir::RoundToFloat(half_pi, ir::kFloat32);
    return {quadrant, MulAcc(turns, Const(d_, half_pi), turns * Const(d_, rest))};
  }

 private:
  UOp U(uint64_t v) const { return Const(u64_, static_cast<int64_t>(v)); }
  static uint64_t Mask(int bits) { return (uint64_t{1} << bits) - 1; }
  UOp Shr(const UOp& x, int n) const { return Alu(Op::kShr, {x, U(n)}); }
  UOp Shl(const UOp& x, int n) const { return Alu(Op::kShl, {x, U(n)}); }
  UOp Join(const UOp& high, const UOp& low) const { return Shl(high, 32) | low; }

  // Digits first, first+1, ... in words of 32, the first word first. Words are moved by powers of
  // two as the bits of the word number say; only those that the result needs are kept.
  std::vector<UOp> Window(const UOp& first) const {
    std::vector<UOp> table(layout_.is64 ? 2 : 1, U(0));
    const int used = layout_.is64 ? 40 : 9;
    for (int i = 0; i < used; ++i) table.push_back(U(kTwoOverPi[i]));
    const UOp word = Shr(first, 5);
    for (int step = layout_.is64 ? 32 : 4; step > 0; step /= 2) {
      const UOp move = CmpNe(word & U(step), U(0));
      // After this step the word number is less than `step`.
      const size_t keep = words_ + step;
      std::vector<UOp> moved;
      for (size_t i = 0; i < keep; ++i) {
        const UOp& here = i < table.size() ? table[i] : U(0);
        const UOp& there = i + step < table.size() ? table[i + step] : U(0);
        moved.push_back(here == there ? here : Where(move, there, here));
      }
      table = std::move(moved);
    }
    const UOp shift = U(32) + (first & U(31)) * U(~uint64_t{0});
    std::vector<UOp> window;
    for (int i = 0; i < words_; ++i) {
      window.push_back(Alu(Op::kShr, {Join(table[i], table[i + 1]), shift}) & U(Mask(32)));
    }
    return window;
  }

  // m (below 2^32) times the window, shifted left by `shift` words, modulo the window's width.
  std::vector<UOp> Times(const UOp& m, const std::vector<UOp>& window, int shift) const {
    std::vector<UOp> result(words_, U(0));
    UOp carry = U(0);
    for (int i = words_ - 1; i - shift >= 0; --i) {
      const UOp p = m * window[i] + carry;
      result[i - shift] = p & U(Mask(32));
      carry = Shr(p, 32);
    }
    return result;
  }

  std::vector<UOp> Sum(const std::vector<UOp>& a, const std::vector<UOp>& b) const {
    std::vector<UOp> result(words_);
    UOp carry = U(0);
    for (int i = words_ - 1; i >= 0; --i) {
      const UOp s = a[i] + b[i] + carry;
      result[i] = s & U(Mask(32));
      carry = Shr(s, 32);
    }
    return result;
  }

  const DType d_;
  const FloatLayout layout_;
  const DType u64_;
  const int words_;
};

}  // namespace

UOp SinPolynomial(const UOp& x) {
  const DType d = x.dtype();
  if (!IsFloat32Or64(d)) return Cast(SinPolynomial(Cast(x, ir::kFloat32.Vec(d.lanes()))), d);
  const FloatLayout layout(d);
  const UOp zero = Const(d, 0.0);
  const UOp is_negative = x < zero;
  const UOp magnitude = Where(is_negative, x * Const(d, -1.0), x);
  const UOp is_small = magnitude < Const(d, 0.78539816339744830962);
  const Reduced reduced = Reducer(d).Run(magnitude);
  const DType u64 = reduced.quadrant.dtype();
  const UOp quadrant = Where(is_small, Const(u64, 0), reduced.quadrant);
  const UOp r = Where(is_small, magnitude, reduced.r);

  const UOp z = r * r;
  const UOp s = MulAcc(r * z, layout.is64 ? Polynomial(z, kSin64) : Polynomial(z, kSin32), r);
  const UOp c = MulAcc(z * z, layout.is64 ? Polynomial(z, kCos64) : Polynomial(z, kCos32),
                       MulAcc(z, Const(d, -0.5), Const(d, 1.0)));
  const UOp is_cos = CmpNe(quadrant & Const(u64, 1), Const(u64, 0));
  const UOp flips = CmpNe(quadrant & Const(u64, 2), Const(u64, 0)) ^ is_negative;
  const UOp value = Where(is_cos, c, s);
  const UOp signed_value = Where(flips, value * Const(d, -1.0), value);
  // x*0 is NaN for infinities and NaN.
  return Where(magnitude < Const(d, INFINITY), signed_value, x * zero);
}

}  // namespace tg::lower
