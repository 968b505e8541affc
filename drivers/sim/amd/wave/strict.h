// What strict mode knows of a wave: registers that were written, and loads that are under way.
//
// Hardware does not wait for memory by itself. A load that is issued makes its destination pending
// until a wait brings its counter low enough; touching the register before that is a fault here,
// stale data on silicon. Sources: AMD RDNA3, RDNA4 and CDNA3 Instruction Set Architecture
// documents, chapter "Data dependency resolution".
#ifndef TG_DRIVERS_SIM_AMD_WAVE_STRICT_H_
#define TG_DRIVERS_SIM_AMD_WAVE_STRICT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "drivers/sim/amd/wave/micro_op.h"
#include "drivers/sim/amd/wave/wave.h"

namespace tg::amd::sim {

// RDNA 4 names; RDNA 3 and CDNA have fewer counters: vmcnt is kLoad (on CDNA kStore, too), vscnt
// kStore, lgkmcnt kLds and kScalar together.
enum class Counter : uint8_t { kLoad, kStore, kLds, kScalar };
inline constexpr int kNumCounters = 4;

// The instructions that a wave ran last, for wait states that the tables of hazards ask for.
struct RecentCode {
  static constexpr size_t kInstructions = 24;  // More than any hazard reaches.
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> sizes;  // Of each, oldest first.
  uint64_t last_pc = 0;
  absl::flat_hash_set<uint64_t> checked;  // Pairs of instructions that followed each other.
};

struct StrictState {
  struct Pending {
    int16_t first = 0;  // Row, or SGPR code; -1: stores, which only count.
    int16_t count = 0;
    bool scalar = false;
    uint64_t pc = 0;
  };
  std::array<uint64_t, kNumRows> vgpr_written{};
  std::array<bool, kNumSgprs> sgpr_written{};
  std::array<std::vector<Pending>, kNumCounters> outstanding;  // Oldest first.
  bool scc_written = false;
  RecentCode recent;
};

// Before an instruction: faults `w` when it reads a register that was never written or touches one
// that is pending.
void StrictBefore(Wave& w, const MicroOp& op);
// After it: what it wrote, what is now under way, what a wait has completed.
void StrictAfter(Wave& w, const MicroOp& op, uint64_t pc, uint64_t exec);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_STRICT_H_
