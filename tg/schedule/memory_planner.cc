#include "tg/schedule/memory_planner.h"

#include <algorithm>
#include <numeric>

namespace tg::schedule {

MemoryPlan PlanMemory(absl::Span<const Lifetime> lifetimes, int64_t alignment) {
  const size_t n = lifetimes.size();
  auto padded = [&](size_t i) {
    return (lifetimes[i].bytes + alignment - 1) / alignment * alignment;
  };
  std::vector<size_t> by_size(n);
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&lifetimes](size_t a, size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  MemoryPlan plan;
  plan.offsets.assign(n, 0);
  std::vector<size_t> placed;  // sorted by offset
  for (size_t i : by_size) {
    int64_t offset = 0;
    for (size_t p : placed) {
      const bool together =
          lifetimes[p].first <= lifetimes[i].last && lifetimes[i].first <= lifetimes[p].last;
      if (!together) continue;
      if (plan.offsets[p] >= offset + padded(i)) break;  // a gap that is large enough
      offset = std::max(offset, plan.offsets[p] + padded(p));
    }
    plan.offsets[i] = offset;
    plan.total = std::max(plan.total, offset + padded(i));
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&plan](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
        i);
  }
  return plan;
}

}  // namespace tg::schedule
