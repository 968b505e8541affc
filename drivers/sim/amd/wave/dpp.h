// Data-parallel primitives: which lane each lane reads.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_DPP_H_
#define TG_DRIVERS_SIM_AMD_WAVE_DPP_H_

#include <memory>

#include "codegen/isa/amd/inst.h"
#include "drivers/sim/amd/wave/micro_op.h"

namespace tg::amd::sim {

// Of an instruction with a DPP word; null for controls that `isa` does not have. Source: the
// manuals' chapters "Data parallel processing".
std::unique_ptr<Dpp> MakeDpp(const Inst& inst, Isa isa);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_DPP_H_
