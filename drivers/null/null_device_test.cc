#include "drivers/null/null_device.h"

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "drivers/runtime/buffer.h"
#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

TEST(NullDeviceTest, HoldsAnyAmountOfNothing) {
  const std::shared_ptr<Device> device = MakeNullDevice(NullOptions());
  BufferRef huge = Buffer::Create(device, int64_t{1} << 50);
  BufferRef other = Buffer::Create(device, 8);
  ASSERT_TRUE(huge->Allocate().ok());
  ASSERT_TRUE(other->Allocate().ok());
  EXPECT_NE(huge->device_pointer(), nullptr);
  EXPECT_NE(huge->device_pointer(), other->device_pointer());
  EXPECT_EQ(huge->host_pointer(), nullptr);
  EXPECT_EQ(device->mem_used(), (int64_t{1} << 50) + 8);
  EXPECT_TRUE(absl::IsInvalidArgument(device->allocator().Alloc(0, {}).status()));
}

TEST(NullDeviceTest, GivesNothingOutUnlessAllowed) {
  const std::shared_ptr<Device> device = MakeNullDevice(NullOptions());
  std::vector<std::byte> bytes(8, std::byte{7});
  BufferRef buffer = Buffer::Create(device, 8);
  ASSERT_TRUE(buffer->CopyIn(bytes).ok());
  const absl::Status status = buffer->CopyOut(absl::MakeSpan(bytes));
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "no copyout on NULL")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "NULL_ALLOW_COPYOUT=1")) << status;

  NullOptions options;
  options.name = "NULL:1";
  options.allow_copyout = true;
  BufferRef allowed = Buffer::Create(MakeNullDevice(options), 8);
  ASSERT_TRUE(Buffer::Copy(*allowed, *buffer).ok());
  ASSERT_TRUE(allowed->CopyOut(absl::MakeSpan(bytes)).ok());
  EXPECT_EQ(bytes, std::vector<std::byte>(8));
}

TEST(NullDeviceTest, LoadsAnythingAndRunsNothing) {
  const std::shared_ptr<Device> device = MakeNullDevice(NullOptions());
  const absl::StatusOr<std::unique_ptr<Program>> program =
      device->LoadProgram("kernel", "not code at all", 4);
  ASSERT_TRUE(program.ok());
  double seconds = 0;
  EXPECT_TRUE((*program)->Run({}, {}, &seconds).ok());
  EXPECT_EQ(seconds, 1e-3);
  EXPECT_TRUE(device->Synchronize().ok());
}

}  // namespace
}  // namespace tg::drivers
