// Processes that hold a lock file, and how to end them.
#ifndef TG_DRIVERS_PCI_LOCK_HOLDERS_H_
#define TG_DRIVERS_PCI_LOCK_HOLDERS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tg::pci {

struct LockHolders {
  std::vector<pid_t> pids;  // In order. Never this process.
  // Whether the lock is held by a process whose open files this user must not see. The kernel's
  // list of locks names it, and so does `pids`, but others that share its lock may be missing.
  bool incomplete = false;
};

// Who holds the flock on `path`. A process that merely has the file open does not. Several can:
// a child inherits what its parent holds. Reads /proc (proc(5): locks, PID/fd, PID/fdinfo).
// Errors are those of OpenLockFile.
absl::StatusOr<LockHolders> FindLockHolders(const std::string& path);

// Ends a process if it holds the lock: SIGTERM, and SIGKILL when it has not ended after `grace`
// (zero: SIGKILL at once). The process is held by a pidfd from before the check on, so a number
// that is given to another process meanwhile does that no harm. Returns whether anything was
// killed: not when the process had ended, or did not hold the lock. PermissionDenied when it
// belongs to somebody else. DeadlineExceeded when it does not even end on SIGKILL within 5 seconds.
absl::StatusOr<bool> EndLockHolder(pid_t pid, const std::string& path, absl::Duration grace);

}  // namespace tg::pci

#endif  // TG_DRIVERS_PCI_LOCK_HOLDERS_H_
