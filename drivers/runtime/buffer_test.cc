#include "drivers/runtime/buffer.h"

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "drivers/runtime/counters.h"
#include "drivers/runtime/fake_device.h"
#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

absl::Span<const std::byte> Bytes(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

std::string Contents(const Buffer& buffer) {
  std::string text(buffer.size(), '?');
  const absl::Status status =
      buffer.CopyOut(absl::MakeSpan(reinterpret_cast<std::byte*>(text.data()), text.size()));
  return status.ok() ? text : status.ToString();
}

class BufferTest : public testing::Test {
 protected:
  BufferRef Make(const std::string& text) {
    BufferRef buffer = Buffer::Create(device_, text.size());
    EXPECT_TRUE(buffer->CopyIn(Bytes(text)).ok());
    return buffer;
  }

  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>("FAKE");
  std::shared_ptr<FakeDevice> other_ = std::make_shared<FakeDevice>("FAKE:1");
};

TEST_F(BufferTest, AllocatesWhenNeededAndFreesWithItsLastView) {
  BufferRef buffer = Buffer::Create(device_, 10);
  EXPECT_FALSE(buffer->is_allocated());
  EXPECT_EQ(device_->allocator().live(), 0);
  const int64_t used = GlobalCounters().Read().mem_used;
  ASSERT_TRUE(buffer->Allocate().ok());
  ASSERT_TRUE(buffer->Allocate().ok());
  EXPECT_EQ(device_->allocator().allocs(), 1);
  EXPECT_EQ(device_->mem_used(), 10);
  EXPECT_EQ(GlobalCounters().Read().mem_used, used + 10);
  absl::StatusOr<BufferRef> view = Buffer::View(buffer, 5, 5);
  ASSERT_TRUE(view.ok());
  buffer.reset();
  EXPECT_EQ(device_->allocator().live(), 1);
  *view = nullptr;
  EXPECT_EQ(device_->allocator().live(), 0);
  EXPECT_EQ(device_->mem_used(), 0);
  EXPECT_EQ(GlobalCounters().Read().mem_used, used);
}

TEST_F(BufferTest, ViewsShareBytes) {
  BufferRef base = Make("hello, world");
  BufferRef world = *Buffer::View(base, 5, 7);
  EXPECT_EQ(Contents(*world), "world");
  BufferRef or_ = *Buffer::View(world, 2, 1);
  EXPECT_EQ(&or_->root(), base.get()) << "one level of views";
  EXPECT_EQ(or_->offset(), 8);
  ASSERT_TRUE(or_->CopyIn(Bytes("OR")).ok());
  EXPECT_EQ(Contents(*base), "hello, wORld");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(or_->device_pointer()),
            reinterpret_cast<uintptr_t>(base->device_pointer()) + 8);
  EXPECT_EQ(or_->ToString(), "<FAKE 2 of 12 bytes at 8>");
}

TEST_F(BufferTest, AllocatingAViewAllocatesItsRoot) {
  BufferRef base = Buffer::Create(device_, 100);
  BufferRef view = *Buffer::View(base, 10, 90);
  ASSERT_TRUE(view->Allocate().ok());
  EXPECT_TRUE(base->is_allocated());
  EXPECT_EQ(device_->mem_used(), 100);
}

TEST_F(BufferTest, ViewsLieWithinTheirBase) {
  BufferRef base = Buffer::Create(device_, 100);
  BufferRef view = *Buffer::View(base, 50, 50);
  EXPECT_TRUE(Buffer::View(base, 100, 0).ok());
  EXPECT_TRUE(Buffer::View(base, 0, 100).ok());
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const std::pair<int64_t, int64_t> bad[] = {{101, 0},  {1, 100},  {-1, 0},      {1, -1},
                                             {kMax, 1}, {1, kMax}, {kMax, kMax}, {51, 49 + 1}};
  for (const auto& [size, offset] : bad) {
    const absl::Status status = Buffer::View(base, size, offset).status();
    EXPECT_TRUE(absl::IsOutOfRange(status)) << size << " at " << offset << ": " << status;
    EXPECT_FALSE(Buffer::View(view, size, offset).ok());
  }
  EXPECT_FALSE(Buffer::View(view, 51, 0).ok()) << "beyond the view, though not beyond its root";
}

TEST_F(BufferTest, SizesAre64Bit) {
  const int64_t huge = int64_t{1} << 40;
  BufferRef base = Buffer::Create(device_, huge);
  BufferRef view = *Buffer::View(base, 4, huge - 4);
  EXPECT_EQ(view->offset(), huge - 4);
  EXPECT_EQ(base->size(), huge);
}

TEST_F(BufferTest, EmptyBuffersTakeNoMemory) {
  BufferRef empty = Buffer::Create(device_, 0);
  ASSERT_TRUE(empty->Allocate().ok());
  EXPECT_TRUE(empty->is_allocated());
  EXPECT_EQ(empty->device_pointer(), nullptr);
  EXPECT_TRUE(empty->CopyIn({}).ok());
  EXPECT_TRUE(empty->CopyOut({}).ok());
  BufferRef other = Buffer::Create(other_, 0);
  EXPECT_TRUE(Buffer::Copy(*other, *empty).ok());
  EXPECT_EQ(device_->allocator().allocs(), 0);
}

