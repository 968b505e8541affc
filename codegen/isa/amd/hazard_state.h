// What is known at a place in the code: results under way, and the last instructions.
// Private to the hazard checker and the pass that puts in waits.
#ifndef TG_CODEGEN_ISA_AMD_HAZARD_STATE_H_
#define TG_CODEGEN_ISA_AMD_HAZARD_STATE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/hazard.h"
#include "codegen/isa/amd/hazard_effects.h"
#include "codegen/isa/amd/hazard_sgpr.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd {

class HazardState {
 public:
  HazardState(Isa isa, const HazardOptions& options)
      : isa_(isa), sgprs_(isa, options.wave64 || IsCdna(isa)) {}

  // What is missing before `inst`, which is then taken for cured.
  std::vector<HazardFinding> Need(const Inst& inst, const Effects& e, uint64_t offset);
  void Execute(const Inst& inst, const Effects& e, uint64_t offset);
  // Counters that have results under way.
  std::vector<Counter> Pending() const;
  void WaitFor(Counter counter, uint32_t count);

 private:
  struct Past {
    Effects effects;
    int64_t state = 0;    // Wait states before it.
    int64_t vectors = 0;  // Vector instructions up to it,
    int64_t moves = 0;    // those that are not v_nop,
    int64_t trans = 0;    // and those that are transcendental.
  };
  struct Under {
    int64_t issued = 0;     // Number of the last instruction that raised the counter.
    int64_t complete = 0;   // All up to this one are.
    int64_t unordered = 0;  // The last one that may overtake others.
    std::array<int64_t, kNumRegisters> written = {};  // By which one; 0: none.
    std::array<uint64_t, kNumRegisters> where = {};
  };

  void NeedCounters(const Effects& e, uint64_t offset, std::vector<HazardFinding>* findings);
  void NeedHazard(const Hazard& hazard, const Inst& inst, const Effects& e, uint64_t offset,
                  std::vector<HazardFinding>* findings);
  // How much is missing between the instructions before and `e`: 0 or less when nothing is.
  int64_t Missing(const Hazard& hazard, const Effects& e) const;
  int64_t Between(const Hazard& hazard, const Past& past) const;
  void Waits(const Inst& inst);
  void VectorResultsAreThere();

  Isa isa_;
  int64_t state_ = 0;
  int64_t vectors_ = 0;
  int64_t moves_ = 0;
  int64_t trans_ = 0;
  std::deque<Past> past_;  // The newest last.
  std::array<Under, kNumCounters> under_ = {};
  SgprReuse sgprs_;
};

// "vmcnt", "loadcnt".
const char* CounterName(Counter counter, Isa isa);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_HAZARD_STATE_H_
