#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tg::base {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Closes and reports what close() reports: some file systems notice a full disk only then.
  bool Close() { return close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

absl::Status SystemError(absl::string_view action, const std::string& path, int error = errno) {
  return absl::ErrnoToStatus(error, absl::StrCat(path, ": ", action));
}

absl::Status WriteAll(int fd, const std::string& path, absl::Span<const absl::string_view> pieces) {
  for (absl::string_view piece : pieces) {
    while (!piece.empty()) {
      // One call writes at most 2 GiB on Linux.
      const ssize_t n = write(fd, piece.data(), std::min<size_t>(piece.size(), 1 << 30));
      if (n < 0) {
        if (errno == EINTR) continue;
        return SystemError("cannot write", path);
      }
      piece.remove_prefix(n);
    }
  }
  return absl::OkStatus();
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return SystemError("cannot open", path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return SystemError("cannot stat", path);
  if (S_ISDIR(info.st_mode)) return SystemError("cannot read", path, EISDIR);

  const auto too_large = [&] {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": larger than the ", max_bytes, " bytes that are read at most"));
  };
  if (S_ISREG(info.st_mode) && info.st_size > max_bytes) return too_large();

  // The size is a hint alone: files in /proc have none, others may grow meanwhile.
  std::string contents;
  size_t size = 0;
  const size_t cap = static_cast<size_t>(max_bytes);
  size_t room = std::clamp<size_t>(static_cast<size_t>(info.st_size) + 1, 4096, cap + 1);
  while (true) {
    contents.resize(room);
    while (size < room) {
      const ssize_t n =
          read(fd.get(), contents.data() + size, std::min<size_t>(room - size, 1 << 30));
      if (n < 0) {
        if (errno == EINTR) continue;
        return SystemError("cannot read", path);
      }
      if (n == 0) {
        contents.resize(size);
        return contents;
      }
      size += n;
    }
    if (size > cap) return too_large();
    room = std::min(room * 2, cap + 1);
  }
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents) {
  return WriteFileAtomically(path, absl::MakeConstSpan(&contents, 1));
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::Span<const absl::string_view> pieces) {
  std::string target = path;
  mode_t mode = 0666;
  bool replaces = false;
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return SystemError("cannot write", path, EISDIR);
    if (!S_ISREG(info.st_mode)) {
      Descriptor fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (!fd.valid()) return SystemError("cannot open", path);
      return WriteAll(fd.get(), path, pieces);
    }
    if (char* real = realpath(path.c_str(), nullptr)) {
      target = real;
      free(real);
    }
    mode = info.st_mode & 07777;
    replaces = true;
  }

  // O_EXCL: never writes through a link that somebody left there. mkostemp would ignore the umask.
  static std::atomic<uint32_t> counter{0};
  const std::string aside = absl::StrCat(target, ".tmp-", getpid(), "-", counter.fetch_add(1));
  Descriptor fd(open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.valid()) return SystemError("cannot create", aside);
  absl::Status status = WriteAll(fd.get(), aside, pieces);
  if (status.ok() && replaces && fchmod(fd.get(), mode) != 0) {
    status = SystemError("cannot set permissions of", aside);
  }
  if (status.ok() && fsync(fd.get()) != 0) status = SystemError("cannot flush", aside);
  if (status.ok() && !fd.Close()) status = SystemError("cannot close", aside);
  if (status.ok() && rename(aside.c_str(), target.c_str()) != 0) {
    status = SystemError("cannot rename to", target);
  }
  if (!status.ok()) {
    unlink(aside.c_str());
    return status;
  }
  // The rename itself is on the disk once the folder is. Some file systems cannot do that: the file
  // is whole all the same.
  Descriptor folder(open(FolderOf(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) (void)fsync(folder.get());
  return absl::OkStatus();
}

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return SystemError("cannot open", path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return SystemError("cannot stat", path);
  if (S_ISDIR(info.st_mode)) return SystemError("cannot map", path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file, cannot be mapped"));
  }
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return MappedFile();
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return SystemError("cannot map", path);
  return MappedFile(static_cast<uint8_t*>(data), size, /*writable=*/false);
}

absl::StatusOr<MappedFile> MappedFile::OpenWritable(const std::string& path, int64_t size) {
  if (size < 0) return absl::InvalidArgumentError(absl::StrCat(path, ": size is negative"));
  Descriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) return SystemError("cannot open for writing", path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return SystemError("cannot stat", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file, cannot be mapped"));
  }
  if (info.st_size < size) {
    if (ftruncate(fd.get(), size) != 0) return SystemError("cannot lengthen", path);
  } else {
    size = info.st_size;
  }
  if (size == 0) return MappedFile(nullptr, 0, /*writable=*/true);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return SystemError("cannot map", path);
  return MappedFile(static_cast<uint8_t*>(data), static_cast<size_t>(size), /*writable=*/true);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      writable_(other.writable_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(writable_, other.writable_);
  return *this;
}

std::string ResolveUserPath(absl::string_view path) {
  if (absl::StartsWith(path, "/")) return std::string(path);
  if (path == "~" || absl::StartsWith(path, "~/")) {
    if (const char* home = getenv("HOME")) return absl::StrCat(home, path.substr(1));
  }
  const char* folder = getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || *folder == '\0' || path.empty()) return std::string(path);
  return absl::StrCat(folder, "/", path);
}

absl::Status CreateFolders(const std::string& path) {
  if (path.empty() || mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) {
    struct stat info;
    if (path.empty() || (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))) {
      return absl::OkStatus();
    }
    return SystemError("cannot create folder", path, ENOTDIR);
  }
  if (errno != ENOENT) return SystemError("cannot create folder", path);
  const std::string above = FolderOf(path);
  if (above == path || above == ".") return SystemError("cannot create folder", path, ENOENT);
  if (absl::Status status = CreateFolders(above); !status.ok()) return status;
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return SystemError("cannot create folder", path);
  }
  return absl::OkStatus();
}

}  // namespace tg::base
