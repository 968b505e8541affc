// Matrix multiplication: WMMA of RDNA 3 and RDNA 4, MFMA of CDNA 3 and CDNA 4.
//
// Sums are kept in double precision and rounded once, which is at least as exact as what the
// manuals promise; integers are exact. Layouts: AMD RDNA3 and RDNA4 Instruction Set Architecture
// documents, chapter "Wave matrix multiply accumulate"; CDNA3 and CDNA4 documents, chapter "Matrix
// arithmetic instructions".
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "drivers/sim/amd/wave/matrix.h"

namespace tg::amd::sim {
namespace {

// WMMA: 16 by 16 by kK.
template <Element kA, Element kB, Element kC, int kK>
void Wmma(Wave& w, const MicroOp& u) {
  constexpr bool kInt = kA == Element::kI8 || kA == Element::kI4;
  const Inst& inst = u.inst;
  auto bit = [&](Mod m, int i) { return inst.form->Has(m) && (inst.Get(m) >> i & 1); };
  bool rdna4 = w.isa == Isa::kGfx12;
  int groups = w.size / 16;
  double a[16][kK], b[kK][16];
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < kK; ++k) {
      int per = kK / groups;  // RDNA 4: elements of a lane.
      int lane = rdna4 ? i + 16 * (k / per) : i, e = rdna4 ? k % per : k;
      a[i][k] =
          Value(w.isa, kA, Field(w, u.src[0].index, lane, e, BitsOf(kA)), bit(Mod::kNegLo, 0));
      b[k][i] =
          Value(w.isa, kB, Field(w, u.src[1].index, lane, e, BitsOf(kB)), bit(Mod::kNegLo, 1));
      // neg_lo has the sign of even elements, neg_hi of odd ones.
      Mod neg = k % 2 == 0 ? Mod::kNegLo : Mod::kNegHi;
      if (!kInt && BitsOf(kA) == 16 && bit(neg, 0)) a[i][k] = -a[i][k];
      if (!kInt && BitsOf(kB) == 16 && bit(neg, 1)) b[k][i] = -b[k][i];
    }
  }
  int registers = 256 / w.size;
  bool high = bit(Mod::kOpSel, 2);
  std::vector<uint32_t> out(static_cast<size_t>(registers) * w.size);
  for (int r = 0; r < registers; ++r) {
    for (int lane = 0; lane < w.size; ++lane) {
      int row = rdna4 ? registers * (lane / 16) + r : groups * r + lane / 16, column = lane % 16;
      // Halves lie in a register each on RDNA 3, in pairs on RDNA 4.
      int index = BitsOf(kC) == 16 && !rdna4 ? 2 * r + high : r;
      uint64_t bits = Addend(w, u.src[2], lane, index, kInt ? 32 : BitsOf(kC));
      double sum =
          kInt ? static_cast<double>(static_cast<int32_t>(bits)) : Value(w.isa, kC, bits, true);
      if (!kInt && bit(Mod::kNegHi, 2)) sum = std::fabs(sum);
      if (!kInt && bit(Mod::kNegLo, 2)) sum = -sum;
      for (int k = 0; k < kK; ++k) sum += a[row][k] * b[k][column];
      out[r * w.size + lane] = kInt                  ? Integer(sum, u.clamp)
                               : kC == Element::kF32 ? Bits(static_cast<float>(sum))
                               : kC == Element::kF16 ? FloatToHalf(DoubleToFloatOdd(sum))
                                                     : FloatToBf16(DoubleToFloatOdd(sum));
    }
  }
  for (int r = 0; r < registers; ++r) {
    for (int lane = 0; lane < w.size; ++lane) {
      uint32_t x = out[r * w.size + lane];
      bool half = BitsOf(kC) == 16;
      int row = u.dst[0].index + (half && rdna4 ? r / 2 : r);
      bool upper = rdna4 ? r % 2 : high;
      uint32_t& d = w.row(row)[lane];
      d = !half ? x : upper ? (d & 0xffff) | x << 16 : (d & 0xffff0000) | x;
    }
  }
}

// The lane that B comes from by BLGP.
int BlgpLane(int lane, uint32_t blgp) {
  switch (blgp) {
    case 1:
      return lane % 32;
    case 2:
      return 32 + lane % 32;
    case 3:
      return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7:
      return 16 * (static_cast<int>(blgp) - 4) + lane % 16;
    default:
      return lane;
  }
}

