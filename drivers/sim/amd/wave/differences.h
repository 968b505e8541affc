// Known differences between recorded transitions and the manuals.
//
// The recordings come from another emulator, not from silicon. A rule knows one difference by its
// exact shape: where it may appear, what the recorder does there, and what the manual says. It
// computes the latter from the transition's input, apart from the simulator's instruction handlers
// (or from another instruction of the same simulator, for modifiers), and holds only if the
// simulator's result is that. A wrong result of the simulator thus stays a failure.
//
// Rules can follow each other: each takes its difference out of the transition, and what remains
// must be explained by the next. After the last one nothing may be left.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_DIFFERENCES_H_
#define TG_DRIVERS_SIM_AMD_WAVE_DIFFERENCES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "drivers/sim/amd/wave/transition.h"

namespace tg::amd::sim {

struct DifferenceRule {
  const char* name;
  // True if the difference is there and the simulator's result is the manual's; *t is then as if
  // the recorder and the simulator agreed on it.
  bool (*explain)(Transition* t);
};

// Null when there is no such rule.
const DifferenceRule* FindDifferenceRule(absl::string_view name);

// By subject, each file's own.
absl::Span<const DifferenceRule> ModifierDifferences();
absl::Span<const DifferenceRule> RegisterDifferences();
absl::Span<const DifferenceRule> NumberDifferences();
absl::Span<const DifferenceRule> LdsDifferences();
absl::Span<const DifferenceRule> MatrixDifferences();

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_DIFFERENCES_H_
