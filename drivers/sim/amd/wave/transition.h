// Recorded state transitions of single instructions: what they are, and how one is run.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_TRANSITION_H_
#define TG_DRIVERS_SIM_AMD_WAVE_TRANSITION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd::sim {

// What an instruction can read and change: rows of 64 lanes (VGPRs, from 256 on AccVGPRs), SGPRs by
// operand code, LDS.
struct WaveState {
  std::vector<uint32_t> rows;
  std::vector<uint32_t> sgprs;
  std::vector<uint8_t> lds;
  bool scc = false;
  uint64_t pc = 0;

  uint32_t& lane(int row, int l) { return rows[static_cast<size_t>(row) * 64 + l]; }
  uint32_t lane(int row, int l) const { return rows[static_cast<size_t>(row) * 64 + l]; }
  friend bool operator==(const WaveState&, const WaveState&) = default;
};

struct Transition {
  Arch arch = Arch::kGfx1100;
  Isa isa = Isa::kGfx11;
  uint32_t mode = 0;  // The MODE register.
  std::string op;     // The recorder's name of the opcode.
  std::string text;   // And its text of the instruction.
  Inst inst;
  // The recorded words do not decode, for these fields of VOP3P; `inst` is without them.
  struct Reserved {
    uint32_t op_sel = 0;
    uint32_t op_sel_hi = 0;
  };
  std::optional<Reserved> reserved;
  WaveState in;
  WaveState got;   // What the simulator makes of `in`.
  WaveState want;  // What is recorded.

  int wave_size() const { return IsRdna(isa) ? 32 : 64; }
  uint64_t exec() const {
    return IsRdna(isa) ? in.sgprs[126] : in.sgprs[126] | static_cast<uint64_t>(in.sgprs[127]) << 32;
  }
};

// Runs `inst` on t.in. The error is a sentence, and empty when it ran.
std::string RunTransition(const Transition& t, const Inst& inst, WaveState* out);

// Up to four places where `got` differs from `want`: " v3[0]=0x1 want 0x2;".
std::string DescribeDifference(const WaveState& got, const WaveState& want);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_TRANSITION_H_
