// Dot products of small values, added to a third operand.
//
// Sources: AMD RDNA3, RDNA4, CDNA3 and CDNA4 Instruction Set Architecture documents, chapter "VOP3P
// instructions".
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "drivers/sim/amd/wave/float_format.h"
#include "drivers/sim/amd/wave/packed.h"

namespace tg::amd::sim {
namespace {

template <class T>
uint32_t Saturated(const MicroOp& u, int64_t x) {
  if (u.clamp)
    x = std::clamp<int64_t>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  return static_cast<uint32_t>(x);
}
int64_t Element(uint32_t x, int i, int bits, bool is_signed) {
  uint32_t v = x >> (i * bits);
  return is_signed ? static_cast<int32_t>(v << (32 - bits)) >> (32 - bits)
                   : static_cast<int64_t>(v & ((1u << bits) - 1));
}

// Calls f(a, b, c) with the raw dwords of each lane.
template <class F>
void Dwords(Wave& w, const MicroOp& u, F f) {
  uint64_t lanes = WriteMask(w, u);
  for (int base = 0; base < w.size; base += kChunk) {
    alignas(64) uint32_t a[kChunk], b[kChunk], c[kChunk], out[kChunk];
    RawLanes(w, u, u.src[0], 0, base, a);
    RawLanes(w, u, u.src[1], 0, base, b);
    RawLanes(w, u, u.src[2], 0, base, c);
    for (int l = 0; l < kChunk; ++l) out[l] = f(a[l], b[l], c[l]);
    StoreRaw(w, u, 0, base, out, static_cast<uint32_t>(lanes >> base));
  }
}

// Integers of kBits bits.
template <int kBits, bool kSigned>
void DotInts(Wave& w, const MicroOp& u) {
  Dwords(w, u, [&](uint32_t a, uint32_t b, uint32_t c) {
    int64_t sum = kSigned ? static_cast<int64_t>(static_cast<int32_t>(c)) : static_cast<int64_t>(c);
    for (int i = 0; i < 32 / kBits; ++i)
      sum += Element(a, i, kBits, kSigned) * Element(b, i, kBits, kSigned);
    return kSigned ? Saturated<int32_t>(u, sum) : Saturated<uint32_t>(u, sum);
  });
}
// neg_lo says which of the first two operands are signed.
template <int kBits>
void DotMixed(Wave& w, const MicroOp& u) {
  bool sa = u.inst.Get(Mod::kNegLo) & 1, sb = u.inst.Get(Mod::kNegLo) >> 1 & 1;
  Dwords(w, u, [&](uint32_t a, uint32_t b, uint32_t c) {
    int64_t sum = static_cast<int32_t>(c);
    for (int i = 0; i < 32 / kBits; ++i) sum += Element(a, i, kBits, sa) * Element(b, i, kBits, sb);
    return Saturated<int32_t>(u, sum);
  });
}

// Halves; op_sel and neg as for packed operands.
template <class F>
void Halves(Wave& w, const MicroOp& u, bool is_float, F f) {
  uint64_t lanes = WriteMask(w, u);
  for (int base = 0; base < w.size; base += kChunk) {
    alignas(64) uint32_t a0[kChunk], a1[kChunk], b0[kChunk], b1[kChunk], c[kChunk], out[kChunk];
    FetchPacked(w, u, 0, base, is_float, a0, a1);
    FetchPacked(w, u, 1, base, is_float, b0, b1);
    RawLanes(w, u, u.src[2], 0, base, c);
    PackedSelect s(u, 2);
    if (is_float && (s.neg_lo != u.src[2].neg)) {
      for (uint32_t& x : c) x ^= 0x80000000;
    }
    if (u.src[2].abs) {
      for (uint32_t& x : c) x &= 0x7fffffff;
    }
    for (int l = 0; l < kChunk; ++l) out[l] = f(a0[l], a1[l], b0[l], b1[l], c[l]);
    StoreRaw(w, u, 0, base, out, static_cast<uint32_t>(lanes >> base));
  }
}
template <bool kSigned>
void Dot2Ints(Wave& w, const MicroOp& u) {
  Halves(w, u, false, [&](uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, uint32_t c) {
    auto value = [](uint32_t x) {
      return kSigned ? static_cast<int64_t>(static_cast<int16_t>(x)) : static_cast<int64_t>(x);
    };
    int64_t sum =
        value(a0) * value(b0) + value(a1) * value(b1) +
        (kSigned ? static_cast<int64_t>(static_cast<int32_t>(c)) : static_cast<int64_t>(c));
    return kSigned ? Saturated<int32_t>(u, sum) : Saturated<uint32_t>(u, sum);
  });
}
struct F16 {
  static float Get(uint32_t x) { return HalfToFloat(x); }
  static uint32_t Put(float x) { return FloatToHalf(x); }
};
struct B16 {
  static float Get(uint32_t x) { return Bf16ToFloat(x); }
  static uint32_t Put(float x) { return FloatToBf16(x); }
};
// Products of halves are exact in double, and so is nearly always their sum; it is rounded once.
template <class T>
void Dot2Float(Wave& w, const MicroOp& u) {
  Halves(w, u, true, [&](uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, uint32_t c) {
    double sum = static_cast<double>(T::Get(a0)) * T::Get(b0) +
                 static_cast<double>(T::Get(a1)) * T::Get(b1) + Float(c);
    float r = static_cast<float>(sum);
    return Bits(u.clamp ? Clamp01(r) : r);
  });
}
// The result and the addend have 16 bits.
template <class T>
void Dot2Small(Wave& w, const MicroOp& u) {
  uint64_t lanes = WriteMask(w, u);
  for (int base = 0; base < w.size; base += kChunk) {
    alignas(64) uint32_t a[kChunk], b[kChunk], c[kChunk], out[kChunk];
    RawLanes(w, u, u.src[0], 0, base, a);
    RawLanes(w, u, u.src[1], 0, base, b);
    lanes::Fetch16(w, u, 2, base, c);
    auto part = [&](uint32_t x, int i, int source) {
      float v = T::Get(x >> (16 * i) & 0xffff);
      if (u.src[source].abs) v = std::fabs(v);
      return static_cast<double>(u.src[source].neg ? -v : v);
    };
    for (int l = 0; l < kChunk; ++l) {
      double sum =
          part(a[l], 0, 0) * part(b[l], 0, 1) + part(a[l], 1, 0) * part(b[l], 1, 1) + T::Get(c[l]);
      out[l] = T::Put(lanes::Modified(w, u, DoubleToFloatOdd(sum), true));
    }
    Store16(w, u, base, out, static_cast<uint32_t>(lanes >> base));
  }
}

template <bool kABf, bool kBBf>
void Dot4Small(Wave& w, const MicroOp& u) {
  FloatFormat fa = kABf ? Bf8Of(w.isa) : Fp8Of(w.isa), fb = kBBf ? Bf8Of(w.isa) : Fp8Of(w.isa);
  bool negate = u.inst.form->Has(Mod::kNegLo) && (u.inst.Get(Mod::kNegLo) >> 2 & 1);
  bool absolute = u.inst.form->Has(Mod::kNegHi) && (u.inst.Get(Mod::kNegHi) >> 2 & 1);
  Dwords(w, u, [&](uint32_t a, uint32_t b, uint32_t c) {
    float addend = Float(c);
    if (absolute || u.src[2].abs) addend = std::fabs(addend);
    if (negate || u.src[2].neg) addend = -addend;
    double sum = addend;
    for (int i = 0; i < 4; ++i) {
      sum += static_cast<double>(Decode(fa, a >> (8 * i) & 0xff)) * Decode(fb, b >> (8 * i) & 0xff);
    }
    return Bits(static_cast<float>(sum));
  });
}

constexpr Semantics kOps[] = {
    {"v_dot2_f32_f16", &Dot2Float<F16>, FloatClass::k32},
    {"v_dot2c_f32_f16", &Dot2Float<F16>, FloatClass::k32},
    {"v_dot2acc_f32_f16", &Dot2Float<F16>, FloatClass::k32},
    {"v_dot2_f32_bf16", &Dot2Float<B16>, FloatClass::k32},
    {"v_dot2c_f32_bf16", &Dot2Float<B16>, FloatClass::k32},
    {"v_dot2acc_f32_bf16", &Dot2Float<B16>, FloatClass::k32},
    {"v_dot2_f16_f16", &Dot2Small<F16>, FloatClass::k16And64},
    {"v_dot2_bf16_bf16", &Dot2Small<B16>},
    {"v_dot2_i32_i16", &Dot2Ints<true>},
    {"v_dot2_u32_u16", &Dot2Ints<false>},
    {"v_dot2c_i32_i16", &Dot2Ints<true>},
    {"v_dot4_i32_i8", &DotInts<8, true>},
    {"v_dot4c_i32_i8", &DotInts<8, true>},
    {"v_dot4_u32_u8", &DotInts<8, false>},
    {"v_dot4_i32_iu8", &DotMixed<8>},
    {"v_dot8_i32_i4", &DotInts<4, true>},
    {"v_dot8c_i32_i4", &DotInts<4, true>},
    {"v_dot8_u32_u4", &DotInts<4, false>},
    {"v_dot8_i32_iu4", &DotMixed<4>},
    {"v_dot4_f32_fp8_fp8", &Dot4Small<false, false>, FloatClass::k32},
    {"v_dot4_f32_fp8_bf8", &Dot4Small<false, true>, FloatClass::k32},
    {"v_dot4_f32_bf8_fp8", &Dot4Small<true, false>, FloatClass::k32},
    {"v_dot4_f32_bf8_bf8", &Dot4Small<true, true>, FloatClass::k32},
};

}  // namespace

absl::Span<const Semantics> DotOps() { return kOps; }

}  // namespace tg::amd::sim
