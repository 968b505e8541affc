// Compiled kernels started by packets: PM4 and AQL, on each processor.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/runfiles.h"
#include "codegen/object/amd_code_object.h"
#include "drivers/sim/amd/queue/aql.h"
#include "drivers/sim/amd/queue/queue_set.h"
#include "drivers/sim/amd/queue/test_queue.h"
#include "drivers/sim/amd/wave/kernel.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

class KernelTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto path = base::FindRunfile(std::string("testdata/amd_kernels/kernels_") + GetParam() + ".o");
    ASSERT_TRUE(path.ok()) << path.status();
    auto file = base::ReadFile(*path);
    ASSERT_TRUE(file.ok());
    bytes_ = *file;
    auto object = object::AmdCodeObject::Read(bytes_);
    ASSERT_TRUE(object.ok());
    object_ = std::make_unique<object::AmdCodeObject>(*std::move(object));
    auto image = LoadImage(*object_, &memory_);
    ASSERT_TRUE(image.ok());
    image_ = *image;
    gpu_ = std::make_unique<Gpu>(image_.arch, &memory_, &clock_);
  }

  // Buffers of a kernel that adds 100 floats, and its dispatch.
  Dispatch AddDispatch() {
    std::vector<float> a(100), b(100);
    for (int i = 0; i < 100; ++i) a[i] = static_cast<float>(i), b[i] = 0.25f * i;
    c_ = *memory_.Allocate(400, "c");
    uint64_t at[2] = {*memory_.Allocate(400, "a"), *memory_.Allocate(400, "b")};
    EXPECT_TRUE(memory_.Write(at[0], a.data(), 400).ok());
    EXPECT_TRUE(memory_.Write(at[1], b.data(), 400).ok());
    KernelArguments args;
    args.grid = {100, 1, 1};
    args.block = {64, 1, 1};
    for (uint64_t x : {c_, at[0], at[1]}) {
      args.explicit_bytes.append(reinterpret_cast<const char*>(&x), 8);
    }
    auto dispatch = MakeDispatch(*object_, "add", image_, args, &memory_);
    EXPECT_TRUE(dispatch.ok()) << dispatch.status();
    return *dispatch;
  }
  void ExpectSums() {
    std::vector<float> got(100);
    ASSERT_TRUE(memory_.Read(c_, got.data(), 400).ok());
    for (int i = 0; i < 100; ++i) ASSERT_EQ(got[i], static_cast<float>(i) + 0.25f * i) << i;
  }
  absl::Status Run(TestQueue* queue) {
    queue->Ring();
    QueueSet set;
    set.Add(&**queue);
    set.Run();
    return set.Finished();
  }

  std::string bytes_;
  std::unique_ptr<object::AmdCodeObject> object_;
  LoadedImage image_;
  Memory memory_;
  GpuClock clock_;
  std::unique_ptr<Gpu> gpu_;
  uint64_t c_ = 0;
};

TEST_P(KernelTest, AddsByPm4) {
  Dispatch dispatch = AddDispatch();
  uint64_t signal = *memory_.Allocate(64, "signal");
  TestQueue queue(gpu_.get(), QueueType::kPm4);
  queue.Put(Pm4Dispatch(dispatch));
  queue.Put(Pm4Signal(signal, 1));
  absl::Status status = Run(&queue);
  ASSERT_TRUE(status.ok()) << status;
  ExpectSums();
  EXPECT_EQ(gpu_->stats().workgroups, 2u);
}

