#ifndef TG_DRIVERS_PCI_LINUX_VFIO_H_
#define TG_DRIVERS_PCI_LINUX_VFIO_H_

// Interrupts of PCI functions of this machine, through VFIO in its mode without an IOMMU
// (Documentation/driver-api/vfio.rst, include/uapi/linux/vfio.h): the one part of a function that
// sysfs has not. The function is bound to the driver vfio-pci, and the module vfio has the
// parameter enable_unsafe_noiommu_mode=1.

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drivers/pci/function.h"

namespace tg::pci {

// How the kernel is reached; tests have their own.
struct VfioHost {
  std::string sys = "/sys";
  std::string dev = "/dev";
  // As ioctl(2): -1 and errno on failure.
  std::function<int(int fd, unsigned long request, void* argument)> ioctl = {};
};

// A function that is open through VFIO. The kernel resets it when it is opened, so that has to come
// before everything else, and keeps it awake until this is destroyed.
class VfioDevice {
 public:
  // NotFound: the function is in no group, or its group is one with an IOMMU, for which there is no
  // support here; PermissionDenied; FailedPrecondition: the kernel refuses, as the message says.
  static absl::StatusOr<std::unique_ptr<VfioDevice>> Open(const VfioHost& host,
                                                          absl::string_view bus);
  ~VfioDevice();
  VfioDevice(const VfioDevice&) = delete;
  VfioDevice& operator=(const VfioDevice&) = delete;

  // The function's first MSI. Must not outlive this. FailedPrecondition: the function has none, or
  // it is on already.
  absl::StatusOr<std::unique_ptr<Interrupt>> EnableInterrupt();

 private:
  class MsiInterrupt;
  VfioDevice(const VfioHost& host, absl::string_view bus) : host_(host), bus_(bus) {}
  absl::Status Call(int fd, unsigned long request, void* argument, absl::string_view what) const;
  absl::Status Connect();
  // Has the interrupt raise an eventfd; -1: off.
  absl::Status SetTrigger(int event);

  const VfioHost host_;
  const std::string bus_;
  int container_ = -1, group_ = -1, device_ = -1;
  bool interrupt_ = false;
};

}  // namespace tg::pci

#endif  // TG_DRIVERS_PCI_LINUX_VFIO_H_
