// Instructions that do what another one does under a name of another generation.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_ALIASES_H_
#define TG_DRIVERS_SIM_AMD_WAVE_ALIASES_H_

#include "absl/types/span.h"

namespace tg::amd::sim {

struct Alias {
  const char* name;
  const char* meaning;
};

absl::Span<const Alias> Aliases();

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_ALIASES_H_
