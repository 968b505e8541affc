// Operands of a recorded transition, lane by lane, as the manuals define them. Independent of the
// simulator's own operand handling, so that it can be checked against this.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_TRANSITION_LANES_H_
#define TG_DRIVERS_SIM_AMD_WAVE_TRANSITION_LANES_H_

#include <cstdint>

#include "drivers/sim/amd/wave/transition.h"

namespace tg::amd::sim {

// The lane that DPP16 reads for `lane`; -1 when there is none or it is inactive.
int DppSource(const Transition& t, int lane);
// Whether row_mask and bank_mask let `lane` be written.
bool DppEnabled(const Transition& t, int lane);

// Position in inst.operands of source `n` and of destination `n`; -1 when there is none.
int SourcePosition(const Inst& inst, int n);
int DestPosition(const Inst& inst, int n);

// A source's 64 bits: constants by their type, SDWA and DPP selection done, signs not.
uint64_t SourceBits(const Transition& t, int n, int lane);
// With signs; f32 denormals are 0 where the mode reads them so.
float SourceF32(const Transition& t, int n, int lane);
double SourceF64(const Transition& t, int n, int lane);
// The 16 bits that op_sel or the operand itself selects, with signs.
uint16_t Source16(const Transition& t, int n, int lane);
float SourceF16(const Transition& t, int n, int lane);

// f16 and bf16 by their definition.
double HalfValue(uint16_t bits);
double Bf16Value(uint16_t bits);
// The nearest f16, ties to even.
uint16_t NearestHalf(double x);

// The first destination, when it is VGPRs or AccVGPRs: its row; else -1.
int DestRow(const Transition& t);
int DestDwords(const Transition& t);

// True when all that differs lies in active lanes of the first destination; `lane_ok(lane, got)`
// must then hold in each of those lanes. *t is changed so that nothing differs.
template <class F>
bool ExplainLanes(Transition* t, F lane_ok) {
  int row = DestRow(*t), dwords = DestDwords(*t);
  if (row < 0) return false;
  WaveState rest = t->got;
  bool any = false;
  for (int l = 0; l < t->wave_size(); ++l) {
    bool differs = false;
    for (int d = 0; d < dwords; ++d) {
      differs = differs || t->got.lane(row + d, l) != t->want.lane(row + d, l);
      rest.lane(row + d, l) = t->want.lane(row + d, l);
    }
    if (!differs) continue;
    any = true;
    if (!(t->exec() >> l & 1)) return false;
    uint64_t got = t->got.lane(row, l);
    if (dwords == 2) got |= static_cast<uint64_t>(t->got.lane(row + 1, l)) << 32;
    if (!lane_ok(l, got)) return false;
  }
  if (!any || !(rest == t->want)) return false;
  t->got = t->want;
  return true;
}

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_TRANSITION_LANES_H_
