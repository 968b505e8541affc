// Scalar integer instructions: SOP1, SOP2, SOPC, SOPK.
//
// Sources: AMD RDNA3, RDNA4 and CDNA3 Instruction Set Architecture documents, chapters "SOP1
// instructions" and on. SCC is the carry, the overflow, "the result is not 0", or the comparison,
// as each entry says.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "drivers/sim/amd/wave/scalar.h"

namespace tg::amd::sim {
namespace {

using i32 = int32_t;
using u32 = uint32_t;
using i64 = int64_t;
using u64 = uint64_t;

template <class T>
T Nonzero(Wave& w, T x) {
  w.scc = x != 0;
  return x;
}

u32 AddCarry(Wave& w, u32 a, u32 b, u32 carry) {
  u64 sum = static_cast<u64>(a) + b + carry;
  w.scc = sum >> 32;
  return static_cast<u32>(sum);
}
u32 SubBorrow(Wave& w, u32 a, u32 b, u32 borrow) {
  w.scc = static_cast<u64>(b) + borrow > a;
  return a - b - borrow;
}
i32 AddOverflow(Wave& w, i32 a, i32 b) {
  i32 r;
  w.scc = __builtin_add_overflow(a, b, &r);
  return r;
}
i32 SubOverflow(Wave& w, i32 a, i32 b) {
  i32 r;
  w.scc = __builtin_sub_overflow(a, b, &r);
  return r;
}
u32 ShiftAdd(Wave& w, u32 a, u32 b, int shift) {
  u64 sum = (static_cast<u64>(a) << shift) + b;
  w.scc = sum >> 32;
  return static_cast<u32>(sum);
}
template <class T>
T Choose(Wave& w, bool first, T a, T b) {
  w.scc = first;
  return first ? a : b;
}

// Fields: offset and width from the second source.
template <class U, int kOffsetBits>
U Field(U a, u32 b, bool is_signed) {
  constexpr int kSize = sizeof(U) * 8;
  int offset = b & ((1 << kOffsetBits) - 1), width = b >> 16 & 0x7f;
  if (width == 0) return 0;
  U x = a >> offset;
  if (is_signed) x = static_cast<U>(static_cast<std::make_signed_t<U>>(a) >> offset);
  if (width >= kSize) return x;
  x &= (U{1} << width) - 1;
  if (is_signed && (x >> (width - 1) & 1)) x |= ~U{0} << width;
  return x;
}

// Whole quads of lanes where one is set.
template <class U>
U WholeQuads(U x) {
  U r = 0;
  for (size_t i = 0; i < sizeof(U) * 8; i += 4) {
    if (x >> i & 15) r |= U{15} << i;
  }
  return r;
}
template <class U>
U QuadMask(U x) {
  U r = 0;
  for (size_t i = 0; i < sizeof(U) * 2; ++i) {
    if (x >> (4 * i) & 15) r |= U{1} << i;
  }
  return r;
}
template <class U>
U Reverse(U x) {
  U r = 0;
  for (size_t i = 0; i < sizeof(U) * 8; ++i) r |= (x >> i & 1) << (sizeof(U) * 8 - 1 - i);
  return r;
}
// How many leading bits are like the sign; -1 when all are.
template <class I>
i32 SignBits(I x) {
  using U = std::make_unsigned_t<I>;
  U u = static_cast<U>(x < 0 ? ~x : x);
  return u == 0 ? -1 : std::countl_zero(u);
}
template <class U>
i32 LeadingZeros(U x) {
  return x == 0 ? -1 : std::countl_zero(x);
}
template <class U>
i32 TrailingZeros(U x) {
  return x == 0 ? -1 : std::countr_zero(x);
}

// EXEC becomes `next`; the old one is the result.
u64 SaveExec(Wave& w, u64 next) {
  u64 old = w.exec();
  w.scc = next != 0;
  w.set_exec(next & w.full_mask());
  return old;
}
// EXEC becomes `next`, which is the result.
u64 WriteExec(Wave& w, u64 next) {
  SaveExec(w, next);
  return w.exec();
}
u32 Low(u64 x) { return static_cast<u32>(x); }

// Registers whose number has M0 added. The sources are operand codes, not values.
int Indexed(Wave& w, int index) { return index + static_cast<int>(w.sgpr[w.m0] & 0x7f); }
template <int kDwords, bool kSource>
void MoveRelative(Wave& w, const MicroOp& u) {
  int from = u.src[0].index, to = u.dst[0].index;
  bool relative_ok = u.src[0].kind == Source::Kind::kSgpr || !kSource;
  (kSource ? from : to) = Indexed(w, kSource ? from : to);
  if (!relative_ok || (kSource ? from : to) + kDwords > 108) {
    w.Fault("an SGPR relative to M0 is none");
    return;
  }
  u64 value = kSource ? w.sgpr64(from) : ScalarValue(w, u.src[0]);
  w.sgpr[to] = Low(value);
  if (kDwords == 2) w.sgpr[to + 1] = Low(value >> 32);
}
void MoveRelative2(Wave& w, const MicroOp& u) {
  u32 m0 = w.sgpr[w.m0];
  u32 from = u.src[0].index + (m0 & 0x3ff), to = u.dst[0].index + (m0 >> 16 & 0x3ff);
  if (u.src[0].kind != Source::Kind::kSgpr || from > 107 || to > 107) {
    w.Fault("an SGPR relative to M0 is none");
    return;
  }
  w.sgpr[to] = w.sgpr[from];
}

#define BOTH(name, T32, T64, expression)                                 \
  Scalar(name "32", [](Wave& w, T32 a, T32 b) { return (expression); }), \
      Scalar(name "64", [](Wave& w, T64 a, T64 b) { return (expression); })
#define SAVE_EXEC(name, function, expression)                \
  Scalar(name "_b32",                                        \
         [](Wave& w, u32 a) {                                \
           u64 exec = w.exec();                              \
           return Low(function(w, (expression)&0xffffffff)); \
         }),                                                 \
      Scalar(name "_b64", [](Wave& w, u64 a) {               \
        u64 exec = w.exec();                                 \
        return function(w, (expression));                    \
      })
#define COMPARE(name, T, op) Scalar(name, [](T a, T b) { return a op b; })
#define COMPARE_K(name, T, T16, op) \
  Scalar(name,                      \
         [](u32 s, u32 k) { return static_cast<T>(s) op static_cast<T>(static_cast<T16>(k)); })

constexpr Semantics kOps[] = {
    // Moves and selection.
    Scalar("s_mov_b32", [](u32 a) { return a; }),
    Scalar("s_mov_b64", [](u64 a) { return a; }),
    Scalar("s_movk_i32", [](u32 k) { return static_cast<i32>(static_cast<int16_t>(k)); }),
    Scalar("s_cmov_b32", [](Wave& w, u32 a, u32 d) { return w.scc ? a : d; }),
    Scalar("s_cmov_b64", [](Wave& w, u64 a, u64 d) { return w.scc ? a : d; }),
    Scalar("s_cmovk_i32",
           [](Wave& w, u32 k, i32 d) {
             return w.scc ? static_cast<i32>(static_cast<int16_t>(k)) : d;
           }),
    Scalar("s_cselect_b32", [](Wave& w, u32 a, u32 b) { return w.scc ? a : b; }),
    Scalar("s_cselect_b64", [](Wave& w, u64 a, u64 b) { return w.scc ? a : b; }),
    {"s_movrels_b32", &MoveRelative<1, true>},
    {"s_movrels_b64", &MoveRelative<2, true>},
    {"s_movreld_b32", &MoveRelative<1, false>},
    {"s_movreld_b64", &MoveRelative<2, false>},
    {"s_movrelsd_2_b32", &MoveRelative2},

    // Arithmetic.
    Scalar("s_add_u32", [](Wave& w, u32 a, u32 b) { return AddCarry(w, a, b, 0); }),
    Scalar("s_addc_u32", [](Wave& w, u32 a, u32 b) { return AddCarry(w, a, b, w.scc); }),
    Scalar("s_sub_u32", [](Wave& w, u32 a, u32 b) { return SubBorrow(w, a, b, 0); }),
    Scalar("s_subb_u32", [](Wave& w, u32 a, u32 b) { return SubBorrow(w, a, b, w.scc); }),
    Scalar("s_add_i32", [](Wave& w, i32 a, i32 b) { return AddOverflow(w, a, b); }),
    Scalar("s_sub_i32", [](Wave& w, i32 a, i32 b) { return SubOverflow(w, a, b); }),
    Scalar("s_addk_i32",
           [](Wave& w, u32 k, i32 d) { return AddOverflow(w, d, static_cast<int16_t>(k)); }),
    Scalar("s_mulk_i32",
           [](u32 k, u32 d) { return d * static_cast<u32>(static_cast<int16_t>(k)); }),
    Scalar("s_add_nc_u64", [](u64 a, u64 b) { return a + b; }),
    Scalar("s_sub_nc_u64", [](u64 a, u64 b) { return a - b; }),
    Scalar("s_mul_i32", [](u32 a, u32 b) { return a * b; }),
    Scalar("s_mul_u64", [](u64 a, u64 b) { return a * b; }),
    Scalar("s_mul_hi_u32", [](u32 a, u32 b) { return Low(static_cast<u64>(a) * b >> 32); }),
    Scalar("s_mul_hi_i32",
           [](i32 a, i32 b) { return Low(static_cast<u64>(static_cast<i64>(a) * b) >> 32); }),
    Scalar("s_absdiff_i32",
           [](Wave& w, u32 a, u32 b) {
             u32 d = a - b;  // Wraps before the absolute value.
             return Nonzero(w, static_cast<i32>(d) < 0 ? 0 - d : d);
           }),
    Scalar("s_abs_i32",
           [](Wave& w, u32 a) { return Nonzero(w, static_cast<i32>(a) < 0 ? 0 - a : a); }),
    Scalar("s_min_i32", [](Wave& w, i32 a, i32 b) { return Choose(w, a < b, a, b); }),
    Scalar("s_min_u32", [](Wave& w, u32 a, u32 b) { return Choose(w, a < b, a, b); }),
    Scalar("s_max_i32", [](Wave& w, i32 a, i32 b) { return Choose(w, a >= b, a, b); }),
    Scalar("s_max_u32", [](Wave& w, u32 a, u32 b) { return Choose(w, a >= b, a, b); }),
    Scalar("s_lshl1_add_u32", [](Wave& w, u32 a, u32 b) { return ShiftAdd(w, a, b, 1); }),
    Scalar("s_lshl2_add_u32", [](Wave& w, u32 a, u32 b) { return ShiftAdd(w, a, b, 2); }),
    Scalar("s_lshl3_add_u32", [](Wave& w, u32 a, u32 b) { return ShiftAdd(w, a, b, 3); }),
    Scalar("s_lshl4_add_u32", [](Wave& w, u32 a, u32 b) { return ShiftAdd(w, a, b, 4); }),

    // Bits.
    BOTH("s_and_b", u32, u64, Nonzero(w, a& b)),
    BOTH("s_or_b", u32, u64, Nonzero(w, a | b)),
    BOTH("s_xor_b", u32, u64, Nonzero(w, a ^ b)),
    BOTH("s_nand_b", u32, u64, Nonzero(w, ~(a& b))),
    BOTH("s_nor_b", u32, u64, Nonzero(w, ~(a | b))),
    BOTH("s_xnor_b", u32, u64, Nonzero(w, ~(a ^ b))),
    BOTH("s_and_not1_b", u32, u64, Nonzero(w, a & ~b)),
    BOTH("s_or_not1_b", u32, u64, Nonzero(w, a | ~b)),
    Scalar("s_not_b32", [](Wave& w, u32 a) { return Nonzero(w, ~a); }),
    Scalar("s_not_b64", [](Wave& w, u64 a) { return Nonzero(w, ~a); }),
    Scalar("s_lshl_b32", [](Wave& w, u32 a, u32 b) { return Nonzero(w, a << (b & 31)); }),
    Scalar("s_lshl_b64", [](Wave& w, u64 a, u32 b) { return Nonzero(w, a << (b & 63)); }),
    Scalar("s_lshr_b32", [](Wave& w, u32 a, u32 b) { return Nonzero(w, a >> (b & 31)); }),
    Scalar("s_lshr_b64", [](Wave& w, u64 a, u32 b) { return Nonzero(w, a >> (b & 63)); }),
    Scalar("s_ashr_i32", [](Wave& w, i32 a, u32 b) { return Nonzero(w, a >> (b & 31)); }),
    Scalar("s_ashr_i64", [](Wave& w, i64 a, u32 b) { return Nonzero(w, a >> (b & 63)); }),
    Scalar("s_bfm_b32", [](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }),
    Scalar("s_bfm_b64", [](u32 a, u32 b) { return ((u64{1} << (a & 63)) - 1) << (b & 63); }),
    Scalar("s_bfe_u32",
           [](Wave& w, u32 a, u32 b) { return Nonzero(w, Field<u32, 5>(a, b, false)); }),
    Scalar("s_bfe_i32",
           [](Wave& w, u32 a, u32 b) { return Nonzero(w, Field<u32, 5>(a, b, true)); }),
    Scalar("s_bfe_u64",
           [](Wave& w, u64 a, u32 b) { return Nonzero(w, Field<u64, 6>(a, b, false)); }),
    Scalar("s_bfe_i64",
           [](Wave& w, u64 a, u32 b) { return Nonzero(w, Field<u64, 6>(a, b, true)); }),
    Scalar("s_brev_b32", [](u32 a) { return Reverse(a); }),
    Scalar("s_brev_b64", [](u64 a) { return Reverse(a); }),
    Scalar("s_bcnt0_i32_b32", [](Wave& w, u32 a) { return Nonzero(w, std::popcount(~a)); }),
    Scalar("s_bcnt0_i32_b64", [](Wave& w, u64 a) { return Nonzero(w, std::popcount(~a)); }),
    Scalar("s_bcnt1_i32_b32", [](Wave& w, u32 a) { return Nonzero(w, std::popcount(a)); }),
    Scalar("s_bcnt1_i32_b64", [](Wave& w, u64 a) { return Nonzero(w, std::popcount(a)); }),
    Scalar("s_ctz_i32_b32", [](u32 a) { return TrailingZeros(a); }),
    Scalar("s_ctz_i32_b64", [](u64 a) { return TrailingZeros(a); }),
    Scalar("s_ff0_i32_b32", [](u32 a) { return TrailingZeros(~a); }),
    Scalar("s_ff0_i32_b64", [](u64 a) { return TrailingZeros(~a); }),
    Scalar("s_clz_i32_u32", [](u32 a) { return LeadingZeros(a); }),
    Scalar("s_clz_i32_u64", [](u64 a) { return LeadingZeros(a); }),
    Scalar("s_cls_i32", [](i32 a) { return SignBits(a); }),
    Scalar("s_cls_i32_i64", [](i64 a) { return SignBits(a); }),
    Scalar("s_sext_i32_i8", [](u32 a) { return static_cast<i32>(static_cast<int8_t>(a)); }),
    Scalar("s_sext_i32_i16", [](u32 a) { return static_cast<i32>(static_cast<int16_t>(a)); }),
    Scalar("s_bitset0_b32", [](u32 a, u32 d) { return d & ~(1u << (a & 31)); }),
    Scalar("s_bitset0_b64", [](u32 a, u64 d) { return d & ~(u64{1} << (a & 63)); }),
    Scalar("s_bitset1_b32", [](u32 a, u32 d) { return d | 1u << (a & 31); }),
    Scalar("s_bitset1_b64", [](u32 a, u64 d) { return d | u64{1} << (a & 63); }),
    Scalar("s_bitreplicate_b64_b32",
           [](u32 a) {
             u64 r = 0;
             for (int i = 0; i < 32; ++i) r |= static_cast<u64>(a >> i & 1) * 3 << (2 * i);
             return r;
           }),
    Scalar("s_wqm_b32", [](Wave& w, u32 a) { return Nonzero(w, WholeQuads(a)); }),
    Scalar("s_wqm_b64", [](Wave& w, u64 a) { return Nonzero(w, WholeQuads(a)); }),
    Scalar("s_quadmask_b32", [](Wave& w, u32 a) { return Nonzero(w, QuadMask(a)); }),
    Scalar("s_quadmask_b64", [](Wave& w, u64 a) { return Nonzero(w, QuadMask(a)); }),
    Scalar("s_pack_ll_b32_b16", [](u32 a, u32 b) { return (a & 0xffff) | b << 16; }),
    Scalar("s_pack_lh_b32_b16", [](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }),
    Scalar("s_pack_hh_b32_b16", [](u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); }),
    Scalar("s_pack_hl_b32_b16", [](u32 a, u32 b) { return a >> 16 | b << 16; }),

