// A program's decoded instructions, made when they are first reached.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_PROGRAM_H_
#define TG_DRIVERS_SIM_AMD_WAVE_PROGRAM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen/isa/amd/arch.h"
#include "drivers/sim/amd/wave/memory.h"
#include "drivers/sim/amd/wave/micro_op.h"

namespace tg::amd::sim {

// Instructions in `memory`, which must not change while this lives. Many threads may call At.
class Program {
 public:
  Program(Arch arch, const Memory* memory) : arch_(arch), memory_(memory) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The instruction at `pc`, or null; then *error is a sentence: "unknown instruction at 0x1000:
  // ...".
  const MicroOp* At(uint64_t pc, std::string* error);

 private:
  struct Region {
    Region(uint64_t start, uint64_t size)
        : address(start), count(size / 4), ops(new std::atomic<const MicroOp*>[size / 4]()) {}
    uint64_t address;
    uint64_t count;
    std::unique_ptr<std::atomic<const MicroOp*>[]> ops;
  };
  const MicroOp* Decode(uint64_t pc, std::string* error);

  Arch arch_;
  const Memory* memory_;
  std::mutex mutex_;
  // Regions are never moved once they are published.
  static constexpr int kMaxRegions = 64;
  std::atomic<Region*> regions_[kMaxRegions] = {};
  std::vector<std::unique_ptr<Region>> owned_regions_;
  std::vector<std::unique_ptr<MicroOp>> owned_ops_;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_PROGRAM_H_
