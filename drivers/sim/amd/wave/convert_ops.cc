// Vector conversions between numbers.
//
// Sources: AMD RDNA3, RDNA4, CDNA3 and CDNA4 Instruction Set Architecture documents, chapters "VOP1
// instructions" and "VOP3 instructions". Floats become integers toward zero and saturate; NaN
// becomes 0.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "drivers/sim/amd/wave/float_format.h"
#include "drivers/sim/amd/wave/float_functions.h"
#include "drivers/sim/amd/wave/lanes.h"

namespace tg::amd::sim {
namespace {

using u32 = uint32_t;
using i32 = int32_t;

u32 Pack(u32 lo, u32 hi) { return (lo & 0xffff) | hi << 16; }

// [-1, 1] and [0, 1] as fixed point; products are exact in double.
int16_t SignedNorm(double x) {
  return ToInteger<int16_t>(RoundEven(std::clamp(IsNan(x) ? 0.0 : x, -1.0, 1.0) * 32767));
}
uint16_t UnsignedNorm(double x) {
  return ToInteger<uint16_t>(RoundEven(std::clamp(IsNan(x) ? 0.0 : x, 0.0, 1.0) * 65535));
}
template <class T>
u32 PackSaturated(i32 lo, i32 hi) {
  auto cut = [](i32 x) {
    return static_cast<uint16_t>(static_cast<T>(
        std::clamp<i32>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max())));
  };
  return Pack(cut(lo), cut(hi));
}
u32 SaturateU16(u32 x) { return std::min(x, 0xffffu); }

u32 InsertByte(u32 into, u32 index, u32 byte) {
  u32 shift = 8 * (index & 3);
  return (into & ~(0xffu << shift)) | byte << shift;
}

bool Overflows(const Ctx& x) { return !(x.wave.mode_bits >> 23 & 1); }  // MODE.FP16_OVFL
u32 Small(const Ctx& x, FloatFormat f, float v) {
  return Encode(f, v, Rounding::kNearestEven, !Overflows(x));
}
u32 SmallStochastic(const Ctx& x, FloatFormat f, float v, u32 random) {
  return Encode(f, v, Rounding::kStochastic, !Overflows(x), random);
}

// The byte or half that op_sel or byte_sel names; SDWA has selected already.
u32 SourceByte(const Ctx& x, u32 v) {
  const Inst& inst = x.op.inst;
  u32 select = 0;
  if (inst.form->Has(Mod::kByteSel)) {
    select = inst.Get(Mod::kByteSel);
  } else if (inst.form->Has(Mod::kOpSel)) {
    u32 op_sel = inst.Get(Mod::kOpSel);  // The first bit is the higher one.
    select = (op_sel & 1) << 1 | (op_sel >> 1 & 1);
  }
  return v >> (8 * select) & 0xff;
}
u32 SourceHalf(const Ctx& x, u32 v) {
  return x.op.inst.form->Has(Mod::kOpSel) && (x.op.inst.Get(Mod::kOpSel) & 1) ? v >> 16
         : x.op.src[0].high                                                   ? v >> 16
                                                                              : v;
}
// Two bytes into the half of the destination that op_sel names; the other half stays.
u32 IntoHalf(const Ctx& x, u32 old, u32 pair) {
  return x.op.dst[0].high ? (old & 0xffff) | pair << 16 : (old & 0xffff0000) | (pair & 0xffff);
}
u32 IntoByte(const Ctx& x, u32 old, u32 byte) {
  const Inst& inst = x.op.inst;
  u32 select = inst.form->Has(Mod::kByteSel) ? inst.Get(Mod::kByteSel)
               : inst.form->Has(Mod::kOpSel) ? inst.Get(Mod::kOpSel) >> 2
                                             : 0;
  return InsertByte(old, select, byte);
}

FloatFormat Fp8(const Ctx& x) { return Fp8Of(x.wave.isa); }
FloatFormat Bf8(const Ctx& x) { return Bf8Of(x.wave.isa); }
std::array<u32, 2> Both(FloatFormat f, u32 pair) {
  return {Bits(Decode(f, pair & 0xff)), Bits(Decode(f, pair >> 8 & 0xff))};
}

constexpr Semantics kOps[] = {
    // f32 and f64 from and to integers.
    Vector("v_cvt_f32_i32", [](i32 a) { return static_cast<float>(a); }),
    Vector("v_cvt_f32_u32", [](u32 a) { return static_cast<float>(a); }),
    Vector("v_cvt_i32_f32", [](float a) { return ToInteger<i32>(a); }),
    Vector("v_cvt_u32_f32", [](float a) { return ToInteger<u32>(a); }),
    Vector("v_cvt_f64_i32", [](i32 a) { return static_cast<double>(a); }),
    Vector("v_cvt_f64_u32", [](u32 a) { return static_cast<double>(a); }),
    Vector("v_cvt_i32_f64", [](double a) { return ToInteger<i32>(a); }),
    Vector("v_cvt_u32_f64", [](double a) { return ToInteger<u32>(a); }),
    Vector("v_cvt_f32_f64", [](double a) { return static_cast<float>(a); }),
    Vector("v_cvt_f64_f32", [](float a) { return static_cast<double>(a); }),
    Vector("v_cvt_nearest_i32_f32", [](float a) { return ToInteger<i32>(std::floor(a + 0.5f)); }),
    Vector("v_cvt_floor_i32_f32", [](float a) { return ToInteger<i32>(std::floor(a)); }),
    Vector("v_cvt_f32_ubyte0", [](u32 a) { return static_cast<float>(a & 0xff); }),
    Vector("v_cvt_f32_ubyte1", [](u32 a) { return static_cast<float>(a >> 8 & 0xff); }),
    Vector("v_cvt_f32_ubyte2", [](u32 a) { return static_cast<float>(a >> 16 & 0xff); }),
    Vector("v_cvt_f32_ubyte3", [](u32 a) { return static_cast<float>(a >> 24); }),
    Vector("v_cvt_off_f32_i4",
           [](u32 a) { return static_cast<float>(static_cast<i32>(a << 28) >> 28) / 16; }),

    // f16.
    Vector("v_cvt_f16_f32", [](float a) { return Half{a}; }),
    Vector("v_cvt_f32_f16", [](Half a) { return a.f; }),
    Vector("v_cvt_f16_u16", [](uint16_t a) { return Half{static_cast<float>(a)}; }),
    Vector("v_cvt_f16_i16", [](int16_t a) { return Half{static_cast<float>(a)}; }),
    Vector("v_cvt_u16_f16", [](Half a) { return ToInteger<uint16_t>(a.f); }),
    Vector("v_cvt_i16_f16", [](Half a) { return ToInteger<int16_t>(a.f); }),
    Vector("v_cvt_norm_i16_f16", [](Half a) { return SignedNorm(a.f); }),
    Vector("v_cvt_norm_u16_f16", [](Half a) { return UnsignedNorm(a.f); }),
    Vector("v_cvt_i32_i16", [](int16_t a) { return static_cast<i32>(a); }),
    Vector("v_cvt_u32_u16", [](uint16_t a) { return static_cast<u32>(a); }),

    // Pairs.
    Vector("v_cvt_pk_rtz_f16_f32",
           [](float a, float b) { return Pack(FloatToHalfToZero(a), FloatToHalfToZero(b)); }),
    Vector("v_cvt_pk_f16_f32",
           [](float a, float b) { return Pack(FloatToHalf(a), FloatToHalf(b)); }),
    Vector("v_cvt_pk_bf16_f32",
           [](float a, float b) { return Pack(FloatToBf16(a), FloatToBf16(b)); }),
    Vector("v_cvt_f32_bf16", [](Bf16 a) { return a.f; }),
    Vector("v_cvt_pk_norm_i16_f32",
           [](float a, float b) {
             return Pack(static_cast<uint16_t>(SignedNorm(a)),
                         static_cast<uint16_t>(SignedNorm(b)));
           }),
    Vector("v_cvt_pk_norm_u16_f32",
           [](float a, float b) { return Pack(UnsignedNorm(a), UnsignedNorm(b)); }),
    Vector("v_cvt_pk_norm_i16_f16",
           [](Half a, Half b) {
             return Pack(static_cast<uint16_t>(SignedNorm(a.f)),
                         static_cast<uint16_t>(SignedNorm(b.f)));
           }),
    Vector("v_cvt_pk_norm_u16_f16",
           [](Half a, Half b) { return Pack(UnsignedNorm(a.f), UnsignedNorm(b.f)); }),
    Vector("v_cvt_pk_i16_f32",
           [](float a, float b) {
             return Pack(static_cast<uint16_t>(ToInteger<int16_t>(a)),
                         static_cast<uint16_t>(ToInteger<int16_t>(b)));
           }),
    Vector("v_cvt_pk_u16_f32",
           [](float a, float b) { return Pack(ToInteger<uint16_t>(a), ToInteger<uint16_t>(b)); }),
    Vector("v_cvt_pk_i16_i32", [](i32 a, i32 b) { return PackSaturated<int16_t>(a, b); }),
    Vector("v_cvt_pk_u16_u32", [](u32 a, u32 b) { return Pack(SaturateU16(a), SaturateU16(b)); }),
    Vector("v_cvt_pk_u8_f32",
           [](float a, u32 b, u32 c) { return InsertByte(c, b, ToInteger<uint8_t>(a)); }),
    Vector("v_cvt_pkaccum_u8_f32",
           [](float a, u32 b, u32 d) { return InsertByte(d, b, ToInteger<uint8_t>(a)); }),
    Vector("v_cvt_sr_bf16_f32",
           [](Ctx x, float a, u32 random, u32 old) {
             return IntoHalf(x, old, Encode(kBf16, a, Rounding::kStochastic, false, random));
           }),
    Vector("v_cvt_sr_f16_f32",
           [](Ctx x, float a, u32 random, u32 old) {
             return IntoHalf(x, old, Encode(kF16, a, Rounding::kStochastic, false, random));
           }),

    // 8-bit floats.
    Vector("v_cvt_f32_fp8", [](Ctx x, u32 a) { return Decode(Fp8(x), SourceByte(x, a)); }),
    Vector("v_cvt_f32_bf8", [](Ctx x, u32 a) { return Decode(Bf8(x), SourceByte(x, a)); }),
    Vector("v_cvt_pk_f32_fp8", [](Ctx x, u32 a) { return Both(Fp8(x), SourceHalf(x, a)); }),
    Vector("v_cvt_pk_f32_bf8", [](Ctx x, u32 a) { return Both(Bf8(x), SourceHalf(x, a)); }),
    Vector("v_cvt_pk_fp8_f32",
           [](Ctx x, float a, float b, u32 old) {
             return IntoHalf(x, old, Small(x, Fp8(x), a) | Small(x, Fp8(x), b) << 8);
           }),
    Vector("v_cvt_pk_bf8_f32",
           [](Ctx x, float a, float b, u32 old) {
             return IntoHalf(x, old, Small(x, Bf8(x), a) | Small(x, Bf8(x), b) << 8);
           }),
    Vector("v_cvt_sr_fp8_f32",
           [](Ctx x, float a, u32 random, u32 old) {
             return IntoByte(x, old, SmallStochastic(x, Fp8(x), a, random));
           }),
    Vector("v_cvt_sr_bf8_f32",
           [](Ctx x, float a, u32 random, u32 old) {
             return IntoByte(x, old, SmallStochastic(x, Bf8(x), a, random));
           }),
};

}  // namespace

absl::Span<const Semantics> ConvertOps() { return kOps; }

}  // namespace tg::amd::sim
