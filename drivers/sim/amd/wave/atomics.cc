#include "drivers/sim/amd/wave/atomics.h"

#include <algorithm>
#include <cstdint>

#include "drivers/sim/amd/wave/numeric.h"

namespace tg::amd::sim {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

// `o` is the old value, `d` the data, `c` what is compared with.
#define ATOMIC(T, expression)                                                         \
  [](u64 old, u64 data, u64 compare) -> u64 {                                         \
    T o = static_cast<T>(old), d = static_cast<T>(data), c = static_cast<T>(compare); \
    (void)o, (void)d, (void)c;                                                        \
    return static_cast<u64>(expression);                                              \
  }
#define FLOAT_ATOMIC(T, convert, expression)                     \
  [](u64 old, u64 data, u64 compare) -> u64 {                    \
    T o = convert(old), d = convert(data), c = convert(compare); \
    (void)c;                                                     \
    return Bits(expression);                                     \
  }
float F32(u64 x) { return Float(static_cast<u32>(x)); }
double F64(u64 x) { return Double(x); }

u64 AddHalves(u64 old, u64 data) {
  auto add = [](u64 a, u64 b) -> u64 {
    return FloatToHalf(HalfToFloat(a & 0xffff) + HalfToFloat(b & 0xffff));
  };
  return add(old, data) | add(old >> 16, data >> 16) << 16;
}
u64 AddBf16s(u64 old, u64 data) {
  auto add = [](u64 a, u64 b) -> u64 {
    return FloatToBf16(Bf16ToFloat(a & 0xffff) + Bf16ToFloat(b & 0xffff));
  };
  return add(old, data) | add(old >> 16, data >> 16) << 16;
}

constexpr AtomicFunction kAdd32 = ATOMIC(u32, o + d), kAdd64 = ATOMIC(u64, o + d);
constexpr AtomicFunction kSub32 = ATOMIC(u32, o - d), kSub64 = ATOMIC(u64, o - d);
constexpr AtomicFunction kRsub32 = ATOMIC(u32, d - o), kRsub64 = ATOMIC(u64, d - o);
constexpr AtomicFunction kInc32 = ATOMIC(u32, o >= d ? 0 : o + 1),
                         kInc64 = ATOMIC(u64, o >= d ? 0 : o + 1);
constexpr AtomicFunction kDec32 = ATOMIC(u32, o == 0 || o > d ? d : o - 1);
constexpr AtomicFunction kDec64 = ATOMIC(u64, o == 0 || o > d ? d : o - 1);
constexpr AtomicFunction kMinI32 = ATOMIC(i32, std::min(o, d)),
                         kMinI64 = ATOMIC(i64, std::min(o, d));
constexpr AtomicFunction kMaxI32 = ATOMIC(i32, std::max(o, d)),
                         kMaxI64 = ATOMIC(i64, std::max(o, d));
constexpr AtomicFunction kMinU32 = ATOMIC(u32, std::min(o, d)),
                         kMinU64 = ATOMIC(u64, std::min(o, d));
constexpr AtomicFunction kMaxU32 = ATOMIC(u32, std::max(o, d)),
                         kMaxU64 = ATOMIC(u64, std::max(o, d));
constexpr AtomicFunction kAnd = ATOMIC(u64, o&d), kOr = ATOMIC(u64, o | d),
                         kXor = ATOMIC(u64, o ^ d);
constexpr AtomicFunction kSwap = ATOMIC(u64, d);
constexpr AtomicFunction kCompareSwap = ATOMIC(u64, o == c ? d : o);
constexpr AtomicFunction kCompareSwap32 = ATOMIC(u32, o == c ? d : o);
constexpr AtomicFunction kCompareSwapF32 = FLOAT_ATOMIC(float, F32, o == c ? d : o);
constexpr AtomicFunction kCompareSwapF64 = FLOAT_ATOMIC(double, F64, o == c ? d : o);
// LDS's old compare-and-swap has the operands the other way round.
constexpr AtomicFunction kCompareSwapOld = ATOMIC(u64, o == d ? c : o);
constexpr AtomicFunction kCompareSwapOld32 = ATOMIC(u32, o == d ? c : o);
constexpr AtomicFunction kCompareSwapOldF32 = FLOAT_ATOMIC(float, F32, o == d ? c : o);
constexpr AtomicFunction kCompareSwapOldF64 = FLOAT_ATOMIC(double, F64, o == d ? c : o);
constexpr AtomicFunction kAddF32 = FLOAT_ATOMIC(float, F32, o + d),
                         kAddF64 = FLOAT_ATOMIC(double, F64, o + d);
constexpr AtomicFunction kMinF32 = FLOAT_ATOMIC(float, F32, MinNum(o, d)),
                         kMinF64 = FLOAT_ATOMIC(double, F64, MinNum(o, d));
constexpr AtomicFunction kMaxF32 = FLOAT_ATOMIC(float, F32, MaxNum(o, d)),
                         kMaxF64 = FLOAT_ATOMIC(double, F64, MaxNum(o, d));
constexpr AtomicFunction kAddPkF16 = [](u64 o, u64 d, u64) { return AddHalves(o, d); };
constexpr AtomicFunction kAddPkBf16 = [](u64 o, u64 d, u64) { return AddBf16s(o, d); };
constexpr AtomicFunction kSubClamp = ATOMIC(u32, o < d ? 0 : o - d);
constexpr AtomicFunction kCondSub = ATOMIC(u32, o >= d ? o - d : o);
// Bits of the mask `d` are replaced by those of `c`.
constexpr AtomicFunction kMaskOr = ATOMIC(u64, (o & ~d) | c);
constexpr AtomicFunction kWrap = ATOMIC(u32, o >= d ? o - d : o + c);

constexpr Access Atomic(const char* name, int bytes, AtomicFunction f, bool compares = false) {
  return {name,    AccessKind::kAtomic, static_cast<uint8_t>(bytes), false, RegisterHalf::kWhole, f,
          compares};
}

constexpr Access kMemoryAtomics[] = {
    Atomic("swap_b32", 4, kSwap),
    Atomic("cmpswap_b32", 4, kCompareSwap32, true),
    Atomic("cmpswap_f32", 4, kCompareSwapF32, true),
    Atomic("add_u32", 4, kAdd32),
    Atomic("sub_u32", 4, kSub32),
    Atomic("csub_u32", 4, kSubClamp),
    Atomic("sub_clamp_u32", 4, kSubClamp),
    Atomic("cond_sub_u32", 4, kCondSub),
    Atomic("min_i32", 4, kMinI32),
    Atomic("min_u32", 4, kMinU32),
    Atomic("max_i32", 4, kMaxI32),
    Atomic("max_u32", 4, kMaxU32),
    Atomic("and_b32", 4, kAnd),
    Atomic("or_b32", 4, kOr),
    Atomic("xor_b32", 4, kXor),
    Atomic("inc_u32", 4, kInc32),
    Atomic("dec_u32", 4, kDec32),
    Atomic("swap_b64", 8, kSwap),
    Atomic("cmpswap_b64", 8, kCompareSwap, true),
    Atomic("add_u64", 8, kAdd64),
    Atomic("sub_u64", 8, kSub64),
    Atomic("min_i64", 8, kMinI64),
    Atomic("min_u64", 8, kMinU64),
    Atomic("max_i64", 8, kMaxI64),
    Atomic("max_u64", 8, kMaxU64),
    Atomic("and_b64", 8, kAnd),
    Atomic("or_b64", 8, kOr),
    Atomic("xor_b64", 8, kXor),
    Atomic("inc_u64", 8, kInc64),
    Atomic("dec_u64", 8, kDec64),
    Atomic("add_f32", 4, kAddF32),
    Atomic("add_f64", 8, kAddF64),
    Atomic("min_f32", 4, kMinF32),
    Atomic("max_f32", 4, kMaxF32),
    Atomic("min_num_f32", 4, kMinF32),
    Atomic("max_num_f32", 4, kMaxF32),
    Atomic("min_f64", 8, kMinF64),
    Atomic("max_f64", 8, kMaxF64),
    Atomic("pk_add_f16", 4, kAddPkF16),
    Atomic("pk_add_bf16", 4, kAddPkBf16),

    // CDNA.
    Atomic("swap", 4, kSwap),
    Atomic("cmpswap", 4, kCompareSwap32, true),
    Atomic("add", 4, kAdd32),
    Atomic("sub", 4, kSub32),
    Atomic("smin", 4, kMinI32),
    Atomic("umin", 4, kMinU32),
    Atomic("smax", 4, kMaxI32),
    Atomic("umax", 4, kMaxU32),
    Atomic("and", 4, kAnd),
    Atomic("or", 4, kOr),
    Atomic("xor", 4, kXor),
    Atomic("inc", 4, kInc32),
    Atomic("dec", 4, kDec32),
    Atomic("swap_x2", 8, kSwap),
    Atomic("cmpswap_x2", 8, kCompareSwap, true),
    Atomic("add_x2", 8, kAdd64),
    Atomic("sub_x2", 8, kSub64),
    Atomic("smin_x2", 8, kMinI64),
    Atomic("umin_x2", 8, kMinU64),
    Atomic("smax_x2", 8, kMaxI64),
    Atomic("umax_x2", 8, kMaxU64),
    Atomic("and_x2", 8, kAnd),
    Atomic("or_x2", 8, kOr),
    Atomic("xor_x2", 8, kXor),
    Atomic("inc_x2", 8, kInc64),
    Atomic("dec_x2", 8, kDec64),
};

#define LDS(operation, type, bytes, f) \
  Atomic("ds_" operation "_" type, bytes, f), Atomic("ds_" operation "_rtn_" type, bytes, f)
#define LDS_COMPARE(operation, type, bytes, f)      \
  Atomic("ds_" operation "_" type, bytes, f, true), \
      Atomic("ds_" operation "_rtn_" type, bytes, f, true)

constexpr Access kLdsAtomics[] = {
    LDS("add", "u32", 4, kAdd32),
    LDS("sub", "u32", 4, kSub32),
    LDS("rsub", "u32", 4, kRsub32),
    LDS("inc", "u32", 4, kInc32),
    LDS("dec", "u32", 4, kDec32),
    LDS("min", "i32", 4, kMinI32),
    LDS("max", "i32", 4, kMaxI32),
    LDS("min", "u32", 4, kMinU32),
    LDS("max", "u32", 4, kMaxU32),
    LDS("and", "b32", 4, kAnd),
    LDS("or", "b32", 4, kOr),
    LDS("xor", "b32", 4, kXor),
    LDS("mskor", "b32", 4, kMaskOr),
    LDS("add", "u64", 8, kAdd64),
    LDS("sub", "u64", 8, kSub64),
    LDS("rsub", "u64", 8, kRsub64),
    LDS("inc", "u64", 8, kInc64),
    LDS("dec", "u64", 8, kDec64),
    LDS("min", "i64", 8, kMinI64),
    LDS("max", "i64", 8, kMaxI64),
    LDS("min", "u64", 8, kMinU64),
    LDS("max", "u64", 8, kMaxU64),
    LDS("and", "b64", 8, kAnd),
    LDS("or", "b64", 8, kOr),
    LDS("xor", "b64", 8, kXor),
    LDS("mskor", "b64", 8, kMaskOr),
    LDS("add", "f32", 4, kAddF32),
    LDS("add", "f64", 8, kAddF64),
    LDS("min", "f32", 4, kMinF32),
    LDS("max", "f32", 4, kMaxF32),
    LDS("min", "f64", 8, kMinF64),
    LDS("max", "f64", 8, kMaxF64),
    LDS("min_num", "f32", 4, kMinF32),
    LDS("max_num", "f32", 4, kMaxF32),
    LDS("min_num", "f64", 8, kMinF64),
    LDS("max_num", "f64", 8, kMaxF64),
    LDS("pk_add", "f16", 4, kAddPkF16),
    LDS("pk_add", "bf16", 4, kAddPkBf16),
    LDS("cond_sub", "u32", 4, kCondSub),
    LDS("sub_clamp", "u32", 4, kSubClamp),
    LDS_COMPARE("cmpstore", "b32", 4, kCompareSwap32),
    LDS_COMPARE("cmpstore", "b64", 8, kCompareSwap),
    LDS_COMPARE("cmpstore", "f32", 4, kCompareSwapF32),
    LDS_COMPARE("cmpstore", "f64", 8, kCompareSwapF64),
    LDS_COMPARE("cmpst", "b32", 4, kCompareSwapOld32),
    LDS_COMPARE("cmpst", "b64", 8, kCompareSwapOld),
    LDS_COMPARE("cmpst", "f32", 4, kCompareSwapOldF32),
    LDS_COMPARE("cmpst", "f64", 8, kCompareSwapOldF64),
    Atomic("ds_wrap_rtn_b32", 4, kWrap),
    Atomic("ds_storexchg_rtn_b32", 4, kSwap),
    Atomic("ds_storexchg_rtn_b64", 8, kSwap),
    Atomic("ds_wrxchg_rtn_b32", 4, kSwap),
    Atomic("ds_wrxchg_rtn_b64", 8, kSwap),
};

}  // namespace

absl::Span<const Access> MemoryAtomics() { return kMemoryAtomics; }
absl::Span<const Access> LdsAtomics() { return kLdsAtomics; }

}  // namespace tg::amd::sim
