#include "drivers/cpu/host_allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define TG_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TG_ASAN 1
#endif
#endif
#ifdef TG_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tg::drivers {
namespace {

constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kPage = 4096;
constexpr int64_t kSmallAlign = 64;
constexpr int64_t kLargestSmall = 1 << 20;
// Beyond any address space; keeps the arithmetic on sizes from overflowing.
constexpr int64_t kLargestSize = int64_t{1} << 47;

void Poison([[maybe_unused]] void* pointer, [[maybe_unused]] int64_t bytes) {
#ifdef TG_ASAN
  ASAN_POISON_MEMORY_REGION(pointer, bytes);
#endif
}

void Unpoison([[maybe_unused]] void* pointer, [[maybe_unused]] int64_t bytes) {
#ifdef TG_ASAN
  ASAN_UNPOISON_MEMORY_REGION(pointer, bytes);
#endif
}

constexpr int64_t RoundUp(int64_t value, int64_t align) {
  return (value + align - 1) & ~(align - 1);
}

bool IsSmall(int64_t class_size) { return class_size <= kLargestSmall; }

// Of the machine, or of the control group where that is less.
int64_t AvailableMemory() {
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    int64_t limit = 0;
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

int64_t PoolLimit(const HostAllocatorOptions& options) {
  if (!options.pool) return 0;
  return options.pool_limit != 0 ? options.pool_limit : AvailableMemory() / 4;
}

std::byte* Address(const Memory& memory, int64_t offset) {
  return static_cast<std::byte*>(memory.pointer) + offset;
}

}  // namespace

int64_t HostAllocator::ClassSize(int64_t size) {
  const int64_t power = std::bit_floor(static_cast<uint64_t>(size));
  const int64_t rounded = RoundUp(size, std::max(kSmallAlign, power / 4));
  return IsSmall(rounded) ? rounded : RoundUp(rounded, kHugePage);
}

HostAllocator::HostAllocator(const HostAllocatorOptions& options)
    : options_(options), pool_limit_(PoolLimit(options)) {}

HostAllocator::~HostAllocator() {
  std::lock_guard<std::mutex> lock(mutex_);
  TG_CHECK_EQ(stats_.in_use, 0) << "buffers outlive their device " << options_.device_name;
  TrimPool(0);
  if (current_chunk_ != 0) {
    Unmap(reinterpret_cast<void*>(current_chunk_), kHugePage);
  }
}

void* HostAllocator::Map(int64_t bytes) {
  // Ask for more, and give back what lies before the first multiple of the huge page, and after.
  const int64_t reserved = bytes + kHugePage;
  void* const start =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  char* const aligned = reinterpret_cast<char*>(
      RoundUp(static_cast<int64_t>(reinterpret_cast<uintptr_t>(start)), kHugePage));
  const int64_t before = aligned - static_cast<char*>(start);
  if (before != 0) munmap(start, before);
  munmap(aligned + bytes, kHugePage - before);
  // Where the kernel has no huge pages this fails, and small pages serve.
  (void)madvise(aligned, bytes, MADV_HUGEPAGE);
  stats_.mapped += bytes;
  ++stats_.maps;
  return aligned;
}

void HostAllocator::Unmap(void* pointer, int64_t bytes) {
  Unpoison(pointer, bytes);
  munmap(pointer, bytes);
  stats_.mapped -= bytes;
}

void* HostAllocator::NewBlock(int64_t class_size) {
  if (options_.memory_limit != 0 &&
      stats_.in_use + stats_.pooled + class_size > options_.memory_limit) {
    return nullptr;
  }
  if (!IsSmall(class_size)) return Map(class_size);

  const int64_t align = class_size < kPage ? kSmallAlign : kPage;
  if (current_chunk_ == 0 ||
      RoundUp(chunks_[current_chunk_].used, align) + class_size > kHugePage) {
    void* const fresh = Map(kHugePage);
    if (fresh == nullptr) return nullptr;
    Poison(fresh, kHugePage);
    if (current_chunk_ != 0 && chunks_[current_chunk_].live == 0) {
      Unmap(reinterpret_cast<void*>(current_chunk_), kHugePage);
      chunks_.erase(current_chunk_);
    }
    current_chunk_ = reinterpret_cast<uintptr_t>(fresh);
    chunks_[current_chunk_] = Chunk();
  }
  Chunk& chunk = chunks_[current_chunk_];
  const int64_t offset = RoundUp(chunk.used, align);
  chunk.used = offset + class_size;
  ++chunk.live;
  return reinterpret_cast<void*>(current_chunk_ + offset);
}

void HostAllocator::Release(void* pointer, int64_t class_size) {
  if (!IsSmall(class_size)) return Unmap(pointer, class_size);
  const uintptr_t start = reinterpret_cast<uintptr_t>(pointer) & ~uintptr_t{kHugePage - 1};
  Chunk& chunk = chunks_[start];
  if (--chunk.live != 0) return;
  if (start == current_chunk_) {
    chunk.used = 0;
  } else {
    Unmap(reinterpret_cast<void*>(start), kHugePage);
    chunks_.erase(start);
  }
}

void* HostAllocator::TakePooled(int64_t class_size) {
  const auto found = pool_by_class_.find(class_size);
  if (found == pool_by_class_.end() || found->second.empty()) return nullptr;
  const PoolList::iterator block = found->second.back();
  found->second.pop_back();
  void* const pointer = block->pointer;
  pool_.erase(block);
  stats_.pooled -= class_size;
  return pointer;
}

void HostAllocator::TrimPool(int64_t limit) {
  while (stats_.pooled > limit) {
    // The oldest of all is the oldest of its class.
    const PooledBlock block = pool_.front();
    const auto blocks = pool_by_class_.find(block.class_size);
    blocks->second.pop_front();
    if (blocks->second.empty()) pool_by_class_.erase(blocks);
    pool_.pop_front();
    stats_.pooled -= block.class_size;
    Release(block.pointer, block.class_size);
  }
}

absl::StatusOr<Memory> HostAllocator::Alloc(int64_t size, const AllocOptions& options) {
  if (size <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        options_.device_name, ": the size of an allocation must be positive, not ", size));
  }
  void* pointer = nullptr;
  bool is_zero = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (size <= kLargestSize) {
      const int64_t class_size = ClassSize(size);
      pointer = TakePooled(class_size);
      if (pointer == nullptr) {
        pointer = NewBlock(class_size);
        if (pointer == nullptr) {
          TrimPool(0);
          pointer = NewBlock(class_size);
        }
        is_zero = !IsSmall(class_size);
      }
      if (pointer != nullptr) {
        stats_.in_use += class_size;
        Unpoison(pointer, size);
        Poison(static_cast<char*>(pointer) + size, class_size - size);
      }
    }
    if (pointer == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          options_.device_name, ": out of memory: asked for ", size, " bytes; ", stats_.in_use,
          " bytes are in use",
          options_.memory_limit == 0 ? ""
                                     : absl::StrCat(", ", options_.memory_limit, " are allowed")));
    }
  }
  if (options.zero && !is_zero) std::memset(pointer, 0, size);
  return Memory{pointer, size, options};
}

