// Memory planning: buffers that do not live at the same time share memory.
#ifndef TG_TG_SCHEDULE_MEMORY_PLANNER_H_
#define TG_TG_SCHEDULE_MEMORY_PLANNER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace tg::schedule {

// A memory that is needed from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes;
  int first;
  int last;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // of each lifetime, multiples of the alignment
  int64_t total = 0;             // bytes of the arena
};

// Places lifetimes in one arena so that no two overlap in both time and space: the largest first,
// each at the lowest offset that is free for its time.
MemoryPlan PlanMemory(absl::Span<const Lifetime> lifetimes, int64_t alignment = 256);

}  // namespace tg::schedule

#endif  // TG_TG_SCHEDULE_MEMORY_PLANNER_H_
