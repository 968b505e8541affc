#include "drivers/sim/amd/queue/queue.h"

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/sim/amd/queue/queue_set.h"
#include "drivers/sim/amd/queue/test_queue.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

Words TooLarge() {
  Words words = Pm4SetSh(0x2e07, {1, 1, 1});
  Append(&words, Pm4(0x15, {1000000, 1000000, 1, 1}));
  return words;
}

class QueueTest : public testing::Test {
 protected:
  uint64_t Buffer(uint64_t size, const char* name = "buffer") {
    return *memory_.Allocate(size, name);
  }
  uint64_t Get64(uint64_t address) {
    uint64_t value = 0;
    EXPECT_TRUE(memory_.Read(address, &value, 8).ok());
    return value;
  }
  void Set(uint64_t address, const Words& words) {
    ASSERT_TRUE(memory_.Write(address, words.data(), words.size() * 4).ok());
  }
  // Puts `words` in a new queue, and runs it.
  absl::Status RunAlone(QueueType type, const Words& words) {
    TestQueue queue(&gpu_, type);
    queue.Put(words);
    queue.Ring();
    QueueSet set;
    set.Add(&*queue);
    set.Run();
    return set.Finished();
  }

  Memory memory_;
  GpuClock clock_;
  Gpu gpu_{Arch::kGfx1100, &memory_, &clock_};
};

TEST_F(QueueTest, Pm4SignalsWaitsWritesAndCopies) {
  uint64_t b = Buffer(256);
  std::vector<uint32_t> interrupts;
  gpu_.set_interrupt([&](uint32_t context) { interrupts.push_back(context); });
  Words words = Pm4Signal(b, 0x1122334455667788, 7);
  Append(&words, Pm4Wait(b, 0x55667788));
  Append(&words, Pm4(0x37, {5 << 8, Low(b + 8), High(b + 8), 1, 2}));  // WRITE_DATA.
  Append(&words, Pm4(0x40, {1 | 5 << 8 | 1 << 16, Low(b), High(b), Low(b + 16), High(b + 16)}));
  Append(&words, Pm4(0x49, {0x514, 3u << 29, Low(b + 24), High(b + 24), 0, 0, 0}));  // Clock.
  Append(&words, Pm4(0x1e, {0x2f, Low(b + 8), High(b + 8), 5, 0, 0, 0, 0}));  // Add, 64 bits.
  Append(&words, {0xffff1000, 0x80000000});                                   // Padding.
  ASSERT_TRUE(RunAlone(QueueType::kPm4, words).ok());
  EXPECT_EQ(Get64(b), 0x1122334455667788u);
  EXPECT_EQ(Get64(b + 8), 0x0000000200000006u);
  EXPECT_EQ(Get64(b + 16), 0x1122334455667788u);
  EXPECT_GT(Get64(b + 24), 0u);
  EXPECT_EQ(interrupts, std::vector<uint32_t>{7});
}

TEST_F(QueueTest, RegistersHaveAValueForEachShaderEngine) {
  uint64_t b = Buffer(64);
  auto copy = [&](uint64_t to) { return Pm4(0x40, {2 << 8, 0xc440, 0, Low(to), High(to)}); };
  auto engine = [](uint32_t index) { return Pm4(0x79, {0x200, index}); };
  Words words = Pm4(0x79, {0x440, 5});  // All engines.
  Append(&words, engine(2 << 16));
  Append(&words, Pm4(0x79, {0x440, 9}));
  Append(&words, copy(b));
  Append(&words, engine(1 << 16));
  Append(&words, copy(b + 4));
  ASSERT_TRUE(RunAlone(QueueType::kPm4, words).ok());
  EXPECT_EQ(Get64(b), 9u | uint64_t{5} << 32);
}

TEST_F(QueueTest, IndirectBuffersCallChainAndSkip) {
  uint64_t b = Buffer(64), inner = Buffer(256, "inner"), outer = Buffer(256, "outer");
  Words in = Pm4Signal(b, 1);
  Append(&in, Pm4(0x23, {2u << 24 | 8}));  // PRED_EXEC for another XCC: 8 dwords are left out.
  Append(&in, Pm4Signal(b + 8, 1));
  Append(&in, Pm4(0x23, {1u << 24 | 8}));
  Append(&in, Pm4Signal(b + 16, 1));
  Set(inner, in);
  Words out = Pm4Indirect(inner, static_cast<uint32_t>(in.size()));
  Append(&out, Pm4Signal(b + 24, 1));
  Set(outer, out);
  Words words = Pm4Indirect(outer, static_cast<uint32_t>(out.size()));
  Append(&words, Pm4Signal(b + 32, 1));
  ASSERT_TRUE(RunAlone(QueueType::kPm4, words).ok());
  EXPECT_EQ(Get64(b), 1u);
  EXPECT_EQ(Get64(b + 8), 0u);
  EXPECT_EQ(Get64(b + 16), 1u);
  EXPECT_EQ(Get64(b + 24), 1u);
  EXPECT_EQ(Get64(b + 32), 1u);
}

