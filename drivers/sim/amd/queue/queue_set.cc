#include "drivers/sim/amd/queue/queue_set.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tg::amd::sim {

void QueueSet::Remove(Queue* queue) {
  queues_.erase(std::remove(queues_.begin(), queues_.end(), queue), queues_.end());
}

bool QueueSet::Run() {
  uint64_t left = budget_;
  bool any = false, progress = true;
  while (progress) {
    progress = false;
    for (Queue* queue : queues_) {
      for (int i = 0; i < kSlice; ++i) {
        if (left == 0) {
          queue->Stop(absl::DeadlineExceededError(
              absl::StrCat(queue->Describe(), ": the queues run on after ", budget_, " packets")));
          return true;
        }
        if (queue->Step() == Queue::Progress::kNone) break;
        --left;
        progress = any = true;
      }
    }
  }
  return any;
}

absl::Status QueueSet::Finished() const {
  bool waits = false;
  for (const Queue* queue : queues_) {
    if (!queue->status().ok()) return queue->status();
    waits |= queue->state() != Queue::State::kIdle;
  }
  if (!waits) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("no queue can go on, and some have work left:\n", Describe()));
}

std::string QueueSet::Describe() const {
  std::string text;
  for (const Queue* queue : queues_) absl::StrAppend(&text, queue->Describe(), "\n");
  return text;
}

}  // namespace tg::amd::sim
