#include "drivers/cpu/host_allocator.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"

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

constexpr int64_t kMiB = 1 << 20;

Memory Get(HostAllocator& allocator, int64_t size, const AllocOptions& options = {}) {
  const absl::StatusOr<Memory> memory = allocator.Alloc(size, options);
  EXPECT_TRUE(memory.ok()) << memory.status();
  return memory.ok() ? *memory : Memory();
}

TEST(HostAllocatorTest, ClassesLoseLittle) {
  int64_t last = 0;
  for (int64_t size = 1; size < 64 * kMiB; size += 1 + size / 100) {
    const int64_t rounded = HostAllocator::ClassSize(size);
    ASSERT_GE(rounded, size);
    ASSERT_GE(rounded, last) << "they rise with the size";
    ASSERT_EQ(HostAllocator::ClassSize(rounded), rounded);
    ASSERT_EQ(rounded % 64, 0);
    ASSERT_LE(rounded,
              size <= kMiB ? std::max<int64_t>(size + 63, size * 5 / 4) : size * 5 / 4 + 2 * kMiB);
    last = rounded;
  }
  EXPECT_EQ(HostAllocator::ClassSize(256 * kMiB), 256 * kMiB);
}

TEST(HostAllocatorTest, Aligns) {
  HostAllocator allocator({});
  std::vector<Memory> all;
  for (const int64_t size : {1, 63, 64, 100, 4095, 4096, 5000, 1 << 20, (1 << 20) + 1, 5 << 20}) {
    for (int i = 0; i < 3; ++i) {
      const Memory memory = Get(allocator, size);
      const uintptr_t address = reinterpret_cast<uintptr_t>(memory.pointer);
      const int64_t align = size > kMiB ? 2 * kMiB : size >= 4096 ? 4096 : 64;
      EXPECT_EQ(address % align, 0u) << size;
      std::memset(memory.pointer, 0xab, size);
      all.push_back(memory);
    }
  }
  for (const Memory& memory : all) allocator.Free(memory);
}

TEST(HostAllocatorTest, GivesFreedMemoryAgain) {
  HostAllocator allocator({});
  for (const int64_t size : {int64_t{100}, int64_t{100000}, 16 * kMiB}) {
    const Memory first = Get(allocator, size);
    allocator.Free(first);
    const int64_t maps = allocator.stats().maps;
    const Memory second = Get(allocator, size - 1);
    EXPECT_EQ(second.pointer, first.pointer) << size;
    EXPECT_EQ(allocator.stats().maps, maps);
    allocator.Free(second);
  }
  EXPECT_EQ(allocator.stats().in_use, 0);
  EXPECT_GT(allocator.stats().pooled, 16 * kMiB);
  allocator.DropPool();
  EXPECT_EQ(allocator.stats().pooled, 0);
  EXPECT_LE(allocator.stats().mapped, 2 * kMiB) << "one chunk is kept";
}

TEST(HostAllocatorTest, WithoutPoolItGivesMemoryBack) {
  HostAllocator allocator(
      {.device_name = "CPU", .pool = false, .memory_limit = 0, .pool_limit = 0});
  const Memory memory = Get(allocator, 8 * kMiB);
  EXPECT_EQ(allocator.stats().mapped, 8 * kMiB);
  allocator.Free(memory);
  EXPECT_EQ(allocator.stats().mapped, 0);

  HostAllocator pooling({});
  pooling.Free(Get(pooling, 8 * kMiB, {.no_pool = true, .zero = false}));
  EXPECT_EQ(pooling.stats().mapped, 0);
  EXPECT_EQ(pooling.stats().pooled, 0);
}

TEST(HostAllocatorTest, ThePoolIsBoundedAndDropsTheOldest) {
  HostAllocator allocator(
      {.device_name = "CPU", .pool = true, .memory_limit = 0, .pool_limit = 20 * kMiB});
  const Memory a = Get(allocator, 8 * kMiB);
  const Memory b = Get(allocator, 10 * kMiB);
  const Memory c = Get(allocator, 8 * kMiB);
  allocator.Free(a);
  allocator.Free(b);
  EXPECT_EQ(allocator.stats().pooled, 18 * kMiB);
  allocator.Free(c);
  EXPECT_EQ(allocator.stats().pooled, 18 * kMiB) << "a is gone, b and c are kept";
  EXPECT_EQ(Get(allocator, 8 * kMiB).pointer, c.pointer);
  EXPECT_EQ(Get(allocator, 10 * kMiB).pointer, b.pointer);
  allocator.Free(b);
  allocator.Free(c);
}

