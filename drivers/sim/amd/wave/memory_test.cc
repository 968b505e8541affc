#include "drivers/sim/amd/wave/memory.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

TEST(Memory, AllocatesZeroedMemoryThatReadsBack) {
  Memory memory;
  uint64_t a = *memory.Allocate(100, "a");
  uint64_t b = *memory.Allocate(100, "b");
  EXPECT_EQ(a % 4096, 0u);
  EXPECT_GT(b, a + 100);
  uint32_t value = 7;
  ASSERT_TRUE(memory.Write(a + 96, &value, 4).ok());
  uint64_t out = 1;
  ASSERT_TRUE(memory.Read(a + 92, &out, 8).ok());
  EXPECT_EQ(out, uint64_t{7} << 32);
}

TEST(Memory, NamesTheNearestAllocation) {
  Memory memory;
  uint8_t bytes[64] = {};
  EXPECT_EQ(memory.Describe(5), "0x5: nothing is allocated");
  ASSERT_TRUE(memory.Map(0x1000, 64, bytes, "low").ok());
  ASSERT_TRUE(memory.Map(0x2000, 64, bytes, "high", /*writable=*/false).ok());
  EXPECT_EQ(memory.Describe(0x1044), "0x1044: 4 bytes behind the end of 'low' [0x1000, 0x1040)");
  EXPECT_EQ(memory.Describe(0x1ff0),
            "0x1ff0: 16 bytes before the start of 'high' [0x2000, 0x2040)");
  EXPECT_EQ(memory.Describe(0x203e),
            "0x203e: 2 bytes before the end of 'high' [0x2000, 0x2040), which is read-only");
  uint32_t value = 0;
  EXPECT_EQ(memory.Read(0x103e, &value, 4).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(memory.Write(0x2000, &value, 4).code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(memory.Read(0x2000, &value, 4).ok());
  EXPECT_EQ(memory.Find(~uint64_t{0}, 8), nullptr);
  EXPECT_EQ(memory.Find(0x1000, ~uint64_t{0}), nullptr);
}

TEST(Memory, RefusesOverlapAndForgetsWhatIsFreed) {
  Memory memory;
  uint8_t bytes[64] = {};
  ASSERT_TRUE(memory.Map(0x1000, 64, bytes, "a").ok());
  EXPECT_EQ(memory.Map(0x103f, 1, bytes, "b").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(memory.Map(0xfff, 2, bytes, "b").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(memory.Map(0, 0, bytes, "b").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(memory.Map(~uint64_t{0}, 2, bytes, "b").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(memory.Free(0x1000).ok());
  EXPECT_EQ(memory.Free(0x1000).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(memory.Find(0x1000, 1), nullptr);
}

}  // namespace
}  // namespace tg::amd::sim
