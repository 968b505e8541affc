// Packed instructions: two values of 16 bits, or two of 32, in each lane.
//
// Sources: AMD RDNA3, RDNA4, CDNA3 and CDNA4 Instruction Set Architecture documents, chapters
// "Packed math" and "VOP3P instructions".
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "drivers/sim/amd/wave/packed.h"

namespace tg::amd::sim {
namespace {

using i16 = int16_t;
using u16 = uint16_t;

template <class T>
T From16(uint32_t bits) {
  if constexpr (std::is_same_v<T, Half>) {
    return {HalfToFloat(bits)};
  } else {
    return static_cast<T>(bits);
  }
}
uint32_t To16(const Wave& w, const MicroOp& u, Half x) {
  return FloatToHalf(lanes::Modified(w, u, x.f, true));
}
template <class T>
uint32_t To16(const Wave&, const MicroOp& u, Wide<T> x) {
  int64_t v = x.v;
  if (u.clamp)
    v = std::clamp<int64_t>(v, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  return static_cast<u16>(v);
}

// The function on the lower values, then on the upper ones.
template <class F, class T, size_t kArgs>
struct Runner16 {
  template <size_t... I>
  static void Go(Wave& w, const MicroOp& u, std::index_sequence<I...>) {
    constexpr bool kFloat = std::is_same_v<T, Half>;
    uint64_t lanes = WriteMask(w, u);
    for (int base = 0; base < w.size; base += kChunk) {
      alignas(64) uint32_t lo[kArgs][kChunk], hi[kArgs][kChunk], out[kChunk];
      for (size_t i = 0; i < kArgs; ++i) {
        FetchPacked(w, u, static_cast<int>(i), base, kFloat, lo[i], hi[i]);
        if (kFloat && !(w.mode.denorm16_64 & 1)) {
          lanes::FlushHalves(w, lo[i]);
          lanes::FlushHalves(w, hi[i]);
        }
      }
      for (int l = 0; l < kChunk; ++l) {
        out[l] = To16(w, u, F{}(From16<T>(lo[I][l])...)) | To16(w, u, F{}(From16<T>(hi[I][l])...))
                                                               << 16;
      }
      StoreRaw(w, u, 0, base, out, static_cast<uint32_t>(lanes >> base));
    }
  }
  static void Run(Wave& w, const MicroOp& u) { Go(w, u, std::make_index_sequence<kArgs>{}); }
};
template <class F, class R, class C, class T, class... Rest>
constexpr Semantics Describe16(const char* name, R (C::*)(T, Rest...) const) {
  return {name, &Runner16<F, T, sizeof...(Rest) + 1>::Run,
          std::is_same_v<T, Half> ? FloatClass::k16And64 : FloatClass::kNone};
}
template <class F>
constexpr Semantics Packed(const char* name, F) {
  return Describe16<F>(name, &F::operator());
}

// Two floats of 32 bits.
template <class F, size_t kArgs>
void RunFloats(Wave& w, const MicroOp& u) {
  uint64_t lanes = WriteMask(w, u);
  for (int base = 0; base < w.size; base += kChunk) {
    alignas(64) uint32_t in[3][2][kChunk] = {};
    for (size_t i = 0; i < kArgs; ++i) {
      PackedSelect s(u, static_cast<int>(i));
      RawLanes(w, u, u.src[i], s.lo_high, base, in[i][0]);
      RawLanes(w, u, u.src[i], s.hi_high, base, in[i][1]);
      for (int l = 0; l < kChunk; ++l) {
        in[i][0][l] ^= static_cast<uint32_t>(s.neg_lo) << 31;
        in[i][1][l] ^= static_cast<uint32_t>(s.neg_hi) << 31;
      }
    }
    alignas(64) uint32_t out[2][kChunk];
    for (int d = 0; d < 2; ++d) {
      for (int l = 0; l < kChunk; ++l) {
        float r = F{}(Float(in[0][d][l]), Float(in[1][d][l]), Float(in[2][d][l]));
        out[d][l] = Bits(u.clamp ? Clamp01(r) : r);
      }
    }
    uint32_t mask = static_cast<uint32_t>(lanes >> base);
    StoreRaw(w, u, 0, base, out[0], mask);
    StoreRaw(w, u, 1, base, out[1], mask);
  }
}
struct AddFloats {
  float operator()(float a, float b, float) const { return a + b; }
};
struct MulFloats {
  float operator()(float a, float b, float) const { return a * b; }
};
struct FmaFloats {
  float operator()(float a, float b, float c) const { return std::fma(a, b, c); }
};

// The lower result comes from the first source, the upper one from the second.
void PackedMove(Wave& w, const MicroOp& u) {
  for (int base = 0; base < w.size; base += kChunk) {
    alignas(64) uint32_t lo[kChunk], hi[kChunk];
    uint32_t op_sel = u.inst.Get(Mod::kOpSel);
    RawLanes(w, u, u.src[0], op_sel & 1, base, lo);
    RawLanes(w, u, u.src[1], op_sel >> 1 & 1, base, hi);
    uint32_t mask = static_cast<uint32_t>(w.exec() >> base);
    StoreRaw(w, u, 0, base, lo, mask);
    StoreRaw(w, u, 1, base, hi, mask);
  }
}

// v_fma_mix: each source is an f32, or the half of a register where op_sel_hi says f16.
enum class MixTo { kFloat, kLow, kHigh };
template <MixTo kTo>
void Mix(Wave& w, const MicroOp& u) {
  uint64_t lanes = WriteMask(w, u);
  for (int base = 0; base < w.size; base += kChunk) {
    alignas(64) float in[3][kChunk];
    bool halves = true;
    for (int i = 0; i < 3; ++i) {
      alignas(64) uint32_t raw[kChunk];
      RawLanes(w, u, u.src[i], 0, base, raw);
      PackedSelect s(u, i);
      bool half = u.inst.Get(Mod::kOpSelHi) >> i & 1;
      halves = halves && half;
      bool negate = s.neg_lo || u.src[i].neg, absolute = s.neg_hi || u.src[i].abs;
      for (int l = 0; l < kChunk; ++l) {
        float x = half ? HalfToFloat(raw[l] >> (s.lo_high ? 16 : 0) & 0xffff) : Float(raw[l]);
        if (absolute) x = std::fabs(x);
        in[i][l] = negate ? -x : x;
      }
    }
    alignas(64) uint32_t out[kChunk];
    for (int l = 0; l < kChunk; ++l) {
      float r = lanes::Modified(w, u, std::fma(in[0][l], in[1][l], in[2][l]));
      if (kTo == MixTo::kFloat) {
        out[l] = Bits(r);
      } else {
        const uint32_t old = w.row(u.dst[0].index)[base + l];
        uint32_t h = FloatToHalf(r);
        out[l] = kTo == MixTo::kLow ? (old & 0xffff0000) | h : (old & 0xffff) | h << 16;
      }
    }
    StoreRaw(w, u, 0, base, out, static_cast<uint32_t>(lanes >> base));
  }
}

#define WIDE2(name, T, expression) \
  Packed(name, [](T x, T y) {      \
    int64_t a = x, b = y;          \
    return Wide<T>{(expression)};  \
  })
#define WIDE3(name, T, expression) \
  Packed(name, [](T x, T y, T z) { \
    int64_t a = x, b = y, c = z;   \
    return Wide<T>{(expression)};  \
  })
#define HALF2(name, expression)     \
  Packed(name, [](Half x, Half y) { \
    float a = x.f, b = y.f;         \
    return Half{(expression)};      \
  })
#define HALF3(name, expression)             \
  Packed(name, [](Half x, Half y, Half z) { \
    float a = x.f, b = y.f, c = z.f;        \
    return Half{(expression)};              \
  })

constexpr Semantics kOps[] = {
    WIDE3("v_pk_mad_i16", i16, a* b + c),
    WIDE3("v_pk_mad_u16", u16, a* b + c),
    WIDE2("v_pk_mul_lo_u16", u16, a* b & 0xffff),
    WIDE2("v_pk_add_i16", i16, a + b),
    WIDE2("v_pk_add_u16", u16, a + b),
    WIDE2("v_pk_sub_i16", i16, a - b),
    WIDE2("v_pk_sub_u16", u16, a - b),
    WIDE2("v_pk_max_i16", i16, std::max(a, b)),
    WIDE2("v_pk_max_u16", u16, std::max(a, b)),
    WIDE2("v_pk_min_i16", i16, std::min(a, b)),
    WIDE2("v_pk_min_u16", u16, std::min(a, b)),
    WIDE2("v_pk_lshlrev_b16", u16, (b << (a & 15)) & 0xffff),
    WIDE2("v_pk_lshrrev_b16", u16, b >> (a & 15)),
    WIDE2("v_pk_ashrrev_i16", i16, b >> (a & 15)),
    HALF2("v_pk_add_f16", a + b),
    HALF2("v_pk_mul_f16", a* b),
    HALF3("v_pk_fma_f16", FmaForHalf(a, b, c)),
    HALF3("v_pk_fmac_f16", FmaForHalf(a, b, c)),
    HALF2("v_pk_min_f16", MinNum(a, b)),
    HALF2("v_pk_max_f16", MaxNum(a, b)),
    HALF2("v_pk_min_num_f16", MinNum(a, b)),
    HALF2("v_pk_max_num_f16", MaxNum(a, b)),
    HALF2("v_pk_minimum_f16", Minimum(a, b)),
    HALF2("v_pk_maximum_f16", Maximum(a, b)),
    HALF3("v_pk_minimum3_f16", Minimum(Minimum(a, b), c)),
    HALF3("v_pk_maximum3_f16", Maximum(Maximum(a, b), c)),
    {"v_pk_add_f32", &RunFloats<AddFloats, 2>, FloatClass::k32},
    {"v_pk_mul_f32", &RunFloats<MulFloats, 2>, FloatClass::k32},
    {"v_pk_fma_f32", &RunFloats<FmaFloats, 3>, FloatClass::k32},
    {"v_pk_mov_b32", &PackedMove},
    {"v_fma_mix_f32", &Mix<MixTo::kFloat>, FloatClass::k32},
    {"v_fma_mixlo_f16", &Mix<MixTo::kLow>, FloatClass::k16And64},
    {"v_fma_mixhi_f16", &Mix<MixTo::kHigh>, FloatClass::k16And64},
};

}  // namespace

absl::Span<const Semantics> PackedOps() { return kOps; }

}  // namespace tg::amd::sim