TEST_F(QueueTest, SdmaCopiesFillsFencesAndTraps) {
  uint64_t a = Buffer(4096, "a"), b = Buffer(4096, "b");
  Set(a, {1, 2, 3, 4});
  std::vector<uint32_t> interrupts;
  gpu_.set_interrupt([&](uint32_t context) { interrupts.push_back(context); });
  Words words = SdmaCopy(b, a, 13);
  Append(&words, {2, Low(b + 32), High(b + 32), 1, 0xaaaa, 0xbbbb});           // WRITE.
  Append(&words, {11 | 2u << 30, Low(b + 64), High(b + 64), 0x01020304, 12});  // CONST_FILL.
  Append(&words, {10 | 0x2fu << 25, Low(b), High(b), 10, 0, 0, 0, 0});         // ATOMIC add.
  Append(&words, {0x20d, Low(b + 128), High(b + 128)});                        // TIMESTAMP.
  Append(&words, SdmaFence(b + 136, 3));
  Append(&words, SdmaPoll(b + 136, 3));
  Append(&words, {6, 42});          // TRAP.
  Append(&words, {2 << 16, 9, 9});  // NOP with two more dwords.
  Append(&words, {17, 0, 0, 0, 0});
  ASSERT_TRUE(RunAlone(QueueType::kSdma, words).ok());
  EXPECT_EQ(Get64(b), 11u | uint64_t{2} << 32);
  EXPECT_EQ(Get64(b + 8), 3u | uint64_t{4} << 32);
  EXPECT_EQ(Get64(b + 32), 0xaaaau | uint64_t{0xbbbb} << 32);
  EXPECT_EQ(Get64(b + 64), 0x0102030401020304u);
  EXPECT_EQ(Get64(b + 72), 0x0102030401020304u);
  EXPECT_GT(Get64(b + 128), 0u);
  EXPECT_EQ(Get64(b + 136), 3u);
  EXPECT_EQ(interrupts, std::vector<uint32_t>{42});
}

TEST_F(QueueTest, ARingWrapsAroundAndReportsHowFarItCame) {
  uint64_t b = Buffer(64);
  TestQueue queue(&gpu_, QueueType::kPm4, "small", 256);
  QueueSet set;
  set.Add(&*queue);
  for (uint32_t i = 1; i <= 100; ++i) {  // 8 and 7 dwords: packets lie across the end.
    queue.Put(Pm4Signal(b, i));
    queue.Put(Pm4Wait(b, i));
    queue.Ring();
    set.Run();
    ASSERT_TRUE(set.Finished().ok()) << set.Finished();
    ASSERT_EQ(Get64(b), i);
    ASSERT_EQ(queue.read_pointer(), i * 15);
  }
}

TEST_F(QueueTest, QueuesWaitForEachOther) {
  uint64_t b = Buffer(64);
  TestQueue compute(&gpu_, QueueType::kPm4, "compute"), copy(&gpu_, QueueType::kSdma, "copy");
  for (uint32_t i = 1; i <= 20; ++i) {
    compute.Put(Pm4Wait(b, i));
    compute.Put(Pm4Signal(b + 8, i));
    copy.Put(SdmaFence(b, i));
    copy.Put(SdmaPoll(b + 8, i));
  }
  compute.Ring();
  copy.Ring();
  QueueSet set;
  set.Add(&*compute);
  set.Add(&*copy);
  EXPECT_TRUE(set.Run());
  EXPECT_TRUE(set.Finished().ok()) << set.Finished();
  EXPECT_EQ(Get64(b + 8), 20u);
}

TEST_F(QueueTest, ADeadlockIsAnErrorWithTheStateOfEachQueue) {
  uint64_t b = Buffer(64);
  TestQueue one(&gpu_, QueueType::kPm4, "one"), two(&gpu_, QueueType::kSdma, "two");
  one.Put(Pm4Wait(b, 1));
  one.Put(Pm4Signal(b + 8, 1));
  two.Put(SdmaPoll(b + 8, 1));
  two.Put(SdmaFence(b, 1));
  one.Ring();
  two.Ring();
  QueueSet set;
  set.Add(&*one);
  set.Add(&*two);
  EXPECT_FALSE(set.Run());
  absl::Status status = set.Finished();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  std::string text(status.message());
  EXPECT_NE(text.find("one (PM4, gfx1100) at ring"), std::string::npos) << text;
  EXPECT_NE(text.find("two (SDMA, gfx1100) at ring"), std::string::npos) << text;
  EXPECT_NE(text.find("is 0x0, waits for >= 0x1"), std::string::npos) << text;
  // The host may end it.
  Set(b, {1});
  EXPECT_TRUE(set.Run());
  EXPECT_TRUE(set.Finished().ok());
}

