#include "drivers/disk/disk_device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tg::drivers {
namespace {

constexpr absl::string_view kSharedMemoryPrefix = "shm:";
constexpr absl::string_view kSharedMemoryFolder = "/dev/shm/";

// The file of one allocation: its first `size` bytes. Thread-safe.
class DiskFile {
 public:
  DiskFile(std::string path, int64_t size) : path_(std::move(path)), size_(size) {}
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  ~DiskFile() {
    if (mapping_ != nullptr) munmap(mapping_, size_);
    if (file_ >= 0) close(file_);
  }

  // NotFound when there is no such file (yet).
  absl::Status OpenExisting() {
    std::lock_guard<std::mutex> lock(mutex_);
    return Open(/*create=*/false);
  }

  absl::Status Read(absl::Span<std::byte> to, int64_t offset) {
    int file;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (const absl::Status status = Open(/*create=*/false); !status.ok()) return status;
      file = file_;
    }
    while (!to.empty()) {
      const ssize_t count = pread(file, to.data(), to.size(), offset);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Failed("reading");
      if (count == 0) {
        return absl::OutOfRangeError(absl::StrCat("reading ", path_, ": it ends at byte ", offset,
                                                  ", ", to.size(), " bytes before what is wanted"));
      }
      to.remove_prefix(count);
      offset += count;
    }
    return absl::OkStatus();
  }

  absl::Status Write(absl::Span<const std::byte> from, int64_t offset) {
    int file;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (const absl::Status status = PrepareToWrite(); !status.ok()) return status;
      file = file_;
    }
    while (!from.empty()) {
      const ssize_t count = pwrite(file, from.data(), from.size(), offset);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Failed("writing");
      from.remove_prefix(count);
      offset += count;
    }
    return absl::OkStatus();
  }

  // Null when the file is missing, or shorter than `size`, or cannot be mapped.
  std::byte* Map() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (mapping_ != nullptr) return mapping_;
    if (!Open(/*create=*/false).ok()) return nullptr;
    const absl::StatusOr<int64_t> length = Length();
    if (!length.ok() || *length < size_) return nullptr;
    void* const mapping = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                               writable_ ? MAP_SHARED : MAP_PRIVATE, file_, 0);
    if (mapping == MAP_FAILED) return nullptr;
    mapping_ = static_cast<std::byte*>(mapping);
    return mapping_;
  }

 private:
  absl::Status Failed(absl::string_view what) const {
    return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path_));
  }

  absl::Status Open(bool create) {
    if (file_ >= 0) return absl::OkStatus();
    // Without O_NONBLOCK, opening a pipe would wait for its other end.
    const int flags = O_CLOEXEC | O_NONBLOCK | (create ? O_CREAT : 0);
    file_ = open(path_.c_str(), O_RDWR | flags, 0644);
    writable_ = file_ >= 0;
    if (file_ < 0 && (errno == EACCES || errno == EPERM || errno == EROFS || errno == ETXTBSY)) {
      const int reason = errno;
      file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
      if (file_ < 0) errno = reason;
    }
    if (file_ < 0) return Failed("opening");
    struct stat info;
    absl::Status status;
    if (fstat(file_, &info) != 0) {
      status = Failed("opening");
    } else if (!S_ISREG(info.st_mode) && !S_ISBLK(info.st_mode)) {
      status = absl::InvalidArgumentError(
          absl::StrCat("opening ", path_, ": neither a file nor a block device"));
    }
    if (!status.ok()) close(std::exchange(file_, -1));
    return status;
  }

  // Of a block device, too.
  absl::StatusOr<int64_t> Length() {
    const off_t end = lseek(file_, 0, SEEK_END);
    if (end < 0) return Failed("asking for the length of");
    return end;
  }

  absl::Status PrepareToWrite() {
    if (const absl::Status status = Open(/*create=*/true); !status.ok()) return status;
    if (!writable_) {
      return absl::PermissionDeniedError(absl::StrCat("writing ", path_, ": it may only be read"));
    }
    const absl::StatusOr<int64_t> length = Length();
    if (!length.ok()) return length.status();
    // A block device's end cannot be moved; writing beyond it fails by itself.
    struct stat info;
    if (*length >= size_ || (fstat(file_, &info) == 0 && S_ISBLK(info.st_mode))) {
      return absl::OkStatus();
    }
    if (ftruncate(file_, size_) != 0) {
      return Failed(absl::StrCat("extending to ", size_, " bytes"));
    }
    return absl::OkStatus();
  }

  const std::string path_;
  const int64_t size_;
  std::mutex mutex_;  // Guards what follows, and is held by callers of the functions above.
  int file_ = -1;     // Does not change once it is open.
  bool writable_ = false;
  std::byte* mapping_ = nullptr;
};

DiskFile& FileOf(const Memory& memory) { return *static_cast<DiskFile*>(memory.pointer); }

class DiskAllocator : public Allocator {
 public:
  explicit DiskAllocator(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<Memory> Alloc(int64_t size, const AllocOptions& options) override {
    if (size <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": the size of an allocation must be positive, not ", size));
    }
    auto file = std::make_unique<DiskFile>(path_, size);
    const absl::Status status = file->OpenExisting();
    if (!status.ok() && !absl::IsNotFound(status)) return status;
    return Memory{file.release(), size, options};
  }

  void Free(const Memory& memory) override { delete &FileOf(memory); }

  absl::Status CopyIn(const Memory& memory, int64_t offset,
                      absl::Span<const std::byte> from) override {
    return FileOf(memory).Write(from, offset);
  }

  absl::Status CopyOut(absl::Span<std::byte> to, const Memory& memory, int64_t offset) override {
    return FileOf(memory).Read(to, offset);
  }

  std::byte* HostPointer(const Memory& memory) override { return FileOf(memory).Map(); }

  void* DevicePointer(const Memory& memory, int64_t offset) override {
    std::byte* const start = FileOf(memory).Map();
    return start == nullptr ? nullptr : start + offset;
  }

 private:
  const std::string path_;
};

class DiskDevice : public Device {
 public:
  DiskDevice(absl::string_view name, std::string path)
      : Device(absl::StrCat("DISK:", name), "", Capabilities()), allocator_(std::move(path)) {}

  Allocator& allocator() override { return allocator_; }

  absl::StatusOr<std::unique_ptr<Program>> LoadProgram(absl::string_view program,
                                                       absl::string_view /*binary*/,
                                                       int /*thread_count*/) override {
    return absl::UnimplementedError(absl::StrCat(
        "program ", program, ": ", name(), " computes nothing; copy its data to another device"));
  }

  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  DiskAllocator allocator_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Device>> MakeDiskDevice(absl::string_view path) {
  if (path.empty()) {
    return absl::InvalidArgumentError("DISK needs a path, as in DISK:/data/weights.bin");
  }
  if (absl::StrContains(path, absl::string_view("\0", 1))) {
    return absl::InvalidArgumentError("DISK: the path has a byte 0");
  }
  std::string file(path);
  if (absl::StartsWith(path, kSharedMemoryPrefix)) {
    const absl::string_view name = path.substr(kSharedMemoryPrefix.size());
    if (name.empty() || absl::StrContains(name, "/")) {
      return absl::InvalidArgumentError(
          absl::StrCat("DISK:", path, ": the shared memory's name is empty or has a '/'"));
    }
    file = absl::StrCat(kSharedMemoryFolder, name);
  }
  return std::make_shared<DiskDevice>(path, std::move(file));
}

}  // namespace tg::drivers
