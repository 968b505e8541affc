// Who owns a PCI device that is driven from user space.
//
// A process that drives a device holds an exclusive flock on /tmp/am_<bus>.lock (AMD) or
// /tmp/nv_<bus>.lock (NVIDIA) for as long as it does. Other programs that drive the same cards from
// user space use the same files, so all of them see each other. The files stay when they are free.
#ifndef TG_DRIVERS_PCI_DEVICE_LOCK_H_
#define TG_DRIVERS_PCI_DEVICE_LOCK_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tg::pci {

inline constexpr char kLockFolder[] = "/tmp";

// Prefixes of lock files, by driver.
inline constexpr char kAmdLocks[] = "am";
inline constexpr char kNvidiaLocks[] = "nv";

// "/tmp/am_0000:03:00.0.lock"
std::string LockPath(absl::string_view folder, absl::string_view prefix, absl::string_view bus);

struct LockFile {
  std::string bus;  // "0000:03:00.0"
  std::string path;
};

// Lock files in `folder` of devices whose bus begins with `bus_prefix`, by bus. Says nothing about
// whether they are held, or are files at all.
absl::StatusOr<std::vector<LockFile>> FindLockFiles(const std::string& folder,
                                                    absl::string_view prefix,
                                                    absl::string_view bus_prefix);

// Opens a lock file without following a symbolic link. FailedPrecondition for what is not a
// regular file, PermissionDenied for one that belongs to somebody else than root or this user:
// anybody can put a file into /tmp. `flags` are open's, besides those for safety.
absl::StatusOr<int> OpenLockFile(const std::string& path, int flags, mode_t mode);

// A lock that this process holds; given up when destroyed. Move only.
class DeviceLock {
 public:
  // Creates the file where it is not there, with `mode` whatever the umask is: 0600, or 0666 where
  // the device is shared between users. Unavailable when another process holds it; other errors as
  // OpenLockFile. Does not wait.
  static absl::StatusOr<DeviceLock> Acquire(const std::string& path, mode_t mode = 0600);

  DeviceLock() = default;
  ~DeviceLock() { Release(); }
  DeviceLock(DeviceLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DeviceLock& operator=(DeviceLock&& other) noexcept {
    Release();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }

  bool held() const { return fd_ >= 0; }
  void Release();

 private:
  explicit DeviceLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace tg::pci

#endif  // TG_DRIVERS_PCI_DEVICE_LOCK_H_
