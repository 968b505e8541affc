// The state of one wave, and what instructions may do to it.
//
// Sources: AMD RDNA3, RDNA4, CDNA3 and CDNA4 Instruction Set Architecture documents, chapter
// "Kernel (shader) state".
#ifndef TG_DRIVERS_SIM_AMD_WAVE_WAVE_H_
#define TG_DRIVERS_SIM_AMD_WAVE_WAVE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/isa/amd/arch.h"

namespace tg::amd::sim {

class Memory;
struct Allocation;
struct Group;
struct StrictState;

// Lanes of a row of the register file; waves of 32 use the lower half.
inline constexpr int kRow = 64;
// Rows: VGPRs, AccVGPRs, and one that keeps a register's old value while a VOPD pair runs.
inline constexpr int kAccRow = 256;
inline constexpr int kShadowRow = 512;
inline constexpr int kNumRows = 513;
// SGPRs by operand code, then one for writes to null.
inline constexpr int kNumSgprs = 132;
inline constexpr int kTrashSgpr = 128;

// High dwords of the apertures through which FLAT reaches LDS and scratch (SH_MEM_BASES 1 and 2).
inline constexpr uint32_t kSharedAperture = 0x00010000;
inline constexpr uint32_t kPrivateAperture = 0x00020000;

// Why a wave stopped running.
enum class Stop : uint8_t {
  kNone,
  kEnd,      // s_endpgm.
  kBarrier,  // Waits for the other waves of its group.
  kYield,    // s_sleep and the like: lets the others run.
  kFault,    // `fault` says which.
};

// MODE register: rounding and denormals, as the manuals lay them out.
struct FloatMode {
  uint8_t round32 = 0;  // 0 nearest even, 1 to +infinity, 2 to -infinity, 3 to zero.
  uint8_t round16_64 = 0;
  uint8_t denorm32 = 3;  // Bit 0: sources keep denormals; bit 1: results do.
  uint8_t denorm16_64 = 3;
  bool dx10_clamp = true;  // Clamp makes 0 of NaN.
  bool ieee = false;       // minnum and maxnum quiet signalling NaNs.
};

struct Wave {
  Wave(Isa wave_isa, int wave_size);
  ~Wave();

  // Registers. `vgpr` has kNumRows rows of kRow lanes.
  std::unique_ptr<uint32_t[]> vgpr_storage;
  uint32_t* vgpr;
  alignas(64) uint32_t sgpr[kNumSgprs] = {};
  bool scc = false;
  uint64_t pc = 0;

  Isa isa;
  int size;  // 32 or 64.
  int m0;    // Operand code of M0.
  FloatMode mode;
  uint32_t mode_bits = 0;  // The MODE register as s_getreg reads it.
  bool default_mode =
      true;  // `mode` is what host code computes in: no rounding or flushing of its own.
  uint64_t instructions = 0;

  Stop stop = Stop::kNone;
  std::string fault;

  // Around the wave.
  Group* group = nullptr;
  Memory* memory = nullptr;
  const Allocation* last_range[4] = {};  // What loads and stores found last.
  int id_in_group = 0;
  std::array<uint32_t, 3> workgroup{};
  bool strict = false;
  Arch arch = Arch::kGfx1100;  // Set it for strict mode.
  bool count = false;
  std::unique_ptr<uint8_t[]> scratch;  // Work-item by work-item.
  uint32_t scratch_bytes = 0;          // Of each.
  uint32_t barrier_phase = 0;          // Split barriers: the phase that this wave signalled.
  bool barrier_signalled = false;
  uint64_t class_counts[8] = {};  // By OpClass. These and the next are counted when `count`.
  uint64_t lane_ops = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  std::unique_ptr<StrictState> strict_state;

  uint32_t* row(int r) { return vgpr + r * kRow; }
  const uint32_t* row(int r) const { return vgpr + r * kRow; }

  uint64_t full_mask() const { return size == 64 ? ~uint64_t{0} : 0xffffffffu; }
  uint64_t exec() const {
    return size == 64 ? sgpr[126] | static_cast<uint64_t>(sgpr[127]) << 32 : sgpr[126];
  }
  void set_exec(uint64_t mask) {
    sgpr[126] = static_cast<uint32_t>(mask);
    if (size == 64) sgpr[127] = static_cast<uint32_t>(mask >> 32);
  }
  // A lane mask in SGPRs, VCC included.
  uint64_t mask(int code) const {
    return size == 64 ? sgpr[code] | static_cast<uint64_t>(sgpr[code + 1]) << 32 : sgpr[code];
  }
  void set_mask(int code, uint64_t m) {
    sgpr[code] = static_cast<uint32_t>(m);
    if (size == 64) sgpr[code + 1] = static_cast<uint32_t>(m >> 32);
  }
  uint64_t sgpr64(int code) const {
    return sgpr[code] | static_cast<uint64_t>(sgpr[code + 1]) << 32;
  }
  void set_sgpr64(int code, uint64_t value) {
    sgpr[code] = static_cast<uint32_t>(value);
    sgpr[code + 1] = static_cast<uint32_t>(value >> 32);
  }

  // As before the first instruction, for `strict`. Registers keep what they had, as on hardware;
  // scratch, too.
  void Reset();
  // Registers that are set before a program starts.
  void InitSgpr(int code, uint32_t value);
  void InitVgpr(int row, uint64_t lanes);
  // Writes the MODE register: FloatMode follows.
  void SetMode(uint32_t bits);
  // Stops the wave; the first fault stays.
  void Fault(std::string why);
};

// What the waves of a workgroup share.
struct Group {
  std::vector<uint8_t> lds;
  std::vector<Wave*> waves;
  uint32_t barrier_phase = 0;  // Counts completed barriers.
  int barrier_arrived = 0;
  uint64_t (*clock)(void* context) = nullptr;
  void* clock_context = nullptr;

  // Strict mode: who touched each dword of LDS last, and in which phase.
  struct LdsUse {
    uint32_t write_phase = 0;
    uint32_t read_phase = 0;
    int16_t writer = -1;
    int16_t reader = -1;  // -2: several.
  };
  std::vector<LdsUse> lds_use;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_WAVE_H_