void MultiplyBlocks(Wave& w, const MicroOp& u, const Shape& s, Element ea, Element eb, bool integer,
                    bool f64) {
  int n = s.m, per = n * s.k * s.blocks / 64;
  uint32_t cbsz = u.inst.Get(Mod::kCbsz), abid = u.inst.Get(Mod::kAbid);
  uint32_t blgp = f64 ? 0 : u.inst.Get(Mod::kBlgp);
  uint32_t negate = f64 ? u.inst.Get(Mod::kBlgp) : 0;
  std::vector<double> a(static_cast<size_t>(s.blocks) * n * s.k), b(a.size());
  for (int lane = 0; lane < 64; ++lane) {
    int g = lane / n, block = g % s.blocks, group = g / s.blocks;
    for (int e = 0; e < per; ++e) {
      int k = group * per + e, i = lane % n;
      double x = Value(w.isa, ea, Field(w, u.src[0].index, lane, e, BitsOf(ea)), true);
      double y =
          Value(w.isa, eb, Field(w, u.src[1].index, BlgpLane(lane, blgp), e, BitsOf(eb)), true);
      a[(block * n + i) * s.k + k] = negate & 1 ? -x : x;
      b[(block * n + i) * s.k + k] = negate & 2 ? -y : y;
    }
  }
  int registers = n * n * s.blocks / 64;
  std::vector<uint64_t> out(static_cast<size_t>(registers) * 64);
  for (int lane = 0; lane < 64; ++lane) {
    for (int r = 0; r < registers; ++r) {
      Place p = Accumulator(s, f64, lane, r);
      uint64_t bits = Addend(w, u.src[2], lane, r, f64 ? 64 : 32);
      // CBSZ: groups of 2^cbsz blocks take A from one of them.
      int group = std::min(1 << cbsz, s.blocks);
      int from = p.block / group * group + static_cast<int>(abid) % group;
      if (cbsz == 0) from = p.block;
      const double* x = &a[(from * n + p.row) * s.k];
      const double* y = &b[(p.block * n + p.column) * s.k];
      if (f64) {
        double sum = Double(bits);
        if (negate & 4) sum = -sum;
        for (int k = 0; k < s.k; ++k) sum = std::fma(x[k], y[k], sum);
        out[r * 64 + lane] = Bits(sum);
        continue;
      }
      double sum = integer ? static_cast<double>(static_cast<int32_t>(bits))
                           : Float(static_cast<uint32_t>(bits));
      for (int k = 0; k < s.k; ++k) sum += x[k] * y[k];
      out[r * 64 + lane] = integer ? Integer(sum, u.clamp) : Bits(static_cast<float>(sum));
    }
  }
  for (int r = 0; r < registers; ++r) {
    for (int lane = 0; lane < 64; ++lane) {
      if (f64) {
        w.row(u.dst[0].index + 2 * r)[lane] = static_cast<uint32_t>(out[r * 64 + lane]);
        w.row(u.dst[0].index + 2 * r + 1)[lane] = static_cast<uint32_t>(out[r * 64 + lane] >> 32);
      } else {
        w.row(u.dst[0].index + r)[lane] = static_cast<uint32_t>(out[r * 64 + lane]);
      }
    }
  }
}

template <int kM, int kK, int kBlocks, Element kA, Element kB = kA>
void Mfma(Wave& w, const MicroOp& u) {
  MultiplyBlocks(w, u, {kM, kK, kBlocks}, kA, kB, kA == Element::kI8, kA == Element::kF64);
}

using E = Element;

#define WMMA_SMALL(a, ea, b, eb) \
  { "v_wmma_f32_16x16x16_" a "_" b, &Wmma<ea, eb, E::kF32, 16>, FloatClass::k32 }
#define MFMA_SMALL(shape, m, k)                                             \
  {"v_mfma_f32_" shape "_fp8_fp8", &Mfma<m, k, 1, E::kFp8, E::kFp8>},       \
      {"v_mfma_f32_" shape "_fp8_bf8", &Mfma<m, k, 1, E::kFp8, E::kBf8>},   \
      {"v_mfma_f32_" shape "_bf8_fp8", &Mfma<m, k, 1, E::kBf8, E::kFp8>}, { \
    "v_mfma_f32_" shape "_bf8_bf8", &Mfma<m, k, 1, E::kBf8, E::kBf8>        \
  }