TEST_F(BufferTest, SaysWhatIsWrong) {
  BufferRef buffer = Buffer::Create(device_, 10);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      buffer->CopyOut(absl::MakeSpan(std::vector<std::byte>(10).data(), 10))));
  EXPECT_TRUE(absl::IsInvalidArgument(buffer->CopyIn(Bytes("too long for it"))));
  BufferRef text = Make("text");
  const absl::Status status = Buffer::Copy(*buffer, *text);
  EXPECT_TRUE(absl::StrContains(status.message(), "<FAKE 4 bytes> into <FAKE 10 bytes>")) << status;
  BufferRef same = Buffer::Create(other_, 10);
  EXPECT_TRUE(absl::IsFailedPrecondition(Buffer::Copy(*same, *buffer)));
  EXPECT_FALSE(same->is_allocated()) << "nothing was to be copied";
  EXPECT_EQ(buffer->host_pointer(), nullptr);
}

TEST_F(BufferTest, CopiesBetweenDevicesInPieces) {
  std::string text(9 << 20, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761u >> 13);
  BufferRef from = Make(text);
  BufferRef to = Buffer::Create(other_, text.size());
  ASSERT_TRUE(Buffer::Copy(*to, *from).ok());
  EXPECT_TRUE(Contents(*to) == text);
  EXPECT_GT(other_->allocator().copies(), 2);
}

TEST_F(BufferTest, OverlappingCopiesWithinADevice) {
  std::string text(9 << 20, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761u >> 13);
  const int64_t size = text.size() - 1000;
  for (const bool up : {false, true}) {
    BufferRef base = Make(text);
    BufferRef low = *Buffer::View(base, size, 0);
    BufferRef high = *Buffer::View(base, size, 1000);
    ASSERT_TRUE(Buffer::Copy(up ? *high : *low, up ? *low : *high).ok());
    std::string expected = text;
    expected.replace(up ? 1000 : 0, size, text, up ? 0 : 1000, size);
    EXPECT_TRUE(Contents(*base) == expected) << up;
  }
}

// For every n: the n-th call to the device fails, which is reported, and nothing leaks.
TEST_F(BufferTest, EveryFailureIsReported) {
  const std::string text(9 << 20, 'x');
  int failures = 0;
  for (int64_t n = 0;; ++n) {
    auto from_device = std::make_shared<FakeDevice>("FAKE");
    auto to_device = std::make_shared<FakeDevice>("FAKE:1");
    absl::Status status;
    {
      BufferRef from = Buffer::Create(from_device, text.size());
      ASSERT_TRUE(from->CopyIn(Bytes(text)).ok());
      from_device->allocator().FailAfter(n);
      to_device->allocator().FailAfter(n);
      BufferRef to = Buffer::Create(to_device, text.size());
      status = Buffer::Copy(*to, *from);
      EXPECT_EQ(to_device->mem_used(), to->is_allocated() ? to->size() : 0);
    }
    EXPECT_EQ(from_device->allocator().live(), 0);
    EXPECT_EQ(to_device->allocator().live(), 0);
    EXPECT_EQ(to_device->mem_used(), 0);
    if (status.ok()) break;
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    ++failures;
  }
  EXPECT_GT(failures, 2);
}

TEST_F(BufferTest, WrappedMemoryIsNotFreedButItsOwnerIs) {
  BufferRef real = Make("abc");
  auto owner = std::make_shared<int>(1);
  const int64_t used = device_->mem_used();
  BufferRef wrapped = Buffer::Wrap(device_, real->device_pointer(), 3, owner);
  EXPECT_EQ(owner.use_count(), 2);
  EXPECT_EQ(Contents(*wrapped), "abc");
  EXPECT_EQ(device_->mem_used(), used);
  wrapped.reset();
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(Contents(*real), "abc");
}

TEST_F(BufferTest, CanBeDeallocatedAndUsedAgain) {
  BufferRef buffer = Make("abc");
  buffer->Deallocate();
  buffer->Deallocate();
  EXPECT_FALSE(buffer->is_allocated());
  EXPECT_EQ(device_->allocator().live(), 0);
  ASSERT_TRUE(buffer->CopyIn(Bytes("xyz")).ok());
  EXPECT_EQ(Contents(*buffer), "xyz");
}

TEST_F(BufferTest, ThreadsMayAllocateTheSameBuffer) {
  for (int round = 0; round < 50; ++round) {
    BufferRef buffer = Buffer::Create(device_, 64);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        EXPECT_TRUE(buffer->Allocate().ok());
        EXPECT_NE(buffer->device_pointer(), nullptr);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(device_->allocator().allocs(), 50);
}

}  // namespace
}  // namespace tg::drivers
