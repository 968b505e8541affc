// Runs one wave until it stops.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_EXECUTE_H_
#define TG_DRIVERS_SIM_AMD_WAVE_EXECUTE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "drivers/sim/amd/wave/micro_op.h"
#include "drivers/sim/amd/wave/program.h"
#include "drivers/sim/amd/wave/wave.h"

namespace tg::amd::sim {

// One instruction's effects, in the float mode of the wave. The caller has moved the pc behind it.
void Execute(Wave& w, const MicroOp& op);

// Runs `w` until it ends, waits, yields or faults, at most `budget` instructions; then w.stop is
// kNone. A fault's text has the pc and the instruction.
void Run(Wave& w, Program& program, uint64_t budget);

// The same, with a line for each instruction: where it is, its text, and the registers it changed.
void RunTraced(Wave& w, Program& program, uint64_t budget,
               const std::function<void(const std::string&)>& line);

// False when the host lacks what the simulator's vector code needs (AVX2, FMA, F16C).
bool HostCanSimulate();

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_EXECUTE_H_
