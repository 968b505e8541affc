// Runs several queues, of one or of many GPUs, fairly and without threads of its own.
#ifndef TG_DRIVERS_SIM_AMD_QUEUE_QUEUE_SET_H_
#define TG_DRIVERS_SIM_AMD_QUEUE_QUEUE_SET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drivers/sim/amd/queue/queue.h"

namespace tg::amd::sim {

class QueueSet {
 public:
  // Packets that a queue may execute before the next one has its turn, and in one call of Run:
  // buffers that chain to themselves would go on for ever.
  static constexpr int kSlice = 8;
  static constexpr uint64_t kDefaultBudget = 10'000'000;

  void set_packet_budget(uint64_t packets) { budget_ = packets; }

  // Not owned; must be removed before they are destroyed.
  void Add(Queue* queue) { queues_.push_back(queue); }
  void Remove(Queue* queue);

  // Executes packets in turns until no queue can go on: each is idle, waits or is stopped. A wait
  // may end when the host writes to memory: that takes another Run. True when anything was done. A
  // queue that is running when the budget is spent is stopped with DeadlineExceeded.
  bool Run();

  // After Run: the first stopped queue's error; DeadlineExceeded, with the state of every queue,
  // when some wait; OK when all are idle.
  absl::Status Finished() const;
  // A line for each queue.
  std::string Describe() const;

 private:
  std::vector<Queue*> queues_;
  uint64_t budget_ = kDefaultBudget;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_QUEUE_QUEUE_SET_H_
