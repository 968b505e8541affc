#include "base/cpu_count.h"

#include <sched.h>

#include "gtest/gtest.h"

namespace tg::base {
namespace {

TEST(CpuCountTest, QuotaRoundsUp) {
  EXPECT_EQ(CpusInQuota("200000 100000\n"), 2);
  EXPECT_EQ(CpusInQuota("150000 100000"), 2);
  EXPECT_EQ(CpusInQuota("1000 100000"), 1);
}

TEST(CpuCountTest, NoLimitAndNonsenseAreNoLimit) {
  for (const char* text : {"", "max 100000", "100000", "1 2 3", "-5 100000", "100000 0", "nan 1",
                           "1e300 1", "inf 1", "a b"}) {
    EXPECT_EQ(CpusInQuota(text), 0) << text;
  }
}

TEST(CpuCountTest, FollowsTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(AvailableCpus(), 1);
  EXPECT_LE(AvailableCpus(), CPU_COUNT(&before));

  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(AvailableCpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace tg::base
