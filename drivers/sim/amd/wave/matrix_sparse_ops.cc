// Sparse and scaled matrix multiplication: SMFMAC of CDNA 3 and CDNA 4, SWMMAC of RDNA 4, MFMA of
// 8, 6 and 4 bits with block scales of CDNA 4.
//
// Sparse: of each four elements along K, two of A are stored. Two bits of the index register for
// each of them say which of the four of B it meets, in the same lane group. Scaled: a lane's 32
// elements have a factor of their own, an exponent of base 2 in E8M0.
//
// Sources: AMD CDNA3 and CDNA4 Instruction Set Architecture documents, chapter "Matrix arithmetic
// instructions"; RDNA4 document, chapter "Wave matrix multiply accumulate"; OCP "Microscaling
// Formats (MX)" 1.0.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "drivers/sim/amd/wave/matrix.h"

namespace tg::amd::sim {
namespace {

using E = Element;

// The sum of a lane group's products: A's `n` elements of `lane_a`, B's of `lane_b`.
double SparseDot(const Wave& w, const MicroOp& u, E a, E b, int lane_a, int lane_b, int n,
                 uint32_t index, bool signed_a, bool signed_b) {
  double sum = 0;
  for (int e = 0; e < n; ++e) {
    int at = e / 2 * 4 + static_cast<int>(index >> (2 * e) & 3);
    sum += Value(w.isa, a, Field(w, u.src[0].index, lane_a, e, BitsOf(a)), signed_a) *
           Value(w.isa, b, Field(w, u.src[1].index, lane_b, at, BitsOf(b)), signed_b);
  }
  return sum;
}

// The indices of A's elements fill part of the register; CBSZ 0 lets ABID say which.
template <int kM, int kK, E kA, E kB = kA>
void Smfmac(Wave& w, const MicroOp& u) {
  constexpr bool kInt = kA == E::kI8;
  constexpr Shape kShape{kM, kK, 1};
  constexpr int kGroups = 64 / kM, kPerLane = kK / 2 / kGroups, kIndexBits = 2 * kPerLane;
  uint32_t part = u.inst.Get(Mod::kCbsz) == 0 ? u.inst.Get(Mod::kAbid) % (32 / kIndexBits) : 0;
  constexpr int kRegisters = kM * kM / 64;
  std::vector<uint32_t> out(kRegisters * 64);
  for (int lane = 0; lane < 64; ++lane) {
    for (int r = 0; r < kRegisters; ++r) {
      Place p = Accumulator(kShape, false, lane, r);
      uint32_t old = w.row(u.dst[0].index + r)[lane];
      double sum = kInt ? static_cast<double>(static_cast<int32_t>(old)) : Float(old);
      for (int g = 0; g < kGroups; ++g) {
        int a = p.row + kM * g, b = p.column + kM * g;
        uint32_t index = w.row(u.src[2].index)[a] >> (kIndexBits * part);
        sum += SparseDot(w, u, kA, kB, a, b, kPerLane, index, true, true);
      }
      out[r * 64 + lane] = kInt ? Integer(sum, u.clamp) : Bits(static_cast<float>(sum));
    }
  }
  for (int r = 0; r < kRegisters; ++r) {
    for (int lane = 0; lane < 64; ++lane) w.row(u.dst[0].index + r)[lane] = out[r * 64 + lane];
  }
}

// 16 by 16 by kK; op_sel_hi has no meaning. index_key says which part of the index register.
template <E kA, E kB, E kC, int kK>
void Swmmac(Wave& w, const MicroOp& u) {
  constexpr bool kInt = kA == E::kI8 || kA == E::kI4;
  auto bit = [&](Mod m, int i) { return u.inst.form->Has(m) && (u.inst.Get(m) >> i & 1); };
  int groups = w.size / 16, per_lane = kK / 2 / groups, index_bits = 2 * per_lane;
  uint32_t part = index_bits < 32 && u.inst.form->Has(Mod::kIndexKey)
                      ? u.inst.Get(Mod::kIndexKey) % (32 / index_bits)
                      : 0;
  int registers = 256 / w.size;
  std::vector<uint32_t> out(static_cast<size_t>(registers) * w.size);
  for (int r = 0; r < registers; ++r) {
    for (int lane = 0; lane < w.size; ++lane) {
      int row = registers * (lane / 16) + r, column = lane % 16;
      uint64_t bits = Field(w, u.dst[0].index, lane, r, BitsOf(kC));
      double sum =
          kInt ? static_cast<double>(static_cast<int32_t>(bits)) : Value(w.isa, kC, bits, true);
      for (int g = 0; g < groups; ++g) {
        int a = row + 16 * g, b = column + 16 * g;
        uint32_t index = w.row(u.src[2].index)[a] >> (index_bits * static_cast<int>(part));
        sum += SparseDot(w, u, kA, kB, a, b, per_lane, index, bit(Mod::kNegLo, 0),
                         bit(Mod::kNegLo, 1));
      }
      out[r * w.size + lane] = kInt            ? Integer(sum, u.clamp)
                               : kC == E::kF32 ? Bits(static_cast<float>(sum))
                               : kC == E::kF16 ? FloatToHalf(DoubleToFloatOdd(sum))
                                               : FloatToBf16(DoubleToFloatOdd(sum));
    }
  }
  bool half = BitsOf(kC) == 16;
  for (int r = 0; r < registers; ++r) {
    for (int lane = 0; lane < w.size; ++lane) {
      uint32_t& d = w.row(u.dst[0].index + (half ? r / 2 : r))[lane];
      uint32_t x = out[r * w.size + lane];
      d = !half ? x : r % 2 ? (d & 0xffff) | x << 16 : (d & 0xffff0000) | x;
    }
  }
}

// What CBSZ and BLGP call the formats.
E SmallFormat(uint32_t code) {
  static constexpr E kFormats[] = {E::kFp8, E::kBf8, E::kFp6, E::kBf6, E::kFp4};
  return code < 5 ? kFormats[code] : E::kFp8;
}
// 2^(byte - 127); NaN for 255.
double BlockScale(uint32_t byte) {
  return byte == 255 ? std::numeric_limits<double>::quiet_NaN()
                     : std::ldexp(1.0, static_cast<int>(byte) - 127);
}

// 32 elements in each lane. Scales come from a byte of the last two operands.
template <int kM, bool kScaled>
void MfmaSmall(Wave& w, const MicroOp& u) {
  constexpr int kGroups = 64 / kM, kPerLane = 32, kRegisters = kM * kM / 64;
  constexpr Shape kShape{kM, kPerLane * kGroups, 1};
  E fa = SmallFormat(u.inst.Get(Mod::kCbsz)), fb = SmallFormat(u.inst.Get(Mod::kBlgp));
  std::vector<double> a(64 * kPerLane), b(64 * kPerLane);
  double scale_a[64], scale_b[64];
  auto scales = [&](int source, int which, double* out) {
    uint32_t byte =
        (u.inst.Get(Mod::kOpSel) >> which & 1) | (u.inst.Get(Mod::kOpSelHi) >> which & 1) << 1;
    for (int base = 0; base < 64; base += kChunk) {
      uint32_t raw[kChunk];
      RawLanes(w, u, u.src[source], 0, base, raw);
      for (int l = 0; l < kChunk; ++l) out[base + l] = BlockScale(raw[l] >> (8 * byte) & 0xff);
    }
  };
  if constexpr (kScaled) {
    scales(3, 0, scale_a);
    scales(4, 1, scale_b);
  }
  for (int lane = 0; lane < 64; ++lane) {
    for (int e = 0; e < kPerLane; ++e) {
      a[lane * kPerLane + e] =
          Value(w.isa, fa, Field(w, u.src[0].index, lane, e, BitsOf(fa)), true);
      b[lane * kPerLane + e] =
          Value(w.isa, fb, Field(w, u.src[1].index, lane, e, BitsOf(fb)), true);
    }
  }
  std::vector<uint32_t> out(kRegisters * 64);
  for (int lane = 0; lane < 64; ++lane) {
    for (int r = 0; r < kRegisters; ++r) {
      Place p = Accumulator(kShape, false, lane, r);
      double sum = Float(static_cast<uint32_t>(Addend(w, u.src[2], lane, r, 32)));
      for (int g = 0; g < kGroups; ++g) {
        int la = p.row + kM * g, lb = p.column + kM * g;
        double part = 0;
        for (int e = 0; e < kPerLane; ++e) part += a[la * kPerLane + e] * b[lb * kPerLane + e];
        sum += kScaled ? part * scale_a[la] * scale_b[lb] : part;
      }
      out[r * 64 + lane] = Bits(static_cast<float>(sum));
    }
  }
  for (int r = 0; r < kRegisters; ++r) {
    for (int lane = 0; lane < 64; ++lane) w.row(u.dst[0].index + r)[lane] = out[r * 64 + lane];
  }
}

#define SMFMAC(shape, m, k, type, e) \
  { "v_smfmac_f32_" shape "_" type, &Smfmac<m, k, e>, FloatClass::k32 }
#define SMFMAC_SMALL(shape, m, k)                                                             \
  {"v_smfmac_f32_" shape "_fp8_fp8", &Smfmac<m, k, E::kFp8, E::kFp8>, FloatClass::k32},       \
      {"v_smfmac_f32_" shape "_fp8_bf8", &Smfmac<m, k, E::kFp8, E::kBf8>, FloatClass::k32},   \
      {"v_smfmac_f32_" shape "_bf8_fp8", &Smfmac<m, k, E::kBf8, E::kFp8>, FloatClass::k32}, { \
    "v_smfmac_f32_" shape "_bf8_bf8", &Smfmac<m, k, E::kBf8, E::kBf8>, FloatClass::k32        \
  }

constexpr Semantics kOps[] = {
    SMFMAC("16x16x32", 16, 32, "f16", E::kF16),
    SMFMAC("32x32x16", 32, 16, "f16", E::kF16),
    SMFMAC("16x16x32", 16, 32, "bf16", E::kBf16),
    SMFMAC("32x32x16", 32, 16, "bf16", E::kBf16),
    SMFMAC("16x16x64", 16, 64, "f16", E::kF16),
    SMFMAC("32x32x32", 32, 32, "f16", E::kF16),
    SMFMAC("16x16x64", 16, 64, "bf16", E::kBf16),
    SMFMAC("32x32x32", 32, 32, "bf16", E::kBf16),
    SMFMAC_SMALL("16x16x64", 16, 64),
    SMFMAC_SMALL("32x32x32", 32, 32),
    SMFMAC_SMALL("16x16x128", 16, 128),
    SMFMAC_SMALL("32x32x64", 32, 64),
    {"v_smfmac_i32_16x16x64_i8", &Smfmac<16, 64, E::kI8>},
    {"v_smfmac_i32_32x32x32_i8", &Smfmac<32, 32, E::kI8>},
    {"v_smfmac_i32_16x16x128_i8", &Smfmac<16, 128, E::kI8>},
    {"v_smfmac_i32_32x32x64_i8", &Smfmac<32, 64, E::kI8>},

    {"v_swmmac_f32_16x16x32_f16", &Swmmac<E::kF16, E::kF16, E::kF32, 32>, FloatClass::k32},
    {"v_swmmac_f32_16x16x32_bf16", &Swmmac<E::kBf16, E::kBf16, E::kF32, 32>, FloatClass::k32},
    {"v_swmmac_f16_16x16x32_f16", &Swmmac<E::kF16, E::kF16, E::kF16, 32>, FloatClass::k16And64},
    {"v_swmmac_bf16_16x16x32_bf16", &Swmmac<E::kBf16, E::kBf16, E::kBf16, 32>,
     FloatClass::k16And64},
    {"v_swmmac_i32_16x16x32_iu8", &Swmmac<E::kI8, E::kI8, E::kF32, 32>},
    {"v_swmmac_i32_16x16x32_iu4", &Swmmac<E::kI4, E::kI4, E::kF32, 32>},
    {"v_swmmac_i32_16x16x64_iu4", &Swmmac<E::kI4, E::kI4, E::kF32, 64>},
    {"v_swmmac_f32_16x16x32_fp8_fp8", &Swmmac<E::kFp8, E::kFp8, E::kF32, 32>, FloatClass::k32},
    {"v_swmmac_f32_16x16x32_fp8_bf8", &Swmmac<E::kFp8, E::kBf8, E::kF32, 32>, FloatClass::k32},
    {"v_swmmac_f32_16x16x32_bf8_fp8", &Swmmac<E::kBf8, E::kFp8, E::kF32, 32>, FloatClass::k32},
    {"v_swmmac_f32_16x16x32_bf8_bf8", &Swmmac<E::kBf8, E::kBf8, E::kF32, 32>, FloatClass::k32},

    {"v_mfma_f32_16x16x128_f8f6f4", &MfmaSmall<16, false>, FloatClass::k32},
    {"v_mfma_f32_32x32x64_f8f6f4", &MfmaSmall<32, false>, FloatClass::k32},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", &MfmaSmall<16, true>, FloatClass::k32},
    {"v_mfma_scale_f32_32x32x64_f8f6f4", &MfmaSmall<32, true>, FloatClass::k32},
};

}  // namespace

absl::Span<const Semantics> MatrixSparseOps() { return kOps; }

}  // namespace tg::amd::sim
