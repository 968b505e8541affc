// Runs recorded state transitions of single instructions and compares.
//
// A line is a JSON object: "h" the instruction's bytes, "t" its text, "e" and "o" encoding and
// opcode; inputs "s" (SGPRs by operand code, 253 is SCC), "v" and "a" (lanes of VGPRs and
// AccVGPRs), "lds": dword i of the first 2048 is i * 0x9E3779B1; outputs, only what changes: "S",
// "V", "A", "L" (LDS by dword), "pc" (advance when it is not the instruction's size). A list of
// lanes starts at lane 0; an object names them.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_VECTORS_H_
#define TG_DRIVERS_SIM_AMD_WAVE_VECTORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/isa/amd/arch.h"

namespace tg::amd::sim {

// Why a recorded transition may differ from the manual, for the instructions that `op` matches.
struct Justification {
  std::string isa;  // "gfx11", "gfx12", "gfx950" or "*".
  std::string
      op;  // Recorded opcode name, '*' at its end matches the rest; text:PART of the text, or both.
  std::string extent;  // How far results may be apart: see justified.txt.
  std::string reason;
};
// Lines "isa | op | extent | reason"; '#' starts a comment.
absl::StatusOr<std::vector<Justification>> ParseJustifications(absl::string_view text);

struct VectorResult {
  enum class Kind { kPassed, kFailed, kJustified } kind;
  int line = 0;
  std::string op;
  std::string detail;  // Of failures: text, what differs. Of justified ones: the reason.
};

// One result for each line of `text`. InvalidArgument for what is no such JSON.
absl::StatusOr<std::vector<VectorResult>> RunVectors(Arch arch, absl::string_view text,
                                                     const std::vector<Justification>& justified);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_VECTORS_H_
