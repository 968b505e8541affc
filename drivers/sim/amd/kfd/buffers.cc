#include "drivers/sim/amd/kfd/buffers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_format.h"
#include "drivers/amd/abi/kfd_ioctl.h"

namespace tg::amd::sim {

std::unique_ptr<SharedBytes> SharedBytes::Create(uint64_t size) {
  int fd = memfd_create("simulated GPU memory", MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  void* bytes = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(size)) == 0) {
    // Pages exist when they are touched: a large buffer costs what is used of it.
    bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  }
  if (bytes == MAP_FAILED) {
    close(fd);
    return nullptr;
  }
  return std::unique_ptr<SharedBytes>(new SharedBytes(fd, static_cast<uint8_t*>(bytes), size));
}

SharedBytes::~SharedBytes() {
  munmap(bytes_, size_);
  close(fd_);
}

int AddressSpace::Map(BufferObject* buffer) {
  if (Has(*buffer)) return 0;
  if (buffer->va % kPageSize != 0 || buffer->va > kGpuVmLimit ||
      buffer->size > kGpuVmLimit - buffer->va) {
    return -EINVAL;
  }
  std::string name = absl::StrFormat("buffer 0x%x of gpu 0x%x (%s)", buffer->handle, buffer->gpu_id,
                                     buffer->flags & kfd::kAllocVram      ? "VRAM"
                                     : buffer->flags & kfd::kAllocUserptr ? "user memory"
                                                                          : "GTT");
  bool writable = buffer->flags & kfd::kAllocWritable;
  if (!memory_.Map(buffer->va, buffer->size, buffer->host, name, writable).ok()) return -EINVAL;
  entries_[buffer->va] = Entry{.buffer = buffer};
  ++buffer->mappings;
  return 0;
}

bool AddressSpace::Has(const BufferObject& buffer) const {
  auto it = entries_.find(buffer.va);
  return it != entries_.end() && it->second.buffer == &buffer;
}

int AddressSpace::Unmap(BufferObject* buffer) {
  if (!Has(*buffer)) return 0;
  if (entries_.at(buffer->va).queues > 0) return -EBUSY;
  Evict(buffer);
  return 0;
}

void AddressSpace::Evict(BufferObject* buffer) {
  if (!Has(*buffer)) return;
  (void)memory_.Free(buffer->va);  // It is there: Has.
  entries_.erase(buffer->va);
  --buffer->mappings;
}

BufferObject* AddressSpace::FindExact(uint64_t va, uint64_t size) const {
  auto it = entries_.find(va);
  if (it == entries_.end() || it->second.buffer->size != PageAlign(size)) return nullptr;
  return it->second.buffer;
}

void AddressSpace::RemoveQueue(const BufferObject& buffer) {
  auto it = entries_.find(buffer.va);
  if (it != entries_.end() && it->second.buffer == &buffer && it->second.queues > 0) {
    --it->second.queues;
  }
}

}  // namespace tg::amd::sim
