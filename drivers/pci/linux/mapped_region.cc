#include "drivers/pci/linux/mapped_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tg::pci {
namespace {

template <typename T>
T Load(const volatile uint8_t* at) {
  return *reinterpret_cast<const volatile T*>(at);
}
template <typename T>
void Store(volatile uint8_t* at, uint64_t value) {
  *reinterpret_cast<volatile T*>(at) = static_cast<T>(value);
}

class MappedRegion final : public Region {
 public:
  MappedRegion(volatile uint8_t* base, uint64_t size) : Region(size), base_(base) {}
  ~MappedRegion() override { munmap(const_cast<uint8_t*>(base_), size()); }
  MappedRegion(const MappedRegion&) = delete;
  MappedRegion& operator=(const MappedRegion&) = delete;

  volatile uint8_t* direct() override { return base_; }

 private:
  absl::StatusOr<uint64_t> DoRead(uint64_t offset, Width width) override {
    switch (width) {
      case Width::k8:
        return Load<uint8_t>(base_ + offset);
      case Width::k16:
        return Load<uint16_t>(base_ + offset);
      case Width::k32:
        return Load<uint32_t>(base_ + offset);
      case Width::k64:
        return Load<uint64_t>(base_ + offset);
    }
    return absl::InvalidArgumentError("no such width");
  }
  absl::Status DoWrite(uint64_t offset, Width width, uint64_t value) override {
    switch (width) {
      case Width::k8:
        Store<uint8_t>(base_ + offset, value);
        break;
      case Width::k16:
        Store<uint16_t>(base_ + offset, value);
        break;
      case Width::k32:
        Store<uint32_t>(base_ + offset, value);
        break;
      case Width::k64:
        Store<uint64_t>(base_ + offset, value);
        break;
    }
    return absl::OkStatus();
  }
  absl::Status DoReadBytes(uint64_t offset, absl::Span<uint8_t> bytes) override {
    for (size_t i = 0; i < bytes.size();) {
      if ((offset + i) % 8 == 0 && bytes.size() - i >= 8) {
        const auto value = Load<uint64_t>(base_ + offset + i);
        std::memcpy(bytes.data() + i, &value, 8);
        i += 8;
      } else {
        bytes[i] = Load<uint8_t>(base_ + offset + i);
        ++i;
      }
    }
    return absl::OkStatus();
  }
  absl::Status DoWriteBytes(uint64_t offset, absl::Span<const uint8_t> bytes) override {
    for (size_t i = 0; i < bytes.size();) {
      if ((offset + i) % 8 == 0 && bytes.size() - i >= 8) {
        uint64_t value;
        std::memcpy(&value, bytes.data() + i, 8);
        Store<uint64_t>(base_ + offset + i, value);
        i += 8;
      } else {
        Store<uint8_t>(base_ + offset + i, bytes[i]);
        ++i;
      }
    }
    return absl::OkStatus();
  }

  volatile uint8_t* const base_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Region>> MapRegion(const std::string& path, uint64_t size) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_SYNC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  struct stat info;
  absl::Status status;
  void* base = MAP_FAILED;
  if (fstat(fd, &info) != 0) {
    status = absl::ErrnoToStatus(errno, absl::StrCat("cannot look at ", path));
  } else if (static_cast<uint64_t>(info.st_size) < size) {
    // Touching what is not there would raise SIGBUS.
    status = absl::FailedPreconditionError(
        absl::StrCat(path, " has ", info.st_size, " bytes, not the ", size, " of the BAR"));
  } else {
    base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) status = absl::ErrnoToStatus(errno, absl::StrCat("cannot map ", path));
  }
  close(fd);
  if (!status.ok()) return status;
  return std::make_unique<MappedRegion>(static_cast<volatile uint8_t*>(base), size);
}

}  // namespace tg::pci