// LDS, two dimensions, and a number among the arguments.
TEST_P(KernelTest, MultipliesMatricesByPm4) {
  constexpr int kSide = 32;
  std::vector<float> a(kSide * kSide), b(kSide * kSide), got(kSide * kSide);
  for (int i = 0; i < kSide * kSide; ++i) {
    a[i] = static_cast<float>(i % 7), b[i] = static_cast<float>(i % 5 - 2);
  }
  uint64_t bytes = a.size() * 4;
  uint64_t at[3];
  for (uint64_t& x : at) x = *memory_.Allocate(bytes, "matrix");
  ASSERT_TRUE(memory_.Write(at[1], a.data(), bytes).ok());
  ASSERT_TRUE(memory_.Write(at[2], b.data(), bytes).ok());
  KernelArguments args;
  args.grid = {kSide, kSide, 1};
  args.block = {16, 16, 1};
  args.explicit_bytes.append(reinterpret_cast<const char*>(at), sizeof(at));
  int32_t side = kSide;
  args.explicit_bytes.append(reinterpret_cast<const char*>(&side), 4);
  auto dispatch = MakeDispatch(*object_, "mm", image_, args, &memory_);
  ASSERT_TRUE(dispatch.ok()) << dispatch.status();
  TestQueue queue(gpu_.get(), QueueType::kPm4);
  queue.Put(Pm4Dispatch(*dispatch));
  absl::Status status = Run(&queue);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(memory_.Read(at[0], got.data(), bytes).ok());
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      float sum = 0;
      for (int k = 0; k < kSide; ++k) sum += a[y * kSide + k] * b[k * kSide + x];
      ASSERT_EQ(got[y * kSide + x], sum);
    }
  }
}

// Silicon asks the runtime for more scratch; here that is an error with both numbers.
TEST_P(KernelTest, AqlScratchThatIsTooSmallIsNamed) {
  AqlPacket packet;
  packet.header = static_cast<uint16_t>(AqlType::kKernelDispatch);
  packet.setup = 1;
  packet.workgroup_size[0] = packet.grid_size[0] = 64;
  packet.private_segment_size = 128;
  packet.kernel_object = image_.address + object_->FindKernel("add")->descriptor_address;
  Words words(16);
  std::memcpy(words.data(), &packet, 64);
  TestQueue queue(gpu_.get(), QueueType::kAql);
  uint32_t tmpring = 1u << 12 | 32;  // 256 or 1024 bytes a wave.
  ASSERT_TRUE(memory_.Write(queue.amd_queue() + kAmdQueueTmpringSize, &tmpring, 4).ok());
  queue.Put(words);
  absl::Status status = Run(&queue);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(std::string(status.message()).find("a wave needs"), std::string::npos) << status;
}

TEST_P(KernelTest, AddsByIndirectDispatchOfGroups) {
  Dispatch dispatch = AddDispatch();
  // Groups instead of work-items: the last one is partial.
  uint64_t counts = *memory_.Allocate(64, "counts");
  uint32_t groups[3] = {2, 1, 1};
  ASSERT_TRUE(memory_.Write(counts, groups, sizeof(groups)).ok());
  Words words = Pm4Dispatch(dispatch);
  words.resize(words.size() - 2 - 5);  // Its DISPATCH_DIRECT and EVENT_WRITE.
  Append(&words, Pm4SetSh(0x2e07, {64 | 36u << 16}));
  uint32_t initiator = 1 | 2 | 4 | (dispatch.wave32 ? 1u << 15 : 0);
  Append(&words, Pm4(0x16, {Low(counts), High(counts), initiator}));
  TestQueue queue(gpu_.get(), QueueType::kPm4);
  queue.Put(words);
  absl::Status status = Run(&queue);
  ASSERT_TRUE(status.ok()) << status;
  ExpectSums();
}

