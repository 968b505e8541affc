// For tests: a queue with its ring and pointers in simulated memory, and words of common packets.
#ifndef TG_DRIVERS_SIM_AMD_QUEUE_TEST_QUEUE_H_
#define TG_DRIVERS_SIM_AMD_QUEUE_TEST_QUEUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "drivers/sim/amd/queue/queue.h"
#include "drivers/sim/amd/wave/launch.h"

namespace tg::amd::sim {

using Words = std::vector<uint32_t>;

constexpr uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
constexpr uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
constexpr uint32_t Pm4Header(uint32_t op, size_t body) {
  return 3u << 30 | static_cast<uint32_t>(body - 1) << 16 | op << 8;
}
// A type 3 packet.
Words Pm4(uint32_t op, Words body);
Words Pm4SetSh(uint32_t reg, Words values);
// RELEASE_MEM that writes 64 bits; WAIT_REG_MEM for memory that is at least `value`.
Words Pm4Signal(uint64_t address, uint64_t value, uint32_t interrupt_context = 0);
Words Pm4Wait(uint64_t address, uint32_t value);
Words Pm4Indirect(uint64_t address, uint32_t dwords, bool chain = false);
// What a driver writes to start a kernel.
Words Pm4Dispatch(const Dispatch& dispatch);
Words SdmaCopy(uint64_t to, uint64_t from, uint32_t bytes);
Words SdmaFence(uint64_t address, uint32_t value);
Words SdmaPoll(uint64_t address, uint32_t value);
void Append(Words* to, const Words& words);

class TestQueue {
 public:
  TestQueue(Gpu* gpu, QueueType type, std::string name = "queue", uint64_t ring_size = 4096);

  // Writes to the ring behind what was written before, as a driver does; AQL packets are 16 words.
  void Put(absl::Span<const uint32_t> words);
  // Tells the queue of everything that was put.
  void Ring();

  Queue& operator*() { return *queue_; }
  Queue* operator->() { return queue_.get(); }
  uint64_t read_pointer() const;
  uint64_t ring() const { return queue_->config().ring; }
  uint64_t amd_queue() const { return pointers_; }  // Of AQL queues.

 private:
  Gpu* gpu_;
  uint64_t pointers_;
  uint64_t written_ = 0;  // Dwords.
  std::unique_ptr<Queue> queue_;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_QUEUE_TEST_QUEUE_H_
