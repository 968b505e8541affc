// Operands that hold two values of 16 bits, as VOP3P instructions select them.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_PACKED_H_
#define TG_DRIVERS_SIM_AMD_WAVE_PACKED_H_

#include <cstdint>

#include "drivers/sim/amd/wave/lanes.h"

namespace tg::amd::sim {

// Of source `i`: which value feeds the lower and the upper result, and their signs.
struct PackedSelect {
  PackedSelect(const MicroOp& u, int i) {
    const Inst& inst = u.inst;
    auto bit = [&](Mod m, bool otherwise) {
      return inst.form->Has(m) ? (inst.Get(m) >> i & 1) != 0 : otherwise;
    };
    lo_high = bit(Mod::kOpSel, false);
    hi_high = bit(Mod::kOpSelHi, true);
    neg_lo = bit(Mod::kNegLo, false);
    neg_hi = bit(Mod::kNegHi, false);
  }
  bool lo_high, hi_high, neg_lo, neg_hi;
};

// The two values of source `i`, 16 raw bits each.
inline void FetchPacked(const Wave& w, const MicroOp& u, int i, int base, bool is_float,
                        uint32_t* lo, uint32_t* hi) {
  alignas(64) uint32_t raw[kChunk];
  RawLanes(w, u, u.src[i], 0, base, raw);
  PackedSelect s(u, i);
  uint32_t flip_lo = is_float && s.neg_lo ? 0x8000 : 0, flip_hi = is_float && s.neg_hi ? 0x8000 : 0;
  int shift_lo = s.lo_high ? 16 : 0, shift_hi = s.hi_high ? 16 : 0;
  for (int l = 0; l < kChunk; ++l) {
    lo[l] = (raw[l] >> shift_lo & 0xffff) ^ flip_lo;
    hi[l] = (raw[l] >> shift_hi & 0xffff) ^ flip_hi;
  }
}

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_PACKED_H_
