#include "bench/limits.h"

#include <cstdio>

#include "gtest/gtest.h"

namespace tg::bench {
namespace {

TEST(LimitsTest, MeasuresSomethingOnce) {
  const Limits& limits = MachineLimits();
  std::printf("%d threads: %.1f GFLOPS (%.1f on one core), read %.1f GB/s, copy %.1f GB/s\n",
              limits.threads, limits.fma_gflops, limits.fma_gflops_one_core, limits.read_gbps,
              limits.copy_gbps);
  EXPECT_GE(limits.threads, 1);
  EXPECT_GT(limits.fma_gflops_one_core, 0);
  EXPECT_GT(limits.fma_gflops, 0);
  EXPECT_GT(limits.read_gbps, 0);
  EXPECT_GT(limits.copy_gbps, 0);
  EXPECT_EQ(&MachineLimits(), &limits);
}

}  // namespace
}  // namespace tg::bench
