#include "drivers/runtime/registry.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "drivers/runtime/fake_device.h"
#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

class RegistryTest : public testing::Test {
 protected:
  RegistryTest() {
    const auto open = [this](const Target& target) -> absl::StatusOr<std::shared_ptr<Device>> {
      ++opened_;
      if (target.index > 3) return absl::NotFoundError("only 4 are plugged in");
      return std::make_shared<FakeDevice>(target.DeviceName());
    };
    registry_.Add({"CPU", "the host", {}, open});
    registry_.Add({"AMD", "a graphics card", {"KFD", "PCI"}, open});
    registry_.Add({"DISK", "a file", {}, open});
  }

  int opened_ = 0;
  DeviceRegistry registry_;
};

TEST_F(RegistryTest, OneInstanceForEachDevice) {
  const std::shared_ptr<Device> cpu = *registry_.Open("CPU");
  EXPECT_EQ(cpu->name(), "CPU");
  EXPECT_EQ(*registry_.Open("cpu:0"), cpu);
  EXPECT_EQ(*registry_.Open("CPU:LLVM"), cpu);
  EXPECT_EQ(*registry_.Open("CPU:CLANG:x86_64"), cpu);
  EXPECT_NE(*registry_.Open("CPU:1"), cpu);
  EXPECT_NE(*registry_.Open("PCI+AMD"), *registry_.Open("KFD+AMD"));
  EXPECT_EQ(opened_, 4);
  EXPECT_EQ(registry_.OpenDevices().size(), 4u);
  EXPECT_EQ(registry_.Kinds().size(), 3u);
}

TEST_F(RegistryTest, DevicesNamedByPathsGoWhenUnused) {
  std::shared_ptr<Device> a = *registry_.Open("DISK:/a");
  EXPECT_EQ(*registry_.Open("DISK:/a"), a);
  EXPECT_EQ(opened_, 1);
  EXPECT_EQ(registry_.OpenDevices().size(), 1u);
  const std::weak_ptr<Device> weak = a;
  a.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_TRUE(registry_.OpenDevices().empty());
  EXPECT_TRUE(registry_.Open("DISK:/a").ok());
  EXPECT_EQ(opened_, 2);
}

TEST_F(RegistryTest, ErrorsListWhatExists) {
  const absl::Status none = registry_.Open("TPU").status();
  EXPECT_TRUE(absl::IsNotFound(none));
  EXPECT_TRUE(absl::StrContains(
      none.message(), "no device 'TPU'; there are CPU (the host), AMD (a graphics card), DISK"))
      << none;
  const absl::Status usb = registry_.Open("USB+AMD").status();
  EXPECT_TRUE(absl::StrContains(usb.message(), "no interface 'USB'; it has KFD, PCI")) << usb;
  const absl::Status cpu = registry_.Open("PCI+CPU").status();
  EXPECT_TRUE(absl::StrContains(cpu.message(), "it has none")) << cpu;
  const absl::Status many = registry_.Open("AMD:9").status();
  EXPECT_TRUE(absl::IsNotFound(many));
  EXPECT_EQ(many.message(), "opening AMD:9: only 4 are plugged in");
  EXPECT_TRUE(absl::IsInvalidArgument(registry_.Open("").status()));
}

}  // namespace
}  // namespace tg::drivers
