// One user queue of a simulated GPU: a ring in memory, its pointers and its doorbell, and the
// processor that executes what is in it, packet by packet.
#ifndef TG_DRIVERS_SIM_AMD_QUEUE_QUEUE_H_
#define TG_DRIVERS_SIM_AMD_QUEUE_QUEUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drivers/sim/amd/queue/aql.h"
#include "drivers/sim/amd/queue/gpu.h"
#include "drivers/sim/amd/queue/outcome.h"
#include "drivers/sim/amd/queue/pm4.h"
#include "drivers/sim/amd/queue/sdma.h"

namespace tg::amd::sim {

enum class QueueType : uint8_t { kPm4, kSdma, kAql };
const char* QueueTypeName(QueueType type);

struct QueueConfig {
  QueueType type = QueueType::kPm4;
  std::string name;        // For messages: "queue 3 of gpu 1".
  uint64_t ring = 0;       // Address; a multiple of 256.
  uint64_t ring_size = 0;  // Bytes; a power of two, at least 256.
  // Addresses of 64-bit pointers. The queue writes how far it has come, and reads, when its
  // doorbell rings, how far it may go. Both only grow. They count dwords in PM4 queues, bytes in
  // SDMA queues and packets in AQL queues. An AQL queue's read pointer is the read_dispatch_id of
  // its amd_queue_t.
  uint64_t read_pointer = 0;
  uint64_t write_pointer = 0;
};

class Queue {
 public:
  // What a step came to.
  enum class Progress : uint8_t { kNone, kSome };
  enum class State : uint8_t {
    kIdle,     // Everything up to the write pointer is done.
    kRunning,  // There is more to do.
    kWaiting,  // For memory, a register or a signal.
    kStopped,  // By an error: status() has it.
  };

  // InvalidArgument when the configuration makes no sense.
  static absl::StatusOr<std::unique_ptr<Queue>> Create(Gpu* gpu, QueueConfig config);

  // The doorbell, with the value that was written to it. AQL queues take the index of the last
  // packet; the others the write pointer. A value behind an earlier one stops the queue.
  void Ring(uint64_t value);

  // Executes one packet, or finds that it must wait. Never blocks; time is bounded by the packet's
  // work.
  Progress Step();

  State state() const { return state_; }
  const absl::Status& status() const { return status_; }
  // When a memory fault stopped it.
  const std::optional<MemoryFault>& fault() const { return fault_; }
  const QueueConfig& config() const { return config_; }
  uint64_t packets() const { return packets_; }
  // Stops the queue as an error of its own would.
  void Stop(absl::Status status);
  // "queue 3 (PM4) waits at ring+0x40, header 0xc0053c00: memory 0x7f00 ...".
  std::string Describe() const;

 private:
  // A buffer that is being executed: the ring, or an indirect one.
  struct Frame {
    uint64_t address = 0;
    uint64_t position = 0;  // In dwords; in the ring, it grows beyond its size.
    uint64_t end = 0;
  };

  Queue(Gpu* gpu, QueueConfig config);

  // Reads `count` dwords from the frame's position, around the end of the ring.
  absl::Status Fetch(const Frame& frame, uint64_t count, std::vector<uint32_t>* out);
  absl::StatusOr<Progress> TryStep();
  absl::StatusOr<Progress> StepAql();
  absl::Status FinishVendorPacket();
  absl::StatusOr<Progress> Apply(const Outcome& outcome, uint64_t length);
  absl::Status PublishReadPointer();
  absl::Status Enter(const Outcome& outcome);
  uint64_t RingDwords() const { return config_.ring_size / 4; }
  std::string Where() const;

  Gpu* gpu_;
  QueueConfig config_;
  Pm4Processor pm4_;
  SdmaProcessor sdma_;
  AqlProcessor aql_;
  std::vector<Frame> frames_;               // frames_[0] is the ring.
  uint64_t doorbell_ = 0;                   // In units of the pointers: how far the queue may go.
  std::optional<AqlPacket> vendor_packet_;  // Whose indirect buffer is being executed.
  State state_ = State::kIdle;
  absl::Status status_;
  std::optional<MemoryFault> fault_;
  std::string reason_;   // Of kWaiting.
  uint32_t header_ = 0;  // Of the packet that is executed.
  bool header_known_ = false;
  uint64_t packets_ = 0;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_QUEUE_QUEUE_H_
