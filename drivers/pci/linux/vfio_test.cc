// VFIO against a kernel that is this test: its nodes are plain files, its ioctls a function.
#include "drivers/pci/linux/vfio.h"

#include <fcntl.h>
#include <linux/vfio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "drivers/pci/linux/linux_function.h"
#include "drivers/sim/pci/sysfs_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::pci {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Code = absl::StatusCode;

constexpr char kBus[] = "0000:03:00.0";

class VfioTest : public ::testing::Test {
 protected:
  VfioTest()
      : root_(::testing::TempDir() + "/vfio_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    fs::create_directories(root_ + "/dev/vfio");
    fs::create_directories(root_ + "/locks");
    sim::SysfsTree tree(root_ + "/sys");
    tree.Add({.bus = kBus,
              .identity = {.vendor = 0x1002, .device = 0x744c},
              .bar_sizes = {4096},
              .driver = "vfio-pci"});
    folder_ = tree.Folder(kBus);
    fs::create_directory_symlink("../../../kernel/iommu_groups/7", folder_ + "/iommu_group");
    for (const char* node : {"vfio", "noiommu-7"}) std::ofstream(root_ + "/dev/vfio/" + node);
    host_ = {.sys = root_ + "/sys",
             .dev = root_ + "/dev",
             .ioctl = [this](int fd, unsigned long request, void* argument) {
               return Ioctl(fd, request, argument);
             }};
  }
  ~VfioTest() override {
    if (event_ >= 0) close(event_);
  }

  // Which node a file is.
  std::string Node(int fd) {
    std::error_code error;
    return fs::read_symlink(absl::StrCat("/proc/self/fd/", fd), error).filename().string();
  }

