// Conversions between f32, f16, bf16 and 8-, 6- and 4-bit floats that share a scale: CDNA 4's
// v_cvt_scalef32_*.
//
// The scale is the exponent field of the last operand, as E8M0: 2^(field - 127). Numbers are
// divided by it before they become small, multiplied after they were. Sources: AMD CDNA4
// Instruction Set Architecture document, chapter "VOP3 instructions"; OCP "Microscaling Formats
// (MX)" 1.0.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "drivers/sim/amd/wave/float_format.h"
#include "drivers/sim/amd/wave/lanes.h"

namespace tg::amd::sim {
namespace {

enum class Small : uint8_t { kFp8, kBf8, kFp6, kBf6, kFp4 };
enum class Large : uint8_t { kF32, kF16, kBf16 };

constexpr FloatFormat FormatOf(Small s) {
  switch (s) {
    case Small::kFp8:
      return kE4M3Fn;
    case Small::kBf8:
      return kE5M2;
    case Small::kFp6:
      return kE2M3;
    case Small::kBf6:
      return kE3M2;
    case Small::kFp4:
      break;
  }
  return kE2M1;
}

uint32_t Dword(const Wave& w, const Source& s, int index, int lane) {
  if (s.kind == Source::Kind::kRow) return w.row(s.index + index)[lane];
  if (s.kind == Source::Kind::kSgpr) return w.sgpr[s.index + index];
  return static_cast<uint32_t>(ScalarValue(w, s));
}

// Number `index` of a source.
template <Large kLarge>
float LargeValue(const Wave& w, const Source& s, int index, int lane) {
  float x;
  if constexpr (kLarge == Large::kF32) {
    x = Float(Dword(w, s, index, lane));
  } else {
    uint32_t half = Dword(w, s, index / 2, lane) >> (index % 2 || s.high ? 16 : 0) & 0xffff;
    x = kLarge == Large::kF16 ? HalfToFloat(half) : Bf16ToFloat(half);
  }
  if (s.abs) x = std::fabs(x);
  return s.neg ? -x : x;
}

// NaN for a scale of 255.
int ScaleExponent(const Wave& w, const Source& s, int lane) {
  return static_cast<int>(Dword(w, s, 0, lane) >> 23 & 0xff) - 127;
}
float Scaled(float x, int exponent) {
  return exponent == 128 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(x, exponent);
}

uint32_t OpSel(const MicroOp& u) {
  return u.inst.form->Has(Mod::kOpSel) ? u.inst.Get(Mod::kOpSel) : 0;
}

template <class F>
void ActiveLanes(const Wave& w, F f) {
  for (uint64_t exec = w.exec(); exec != 0; exec &= exec - 1) f(std::countr_zero(exec));
}

// kCount numbers become small. One or two go to the byte or half that op_sel names; 32 fill six
// registers. kStochastic: the operand before the scale has random bits.
template <Large kLarge, Small kSmall, int kCount, bool kStochastic>
void Narrow(Wave& w, const MicroOp& u) {
  constexpr FloatFormat kFormat = FormatOf(kSmall);
  constexpr int kBits = kFormat.bits();
  const bool saturate = w.mode_bits >> 23 & 1;  // FP16_OVFL
  const Source& scale = u.src[u.num_src - 1];
  // Two of f32 without random bits lie in an operand each; so do two halves of 16.
  const bool apart = kLarge == Large::kF32 && !kStochastic && kCount > 1;
  ActiveLanes(w, [&](int lane) {
    int exponent = -ScaleExponent(w, scale, lane);
    if (exponent == -128) exponent = 128;
    uint32_t random = kStochastic ? Dword(w, u.src[u.num_src - 2], 0, lane) : 0;
    uint32_t out[6] = {};
    for (int i = 0; i < kCount; ++i) {
      float x = !apart           ? LargeValue<kLarge>(w, u.src[0], i, lane)
                : kCount == 2    ? LargeValue<kLarge>(w, u.src[i], 0, lane)
                : i < kCount / 2 ? LargeValue<kLarge>(w, u.src[0], i, lane)
                                 : LargeValue<kLarge>(w, u.src[1], i - kCount / 2, lane);
      uint64_t code =
          Encode(kFormat, Scaled(x, exponent),
                 kStochastic ? Rounding::kStochastic : Rounding::kNearestEven, saturate, random);
      int at = i * kBits;
      out[at / 32] |= static_cast<uint32_t>(code << (at % 32));
      if (at % 32 + kBits > 32) out[at / 32 + 1] |= static_cast<uint32_t>(code >> (32 - at % 32));
    }
    if constexpr (kCount == 32) {
      for (int d = 0; d < 6; ++d) w.row(u.dst[0].index + d)[lane] = out[d];
    } else {
      constexpr int kWidth = kBits * kCount;
      uint32_t part = kWidth == 16 ? OpSel(u) >> 3 & 1 : OpSel(u) >> 2 & 3;
      uint32_t mask = ((1u << kWidth) - 1) << (kWidth * part);
      uint32_t& d = w.row(u.dst[0].index)[lane];
      d = (d & ~mask) | out[0] << (kWidth * part);
    }
  });
}

// kCount small numbers become large. One or two come from the byte or half that op_sel names.
template <Small kSmall, Large kLarge, int kCount>
void Widen(Wave& w, const MicroOp& u) {
  constexpr FloatFormat kFormat = FormatOf(kSmall);
  constexpr int kBits = kFormat.bits(), kWidth = kBits * kCount;
  uint32_t part = kCount == 32 ? 0 : kWidth == 16 ? OpSel(u) & 1 : OpSel(u) & 3;
  ActiveLanes(w, [&](int lane) {
    int exponent = ScaleExponent(w, u.src[1], lane);
    uint32_t in[7] = {};
    for (int d = 0; d < (kCount == 32 ? 6 : 1); ++d) in[d] = Dword(w, u.src[0], d, lane);
    if constexpr (kCount != 32) in[0] >>= kWidth * part;
    uint32_t out[32] = {};
    for (int i = 0; i < kCount; ++i) {
      int at = i * kBits;
      uint64_t pair = in[at / 32] | static_cast<uint64_t>(in[at / 32 + 1]) << 32;
      float x = Scaled(Decode(kFormat, static_cast<uint32_t>(pair >> (at % 32))), exponent);
      if constexpr (kLarge == Large::kF32) {
        out[i] = Bits(x);
      } else {
        uint32_t half = kLarge == Large::kF16 ? FloatToHalf(x) : FloatToBf16(x);
        out[i / 2] |= half << (16 * (i % 2));
      }
    }
    if constexpr (kLarge == Large::kF16 && kCount == 1) {
      uint32_t& d = w.row(u.dst[0].index)[lane];
      d = OpSel(u) >> 3 & 1 ? (d & 0xffff) | out[0] << 16 : (d & 0xffff0000) | out[0];
      return;
    }
    constexpr int kDwords = kLarge == Large::kF32 ? kCount : (kCount + 1) / 2;
    for (int d = 0; d < kDwords; ++d) w.row(u.dst[0].index + d)[lane] = out[d];
  });
}

using S = Small;
using L = Large;

#define NARROW(name, large, small, count, stochastic)                       \
  {                                                                         \
    "v_cvt_scalef32_" name, &Narrow<L::large, S::small, count, stochastic>, \
        L::large == L::kF32 ? FloatClass::k32 : FloatClass::k16And64        \
  }
#define WIDEN(name, small, large, count)                             \
  {                                                                  \
    "v_cvt_scalef32_" name, &Widen<S::small, L::large, count>,       \
        L::large == L::kF32 ? FloatClass::k32 : FloatClass::k16And64 \
  }
#define BYTES(type, small)                                                                   \
  NARROW("pk_" type "_f32", kF32, small, 2, false),                                          \
      NARROW("pk_" type "_f16", kF16, small, 2, false),                                      \
      NARROW("pk_" type "_bf16", kBf16, small, 2, false),                                    \
      NARROW("sr_" type "_f32", kF32, small, 1, true),                                       \
      NARROW("sr_" type "_f16", kF16, small, 1, true),                                       \
      NARROW("sr_" type "_bf16", kBf16, small, 1, true), WIDEN("f32_" type, small, kF32, 1), \
      WIDEN("f16_" type, small, kF16, 1), WIDEN("pk_f32_" type, small, kF32, 2),             \
      WIDEN("pk_f16_" type, small, kF16, 2), WIDEN("pk_bf16_" type, small, kBf16, 2)
#define SIXES(type, small)                                                                \
  NARROW("2xpk16_" type "_f32", kF32, small, 32, false),                                  \
      NARROW("pk32_" type "_f16", kF16, small, 32, false),                                \
      NARROW("pk32_" type "_bf16", kBf16, small, 32, false),                              \
      NARROW("sr_pk32_" type "_f32", kF32, small, 32, true),                              \
      NARROW("sr_pk32_" type "_f16", kF16, small, 32, true),                              \
      NARROW("sr_pk32_" type "_bf16", kBf16, small, 32, true),                            \
      WIDEN("pk32_f32_" type, small, kF32, 32), WIDEN("pk32_f16_" type, small, kF16, 32), \
      WIDEN("pk32_bf16_" type, small, kBf16, 32)

constexpr Semantics kOps[] = {
    BYTES("fp8", kFp8),
    BYTES("bf8", kBf8),
    SIXES("fp6", kFp6),
    SIXES("bf6", kBf6),
    NARROW("pk_fp4_f32", kF32, kFp4, 2, false),
    NARROW("pk_fp4_f16", kF16, kFp4, 2, false),
    NARROW("pk_fp4_bf16", kBf16, kFp4, 2, false),
    NARROW("sr_pk_fp4_f32", kF32, kFp4, 2, true),
    NARROW("sr_pk_fp4_f16", kF16, kFp4, 2, true),
    NARROW("sr_pk_fp4_bf16", kBf16, kFp4, 2, true),
    WIDEN("pk_f32_fp4", kFp4, kF32, 2),
    WIDEN("pk_f16_fp4", kFp4, kF16, 2),
    WIDEN("pk_bf16_fp4", kFp4, kBf16, 2),
};

}  // namespace

absl::Span<const Semantics> ScaledConvertOps() { return kOps; }

}  // namespace tg::amd::sim
