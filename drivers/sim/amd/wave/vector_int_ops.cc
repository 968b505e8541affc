// Vector integer instructions of 16, 32 and 64 bits.
//
// Sources: AMD RDNA3, RDNA4, CDNA3 and CDNA4 Instruction Set Architecture documents, chapters "VOP1
// instructions", "VOP2 instructions" and "VOP3 instructions".
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "drivers/sim/amd/wave/lanes.h"

namespace tg::amd::sim {
namespace {

using i16 = int16_t;
using u16 = uint16_t;
using i32 = int32_t;
using u32 = uint32_t;
using i64 = int64_t;
using u64 = uint64_t;

Carry Add(u32 a, u32 b, u32 carry) {
  u64 sum = static_cast<u64>(a) + b + carry;
  return {static_cast<u32>(sum), static_cast<u32>(sum >> 32), ~0u};
}
Carry Sub(u32 a, u32 b, u32 borrow) {
  u64 difference = static_cast<u64>(a) - b - borrow;
  return {static_cast<u32>(difference), static_cast<u32>(difference >> 32 & 1), 0};
}

u32 Byte(u64 x, int i) { return x >> (8 * i) & 0xff; }
u32 Difference(u32 a, u32 b) { return a > b ? a - b : b - a; }
// Sum of absolute differences of bytes; `masked` skips those where the reference `b` is 0.
u32 Sad(u32 a, u32 b, u32 sum, bool masked) {
  for (int i = 0; i < 4; ++i) {
    if (!masked || Byte(b, i) != 0) sum += Difference(Byte(a, i), Byte(b, i));
  }
  return sum;
}
// Four sums over windows of the eight bytes of `a`, packed as 16 bits.
u64 QuadSad(u64 a, u32 b, u64 c, bool masked) {
  u64 r = 0;
  for (int i = 0; i < 4; ++i) {
    r |= static_cast<u64>(Sad(static_cast<u32>(a >> (8 * i)), b, c >> (16 * i) & 0xffff, masked) &
                          0xffff)
         << (16 * i);
  }
  return r;
}

u32 Perm(u32 a, u32 b, u32 select) {
  u64 bytes = static_cast<u64>(a) << 32 | b;
  u32 r = 0;
  for (int i = 0; i < 4; ++i) {
    u32 s = Byte(select, i);
    u32 v = s >= 13   ? 0xff
            : s == 12 ? 0
            : s >= 8  ? ((bytes >> (16 * (s - 8) + 15) & 1) ? 0xff : 0)
                      : Byte(bytes, static_cast<int>(s));
    r |= v << (8 * i);
  }
  return r;
}
u32 Lerp(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (int i = 0; i < 4; ++i) {
    r |= ((Byte(a, i) + Byte(b, i) + (Byte(c, i) & 1)) >> 1 & 0xff) << (8 * i);
  }
  return r;
}
u32 BitOp3(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (u32 i = 0; i < 8; ++i) {
    if (!(table >> i & 1)) continue;
    r |= ((i & 4) ? a : ~a) & ((i & 2) ? b : ~b) & ((i & 1) ? c : ~c);
  }
  return r;
}
u32 Reverse(u32 x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(x);
}
i32 I24(u32 x) { return static_cast<i32>(x << 8) >> 8; }
u32 U24(u32 x) { return x & 0xffffff; }
template <class T>
T Middle(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
u32 Saturate(i32 x, i32 lo, i32 hi) { return static_cast<u32>(std::clamp(x, lo, hi)); }
u32 BitCount(u32 x) { return static_cast<u32>(std::popcount(x)); }

WithBit<u64> MadU64(u32 a, u32 b, u64 c) {
  u64 r;
  bool carry = __builtin_add_overflow(static_cast<u64>(a) * b, c, &r);
  return {r, carry};
}
// The carry is bit 64 of the sum of sign-extended numbers.
WithBit<u64> MadI64(i32 a, i32 b, u64 c) {
  __int128 sum = static_cast<__int128>(static_cast<i64>(a) * b) + static_cast<i64>(c);
  return {static_cast<u64>(sum), (static_cast<unsigned __int128>(sum) >> 64 & 1) != 0};
}

#define WIDE2(name, T, expression) \
  Vector(name, [](T x, T y) {      \
    i64 a = x, b = y;              \
    return Wide<T>{(expression)};  \
  })
#define WIDE3(name, T, expression) \
  Vector(name, [](T x, T y, T z) { \
    i64 a = x, b = y, c = z;       \
    return Wide<T>{(expression)};  \
  })
#define ALL_MIN_MAX(suffix, T)                                                               \
  Vector("v_min_" suffix, [](T a, T b) { return a < b ? a : b; }),                           \
      Vector("v_max_" suffix, [](T a, T b) { return a > b ? a : b; }),                       \
      Vector("v_min3_" suffix, [](T a, T b, T c) { return std::min(std::min(a, b), c); }),   \
      Vector("v_max3_" suffix, [](T a, T b, T c) { return std::max(std::max(a, b), c); }),   \
      Vector("v_med3_" suffix, [](T a, T b, T c) { return Middle(a, b, c); }),               \
      Vector("v_maxmin_" suffix, [](T a, T b, T c) { return std::min(std::max(a, b), c); }), \
      Vector("v_minmax_" suffix, [](T a, T b, T c) { return std::max(std::min(a, b), c); })

constexpr Semantics kOps[] = {
    // Moves.
    Vector("v_mov_b32", [](u32 a) { return a; }),
    Vector("v_mov_b16", [](u16 a) { return a; }),
    Vector("v_mov_b64", [](u64 a) { return a; }),
    Vector("v_accvgpr_read_b32", [](u32 a) { return a; }),
    Vector("v_accvgpr_write_b32", [](u32 a) { return a; }),
    Vector("v_accvgpr_mov_b32", [](u32 a) { return a; }),
    Vector("v_cndmask_b32", [](u32 a, u32 b, Bit c) { return c.set ? b : a; }),
    Vector("v_cndmask_b16", [](u16 a, u16 b, Bit c) { return c.set ? b : a; }),

    // Addition.
    WIDE2("v_add_nc_u32", u32, a + b),
    WIDE2("v_sub_nc_u32", u32, a - b),
    WIDE2("v_subrev_nc_u32", u32, b - a),
    WIDE2("v_add_nc_i32", i32, a + b),
    WIDE2("v_sub_nc_i32", i32, a - b),
    WIDE2("v_add_nc_u16", u16, a + b),
    WIDE2("v_sub_nc_u16", u16, a - b),
    WIDE2("v_subrev_u16", u16, b - a),
    WIDE2("v_add_nc_i16", i16, a + b),
    WIDE2("v_sub_nc_i16", i16, a - b),
    Vector("v_add_co_u32", [](u32 a, u32 b) { return Add(a, b, 0); }),
    Vector("v_sub_co_u32", [](u32 a, u32 b) { return Sub(a, b, 0); }),
    Vector("v_subrev_co_u32", [](u32 a, u32 b) { return Sub(b, a, 0); }),
    Vector("v_add_co_ci_u32", [](u32 a, u32 b, Bit c) { return Add(a, b, c.set); }),
    Vector("v_sub_co_ci_u32", [](u32 a, u32 b, Bit c) { return Sub(a, b, c.set); }),
    Vector("v_subrev_co_ci_u32", [](u32 a, u32 b, Bit c) { return Sub(b, a, c.set); }),
    Vector("v_add3_u32", [](u32 a, u32 b, u32 c) { return a + b + c; }),
    Vector("v_lshl_add_u32", [](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }),
    Vector("v_add_lshl_u32", [](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }),
    Vector("v_lshl_add_u64", [](u64 a, u32 b, u64 c) { return (a << (b & 63)) + c; }),
    Vector("v_xad_u32", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }),

    // Multiplication.
    Vector("v_mul_lo_u32", [](u32 a, u32 b) { return a * b; }),
    Vector("v_mul_hi_u32",
           [](u32 a, u32 b) { return static_cast<u32>(static_cast<u64>(a) * b >> 32); }),
    Vector("v_mul_hi_i32",
           [](i32 a, i32 b) {
             return static_cast<u32>(static_cast<u64>(static_cast<i64>(a) * b) >> 32);
           }),
    Vector("v_mul_lo_u16", [](u16 a, u16 b) { return static_cast<u16>(static_cast<u32>(a) * b); }),
    Vector("v_mul_i32_i24",
           [](u32 a, u32 b) { return Wide<i32>{static_cast<i64>(I24(a)) * I24(b)}; }),
    Vector("v_mul_hi_i32_i24",
           [](u32 a, u32 b) { return static_cast<i32>(static_cast<i64>(I24(a)) * I24(b) >> 32); }),
    Vector("v_mul_u32_u24",
           [](u32 a, u32 b) { return Wide<u32>{static_cast<i64>(U24(a)) * U24(b)}; }),
    Vector("v_mul_hi_u32_u24",
           [](u32 a, u32 b) { return static_cast<u32>(static_cast<u64>(U24(a)) * U24(b) >> 32); }),
    Vector("v_mad_i32_i24",
           [](u32 a, u32 b, i32 c) { return Wide<i32>{static_cast<i64>(I24(a)) * I24(b) + c}; }),
    Vector("v_mad_u32_u24",
           [](u32 a, u32 b, u32 c) { return Wide<u32>{static_cast<i64>(U24(a)) * U24(b) + c}; }),
    WIDE3("v_mad_u16", u16, a* b + c),
    WIDE3("v_mad_i16", i16, a* b + c),
    Vector("v_mad_u32_u16",
           [](u16 a, u16 b, u32 c) { return Wide<u32>{static_cast<i64>(a) * b + c}; }),
    Vector("v_mad_i32_i16",
           [](i16 a, i16 b, i32 c) { return Wide<i32>{static_cast<i64>(a) * b + c}; }),
    Vector("v_mad_co_u64_u32", [](u32 a, u32 b, u64 c) { return MadU64(a, b, c); }),
    Vector("v_mad_co_i64_i32", [](i32 a, i32 b, u64 c) { return MadI64(a, b, c); }),

    // Minimum and maximum.
    ALL_MIN_MAX("i32", i32),
    ALL_MIN_MAX("u32", u32),
    ALL_MIN_MAX("i16", i16),
    ALL_MIN_MAX("u16", u16),

    // Bits.
    Vector("v_not_b32", [](u32 a) { return ~a; }),
    Vector("v_not_b16", [](u16 a) { return static_cast<u16>(~a); }),
    Vector("v_and_b32", [](u32 a, u32 b) { return a & b; }),
    Vector("v_or_b32", [](u32 a, u32 b) { return a | b; }),
    Vector("v_xor_b32", [](u32 a, u32 b) { return a ^ b; }),
    Vector("v_xnor_b32", [](u32 a, u32 b) { return ~(a ^ b); }),
    Vector("v_and_b16", [](u16 a, u16 b) { return static_cast<u16>(a & b); }),
    Vector("v_or_b16", [](u16 a, u16 b) { return static_cast<u16>(a | b); }),
    Vector("v_xor_b16", [](u16 a, u16 b) { return static_cast<u16>(a ^ b); }),
    Vector("v_or3_b32", [](u32 a, u32 b, u32 c) { return a | b | c; }),
    Vector("v_xor3_b32", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; }),
    Vector("v_and_or_b32", [](u32 a, u32 b, u32 c) { return (a & b) | c; }),
    Vector("v_lshl_or_b32", [](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }),
    Vector("v_lshlrev_b32", [](u32 a, u32 b) { return b << (a & 31); }),
    Vector("v_lshrrev_b32", [](u32 a, u32 b) { return b >> (a & 31); }),
    Vector("v_ashrrev_i32", [](u32 a, i32 b) { return b >> (a & 31); }),
    Vector("v_lshlrev_b16", [](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }),
    Vector("v_lshrrev_b16", [](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); }),
    Vector("v_ashrrev_i16", [](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); }),
    Vector("v_lshlrev_b64", [](u32 a, u64 b) { return b << (a & 63); }),
    Vector("v_lshrrev_b64", [](u32 a, u64 b) { return b >> (a & 63); }),
    Vector("v_ashrrev_i64", [](u32 a, i64 b) { return b >> (a & 63); }),
    Vector("v_bfe_u32", [](u32 a, u32 b, u32 c) { return a >> (b & 31) & ((1u << (c & 31)) - 1); }),
    Vector("v_bfe_i32",
           [](u32 a, u32 b, u32 c) {
             u32 width = c & 31;
             u32 x = static_cast<u32>(static_cast<i32>(a) >> (b & 31));
             u32 up = (32 - width) & 31;
             return width == 0 ? 0 : static_cast<i32>(x << up) >> up;
           }),
    Vector("v_bfi_b32", [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }),
    Vector("v_bfm_b32", [](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }),
    Vector("v_bfrev_b32", [](u32 a) { return Reverse(a); }),
    Vector("v_bcnt_u32_b32", [](u32 a, u32 b) { return BitCount(a) + b; }),
    Vector("v_mbcnt_lo_u32_b32",
           [](Ctx x, u32 a, u32 b) {
             u32 below = x.lane >= 32 ? ~0u : (1u << x.lane) - 1;
             return BitCount(a & below) + b;
           }),
    Vector("v_mbcnt_hi_u32_b32",
           [](Ctx x, u32 a, u32 b) {
             u32 below = x.lane < 32 ? 0 : (1u << (x.lane - 32)) - 1;
             return BitCount(a & below) + b;
           }),
    Vector("v_clz_i32_u32", [](u32 a) { return a == 0 ? -1 : std::countl_zero(a); }),
    Vector("v_ctz_i32_b32", [](u32 a) { return a == 0 ? -1 : std::countr_zero(a); }),
    Vector("v_cls_i32",
           [](i32 a) {
             u32 x = static_cast<u32>(a < 0 ? ~a : a);
             return x == 0 ? -1 : std::countl_zero(x);
           }),
    Vector("v_alignbit_b32",
           [](u32 a, u32 b, u32 c) {
             return static_cast<u32>((static_cast<u64>(a) << 32 | b) >> (c & 31));
           }),
    Vector("v_alignbyte_b32",
           [](u32 a, u32 b, u32 c) {
             return static_cast<u32>((static_cast<u64>(a) << 32 | b) >> (8 * (c & 3)));
           }),
    Vector("v_perm_b32", [](u32 a, u32 b, u32 c) { return Perm(a, b, c); }),
    Vector("v_bitop3_b32",
           [](Ctx x, u32 a, u32 b, u32 c) { return BitOp3(a, b, c, x.op.inst.Get(Mod::kBitop3)); }),
    Vector("v_bitop3_b16",
           [](Ctx x, u16 a, u16 b, u16 c) {
             return static_cast<u16>(BitOp3(a, b, c, x.op.inst.Get(Mod::kBitop3)));
           }),
    Vector("v_prng_b32", [](u32 a) { return a << 1 ^ (a >> 31 ? 197u : 0u); }),

    // Bytes.
    Vector("v_lerp_u8", [](u32 a, u32 b, u32 c) { return Lerp(a, b, c); }),
    Vector("v_sad_u8", [](u32 a, u32 b,
                          u32 c) { return Wide<u32>{static_cast<i64>(Sad(a, b, 0, false)) + c}; }),
    Vector("v_sad_hi_u8",
           [](u32 a, u32 b, u32 c) {
             return Wide<u32>{(static_cast<i64>(Sad(a, b, 0, false)) << 16) + c};
           }),
    Vector("v_msad_u8",
           [](u32 a, u32 b, u32 c) { return Wide<u32>{static_cast<i64>(Sad(a, b, 0, true)) + c}; }),
    Vector("v_sad_u16",
           [](u32 a, u32 b, u32 c) {
             return Wide<u32>{static_cast<i64>(Difference(a & 0xffff, b & 0xffff)) +
                              Difference(a >> 16, b >> 16) + c};
           }),
    Vector("v_sad_u32",
           [](u32 a, u32 b, u32 c) { return Wide<u32>{static_cast<i64>(Difference(a, b)) + c}; }),
    Vector("v_qsad_pk_u16_u8", [](u64 a, u32 b, u64 c) { return QuadSad(a, b, c, false); }),
    Vector("v_mqsad_pk_u16_u8", [](u64 a, u32 b, u64 c) { return QuadSad(a, b, c, true); }),
    Vector("v_mqsad_u32_u8",
           [](u64 a, u32 b, std::array<u32, 4> c) {
             std::array<u32, 4> r;
             for (int i = 0; i < 4; ++i) r[i] = Sad(static_cast<u32>(a >> (8 * i)), b, c[i], true);
             return r;
           }),
    Vector("v_sat_pk_u8_i16",
           [](u32 a) {
             return static_cast<u16>(Saturate(static_cast<i16>(a), 0, 255) |
                                     Saturate(static_cast<i16>(a >> 16), 0, 255) << 8);
           }),
    Vector("v_ashr_pk_i8_i32",
           [](i32 a, i32 b, u32 c) {
             return static_cast<u16>((Saturate(a >> (c & 31), -128, 127) & 0xff) |
                                     (Saturate(b >> (c & 31), -128, 127) & 0xff) << 8);
           }),
    Vector("v_ashr_pk_u8_i32",
           [](i32 a, i32 b, u32 c) {
             return static_cast<u16>(Saturate(a >> (c & 31), 0, 255) |
                                     Saturate(b >> (c & 31), 0, 255) << 8);
           }),
};

}  // namespace

absl::Span<const Semantics> VectorIntOps() { return kOps; }

}  // namespace tg::amd::sim
