// What loads, stores and atomics do to bytes, apart from where those are: LDS, scratch, global
// memory.
//
// Sources: AMD RDNA3, RDNA4 and CDNA3 Instruction Set Architecture documents, chapters "Memory
// buffer instructions", "Flat memory instructions", "Data share operations".
#ifndef TG_DRIVERS_SIM_AMD_WAVE_MEMORY_ACCESS_H_
#define TG_DRIVERS_SIM_AMD_WAVE_MEMORY_ACCESS_H_

#include <cstdint>

#include "codegen/isa/amd/table.h"
#include "drivers/sim/amd/wave/micro_op.h"

namespace tg::amd::sim {

enum class AccessKind : uint8_t { kLoad, kStore, kAtomic };
// Loads and stores of less than 32 bits may use half of a register and leave the other.
enum class RegisterHalf : uint8_t { kWhole, kLow, kHigh };

// The new value in memory. `data` is the first data operand, `compare` what a compare-and-swap
// expects.
using AtomicFunction = uint64_t (*)(uint64_t old, uint64_t data, uint64_t compare);

struct Access {
  const char* name;  // Behind the prefix: "load_b32", "atomic_add_u32"; of LDS atomics "add_u32".
  AccessKind kind;
  uint8_t bytes;
  bool sign = false;
  RegisterHalf half = RegisterHalf::kWhole;
  AtomicFunction atomic = nullptr;
  bool compares = false;
};

// By the instruction's whole name; null for others.
const Access* FindAccess(const char* name);
// Runs the access of an instruction; null when FindAccess finds none, or for other formats.
Handler MemoryHandler(Format format, const char* name);

// Bytes of one lane to and from registers, atomics included: on host memory of access.bytes bytes.
// `data` is the row of the first data register, `data1` of the value that LDS compare-and-swap has
// apart.
void AccessLane(Wave& w, const Access& access, int lane, uint8_t* at, int data, int data1, int dst);

// Host memory of a global address; null after a fault. Without strict mode, too: there is nothing
// to read.
uint8_t* GlobalBytes(Wave& w, uint64_t address, int bytes, bool write, int lane);
// In LDS; null where hardware reads 0 and drops writes. Strict mode makes that a fault.
uint8_t* LdsBytes(Wave& w, uint64_t address, int bytes, bool write, bool atomic, int lane);
uint8_t* ScratchBytes(Wave& w, int64_t address, int bytes, int lane);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_MEMORY_ACCESS_H_