TEST(HostAllocatorTest, DropsThePoolBeforeItGivesUp) {
  HostAllocator allocator(
      {.device_name = "CPU:1", .pool = true, .memory_limit = 100 * kMiB, .pool_limit = 0});
  const Memory a = Get(allocator, 32 * kMiB);
  allocator.Free(Get(allocator, 50 * kMiB));
  EXPECT_EQ(allocator.stats().pooled, 56 * kMiB) << "rounded to its class";
  const Memory b = Get(allocator, 64 * kMiB);
  EXPECT_EQ(allocator.stats().pooled, 0);
  const absl::Status status = allocator.Alloc(5 * kMiB, {}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(status.message(),
            "CPU:1: out of memory: asked for 5242880 bytes; 100663296 bytes are in use, 104857600 "
            "are allowed");
  allocator.Free(a);
  allocator.Free(Get(allocator, 30 * kMiB));
  allocator.Free(b);
}

TEST(HostAllocatorTest, AbsurdSizesAreRefused) {
  HostAllocator allocator({});
  for (const int64_t size :
       {int64_t{1} << 46, int64_t{1} << 60, std::numeric_limits<int64_t>::max()}) {
    const absl::Status status = allocator.Alloc(size, {}).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), std::to_string(size))) << status;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(allocator.Alloc(0, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(allocator.Alloc(-1, {}).status()));
}

TEST(HostAllocatorTest, ZeroesWhenAsked) {
  HostAllocator allocator({});
  for (const int64_t size : {int64_t{1000}, 3 * kMiB}) {
    for (int i = 0; i < 2; ++i) {
      const Memory memory = Get(allocator, size, {.no_pool = false, .zero = true});
      const char* const bytes = static_cast<const char*>(memory.pointer);
      EXPECT_EQ(std::count(bytes, bytes + size, 0), size);
      std::memset(memory.pointer, 1, size);
      allocator.Free(memory);
    }
  }
}

#ifdef TG_ASAN
TEST(HostAllocatorTest, TheSanitizerKnowsWhatIsNobodys) {
  HostAllocator allocator({});
  for (const int64_t size : {int64_t{101}, 3 * kMiB - 1}) {
    const Memory memory = Get(allocator, size);
    const char* const bytes = static_cast<const char*>(memory.pointer);
    EXPECT_FALSE(__asan_address_is_poisoned(bytes + size - 1));
    EXPECT_TRUE(__asan_address_is_poisoned(bytes + size));
    allocator.Free(memory);
    EXPECT_TRUE(__asan_address_is_poisoned(bytes)) << "it is in the pool";
  }
}
#endif

// Random allocations: no two blocks overlap, and nothing is lost.
TEST(HostAllocatorTest, BlocksDoNotOverlap) {
  HostAllocator allocator(
      {.device_name = "CPU", .pool = true, .memory_limit = 0, .pool_limit = 8 * kMiB});
  std::mt19937_64 random(7);
  struct Block {
    Memory memory;
    uint8_t tag;
  };
  std::vector<Block> blocks;
  const auto check_and_free = [&](size_t index) {
    const Block block = blocks[index];
    const uint8_t* const bytes = static_cast<const uint8_t*>(block.memory.pointer);
    ASSERT_EQ(std::count(bytes, bytes + block.memory.size, block.tag), block.memory.size);
    allocator.Free(block.memory);
    blocks[index] = blocks.back();
    blocks.pop_back();
  };
  for (int i = 0; i < 5000; ++i) {
    if (blocks.size() > 40 || (!blocks.empty() && random() % 2 == 0)) {
      check_and_free(random() % blocks.size());
      continue;
    }
    const int64_t size = 1 + random() % (int64_t{1} << (random() % 22));
    const uint8_t tag = static_cast<uint8_t>(random());
    const Memory memory = Get(allocator, size, {.no_pool = random() % 4 == 0, .zero = false});
    std::memset(memory.pointer, tag, size);
    blocks.push_back({memory, tag});
  }
  while (!blocks.empty()) check_and_free(0);
  EXPECT_EQ(allocator.stats().in_use, 0);
  allocator.DropPool();
  EXPECT_LE(allocator.stats().mapped, 2 * kMiB);
}

TEST(HostAllocatorTest, ThreadsShareIt) {
  HostAllocator allocator({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&allocator, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 500; ++i) {
        const int64_t size = 1 + random() % 100000;
        const Memory memory = Get(allocator, size);
        std::memset(memory.pointer, t, size);
        const uint8_t* const bytes = static_cast<const uint8_t*>(memory.pointer);
        EXPECT_EQ(std::count(bytes, bytes + size, t), size);
        allocator.Free(memory);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.stats().in_use, 0);
}

}  // namespace
}  // namespace tg::drivers
