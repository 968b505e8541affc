// Memory of one device, in bytes. Most code wants Buffer (buffer.h), which owns what it allocates.
//
// An Allocator knows no dtypes and no views. It is implemented by each driver and is safe to call
// from several threads; two calls about the same bytes must not overlap in time.
#ifndef TG_DRIVERS_RUNTIME_ALLOCATOR_H_
#define TG_DRIVERS_RUNTIME_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tg::drivers {

struct AllocOptions {
  // Give the memory back to the system when it is freed, instead of keeping it for the next
  // allocation.
  bool no_pool = false;
  // The bytes read as zero. Without it they are whatever was there before.
  bool zero = false;

  friend bool operator==(const AllocOptions&, const AllocOptions&) = default;
};

// One allocation. A plain value: it owns nothing, and only the Allocator that made it understands
// `pointer` (a host address for CPU, a device address for a GPU, a token for a disk).
struct Memory {
  void* pointer = nullptr;
  int64_t size = 0;  // Bytes asked for; what lies behind may be larger.
  AllocOptions options;
};

class Allocator {
 public:
  virtual ~Allocator() = default;

  // `size` bytes, at least 64-byte aligned where there is an address. Errors: InvalidArgument when
  // size <= 0; ResourceExhausted, with the number of bytes and what is in use, when there is no
  // such memory even after pooled memory was given back.
  virtual absl::StatusOr<Memory> Alloc(int64_t size, const AllocOptions& options) = 0;
  // `memory` came from this allocator's Alloc and is not used again.
  virtual void Free(const Memory& memory) = 0;

  // Host to device and back, after the programs that were started before. The range lies within
  // `memory` (the caller has checked it). Returns when the host's bytes may be reused, or have
  // arrived.
  virtual absl::Status CopyIn(const Memory& memory, int64_t offset,
                              absl::Span<const std::byte> from) = 0;
  virtual absl::Status CopyOut(absl::Span<std::byte> to, const Memory& memory, int64_t offset) = 0;

  // Within this device; ranges may overlap. The default goes through a host buffer of bounded size.
  virtual absl::Status CopyWithin(const Memory& to, int64_t to_offset, const Memory& from,
                                  int64_t from_offset, int64_t size);

  // Directly from another device's memory, without the host. Returns Unimplemented (the default)
  // when the two cannot reach each other: the caller then copies through the host.
  virtual absl::Status Transfer(const Memory& to, int64_t to_offset, Allocator& from_allocator,
                                const Memory& from, int64_t from_offset, int64_t size);

  // What a program is given for the part of `memory` that begins at `offset`.
  virtual void* DevicePointer(const Memory& memory, int64_t offset);

  // Where the host reads and writes the first byte of `memory`; null when it cannot. Valid until
  // Free.
  virtual std::byte* HostPointer(const Memory& memory);

  // Gives back pooled memory. Never fails; does nothing where nothing is pooled.
  virtual void DropPool() {}
};

}  // namespace tg::drivers

#endif  // TG_DRIVERS_RUNTIME_ALLOCATOR_H_
