#include "tg/schedule/memory_planner.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tg::schedule {
namespace {

// What is wrong with a plan; empty: nothing.
std::string Check(const std::vector<Lifetime>& lifetimes, const MemoryPlan& plan,
                  int64_t alignment) {
  if (plan.offsets.size() != lifetimes.size()) return "another number of offsets";
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    if (plan.offsets[i] < 0 || plan.offsets[i] % alignment != 0) return "offset not aligned";
    if (plan.offsets[i] + lifetimes[i].bytes > plan.total) return "outside of the arena";
    for (size_t j = 0; j < i; ++j) {
      const bool in_time =
          lifetimes[i].first <= lifetimes[j].last && lifetimes[j].first <= lifetimes[i].last;
      const bool in_space = plan.offsets[i] < plan.offsets[j] + lifetimes[j].bytes &&
                            plan.offsets[j] < plan.offsets[i] + lifetimes[i].bytes;
      if (in_time && in_space) return "two live buffers overlap";
    }
  }
  return "";
}

int64_t Padded(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// The most that is alive at once: no plan needs less.
int64_t Peak(const std::vector<Lifetime>& lifetimes, int64_t alignment) {
  int64_t peak = 0;
  for (const Lifetime& at : lifetimes) {
    int64_t live = 0;
    for (const Lifetime& l : lifetimes) {
      if (l.first <= at.first && at.first <= l.last) live += Padded(l.bytes, alignment);
    }
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(MemoryPlannerTest, NothingNeedsNothing) {
  EXPECT_EQ(PlanMemory({}).total, 0);
  const MemoryPlan plan = PlanMemory({{.bytes = 0, .first = 0, .last = 3}});
  EXPECT_EQ(plan.total, 0);
  EXPECT_EQ(plan.offsets, std::vector<int64_t>{0});
}

TEST(MemoryPlannerTest, OneAfterTheOtherShare) {
  const MemoryPlan plan = PlanMemory({{.bytes = 1000, .first = 0, .last = 1},
                                      {.bytes = 1000, .first = 2, .last = 3},
                                      {.bytes = 1000, .first = 4, .last = 4}});
  EXPECT_EQ(plan.total, 1024);
  EXPECT_EQ(plan.offsets, (std::vector<int64_t>{0, 0, 0}));
}

// The last step that reads a memory must not write another into it.
TEST(MemoryPlannerTest, BothEndsOfALifetimeCount) {
  const MemoryPlan plan =
      PlanMemory({{.bytes = 256, .first = 0, .last = 1}, {.bytes = 256, .first = 1, .last = 2}});
  EXPECT_EQ(plan.total, 512);
  EXPECT_NE(plan.offsets[0], plan.offsets[1]);
}

TEST(MemoryPlannerTest, FillsGaps) {
  // A large one for the whole time, two that follow each other beside it.
  const std::vector<Lifetime> l = {{.bytes = 4096, .first = 0, .last = 9},
                                   {.bytes = 512, .first = 0, .last = 4},
                                   {.bytes = 512, .first = 5, .last = 9},
                                   {.bytes = 256, .first = 2, .last = 7}};
  const MemoryPlan plan = PlanMemory(l);
  EXPECT_EQ(Check(l, plan, 256), "");
  EXPECT_EQ(plan.total, 4096 + 512 + 256);
}

TEST(MemoryPlannerTest, AChainNeedsTwo) {
  std::vector<Lifetime> l;
  for (int i = 0; i < 100; ++i) l.push_back({.bytes = 1 << 20, .first = i, .last = i + 1});
  const MemoryPlan plan = PlanMemory(l);
  EXPECT_EQ(Check(l, plan, 256), "");
  EXPECT_EQ(plan.total, 2 << 20);
}

TEST(MemoryPlannerTest, SizesBeyond32Bits) {
  const int64_t large = int64_t{5} << 32;
  const std::vector<Lifetime> l = {{.bytes = large, .first = 0, .last = 1},
                                   {.bytes = large + 1, .first = 1, .last = 2}};
  const MemoryPlan plan = PlanMemory(l);
  EXPECT_EQ(Check(l, plan, 256), "");
  EXPECT_EQ(plan.total, 2 * large + 256);
}

TEST(MemoryPlannerTest, RandomLifetimes) {
  std::mt19937 rng(7);
  double sum = 0;
  const int trials = 3000;
  for (int t = 0; t < trials; ++t) {
    const int64_t alignment = int64_t{1} << (rng() % 10);
    std::vector<Lifetime> l(rng() % 40);
    for (Lifetime& x : l) {
      x.bytes = static_cast<int64_t>(rng() % (rng() % 4 == 0 ? 100000 : 2000));
      x.first = static_cast<int>(rng() % 30);
      x.last = x.first + static_cast<int>(rng() % 8);
    }
    const MemoryPlan plan = PlanMemory(l, alignment);
    ASSERT_EQ(Check(l, plan, alignment), "") << "trial " << t;
    const int64_t peak = Peak(l, alignment);
    ASSERT_GE(plan.total, peak);
    sum += peak == 0 ? 1 : static_cast<double>(plan.total) / static_cast<double>(peak);
  }
  // Placing the largest first stays near what is needed at least.
  EXPECT_LT(sum / trials, 1.1);
}

TEST(MemoryPlannerTest, TheCheckFindsOverlaps) {
  const std::vector<Lifetime> l = {{.bytes = 512, .first = 0, .last = 1},
                                   {.bytes = 512, .first = 1, .last = 2}};
  MemoryPlan plan = PlanMemory(l);
  plan.offsets[0] = plan.offsets[1] = 0;
  EXPECT_EQ(Check(l, plan, 256), "two live buffers overlap");
}

}  // namespace
}  // namespace tg::schedule
