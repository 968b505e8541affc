#include "bench/limits.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/cpu_count.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tg::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBytes = size_t{128} << 20;

// Keeps the compiler from removing what computed `value`.
template <typename T>
void Keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

// Seconds from when all threads are ready to when the last is done; the best of some runs.
double BestSeconds(int runs, int threads, const std::function<void(int)>& work) {
  double best = 1e30;
  for (int run = 0; run < runs; ++run) {
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> others;
    const auto body = [&](int t) {
      ready.fetch_add(1);
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      work(t);
    };
    for (int t = 1; t < threads; ++t) others.emplace_back(body, t);
    while (ready.load() < threads - 1) std::this_thread::yield();
    const Clock::time_point start = Clock::now();
    go.store(true, std::memory_order_release);
    work(0);
    for (std::thread& t : others) t.join();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

// 24 sums, each waiting for itself only: two units with a latency of 4 need 8, with 5 (and one
// spare) 12.
constexpr int kSums = 24;

struct FmaKernel {
  void (*run)(int64_t rounds);
  int lanes;
};

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void Fma512(int64_t rounds) {
  __m512 sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 scale = _mm512_set1_ps(0.999f), addend = _mm512_set1_ps(0.001f);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < kSums; ++i) sums[i] = _mm512_fmadd_ps(sums[i], scale, addend);
  }
  for (int i = 0; i < kSums; ++i) asm volatile("" : : "v"(sums[i]));
}
// 16 registers: 12 sums and two operands.
__attribute__((target("avx2,fma"))) void Fma256(int64_t rounds) {
  __m256 sums[kSums / 2];
  for (int i = 0; i < kSums / 2; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 scale = _mm256_set1_ps(0.999f), addend = _mm256_set1_ps(0.001f);
  for (int64_t r = 0; r < 2 * rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums / 2; ++i) sums[i] = _mm256_fmadd_ps(sums[i], scale, addend);
  }
  for (int i = 0; i < kSums / 2; ++i) asm volatile("" : : "x"(sums[i]));
}
#endif

typedef float Float4Lanes __attribute__((vector_size(16)));
void Fma128(int64_t rounds) {
  Float4Lanes sums[kSums / 2] = {};
  Float4Lanes scale = Float4Lanes{} + 0.999f, addend = Float4Lanes{} + 0.001f;
  Keep(scale);
  Keep(addend);
  for (int64_t r = 0; r < 2 * rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums / 2; ++i) sums[i] = sums[i] * scale + addend;
  }
  Keep(sums);
}

FmaKernel WidestFma() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {Fma512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {Fma256, 8};
#endif
  return {Fma128, 4};
}

// Touched memory, as huge pages if the system has some.
class HugeMemory {
 public:
  HugeMemory() {
    constexpr size_t kHuge = size_t{2} << 20;
    map_ =
        mmap(nullptr, kBytes + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TG_CHECK(map_ != MAP_FAILED) << "no memory to measure its bandwidth";
    const uintptr_t start = (reinterpret_cast<uintptr_t>(map_) + kHuge - 1) / kHuge * kHuge;
    data_ = reinterpret_cast<char*>(start);
    madvise(data_, kBytes, MADV_HUGEPAGE);
    std::memset(data_, 1, kBytes);
  }
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;
  ~HugeMemory() { munmap(map_, kBytes + (size_t{2} << 20)); }
  char* data() const { return data_; }

 private:
  void* map_;
  char* data_;
};

typedef uint64_t Uint2Lanes __attribute__((vector_size(16)));

void ReadAll(const char* data) {
  const Uint2Lanes* p = reinterpret_cast<const Uint2Lanes*>(data);
  Uint2Lanes sums[8] = {};
  for (size_t i = 0; i < kBytes / sizeof(Uint2Lanes); i += 8) {
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) sums[k] += p[i + k];
  }
  uint64_t total = 0;
  for (const Uint2Lanes& s : sums) total += s[0] + s[1];
  Keep(total);
}

}  // namespace

double MeasureFmaGflops(int threads) {
  const FmaKernel kernel = WidestFma();
  constexpr int64_t kRounds = 1 << 20;
  const double seconds = BestSeconds(20, threads, [&](int) { kernel.run(kRounds); });
  return 2.0 * kRounds * kSums * kernel.lanes * threads / seconds * 1e-9;
}

double MeasureReadGBps(int threads) {
  const std::vector<HugeMemory> from(threads);
  const double seconds = BestSeconds(5, threads, [&](int t) { ReadAll(from[t].data()); });
  return static_cast<double>(kBytes) * threads / seconds * 1e-9;
}

double MeasureCopyGBps(int threads) {
  const std::vector<HugeMemory> from(threads), to(threads);
  const double seconds = BestSeconds(5, threads, [&](int t) {
    std::memcpy(to[t].data(), from[t].data(), kBytes);
    Keep(to[t].data());
  });
  return 2.0 * kBytes * threads / seconds * 1e-9;
}

const Limits& MachineLimits() {
  static const Limits limits = [] {
    const int threads = base::AvailableCpus();
    return Limits{.threads = threads,
                  .fma_gflops_one_core = MeasureFmaGflops(1),
                  .fma_gflops = MeasureFmaGflops(threads),
                  .read_gbps = MeasureReadGBps(threads),
                  .copy_gbps = MeasureCopyGBps(threads)};
  }();
  return limits;
}

}  // namespace tg::bench
