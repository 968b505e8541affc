#include "drivers/pci/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tg::pci {
namespace {

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

absl::Status IsLink(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is a symbolic link, which a lock file never is"));
}

}  // namespace

std::string LockPath(absl::string_view folder, absl::string_view prefix, absl::string_view bus) {
  return absl::StrCat(folder, "/", prefix, "_", bus, ".lock");
}

absl::StatusOr<std::vector<LockFile>> FindLockFiles(const std::string& folder,
                                                    absl::string_view prefix,
                                                    absl::string_view bus_prefix) {
  std::error_code error;
  std::vector<LockFile> files;
  const std::string begin = absl::StrCat(prefix, "_");
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    absl::string_view bus = name;
    if (!absl::ConsumePrefix(&bus, begin) || !absl::ConsumeSuffix(&bus, ".lock")) continue;
    if (bus.empty() || !absl::StartsWith(bus, bus_prefix)) continue;
    files.push_back({std::string(bus), it->path().string()});
  }
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read the folder ", folder));
  }
  std::sort(files.begin(), files.end(),
            [](const LockFile& a, const LockFile& b) { return a.bus < b.bus; });
  return files;
}

absl::StatusOr<int> OpenLockFile(const std::string& path, int flags, mode_t mode) {
  // Without O_NONBLOCK a FIFO would wait for its other end.
  const int fd = open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode);
  if (fd < 0) {
    if (errno == ELOOP) return IsLink(path);
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  struct stat info;
  absl::Status status;
  if (fstat(fd, &info) != 0) {
    status = absl::ErrnoToStatus(errno, absl::StrCat("cannot look at ", path));
  } else if (S_ISLNK(info.st_mode)) {  // O_PATH opens links themselves.
    status = IsLink(path);
  } else if (!S_ISREG(info.st_mode)) {
    status = absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file"));
  } else if (info.st_uid != 0 && info.st_uid != geteuid()) {
    status = absl::PermissionDeniedError(
        absl::StrCat(path, " belongs to user ", info.st_uid, ", neither to root nor to this one"));
  }
  if (status.ok()) return fd;
  close(fd);
  return status;
}

absl::StatusOr<DeviceLock> DeviceLock::Acquire(const std::string& path, mode_t mode) {
  // Somebody may remove the file between open and flock: then the lock would be on a file that
  // nobody else finds. A few tries are enough, since files normally stay.
  for (int tries = 0; tries < 8; ++tries) {
    absl::StatusOr<int> fd = OpenLockFile(path, O_RDWR | O_CREAT, mode);
    if (!fd.ok()) return fd.status();
    DeviceLock lock(*fd);
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) {
        return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
      }
      return absl::UnavailableError(absl::StrCat(
          "Failed to acquire lock file ", FileName(path), ": another process holds it; `hcq_smi ",
          absl::StartsWith(FileName(path), "nv_") ? "nv" : "amd", " pids` says which"));
    }
    struct stat mine, there;
    if (fstat(*fd, &mine) == 0 && lstat(path.c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
        mine.st_ino == there.st_ino) {
      // Only its owner can change the mode of a file that was there.
      if (mine.st_uid == geteuid() && (mine.st_mode & 0777) != mode) {
        if (fchmod(*fd, mode) != 0) {
          return absl::ErrnoToStatus(errno, absl::StrCat("cannot set the mode of ", path));
        }
      }
      return lock;
    }
  }
  return absl::AbortedError(absl::StrCat(path, " is removed again and again"));
}

void DeviceLock::Release() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace tg::pci
