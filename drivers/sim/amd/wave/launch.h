// Runs a whole kernel on a simulated GPU: its workgroups, their waves, LDS, scratch and barriers,
// over host threads. This is the interface below packet processors; nothing here knows queues or
// packets.
//
// Sources: AMD RDNA3, RDNA4 and CDNA3 Instruction Set Architecture documents, chapters "Shader
// initial state" and "Work-groups"; LLVM 22, User Guide for AMDGPU Backend, "Initial kernel
// execution state".
#ifndef TG_DRIVERS_SIM_AMD_WAVE_LAUNCH_H_
#define TG_DRIVERS_SIM_AMD_WAVE_LAUNCH_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/isa/amd/arch.h"
#include "drivers/sim/amd/wave/memory.h"

namespace tg::amd::sim {

// What the registers of a compute dispatch say. The values of the three COMPUTE_PGM_RSRC registers
// are used as packets and kernel descriptors have them; LDS and scratch sizes and the user
// registers are already taken apart, because dispatches by PM4 and by AQL say them in different
// places.
struct Dispatch {
  Arch arch = Arch::kGfx1100;
  uint64_t entry = 0;  // Address of the first instruction.
  uint32_t rsrc1 = 0;  // FLOAT_MODE, PRIV, DX10_CLAMP, IEEE_MODE, ...
  uint32_t rsrc2 = 0;  // Which workgroup ids are wanted, USER_SGPR count, TIDIG_COMP_CNT.
  uint32_t rsrc3 = 0;  // ACCUM_OFFSET on CDNA.
  bool wave32 = true;  // RDNA only; CDNA has waves of 64.
  std::array<uint32_t, 3> grid = {1, 1,
                                  1};  // In work-items: the last group of a row may be smaller.
  std::array<uint32_t, 3> block = {1, 1, 1};  // Work-items of a group: 1 to 1024 in all.
  std::array<uint32_t, 32> user_sgprs{};      // s0 and on; USER_SGPR of rsrc2 says how many.
  uint32_t lds_bytes = 0;
  uint32_t scratch_bytes = 0;  // For each work-item.
};

// Counts over all waves. Lane-operations are active lanes of vector ALU instructions; a matrix
// instruction counts its multiplications.
struct LaunchStats {
  uint64_t workgroups = 0;
  uint64_t waves = 0;
  uint64_t instructions = 0;
  uint64_t salu = 0;
  uint64_t valu = 0;
  uint64_t matrix = 0;
  uint64_t smem = 0;
  uint64_t vmem = 0;
  uint64_t lds = 0;
  uint64_t branch = 0;
  uint64_t other = 0;
  uint64_t lane_ops = 0;
  uint64_t bytes_read = 0;  // Global memory and scratch.
  uint64_t bytes_written = 0;

  void Add(const LaunchStats& other);
};

struct LaunchOptions {
  // Faults where silicon would read stale or wrong data: missing waits, registers never written,
  // misaligned memory, races for LDS, barriers that not all waves reach.
  bool strict = false;
  // Counts by class and bytes cost time; without them only workgroups, waves and
  // instructions are counted.
  bool count = false;
  uint64_t instruction_budget = 1'000'000'000;  // For each wave; more is an error, not a hang.
  int threads = 0;                              // 0: all cores.
  // Called before each instruction's effects are known to anybody else, from one thread (threads is
  // then 1): a line with the wave, the instruction and the registers it changed.
  std::function<void(const std::string&)> trace = {};
  // Reads of s_memtime, s_memrealtime and s_sendmsg_rtn: a clock of the caller's. Unset: a count of
  // instructions. May be called by several threads.
  std::function<uint64_t()> clock = {};
};

// Runs the dispatch to its end. `memory` must not be allocated or freed meanwhile.
//
// InvalidArgument: the dispatch makes no sense (empty block, LDS beyond what a group can have).
// Unimplemented: "unknown instruction" with pc, words and architecture. Aborted: a fault, with its
// instruction, wave, lane and, for memory, the nearest allocation. DeadlineExceeded: the budget is
// spent or all waves wait for each other; the message has the state of each wave of the group.
absl::StatusOr<LaunchStats> Launch(const Dispatch& dispatch, Memory* memory,
                                   const LaunchOptions& options = {});

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_LAUNCH_H_
