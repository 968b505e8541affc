#include "drivers/runtime/allocator.h"

#include <algorithm>
#include <vector>

namespace tg::drivers {
namespace {

constexpr int64_t kStagingSize = 4 << 20;

}  // namespace

absl::Status Allocator::CopyWithin(const Memory& to, int64_t to_offset, const Memory& from,
                                   int64_t from_offset, int64_t size) {
  std::vector<std::byte> staging(std::min(size, kStagingSize));
  // Where the ranges overlap, what is read last must not have been written before.
  const bool backwards = to.pointer == from.pointer && to_offset > from_offset;
  for (int64_t done = 0; done < size;) {
    const int64_t part = std::min<int64_t>(size - done, staging.size());
    const int64_t at = backwards ? size - done - part : done;
    const absl::Span<std::byte> host(staging.data(), part);
    absl::Status status = CopyOut(host, from, from_offset + at);
    if (status.ok()) status = CopyIn(to, to_offset + at, host);
    if (!status.ok()) return status;
    done += part;
  }
  return absl::OkStatus();
}

absl::Status Allocator::Transfer(const Memory& /*to*/, int64_t /*to_offset*/,
                                 Allocator& /*from_allocator*/, const Memory& /*from*/,
                                 int64_t /*from_offset*/, int64_t /*size*/) {
  return absl::UnimplementedError("no direct transfer between these devices");
}

void* Allocator::DevicePointer(const Memory& memory, int64_t offset) {
  // A device's address need not be one of the host's: no pointer arithmetic.
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory.pointer) + offset);
}

std::byte* Allocator::HostPointer(const Memory& /*memory*/) { return nullptr; }

}  // namespace tg::drivers