void HostAllocator::Free(const Memory& memory) {
  const int64_t class_size = ClassSize(memory.size);
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.in_use -= class_size;
  Poison(memory.pointer, class_size);
  if (memory.options.no_pool) return Release(memory.pointer, class_size);
  pool_.push_back({memory.pointer, class_size});
  pool_by_class_[class_size].push_back(std::prev(pool_.end()));
  stats_.pooled += class_size;
  TrimPool(pool_limit_);
}

absl::Status HostAllocator::CopyIn(const Memory& memory, int64_t offset,
                                   absl::Span<const std::byte> from) {
  std::memcpy(Address(memory, offset), from.data(), from.size());
  return absl::OkStatus();
}

absl::Status HostAllocator::CopyOut(absl::Span<std::byte> to, const Memory& memory,
                                    int64_t offset) {
  std::memcpy(to.data(), Address(memory, offset), to.size());
  return absl::OkStatus();
}

absl::Status HostAllocator::CopyWithin(const Memory& to, int64_t to_offset, const Memory& from,
                                       int64_t from_offset, int64_t size) {
  std::memmove(Address(to, to_offset), Address(from, from_offset), size);
  return absl::OkStatus();
}

std::byte* HostAllocator::HostPointer(const Memory& memory) { return Address(memory, 0); }

void HostAllocator::DropPool() {
  std::lock_guard<std::mutex> lock(mutex_);
  TrimPool(0);
}

HostAllocatorStats HostAllocator::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

}  // namespace tg::drivers