    // EXEC.
    SAVE_EXEC("s_and_saveexec", SaveExec, a& exec),
    SAVE_EXEC("s_or_saveexec", SaveExec, a | exec),
    SAVE_EXEC("s_xor_saveexec", SaveExec, a ^ exec),
    SAVE_EXEC("s_nand_saveexec", SaveExec, ~(a& exec)),
    SAVE_EXEC("s_nor_saveexec", SaveExec, ~(a | exec)),
    SAVE_EXEC("s_xnor_saveexec", SaveExec, ~(a ^ exec)),
    SAVE_EXEC("s_and_not0_saveexec", SaveExec, ~a& exec),
    SAVE_EXEC("s_and_not1_saveexec", SaveExec, a & ~exec),
    SAVE_EXEC("s_or_not0_saveexec", SaveExec, ~static_cast<u64>(a) | exec),
    SAVE_EXEC("s_or_not1_saveexec", SaveExec, a | ~exec),
    SAVE_EXEC("s_and_not0_wrexec", WriteExec, ~a& exec),
    SAVE_EXEC("s_and_not1_wrexec", WriteExec, a & ~exec),

    // Comparisons.
    COMPARE("s_cmp_eq_i32", i32, ==),
    COMPARE("s_cmp_lg_i32", i32, !=),
    COMPARE("s_cmp_gt_i32", i32, >),
    COMPARE("s_cmp_ge_i32", i32, >=),
    COMPARE("s_cmp_lt_i32", i32, <),
    COMPARE("s_cmp_le_i32", i32, <=),
    COMPARE("s_cmp_eq_u32", u32, ==),
    COMPARE("s_cmp_lg_u32", u32, !=),
    COMPARE("s_cmp_gt_u32", u32, >),
    COMPARE("s_cmp_ge_u32", u32, >=),
    COMPARE("s_cmp_lt_u32", u32, <),
    COMPARE("s_cmp_le_u32", u32, <=),
    COMPARE("s_cmp_eq_u64", u64, ==),
    COMPARE("s_cmp_lg_u64", u64, !=),
    COMPARE_K("s_cmpk_eq_i32", i32, int16_t, ==),
    COMPARE_K("s_cmpk_lg_i32", i32, int16_t, !=),
    COMPARE_K("s_cmpk_gt_i32", i32, int16_t, >),
    COMPARE_K("s_cmpk_ge_i32", i32, int16_t, >=),
    COMPARE_K("s_cmpk_lt_i32", i32, int16_t, <),
    COMPARE_K("s_cmpk_le_i32", i32, int16_t, <=),
    COMPARE_K("s_cmpk_eq_u32", u32, uint16_t, ==),
    COMPARE_K("s_cmpk_lg_u32", u32, uint16_t, !=),
    COMPARE_K("s_cmpk_gt_u32", u32, uint16_t, >),
    COMPARE_K("s_cmpk_ge_u32", u32, uint16_t, >=),
    COMPARE_K("s_cmpk_lt_u32", u32, uint16_t, <),
    COMPARE_K("s_cmpk_le_u32", u32, uint16_t, <=),
    Scalar("s_bitcmp0_b32", [](u32 a, u32 b) { return !(a >> (b & 31) & 1); }),
    Scalar("s_bitcmp1_b32", [](u32 a, u32 b) { return (a >> (b & 31) & 1) != 0; }),
    Scalar("s_bitcmp0_b64", [](u64 a, u32 b) { return !(a >> (b & 63) & 1); }),
    Scalar("s_bitcmp1_b64", [](u64 a, u32 b) { return (a >> (b & 63) & 1) != 0; }),
};

}  // namespace

absl::Span<const Semantics> ScalarOps() { return kOps; }

}  // namespace tg::amd::sim
