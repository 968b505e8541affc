#include "drivers/all/devices.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/settings.h"
#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

TEST(DevicesTest, OpensWhatThereIs) {
  EXPECT_EQ((*Devices().Open("CPU:LLVM"))->name(), "CPU");
  EXPECT_EQ(*Devices().Open("CPU:CLANG"), *Devices().Open("cpu"));
  EXPECT_EQ((*Devices().Open("CPU:1"))->name(), "CPU:1");
  EXPECT_TRUE((*Devices().Open("CPU"))->capabilities().runs_programs);
  EXPECT_TRUE((*Devices().Open("INTERP"))->capabilities().runs_programs);
  EXPECT_EQ((*Devices().Open("NULL:HIP:gfx950"))->name(), "NULL");
  EXPECT_EQ((*Devices().Open("DISK:/no/such/file"))->name(), "DISK:/no/such/file");
  EXPECT_EQ(&Devices(), &Devices());
}

TEST(DevicesTest, SaysWhatThereIs) {
  const absl::Status status = Devices().Open("GPU").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  for (const char* name : {"CPU (", "INTERP (", "NULL (", "DISK ("}) {
    EXPECT_TRUE(absl::StrContains(status.message(), name)) << status;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Devices().Open("DISK:").status()));
}

TEST(DevicesTest, SettingsReachTheDevices) {
  base::Scoped<int> cores(base::kCpuCount, 7);
  DeviceRegistry registry;
  AddAllDevices(registry);
  EXPECT_EQ((*registry.Open("CPU"))->capabilities().max_threads, 7);
  base::Scoped<int> threads(base::kThreads, 0);
  EXPECT_EQ((*registry.Open("CPU:1"))->capabilities().max_threads, 1);
  base::Scoped<int> copyout(base::kNullAllowCopyout, 1);
  std::byte byte{5};
  const std::shared_ptr<Device> null = *registry.Open("NULL");
  const Memory memory = *null->allocator().Alloc(1, {});
  EXPECT_TRUE(null->allocator().CopyOut(absl::MakeSpan(&byte, 1), memory, 0).ok());
  EXPECT_EQ(byte, std::byte{0});
}

}  // namespace
}  // namespace tg::drivers
