// Host memory in pools, on huge pages.
//
// Why: on virtual machines the first touch of a 4 KiB page costs up to 20 microseconds, longer than
// most kernels need for the page's contents. So freed blocks are kept and used again, and memory
// comes from the system in multiples of 2 MiB, aligned to 2 MiB, with MADV_HUGEPAGE.
//
// * Sizes are rounded up to a class, four classes to each doubling, and to 2 MiB above 1 MiB.
// * Blocks up to 1 MiB are cut from chunks of 2 MiB and aligned to 64 bytes (4 KiB and more: to
//   4 KiB). Larger blocks are mappings of their own, aligned to 2 MiB.
// * What the pool keeps is bounded; beyond that the block that was freed first goes first. When the
//   system (or memory_limit) refuses an allocation, the pool is dropped and it is tried once more.
//
// Under AddressSanitizer freed blocks and the tail of each block are poisoned.
#ifndef TG_DRIVERS_CPU_HOST_ALLOCATOR_H_
#define TG_DRIVERS_CPU_HOST_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "drivers/runtime/allocator.h"

namespace tg::drivers {

struct HostAllocatorOptions {
  std::string device_name = "CPU";  // For messages.
  bool pool = true;
  int64_t memory_limit = 0;  // Bytes in use and pooled; 0: none.
  int64_t pool_limit = 0;    // Bytes pooled; 0: a quarter of the memory that the process may use.
};

struct HostAllocatorStats {
  int64_t in_use = 0;  // Bytes in allocated blocks, rounded to their classes.
  int64_t pooled = 0;  // Bytes in freed blocks that are kept.
  int64_t mapped = 0;  // Bytes of address space held from the system.
  int64_t maps = 0;    // Times that the system was asked for memory.
};

class HostAllocator : public Allocator {
 public:
  explicit HostAllocator(const HostAllocatorOptions& options);
  // Everything allocated must have been freed.
  ~HostAllocator() override;

  absl::StatusOr<Memory> Alloc(int64_t size, const AllocOptions& options) override;
  void Free(const Memory& memory) override;
  absl::Status CopyIn(const Memory& memory, int64_t offset,
                      absl::Span<const std::byte> from) override;
  absl::Status CopyOut(absl::Span<std::byte> to, const Memory& memory, int64_t offset) override;
  absl::Status CopyWithin(const Memory& to, int64_t to_offset, const Memory& from,
                          int64_t from_offset, int64_t size) override;
  std::byte* HostPointer(const Memory& memory) override;
  void DropPool() override;

  HostAllocatorStats stats() const;

  // The class that `size` > 0 belongs to: the bytes that a block of that size takes.
  static int64_t ClassSize(int64_t size);

 private:
  struct PooledBlock {
    void* pointer;
    int64_t class_size;
  };
  // Freed blocks, the one freed first in front.
  using PoolList = std::list<PooledBlock>;
  struct Chunk {
    int64_t used = 0;  // Bytes cut off so far.
    int64_t live = 0;  // Blocks cut off, less those given back for good.
  };

  // The functions here are called with mutex_ held.

  // Null when the system has none, or memory_limit forbids it.
  void* NewBlock(int64_t class_size);
  void* Map(int64_t bytes);
  void Unmap(void* pointer, int64_t bytes);
  void* TakePooled(int64_t class_size);
  void Release(void* pointer, int64_t class_size);
  // Gives back the oldest pooled blocks until no more than `limit` bytes are pooled.
  void TrimPool(int64_t limit);

  const HostAllocatorOptions options_;
  const int64_t pool_limit_;
  // Guards what follows. Not absl::Mutex, which ThreadSanitizer does not understand unless Abseil
  // itself is built for it.
  mutable std::mutex mutex_;
  PoolList pool_;
  // By class, the blocks of `pool_` in the same order. The one freed last is used first, since its
  // bytes are the likeliest to be in a cache.
  std::map<int64_t, std::deque<PoolList::iterator>> pool_by_class_;
  absl::flat_hash_map<uintptr_t, Chunk> chunks_;
  // The chunk that small blocks are cut from; 0: none.
  uintptr_t current_chunk_ = 0;
  HostAllocatorStats stats_;
};

}  // namespace tg::drivers

#endif  // TG_DRIVERS_CPU_HOST_ALLOCATOR_H_
