// What the packet processors of one simulated GPU share: memory, clock, registers, and where
// interrupts and faults go.
#ifndef TG_DRIVERS_SIM_AMD_QUEUE_GPU_H_
#define TG_DRIVERS_SIM_AMD_QUEUE_GPU_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/isa/amd/arch.h"
#include "drivers/sim/amd/wave/launch.h"
#include "drivers/sim/amd/wave/memory.h"

namespace tg::amd::sim {

// The counter that timestamps come from: 100 MHz, as the reference clock of gfx9 and later. Time
// passes only when something is done, so runs repeat to the tick. May be used by many threads.
class GpuClock {
 public:
  static constexpr uint64_t kHertz = 100'000'000;

  // Later than every reading before: two timestamps are never equal.
  uint64_t Read() { return ticks_.fetch_add(1, std::memory_order_relaxed) + 1; }
  void Advance(uint64_t ticks) { ticks_.fetch_add(ticks, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> ticks_{0};
};

// Registers by dword address, as packets name them. Those of shader engines have a value for each:
// GRBM_GFX_INDEX says which one is meant. A register that nobody wrote reads 0.
class RegisterFile {
 public:
  static constexpr uint32_t kGrbmGfxIndex = 0xc200;
  // GPU_HDP_FLUSH_REQ and _DONE of the host data path, where NBIO 4.3, 6.3 and 7.9 have them.
  static constexpr uint32_t kHdpFlushReq = 0xe26;
  static constexpr uint32_t kHdpFlushDone = 0xe27;

  // A flush that is requested is done at once: simulated memory has no caches.
  void Write(uint32_t index, uint32_t value);
  uint32_t Read(uint32_t index) const;

 private:
  static constexpr uint32_t kAllEngines = 0x100;
  uint32_t Engine() const;

  std::map<std::pair<uint32_t, uint32_t>, uint32_t> values_;  // By index and shader engine.
};

// An access outside of what is mapped, or a write to what is read-only.
struct MemoryFault {
  uint64_t address = 0;
  bool write = false;
};

class Gpu {
 public:
  // All must outlive the GPU. One thread at a time.
  Gpu(Arch arch, Memory* memory, GpuClock* clock) : arch_(arch), memory_(memory), clock_(clock) {}
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Arch arch() const { return arch_; }
  Isa isa() const { return IsaOf(arch_); }
  Memory& memory() { return *memory_; }
  GpuClock& clock() { return *clock_; }
  RegisterFile& registers() { return registers_; }

  // Aborted, with the nearest allocation, and the fault is kept for TakeFault. `alignment` in
  // bytes: what the engines demand of addresses that they write to or poll.
  absl::Status Read(uint64_t address, void* out, uint64_t size, uint64_t alignment = 1);
  absl::Status Write(uint64_t address, const void* data, uint64_t size, uint64_t alignment = 1);
  absl::StatusOr<uint32_t> Read32(uint64_t address);
  absl::StatusOr<uint64_t> Read64(uint64_t address);
  absl::Status Write32(uint64_t address, uint32_t value) { return Write(address, &value, 4, 4); }
  absl::Status Write64(uint64_t address, uint64_t value) { return Write(address, &value, 8, 8); }
  // Bytes of mapped memory for copies; null and a fault where they are not all there.
  uint8_t* Bytes(uint64_t address, uint64_t size, bool write);

  // Runs a dispatch; a fault of a wave is kept as those of the processors are.
  absl::Status Run(const Dispatch& dispatch);
  std::optional<MemoryFault> TakeFault();
  void SetFault(uint64_t address, bool write) { fault_ = MemoryFault{address, write}; }

  // Of kernels: strictness, threads, budget.
  void set_launch_options(const LaunchOptions& options) { options_ = options; }
  // Larger dispatches are ResourceExhausted: each workgroup is soon done, but their number is not.
  void set_max_workgroups(uint64_t count) { max_workgroups_ = count; }
  static constexpr uint64_t kDefaultMaxWorkgroups = uint64_t{1} << 32;
  const LaunchStats& stats() const { return stats_; }

  // Called with the context id of an end-of-pipe or trap interrupt, after what it reports is in
  // memory.
  void set_interrupt(std::function<void(uint32_t context_id)> f) { interrupt_ = std::move(f); }
  void Interrupt(uint32_t context_id) {
    if (interrupt_) interrupt_(context_id);
  }

 private:
  Arch arch_;
  Memory* memory_;
  GpuClock* clock_;
  RegisterFile registers_;
  LaunchOptions options_;
  uint64_t max_workgroups_ = kDefaultMaxWorkgroups;
  LaunchStats stats_;
  std::optional<MemoryFault> fault_;
  std::function<void(uint32_t)> interrupt_;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_QUEUE_GPU_H_
