#include "drivers/pci/lock_holders.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "drivers/pci/device_lock.h"

namespace tg::pci {
namespace {

struct FileId {
  dev_t device;
  ino_t inode;
};

absl::StatusOr<FileId> IdOf(const std::string& path) {
  absl::StatusOr<int> fd = OpenLockFile(path, O_PATH, 0);
  if (!fd.ok()) return fd.status();
  struct stat info;
  const int result = fstat(*fd, &info);
  close(*fd);
  if (result != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot look at ", path));
  return FileId{info.st_dev, info.st_ino};
}

std::string ReadProcFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Calls visit(name) for the entries of a folder that are numbers; false when it cannot be read.
template <typename Visit>
bool ForEachNumber(const std::string& folder, Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), closedir);
  if (dir == nullptr) return false;
  while (const dirent* entry = readdir(dir.get())) {
    int number;
    if (absl::SimpleAtoi(entry->d_name, &number)) visit(number);
  }
  return true;
}

enum class Holds { kNo, kYes, kCannotSee };

// Whether one of a process's open files is this one and carries a flock. fdinfo has a line
// "lock:\t1: FLOCK  ADVISORY  WRITE 123 fe:00:42 0 EOF" for each lock of the open file.
Holds HoldsLock(pid_t pid, const FileId& id) {
  const std::string process = absl::StrCat("/proc/", pid);
  bool holds = false;
  const bool seen = ForEachNumber(process + "/fd", [&](int fd) {
    struct stat info;
    if (holds || stat(absl::StrCat(process, "/fd/", fd).c_str(), &info) != 0) return;
    if (info.st_dev != id.device || info.st_ino != id.inode) return;
    const std::string text = ReadProcFile(absl::StrCat(process, "/fdinfo/", fd));
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      holds |= absl::StartsWith(line, "lock:") && absl::StrContains(line, "FLOCK");
    }
  });
  if (holds) return Holds::kYes;
  return seen || errno == ENOENT ? Holds::kNo : Holds::kCannotSee;
}

// The processes that took a flock on the file, by the kernel's list, which everybody may read:
// "1: FLOCK  ADVISORY  WRITE 123 fe:00:42 0 EOF". They may have ended since, and left the lock to a
// child.
std::vector<pid_t> TakersOf(const FileId& id) {
  const std::string file = absl::StrFormat("%02x:%02x:%d", major(id.device), minor(id.device),
                                           static_cast<int64_t>(id.inode));
  std::vector<pid_t> pids;
  const std::string locks = ReadProcFile("/proc/locks");
  for (absl::string_view line : absl::StrSplit(locks, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    pid_t pid;
    if (words.size() >= 6 && words[1] == "FLOCK" && words[5] == file &&
        absl::SimpleAtoi(words[4], &pid) && pid > 0) {
      pids.push_back(pid);
    }
  }
  return pids;
}

// A process that cannot be mistaken for another one.
class PidFd {
 public:
  explicit PidFd(pid_t pid) : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  ~PidFd() {
    if (fd_ >= 0) close(fd_);
  }
  PidFd(const PidFd&) = delete;
  PidFd& operator=(const PidFd&) = delete;

  bool ok() const { return fd_ >= 0; }
  bool Signal(int signal) const {
    return syscall(SYS_pidfd_send_signal, fd_, signal, nullptr, 0) == 0;
  }
  // Whether it ends in time.
  bool WaitForEnd(absl::Duration timeout) const {
    const absl::Time deadline = absl::Now() + timeout;
    for (;;) {
      pollfd p{fd_, POLLIN, 0};
      const absl::Duration left = std::max(deadline - absl::Now(), absl::ZeroDuration());
      const int n = poll(&p, 1, static_cast<int>(absl::ToInt64Milliseconds(left)));
      if (n > 0) return true;
      if (n == 0 || errno != EINTR) return false;
    }
  }

 private:
  int fd_;
};

}  // namespace

absl::StatusOr<LockHolders> FindLockHolders(const std::string& path) {
  absl::StatusOr<FileId> id = IdOf(path);
  if (!id.ok()) return id.status();
  LockHolders holders;
  const std::vector<pid_t> takers = TakersOf(*id);
  ForEachNumber("/proc", [&](pid_t pid) {
    if (pid == getpid()) return;
    const Holds holds = HoldsLock(pid, *id);
    const bool named = std::find(takers.begin(), takers.end(), pid) != takers.end();
    if (holds == Holds::kCannotSee && named) holders.incomplete = true;
    if (holds == Holds::kYes || (holds == Holds::kCannotSee && named)) holders.pids.push_back(pid);
  });
  std::sort(holders.pids.begin(), holders.pids.end());
  return holders;
}

absl::StatusOr<bool> EndLockHolder(pid_t pid, const std::string& path, absl::Duration grace) {
  const PidFd process(pid);
  if (!process.ok()) {
    if (errno == ESRCH) return false;
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot hold process ", pid));
  }
  absl::StatusOr<LockHolders> holders = FindLockHolders(path);
  if (!holders.ok()) return holders.status();
  if (!std::binary_search(holders->pids.begin(), holders->pids.end(), pid)) return false;
  for (const auto& [signal, patience] :
       {std::pair{SIGTERM, grace}, std::pair{SIGKILL, absl::Seconds(5)}}) {
    if (patience <= absl::ZeroDuration()) continue;
    if (!process.Signal(signal)) {
      if (errno == ESRCH) return true;
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot send a signal to process ", pid));
    }
    if (process.WaitForEnd(patience)) return true;
  }
  return absl::DeadlineExceededError(
      absl::StrCat("process ", pid, " does not end: it waits in the kernel"));
}

}  // namespace tg::pci