constexpr Semantics kOps[] = {
    {"v_wmma_f32_16x16x16_f16", &Wmma<E::kF16, E::kF16, E::kF32, 16>, FloatClass::k32},
    {"v_wmma_f32_16x16x16_bf16", &Wmma<E::kBf16, E::kBf16, E::kF32, 16>, FloatClass::k32},
    {"v_wmma_f16_16x16x16_f16", &Wmma<E::kF16, E::kF16, E::kF16, 16>, FloatClass::k16And64},
    {"v_wmma_bf16_16x16x16_bf16", &Wmma<E::kBf16, E::kBf16, E::kBf16, 16>, FloatClass::k16And64},
    {"v_wmma_i32_16x16x16_iu8", &Wmma<E::kI8, E::kI8, E::kF32, 16>},
    {"v_wmma_i32_16x16x16_iu4", &Wmma<E::kI4, E::kI4, E::kF32, 16>},
    {"v_wmma_i32_16x16x32_iu4", &Wmma<E::kI4, E::kI4, E::kF32, 32>},
    WMMA_SMALL("fp8", E::kFp8, "fp8", E::kFp8),
    WMMA_SMALL("fp8", E::kFp8, "bf8", E::kBf8),
    WMMA_SMALL("bf8", E::kBf8, "fp8", E::kFp8),
    WMMA_SMALL("bf8", E::kBf8, "bf8", E::kBf8),

    {"v_mfma_f32_32x32x1_2b_f32", &Mfma<32, 1, 2, E::kF32>},
    {"v_mfma_f32_16x16x1_4b_f32", &Mfma<16, 1, 4, E::kF32>},
    {"v_mfma_f32_4x4x1_16b_f32", &Mfma<4, 1, 16, E::kF32>},
    {"v_mfma_f32_32x32x2_f32", &Mfma<32, 2, 1, E::kF32>},
    {"v_mfma_f32_16x16x4_f32", &Mfma<16, 4, 1, E::kF32>},
    {"v_mfma_f32_32x32x4_2b_f16", &Mfma<32, 4, 2, E::kF16>},
    {"v_mfma_f32_16x16x4_4b_f16", &Mfma<16, 4, 4, E::kF16>},
    {"v_mfma_f32_4x4x4_16b_f16", &Mfma<4, 4, 16, E::kF16>},
    {"v_mfma_f32_32x32x8_f16", &Mfma<32, 8, 1, E::kF16>},
    {"v_mfma_f32_16x16x16_f16", &Mfma<16, 16, 1, E::kF16>},
    {"v_mfma_f32_32x32x16_f16", &Mfma<32, 16, 1, E::kF16>},
    {"v_mfma_f32_16x16x32_f16", &Mfma<16, 32, 1, E::kF16>},
    {"v_mfma_f32_32x32x4_2b_bf16", &Mfma<32, 4, 2, E::kBf16>},
    {"v_mfma_f32_16x16x4_4b_bf16", &Mfma<16, 4, 4, E::kBf16>},
    {"v_mfma_f32_4x4x4_16b_bf16", &Mfma<4, 4, 16, E::kBf16>},
    {"v_mfma_f32_32x32x8_bf16", &Mfma<32, 8, 1, E::kBf16>},
    {"v_mfma_f32_16x16x16_bf16", &Mfma<16, 16, 1, E::kBf16>},
    {"v_mfma_f32_32x32x16_bf16", &Mfma<32, 16, 1, E::kBf16>},
    {"v_mfma_f32_16x16x32_bf16", &Mfma<16, 32, 1, E::kBf16>},
    {"v_mfma_i32_32x32x4_2b_i8", &Mfma<32, 4, 2, E::kI8>},
    {"v_mfma_i32_16x16x4_4b_i8", &Mfma<16, 4, 4, E::kI8>},
    {"v_mfma_i32_4x4x4_16b_i8", &Mfma<4, 4, 16, E::kI8>},
    {"v_mfma_i32_32x32x16_i8", &Mfma<32, 16, 1, E::kI8>},
    {"v_mfma_i32_16x16x32_i8", &Mfma<16, 32, 1, E::kI8>},
    {"v_mfma_i32_32x32x32_i8", &Mfma<32, 32, 1, E::kI8>},
    {"v_mfma_i32_16x16x64_i8", &Mfma<16, 64, 1, E::kI8>},
    {"v_mfma_f64_16x16x4_f64", &Mfma<16, 4, 1, E::kF64>},
    {"v_mfma_f64_4x4x4_4b_f64", &Mfma<4, 4, 4, E::kF64>},
    MFMA_SMALL("16x16x32", 16, 32),
    MFMA_SMALL("32x32x16", 32, 16),
};

}  // namespace

absl::Span<const Semantics> MatrixOps() { return kOps; }

}  // namespace tg::amd::sim
