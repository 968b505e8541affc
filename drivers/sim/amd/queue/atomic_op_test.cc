#include "drivers/sim/amd/queue/atomic_op.h"

#include <cstdint>
#include <vector>

#include "drivers/sim/amd/queue/gpu.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

TEST(AtomicOpTest, EachOperationOnBothWidths) {
  struct Case {
    uint32_t op;  // Of 32 bits.
    int64_t old, source, compare, want;
  };
  const Case cases[] = {
      {0x07, 5, 9, 0, 9},   {0x08, 5, 9, 5, 9},   {0x08, 5, 9, 6, 5},   {0x0f, 5, 9, 0, 14},
      {0x10, 5, 9, 0, -4},  {0x11, -5, 9, 0, -5}, {0x12, -5, 9, 0, 9},  {0x13, -5, 9, 0, 9},
      {0x14, -5, 9, 0, -5}, {0x15, 12, 10, 0, 8}, {0x16, 12, 3, 0, 15}, {0x17, 12, 10, 0, 6},
      {0x18, 5, 9, 0, 6},   {0x18, 9, 9, 0, 0},   {0x19, 5, 9, 0, 4},   {0x19, 0, 9, 0, 9},
      {0x19, 10, 9, 0, 9},
  };
  Memory memory;
  GpuClock clock;
  Gpu gpu(Arch::kGfx942, &memory, &clock);
  uint64_t at = *memory.Allocate(16, "word");
  for (const Case& c : cases) {
    for (uint32_t extra : {0u, 0x20u, 0x40u, 0x60u}) {  // 64 bits; without return.
      bool wide = extra & 0x20;
      int64_t before[2] = {c.old, 77}, after[2] = {};
      ASSERT_TRUE(memory.Write(at, before, 16).ok());
      auto old = AtomicOnMemory(&gpu, c.op | extra, at, static_cast<uint64_t>(c.source),
                                static_cast<uint64_t>(c.compare));
      ASSERT_TRUE(old.ok()) << old.status();
      ASSERT_TRUE(memory.Read(at, after, 16).ok());
      EXPECT_EQ(*old, wide ? static_cast<uint64_t>(c.old) : static_cast<uint32_t>(c.old));
      if (wide) {
        EXPECT_EQ(after[0], c.want) << "operation " << c.op;
      } else {
        EXPECT_EQ(static_cast<int32_t>(after[0]), c.want) << "operation " << c.op;
        EXPECT_EQ(after[0] >> 32, c.old >> 32) << "beyond 32 bits";
      }
      EXPECT_EQ(after[1], 77);
    }
  }
}

TEST(AtomicOpTest, Errors) {
  Memory memory;
  GpuClock clock;
  Gpu gpu(Arch::kGfx942, &memory, &clock);
  uint64_t at = *memory.Allocate(16, "word");
  for (uint32_t op : {0u, 1u, 0x09u, 0x0eu, 0x1au, 0x3fu, 0x80u | 0x0fu}) {
    EXPECT_EQ(AtomicOnMemory(&gpu, op, at, 0, 0).status().code(), absl::StatusCode::kUnimplemented)
        << op;
  }
  EXPECT_EQ(AtomicOnMemory(&gpu, 0x2f, at + 4, 1, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AtomicOnMemory(&gpu, 0x0f, 64, 1, 0).status().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace tg::amd::sim
