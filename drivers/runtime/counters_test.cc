#include "drivers/runtime/counters.h"

#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

TEST(CountersTest, AddUpAndReset) {
  Counters counters;
  counters.AddKernel(100, 40, 0.5);
  counters.AddKernel(1, 2, 0);
  counters.AddMemory(1000);
  counters.AddMemory(-400);
  CounterValues values = counters.Read();
  EXPECT_EQ(values.ops, 101);
  EXPECT_EQ(values.mem_bytes, 42);
  EXPECT_EQ(values.kernels, 2);
  EXPECT_EQ(values.nanoseconds, 500000000);
  EXPECT_EQ(values.mem_used, 600);
  EXPECT_EQ(values.mem_used_peak, 1000);

  counters.Reset();
  values = counters.Read();
  EXPECT_EQ(values.ops, 0);
  EXPECT_EQ(values.mem_bytes, 0);
  EXPECT_EQ(values.kernels, 0);
  EXPECT_EQ(values.nanoseconds, 0);
  EXPECT_EQ(values.mem_used, 600) << "a fact, not a count";
  EXPECT_EQ(values.mem_used_peak, 600);
}

TEST(CountersTest, TheGlobalOnesAreOne) { EXPECT_EQ(&GlobalCounters(), &GlobalCounters()); }

}  // namespace
}  // namespace tg::drivers