// The packet that MakeDispatch wrote lies before the kernel's arguments.
TEST_P(KernelTest, AddsByAqlAndCountsTheSignalDown) {
  Dispatch dispatch = AddDispatch();
  const object::AmdKernel* kernel = object_->FindKernel("add");
  uint32_t properties = kernel->descriptor.kernel_code_properties;
  uint32_t at = (properties & 1 ? 4 : 0) + (properties & 2 ? 2 : 0) + (properties & 4 ? 2 : 0);
  ASSERT_TRUE(properties & 8);
  AqlPacket packet;
  packet.header = static_cast<uint16_t>(AqlType::kKernelDispatch) | 1 << 8;
  packet.setup = 1;
  packet.workgroup_size[0] = 64;
  packet.grid_size[0] = 100;
  packet.kernel_object = image_.address + kernel->descriptor_address;
  packet.kernarg_address =
      dispatch.user_sgprs[at] | static_cast<uint64_t>(dispatch.user_sgprs[at + 1]) << 32;
  AqlSignal signal{.value = 1};
  uint64_t signals = *memory_.Allocate(128, "signals");
  ASSERT_TRUE(memory_.Write(signals, &signal, sizeof(signal)).ok());
  signal.value = 1;
  ASSERT_TRUE(memory_.Write(signals + 64, &signal, sizeof(signal)).ok());
  packet.completion_signal = signals;

  TestQueue queue(gpu_.get(), QueueType::kAql);
  uint32_t profiling = 8;
  ASSERT_TRUE(memory_.Write(queue.amd_queue() + kAmdQueueProperties, &profiling, 4).ok());
  Words words(16);
  std::memcpy(words.data(), &packet, 64);
  queue.Put(words);
  AqlPacket barrier;  // Waits for the kernel, then counts the second signal down.
  barrier.header = static_cast<uint16_t>(AqlType::kBarrierAnd);
  barrier.completion_signal = signals + 64;
  std::memcpy(words.data(), &barrier, 64);
  words[2] = Low(signals), words[3] = High(signals);
  queue.Put(words);
  absl::Status status = Run(&queue);
  ASSERT_TRUE(status.ok()) << status;
  ExpectSums();
  AqlSignal done[2];
  ASSERT_TRUE(memory_.Read(signals, done, sizeof(done)).ok());
  EXPECT_EQ(done[0].value, 0);
  EXPECT_EQ(done[1].value, 0);
  EXPECT_LT(done[0].start_ts, done[0].end_ts);
  EXPECT_EQ(queue.read_pointer(), 2u);
  uint16_t header = 0;
  ASSERT_TRUE(memory_.Read(queue.ring(), &header, 2).ok());
  EXPECT_EQ(header, static_cast<uint16_t>(AqlType::kInvalid));
}

TEST_P(KernelTest, AqlCarriesPm4) {
  Dispatch dispatch = AddDispatch();
  Words words = Pm4Dispatch(dispatch);
  uint64_t ib = *memory_.Allocate(words.size() * 4, "ib");
  ASSERT_TRUE(memory_.Write(ib, words.data(), words.size() * 4).ok());
  TestQueue queue(gpu_.get(), QueueType::kAql);
  Words packet = {0x00011500};
  Append(&packet, Pm4Indirect(ib, static_cast<uint32_t>(words.size())));
  packet.push_back(10);
  packet.resize(16);
  queue.Put(packet);
  absl::Status status = Run(&queue);
  ASSERT_TRUE(status.ok()) << status;
  ExpectSums();
  EXPECT_EQ(queue.read_pointer(), 1u);
}

TEST_P(KernelTest, AFaultOfAKernelNamesItsAddress) {
  Dispatch dispatch = AddDispatch();
  ASSERT_TRUE(memory_.Free(c_).ok());
  TestQueue queue(gpu_.get(), QueueType::kPm4);
  queue.Put(Pm4Dispatch(dispatch));
  absl::Status status = Run(&queue);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  const std::optional<MemoryFault>& fault = queue->fault();
  ASSERT_TRUE(fault.has_value()) << status;
  EXPECT_GE(fault->address, c_);
  EXPECT_LT(fault->address, c_ + 400);
  EXPECT_TRUE(fault->write);
}

TEST_P(KernelTest, AnAqlPacketThatIsInvalidIsWaitedFor) {
  TestQueue queue(gpu_.get(), QueueType::kAql);
  Words packet(16);
  packet[0] = static_cast<uint32_t>(AqlType::kInvalid);
  queue.Put(packet);
  EXPECT_EQ(Run(&queue).code(), absl::StatusCode::kDeadlineExceeded);
  uint16_t barrier = static_cast<uint16_t>(AqlType::kBarrierOr);
  ASSERT_TRUE(memory_.Write(queue.ring(), &barrier, 2).ok());
  QueueSet set;
  set.Add(&*queue);
  set.Run();
  EXPECT_TRUE(set.Finished().ok()) << set.Finished();
}

INSTANTIATE_TEST_SUITE_P(All, KernelTest,
                         testing::Values("gfx1100", "gfx1201", "gfx942", "gfx950"));

}  // namespace
}  // namespace tg::amd::sim
