// What can be said on any machine: lists come, and devices that are not there are errors.
#include "drivers/usb/libusb_transport.h"

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::usb {
namespace {

using ::testing::HasSubstr;

TEST(Libusb, ListsNothingForIdsThatNobodyHas) {
  const auto devices = ListUsbDevices({{0xffff, 0xffff}});
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_TRUE(devices->empty());
}

TEST(Libusb, DevicesThatAreGone) {
  const std::string locks = ::testing::TempDir() + "/usb_locks";
  std::filesystem::remove_all(locks);
  std::filesystem::create_directories(locks);
  const UsbDevice device{"usb:250:250", 250, 250};
  const absl::Status status = OpenAsm24Device(device, locks).status();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(std::filesystem::exists(locks + "/am_usb:250:250.lock"));
  const auto lock = pci::DeviceLock::Acquire(locks + "/am_usb:250:250.lock").value();
  EXPECT_THAT(std::string(OpenAsm24Device(device, locks).status().message()),
              HasSubstr("Failed to acquire lock file am_usb:250:250.lock"));
}

}  // namespace
}  // namespace tg::usb
