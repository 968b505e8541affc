#include "drivers/pci/linux/locked_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tg::pci {
namespace {

constexpr uint64_t kPage = DmaMemory::kPageSize;
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kLargest = uint64_t{64} << 30;

// An entry of pagemap (Documentation/admin-guide/mm/pagemap.rst).
constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kFrame = (uint64_t{1} << 55) - 1;

struct Mapping {
  uint8_t* base = nullptr;
  uint64_t size = 0;

  Mapping() = default;
  Mapping(uint8_t* b, uint64_t s) : base(b), size(s) {}
  ~Mapping() {
    if (base != nullptr) munmap(base, size);
  }
  Mapping(Mapping&& other) noexcept : base(std::exchange(other.base, nullptr)), size(other.size) {}
  Mapping& operator=(Mapping&& other) = delete;
};

class LockedMemory final : public DmaMemory {
 public:
  LockedMemory(Mapping mapping, std::vector<uint64_t> pages)
      : DmaMemory(mapping.size, std::move(pages)), mapping_(std::move(mapping)) {}
  volatile uint8_t* direct() override { return mapping_.base; }

 private:
  absl::Status DoRead(uint64_t offset, absl::Span<uint8_t> bytes) override {
    std::memcpy(bytes.data(), mapping_.base + offset, bytes.size());
    return absl::OkStatus();
  }
  absl::Status DoWrite(uint64_t offset, absl::Span<const uint8_t> bytes) override {
    std::memcpy(mapping_.base + offset, bytes.data(), bytes.size());
    return absl::OkStatus();
  }

  const Mapping mapping_;
};

absl::Status KeepPagesInPlace(const std::string& proc) {
  const std::string path = proc + "/sys/vm/compact_unevictable_allowed";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return absl::OkStatus();  // a kernel that does not compact
  char now = '1';
  const bool off = fd >= 0 && read(fd, &now, 1) == 1 && now == '0';
  if (fd >= 0) close(fd);
  if (off) return absl::OkStatus();
  const int out = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = out >= 0 && write(out, "0", 1) == 1;
  const int error = errno;
  if (out >= 0) close(out);
  if (written) return absl::OkStatus();
  return absl::ErrnoToStatus(
      error, absl::StrCat("the kernel may move locked pages: cannot write 0 to ", path));
}

absl::StatusOr<std::vector<uint64_t>> PhysicalPages(const std::string& proc,
                                                    const Mapping& mapping) {
  const std::string path = proc + "/self/pagemap";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  std::vector<uint64_t> pages(mapping.size / kPage);
  const size_t bytes = pages.size() * sizeof(uint64_t);
  const auto at = static_cast<off_t>(reinterpret_cast<uintptr_t>(mapping.base) / kPage * 8);
  size_t done = 0;
  int error = 0;
  while (done < bytes && error == 0) {
    const ssize_t n = pread(fd, reinterpret_cast<char*>(pages.data()) + done, bytes - done,
                            at + static_cast<off_t>(done));
    if (n > 0) done += static_cast<size_t>(n);
    if (n == 0) error = EIO;
    if (n < 0 && errno != EINTR) error = errno;
  }
  close(fd);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot read ", path));
  for (uint64_t& page : pages) {
    if ((page & kPresent) == 0) return absl::InternalError("a locked page is not present");
    if ((page & kFrame) == 0) {
      return absl::PermissionDeniedError(absl::StrCat(
          path, " does not tell physical addresses; run as root or with CAP_SYS_ADMIN"));
    }
    page = (page & kFrame) * kPage;
  }
  return pages;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DmaMemory>> AllocateLockedMemory(const std::string& proc,
                                                                uint64_t size, bool contiguous) {
  if (size == 0) return absl::InvalidArgumentError("DMA memory: no bytes are wanted");
  if (contiguous && size > kHugePage) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "Contiguous allocation is only supported for sizes up to 2MB, not ", size, " bytes"));
  }
  if (size > kLargest) {
    return absl::ResourceExhaustedError(absl::StrCat("DMA memory: no ", size, " bytes"));
  }
  if (absl::Status s = KeepPagesInPlace(proc); !s.ok()) return s;
  const bool huge = contiguous && size > kPage;
  const uint64_t rounded = huge ? kHugePage : (size + kPage - 1) / kPage * kPage;
  void* base = mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0), -1, 0);
  if (base == MAP_FAILED) {
    if (!huge) return absl::ErrnoToStatus(errno, absl::StrCat("no memory for ", rounded, " bytes"));
    return absl::ResourceExhaustedError(absl::StrFormat(
        "no huge page of 2 MiB is free (%s); `echo 16 > /proc/sys/vm/nr_hugepages` reserves some",
        std::strerror(errno)));
  }
  Mapping mapping(static_cast<uint8_t*>(base), rounded);
  // A child would share the pages until one of the two writes, and then this process might get the
  // copy.
  if (madvise(base, rounded, MADV_DONTFORK) != 0) {
    return absl::ErrnoToStatus(errno, "cannot keep memory from children");
  }
  if (mlock(base, rounded) != 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrFormat("Failed to lock memory at %p; see `ulimit -l`", base));
  }
  // Each page gets one of its own, not the shared page of zeros.
  std::memset(base, 0, rounded);
  absl::StatusOr<std::vector<uint64_t>> pages = PhysicalPages(proc, mapping);
  if (!pages.ok()) return pages.status();
  return std::make_unique<LockedMemory>(std::move(mapping), *std::move(pages));
}

}  // namespace tg::pci
