// Atomic operations of the command processor (ATOMIC_MEM) and of SDMA (ATOMIC), by the numbers of
// the texture cache's operations.
//
// Source: Linux, drivers/gpu/drm/amd/include/vega10_enum.h, TC_OP.
#ifndef TG_DRIVERS_SIM_AMD_QUEUE_ATOMIC_OP_H_
#define TG_DRIVERS_SIM_AMD_QUEUE_ATOMIC_OP_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace tg::amd::sim {

class Gpu;

// Executes operation `op` (7 bits) on memory and gives what was there. Unimplemented for numbers
// that are no integer atomic; a memory fault as Gpu::Write has it.
absl::StatusOr<uint64_t> AtomicOnMemory(Gpu* gpu, uint32_t op, uint64_t address, uint64_t source,
                                        uint64_t compare);
// True for compare-and-swap, the one operation that processors repeat until it succeeds.
bool IsCompareSwap(uint32_t op);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_QUEUE_ATOMIC_OP_H_
