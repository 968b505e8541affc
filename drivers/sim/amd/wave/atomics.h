// Read-modify-write operations of memory and LDS.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_ATOMICS_H_
#define TG_DRIVERS_SIM_AMD_WAVE_ATOMICS_H_

#include "absl/types/span.h"
#include "drivers/sim/amd/wave/memory_access.h"

namespace tg::amd::sim {

// Names behind "global_atomic_", of RDNA and of CDNA: "add_u32", "add", "add_x2".
absl::Span<const Access> MemoryAtomics();
// Whole names, with and without return: "ds_add_u32", "ds_add_rtn_u32".
absl::Span<const Access> LdsAtomics();

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_ATOMICS_H_
