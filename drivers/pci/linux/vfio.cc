#include "drivers/pci/linux/vfio.h"

#include <fcntl.h>
#include <linux/vfio.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace tg::pci {
namespace {

absl::StatusOr<int> OpenNode(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd >= 0) return fd;
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
}

}  // namespace

class VfioDevice::MsiInterrupt final : public Interrupt {
 public:
  MsiInterrupt(VfioDevice* device, int event) : device_(*device), event_(event) {}
  ~MsiInterrupt() override {
    // It fails only when the function is gone, and then so is the interrupt.
    device_.SetTrigger(-1).IgnoreError();
    device_.interrupt_ = false;
    close(event_);
  }
  MsiInterrupt(const MsiInterrupt&) = delete;
  MsiInterrupt& operator=(const MsiInterrupt&) = delete;

  absl::StatusOr<uint64_t> Wait(absl::Duration timeout) override {
    const absl::Time end = absl::Now() + timeout;
    for (;;) {
      uint64_t count = 0;
      const ssize_t n = read(event_, &count, sizeof(count));
      if (n == static_cast<ssize_t>(sizeof(count))) return count;
      if (n < 0 && errno != EAGAIN && errno != EINTR) {
        return absl::ErrnoToStatus(errno, absl::StrCat(device_.bus_, ": interrupt"));
      }
      const absl::Duration left = end - absl::Now();
      if (left <= absl::ZeroDuration()) {
        return absl::DeadlineExceededError(
            absl::StrCat(device_.bus_, ": no interrupt within ", absl::FormatDuration(timeout)));
      }
      pollfd wait = {.fd = event_, .events = POLLIN, .revents = 0};
      const timespec time = absl::ToTimespec(left);
      if (ppoll(&wait, 1, left == absl::InfiniteDuration() ? nullptr : &time, nullptr) < 0 &&
          errno != EINTR) {
        return absl::ErrnoToStatus(errno, absl::StrCat(device_.bus_, ": interrupt"));
      }
    }
  }

 private:
  VfioDevice& device_;
  const int event_;
};

absl::StatusOr<std::unique_ptr<VfioDevice>> VfioDevice::Open(const VfioHost& host,
                                                             absl::string_view bus) {
  VfioHost with_ioctl = host;
  if (!with_ioctl.ioctl) {
    with_ioctl.ioctl = [](int fd, unsigned long request, void* argument) {
      return ioctl(fd, request, argument);
    };
  }
  std::unique_ptr<VfioDevice> device(new VfioDevice(with_ioctl, bus));
  if (absl::Status s = device->Connect(); !s.ok()) return s;
  return device;
}

VfioDevice::~VfioDevice() {
  for (int fd : {device_, group_, container_}) {
    if (fd >= 0) close(fd);
  }
}

absl::Status VfioDevice::Call(int fd, unsigned long request, void* argument,
                              absl::string_view what) const {
  if (host_.ioctl(fd, request, argument) >= 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(bus_, ": VFIO: ", what, ": ", std::strerror(errno)));
}

absl::Status VfioDevice::Connect() {
  std::error_code error;
  const std::filesystem::path link = std::filesystem::read_symlink(
      absl::StrCat(host_.sys, "/bus/pci/devices/", bus_, "/iommu_group"), error);
  if (error) return absl::NotFoundError(absl::StrCat(bus_, ": VFIO: it is in no group"));
  const std::string node = absl::StrCat(host_.dev, "/vfio/noiommu-", link.filename().string());
  if (!std::filesystem::exists(node, error)) {
    return absl::NotFoundError(absl::StrCat(
        bus_, ": VFIO: there is no ", node,
        "; a group without an IOMMU needs `echo 1 > "
        "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode` before vfio-pci is bound, and a "
        "kernel with CONFIG_VFIO_NOIOMMU"));
  }
  absl::StatusOr<int> container = OpenNode(host_.dev + "/vfio/vfio");
  if (!container.ok()) return container.status();
  container_ = *container;
  if (host_.ioctl(container_, VFIO_GET_API_VERSION, nullptr) != VFIO_API_VERSION) {
    return absl::FailedPreconditionError(
        absl::StrCat(bus_, ": VFIO: the kernel's interface is of another version"));
  }
  if (host_.ioctl(container_, VFIO_CHECK_EXTENSION, reinterpret_cast<void*>(VFIO_NOIOMMU_IOMMU)) !=
      1) {
    return absl::FailedPreconditionError(
        absl::StrCat(bus_, ": VFIO: the kernel has no mode without an IOMMU"));
  }
  absl::StatusOr<int> group = OpenNode(node);
  if (!group.ok()) return group.status();
  group_ = *group;
  absl::Status s = Call(group_, VFIO_GROUP_SET_CONTAINER, &container_, "the group cannot be used");
  if (!s.ok()) return s;
  s = Call(container_, VFIO_SET_IOMMU, reinterpret_cast<void*>(VFIO_NOIOMMU_IOMMU),
           "the mode without an IOMMU is refused");
  if (!s.ok()) return s;
  std::string name = bus_;
  device_ = host_.ioctl(group_, VFIO_GROUP_GET_DEVICE_FD, name.data());
  if (device_ >= 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(bus_, ": VFIO: the function cannot be opened: ", std::strerror(errno)));
}

absl::Status VfioDevice::SetTrigger(int event) {
  const bool on = event >= 0;
  vfio_irq_set set = {};
  set.argsz = static_cast<uint32_t>(sizeof(set) + (on ? sizeof(int32_t) : 0));
  set.flags = VFIO_IRQ_SET_ACTION_TRIGGER |
              static_cast<uint32_t>(on ? VFIO_IRQ_SET_DATA_EVENTFD : VFIO_IRQ_SET_DATA_NONE);
  set.index = VFIO_PCI_MSI_IRQ_INDEX;
  set.count = on ? 1 : 0;
  // The file's number follows the structure.
  alignas(vfio_irq_set) char request[sizeof(set) + sizeof(int32_t)];
  std::memcpy(request, &set, sizeof(set));
  std::memcpy(request + sizeof(set), &event, sizeof(int32_t));
  return Call(device_, VFIO_DEVICE_SET_IRQS, request, "its message-signalled interrupt");
}

absl::StatusOr<std::unique_ptr<Interrupt>> VfioDevice::EnableInterrupt() {
  if (interrupt_) {
    return absl::FailedPreconditionError(absl::StrCat(bus_, ": its interrupt is on already"));
  }
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) return absl::ErrnoToStatus(errno, "no eventfd");
  if (absl::Status s = SetTrigger(event); !s.ok()) {
    close(event);
    return s;
  }
  interrupt_ = true;
  return std::make_unique<MsiInterrupt>(this, event);
}

}  // namespace tg::pci