TEST_F(QueueTest, AnEndlessBufferIsStopped) {
  uint64_t ib = Buffer(64, "ib");
  Set(ib, Pm4Indirect(ib, 4, /*chain=*/true));
  TestQueue queue(&gpu_, QueueType::kPm4);
  queue.Put(Pm4Indirect(ib, 4));
  queue.Ring();
  QueueSet set;
  set.set_packet_budget(1000);
  set.Add(&*queue);
  set.Run();
  EXPECT_EQ(set.Finished().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(QueueTest, DoorbellsOutOfRangeStopTheQueue) {
  TestQueue behind(&gpu_, QueueType::kPm4), beyond(&gpu_, QueueType::kSdma);
  behind.Put({0xffff1000, 0xffff1000});
  behind.Ring();
  while (behind->Step() == Queue::Progress::kSome) continue;
  behind->Ring(1);
  EXPECT_EQ(behind->status().code(), absl::StatusCode::kInvalidArgument);
  beyond->Ring(4096 + 4);
  EXPECT_EQ(beyond->status().code(), absl::StatusCode::kOutOfRange);
}

// Errors name the queue, the place, the packet and the processor.
TEST_F(QueueTest, Errors) {
  uint64_t b = Buffer(64);
  struct Case {
    QueueType type;
    Words words;
    const char* message;
  };
  const Case cases[] = {
      {QueueType::kPm4, Pm4(0x99, {0}), "header 0xc0009900: unknown PM4 packet 0x99"},
      {QueueType::kPm4, {0x00010000, 0}, "PM4 packet of type 0"},
      {QueueType::kPm4, Pm4(0x58, {0, 0, 0, 0, 0, 0}), "body of 6 dwords, expected 7"},
      {QueueType::kPm4, Pm4(0x49, {0x504, 0, 0, 0, 0, 0, 0}), "event_type 4 is not modelled"},
      {QueueType::kPm4, Pm4(0x46, {0x37}), "EVENT_WRITE: event_type 55 is not modelled"},
      {QueueType::kPm4, Pm4Signal(0x1000, 1), "memory fault: write of 8 bytes at 0x1000"},
      {QueueType::kPm4, Pm4Signal(b + 4, 1), "is not a multiple of 8"},
      {QueueType::kPm4, Pm4Wait(0x2000, 1), "memory fault: read of 4 bytes at 0x2000"},
      {QueueType::kPm4, Pm4(0x76, {0x3ff, 1, 2}), "the aperture is 0x2c00 to 0x2fff"},
      {QueueType::kPm4, Pm4(0x15, {1, 1, 1, 0}), "COMPUTE_SHADER_EN is not set"},
      {QueueType::kPm4, Pm4(0x15, {1, 1, 1, 1}), "COMPUTE_NUM_THREAD_X is 0"},
      {QueueType::kPm4, TooLarge(), "a dispatch of 1000000000000 workgroups"},
      {QueueType::kPm4, Pm4(0x23, {2u << 24 | 4}), "PRED_EXEC works in indirect buffers only"},
      {QueueType::kSdma, {99}, "unknown SDMA packet: operation 99"},
      {QueueType::kSdma, {0x101, 0, 0, 0, 0, 0, 0}, "operation 1, sub-operation 1"},
      {QueueType::kSdma, SdmaCopy(b, 0x1000, 4), "SDMA copy of 4 bytes, read at 0x1000"},
      {QueueType::kSdma, SdmaCopy(b, b + 4, 8), "they overlap"},
      {QueueType::kSdma, {10 | 0x22u << 25, 0, 0, 0, 0, 0, 0, 0}, "unknown atomic operation 0x22"},
  };
  for (const Case& c : cases) {
    absl::Status status = RunAlone(c.type, c.words);
    EXPECT_FALSE(status.ok()) << c.message;
    std::string text(status.message());
    EXPECT_NE(text.find(c.message), std::string::npos) << text;
    EXPECT_NE(text.find("queue ("), std::string::npos) << text;
    EXPECT_NE(text.find("gfx1100"), std::string::npos) << text;
  }
}

TEST_F(QueueTest, FaultsAreKeptWithTheirAddress) {
  TestQueue queue(&gpu_, QueueType::kPm4);
  queue.Put(Pm4Signal(0x1000, 1));
  queue.Ring();
  queue->Step();
  ASSERT_TRUE(queue->fault().has_value());
  EXPECT_EQ(queue->fault()->address, 0x1000u);
  EXPECT_TRUE(queue->fault()->write);
}

}  // namespace
}  // namespace tg::amd::sim
