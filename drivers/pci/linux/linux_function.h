#ifndef TG_DRIVERS_PCI_LINUX_LINUX_FUNCTION_H_
#define TG_DRIVERS_PCI_LINUX_LINUX_FUNCTION_H_

// PCI functions of this machine, through what Linux shows of them in sysfs
// (Documentation/ABI/testing/sysfs-bus-pci, Documentation/PCI/sysfs-pci.rst). Needs no kernel
// driver, and refuses to share a function with one.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/function.h"
#include "drivers/pci/match.h"

namespace tg::pci {

// Where the system is; tests have their own.
struct LinuxHost {
  std::string sys = "/sys";
  std::string proc = "/proc";
  std::string locks = kLockFolder;
  std::string dev = "/dev";
  // In the place of ioctl(2) on VFIO's files; empty: that.
  std::function<int(int fd, unsigned long request, void* argument)> vfio_ioctl = {};
};

// Buses ("0000:03:00.0") of the functions that match, in order. Empty where there is no PCI.
absl::StatusOr<std::vector<std::string>> ListLinuxFunctions(const LinuxHost& host,
                                                            const Match& match);

struct LinuxOpenOptions {
  std::string lock_prefix = kAmdLocks;
  mode_t lock_mode = 0600;  // see DeviceLock
  // Opens a function that somebody else may be driving, to look at it: takes no lock, but keeps
  // other observers out; neither enables nor wakes it; refuses to write its config space, to reset
  // or to resize it, and has no memory for it. Registers can be written: looking can take that.
  // FailedPrecondition where it is disabled or asleep; Unavailable when another observer does not
  // end its look within a second.
  bool observe = false;
};

// Opens a function: takes its lock, held until the function is closed, and lets it decode its
// addresses. InvalidArgument: no name of a function; NotFound: not there; FailedPrecondition: a
// kernel driver is bound to it, or its lock file is not to be trusted; Unavailable: another process
// has it, or it does not answer; PermissionDenied: says what is needed.
//
// A function that is bound to vfio-pci is opened through VFIO as well (vfio.h): that resets it, and
// gives it interrupts. Where that is not possible all else works, and EnableInterrupt says why; of
// other functions it is Unimplemented.
//
// AllocateDma locks memory of this process and takes its physical addresses from
// /proc/self/pagemap, so it needs CAP_SYS_ADMIN and CAP_IPC_LOCK, and a machine whose IOMMU does
// not translate for the function. Contiguous memory is one page, or one huge page of 2 MiB.
absl::StatusOr<std::unique_ptr<Function>> OpenLinuxFunction(const LinuxHost& host,
                                                            absl::string_view bus,
                                                            const LinuxOpenOptions& options = {});

}  // namespace tg::pci

#endif  // TG_DRIVERS_PCI_LINUX_LINUX_FUNCTION_H_
