// Runs recorded state transitions of single instructions and compares.
//
// A line is a JSON object: "h" the instruction's bytes, "t" its text, "e" and "o" encoding and
// opcode; inputs "s" (SGPRs by operand code, 253 is SCC), "v" and "a" (lanes of VGPRs and
// AccVGPRs), "lds": dword i of the first 2048 is i * 0x9E3779B1; outputs, only what changes: "S",
// "V", "A", "L" (LDS by dword), "pc" (advance when it is not the instruction's size). A list of
// lanes starts at lane 0; an object names them.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_VECTORS_H_
#define TG_DRIVERS_SIM_AMD_WAVE_VECTORS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/isa/amd/arch.h"
#include "drivers/sim/amd/wave/differences.h"
#include "drivers/sim/amd/wave/transition.h"

namespace tg::amd::sim {

// Why a recorded transition may differ from the manual, for the instructions that `op` matches.
struct Justification {
  std::string isa;  // "gfx11", "gfx12", "gfx950" or "*".
  std::string op;   // Recorded opcode name; '*' at its end matches the rest.
  std::vector<const DifferenceRule*> rules;  // All of them, in this order.
  std::string recorder;                      // What the recorder does.
  std::string manual;                        // What the manual says.
};
// Lines "isa | op | rules | recorder | manual"; '#' starts a comment.
absl::StatusOr<std::vector<Justification>> ParseJustifications(absl::string_view text);

// Whether the rules find the whole difference between t.got and t.want, and t.got right.
bool Explains(const Justification& j, const Transition& t);

struct VectorResult {
  enum class Kind { kPassed, kFailed, kJustified } kind;
  int line = 0;
  std::string op;
  std::string detail;  // Of failures: text, what differs. Of justified ones: the reason.
};

struct VectorOptions {
  // Changes what the simulator made, before it is compared: negative controls.
  std::function<void(WaveState* got, const WaveState& want)> tamper;
};

// One result for each line of `text`. InvalidArgument for what is no such JSON.
absl::StatusOr<std::vector<VectorResult>> RunVectors(Arch arch, absl::string_view text,
                                                     const std::vector<Justification>& justified,
                                                     const VectorOptions& options = {});

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_VECTORS_H_
