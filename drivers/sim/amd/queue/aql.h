// Executes packets of AQL queues: kernel dispatch, barrier-and, barrier-or, and the vendor packet
// that carries a PM4 INDIRECT_BUFFER. Agent dispatch is Unimplemented.
//
// Layouts: HSA Platform System Architecture Specification 1.2, 2.9 "Packet format"; ROCr,
// amd_hsa_queue.h and amd_hsa_signal.h; LLVM 22, User Guide for AMDGPU Backend, "Kernel Dispatch"
// and "Initial Kernel Execution State".
#ifndef TG_DRIVERS_SIM_AMD_QUEUE_AQL_H_
#define TG_DRIVERS_SIM_AMD_QUEUE_AQL_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "drivers/sim/amd/queue/gpu.h"
#include "drivers/sim/amd/queue/outcome.h"

namespace tg::amd::sim {

enum class AqlType : uint8_t {
  kVendorSpecific = 0,
  kInvalid = 1,  // Not written yet, or done.
  kKernelDispatch = 2,
  kBarrierAnd = 3,
  kAgentDispatch = 4,
  kBarrierOr = 5,
};

// hsa_kernel_dispatch_packet_t. All kinds have the header, and the completion signal at byte 56.
struct AqlPacket {
  uint16_t header = 0;  // Type 7:0, barrier 8, acquire scope 10:9, release scope 12:11.
  uint16_t setup = 0;   // Dimensions 1:0.
  uint16_t workgroup_size[3] = {};
  uint16_t reserved0 = 0;
  uint32_t grid_size[3] = {};
  uint32_t private_segment_size = 0;
  uint32_t group_segment_size = 0;
  uint64_t kernel_object = 0;
  uint64_t kernarg_address = 0;
  uint64_t reserved2 = 0;
  uint64_t completion_signal = 0;

  AqlType type() const { return static_cast<AqlType>(header & 0xff); }
};
static_assert(sizeof(AqlPacket) == 64);
static_assert(offsetof(AqlPacket, completion_signal) == 56);

// amd_signal_t: what a signal handle points to.
struct AqlSignal {
  int64_t kind = 1;  // AMD_SIGNAL_KIND_USER.
  int64_t value = 0;
  uint64_t event_mailbox_ptr = 0;
  uint32_t event_id = 0;
  uint32_t reserved1 = 0;
  uint64_t start_ts = 0;
  uint64_t end_ts = 0;
  uint64_t reserved2 = 0;
  uint32_t reserved3[2] = {};
};
static_assert(sizeof(AqlSignal) == 64);
static_assert(offsetof(AqlSignal, start_ts) == 32);

// Fields of amd_queue_t, by their offset from it.
inline constexpr uint64_t kAmdQueueReadDispatchId = 128;
inline constexpr uint64_t kAmdQueueTmpringSize = 140;
inline constexpr uint64_t kAmdQueueScratchDescriptor = 144;
inline constexpr uint64_t kAmdQueueProperties = 180;

class AqlProcessor {
 public:
  // `amd_queue`: address of the queue's amd_queue_t, of which compute_tmpring_size, the scratch
  // descriptor and the profiling bit are used.
  AqlProcessor(Gpu* gpu, uint64_t amd_queue) : gpu_(gpu), amd_queue_(amd_queue) {}

  // Executes the packet at `address`. A vendor packet is a kCall; Complete follows when its buffer
  // was executed.
  absl::StatusOr<Outcome> Execute(const AqlPacket& packet, uint64_t address);
  // Counts the completion signal down and tells the one who waits for it.
  absl::Status Complete(const AqlPacket& packet);

 private:
  absl::Status DispatchKernel(const AqlPacket& packet, uint64_t address);
  absl::StatusOr<Outcome> Barrier(const AqlPacket& packet);

  Gpu* gpu_;
  uint64_t amd_queue_;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_QUEUE_AQL_H_