  // The kernel: requests in another order than this, or on other files, fail.
  int Ioctl(int fd, unsigned long request, void* argument) {
    if (request == fails_) {
      errno = EPERM;
      return -1;
    }
    const std::string node = Node(fd);
    if (node == "vfio" && request == VFIO_GET_API_VERSION) return 0;
    if (node == "vfio" && request == VFIO_CHECK_EXTENSION) {
      return reinterpret_cast<uintptr_t>(argument) == 8 ? 1 : 0;
    }
    if (node == "noiommu-7" && request == VFIO_GROUP_SET_CONTAINER) {
      grouped_ = Node(*static_cast<int*>(argument)) == "vfio";
      return grouped_ ? 0 : -1;
    }
    if (node == "vfio" && request == VFIO_SET_IOMMU && grouped_) {
      iommu_ = reinterpret_cast<uintptr_t>(argument) == 8;
      return 0;
    }
    if (node == "noiommu-7" && request == VFIO_GROUP_GET_DEVICE_FD && iommu_) {
      if (std::strcmp(static_cast<char*>(argument), kBus) != 0) return -1;
      return device_ = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    if (fd == device_ && request == VFIO_DEVICE_SET_IRQS) {
      vfio_irq_set set;
      std::memcpy(&set, argument, sizeof(set));
      EXPECT_EQ(set.index, 1u);
      EXPECT_EQ(set.start, 0u);
      if (event_ >= 0) close(event_);
      event_ = -1;
      if (set.count == 0) {
        EXPECT_EQ(set.argsz, 20u);
        EXPECT_EQ(set.flags, 0x21u);
        return 0;
      }
      EXPECT_EQ(set.argsz, 24u);
      EXPECT_EQ(set.flags, 0x24u);
      int32_t event;
      std::memcpy(&event, static_cast<char*>(argument) + sizeof(set), sizeof(event));
      return event_ = dup(event);
    }
    errno = ENOTTY;
    return -1;
  }
  void Raise(uint64_t times = 1) {
    ASSERT_EQ(write(event_, &times, sizeof(times)), static_cast<ssize_t>(sizeof(times)));
  }

  const std::string root_;
  std::string folder_;
  VfioHost host_;
  unsigned long fails_ = 0;
  bool grouped_ = false, iommu_ = false;
  int device_ = -1;
  int event_ = -1;  // what the interrupt raises
};

TEST_F(VfioTest, Interrupts) {
  const auto device = VfioDevice::Open(host_, kBus).value();
  {
    const auto interrupt = device->EnableInterrupt().value();
    EXPECT_EQ(interrupt->Wait(absl::Milliseconds(1)).status().code(), Code::kDeadlineExceeded);
    EXPECT_EQ(interrupt->Wait(-absl::Seconds(1)).status().code(), Code::kDeadlineExceeded);
    Raise(3);
    EXPECT_EQ(interrupt->Wait(absl::ZeroDuration()).value(), 3u);
    EXPECT_FALSE(interrupt->Wait(absl::ZeroDuration()).ok());
    for (absl::Duration timeout : {absl::Seconds(30), absl::InfiniteDuration()}) {
      std::thread later([this] {
        absl::SleepFor(absl::Milliseconds(20));
        Raise();
      });
      EXPECT_EQ(interrupt->Wait(timeout).value(), 1u);
      later.join();
    }
    EXPECT_EQ(device->EnableInterrupt().status().code(), Code::kFailedPrecondition);
  }
  EXPECT_EQ(event_, -1) << "off again";
  EXPECT_TRUE(device->EnableInterrupt().ok());
}

TEST_F(VfioTest, ARefusalAtEveryStep) {
  for (const auto& [request, text] :
       {std::pair<unsigned long, const char*>{VFIO_GET_API_VERSION, "another version"},
        {VFIO_CHECK_EXTENSION, "no mode without an IOMMU"},
        {VFIO_GROUP_SET_CONTAINER, "the group cannot be used: Operation not permitted"},
        {VFIO_SET_IOMMU, "the mode without an IOMMU is refused"},
        {VFIO_GROUP_GET_DEVICE_FD, "the function cannot be opened"}}) {
    fails_ = request;
    const absl::Status s = VfioDevice::Open(host_, kBus).status();
    EXPECT_EQ(s.code(), Code::kFailedPrecondition) << s;
    EXPECT_THAT(std::string(s.message()), HasSubstr(text));
  }
  fails_ = VFIO_DEVICE_SET_IRQS;
  const auto device = VfioDevice::Open(host_, kBus).value();
  EXPECT_EQ(device->EnableInterrupt().status().code(), Code::kFailedPrecondition);
  fails_ = 0;
  EXPECT_TRUE(device->EnableInterrupt().ok());
}

TEST_F(VfioTest, WithoutNodes) {
  // Files that are none of the kernel's.
  VfioHost plain = host_;
  plain.ioctl = {};
  EXPECT_EQ(VfioDevice::Open(plain, kBus).status().code(), Code::kFailedPrecondition);
  fs::remove(root_ + "/dev/vfio/vfio");
  EXPECT_EQ(VfioDevice::Open(host_, kBus).status().code(), Code::kNotFound);
  fs::remove(root_ + "/dev/vfio/noiommu-7");
  EXPECT_THAT(std::string(VfioDevice::Open(host_, kBus).status().message()),
              HasSubstr("enable_unsafe_noiommu_mode"));
  fs::remove(folder_ + "/iommu_group");
  EXPECT_THAT(std::string(VfioDevice::Open(host_, kBus).status().message()),
              HasSubstr("it is in no group"));
}

TEST_F(VfioTest, OfALinuxFunction) {
  const LinuxHost host = {.sys = root_ + "/sys",
                          .proc = "/proc",
                          .locks = root_ + "/locks",
                          .dev = root_ + "/dev",
                          .vfio_ioctl = host_.ioctl};
  {
    const auto card = OpenLinuxFunction(host, kBus).value();
    const auto interrupt = card->EnableInterrupt().value();
    Raise();
    EXPECT_EQ(interrupt->Wait(absl::Seconds(1)).value(), 1u);
    // Who only looks leaves VFIO, which would reset the function, alone.
    device_ = -1;
    const auto seen = OpenLinuxFunction(host, kBus, {.observe = true}).value();
    EXPECT_EQ(device_, -1);
    EXPECT_FALSE(seen->EnableInterrupt().ok());
  }
  fs::remove(root_ + "/dev/vfio/noiommu-7");
  {
    const auto card = OpenLinuxFunction(host, kBus).value();
    EXPECT_TRUE(card->MapBar(0).ok()) << "all else works";
    EXPECT_THAT(std::string(card->EnableInterrupt().status().message()),
                HasSubstr("enable_unsafe_noiommu_mode"));
  }
  fs::remove(folder_ + "/driver");
  EXPECT_THAT(
      std::string(OpenLinuxFunction(host, kBus).value()->EnableInterrupt().status().message()),
      HasSubstr("bind it to vfio-pci"));
}

}  // namespace
}  // namespace tg::pci
