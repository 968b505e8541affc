// What fresh memory costs: adding 64M floats into buffers allocated for each addition, and into
// buffers that are there. Prints the ratio of the medians, which the pool keeps near 1.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "drivers/cpu/host_allocator.h"

namespace tg::drivers {
namespace {

constexpr int64_t kCount = int64_t{64} << 20;
constexpr int64_t kBytes = kCount * sizeof(float);

void Add(const Memory& out, const Memory& a, const Memory& b) {
  float* const o = static_cast<float*>(out.pointer);
  const float* const x = static_cast<const float*>(a.pointer);
  const float* const y = static_cast<const float*>(b.pointer);
  for (int64_t i = 0; i < kCount; ++i) o[i] = x[i] + y[i];
  benchmark::ClobberMemory();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void BM_AddIntoFreshAndExisting(benchmark::State& state) {
  HostAllocator allocator({});
  const AllocOptions zero = {.no_pool = false, .zero = true};
  const Memory a = *allocator.Alloc(kBytes, zero);
  const Memory b = *allocator.Alloc(kBytes, zero);
  const Memory existing = *allocator.Alloc(kBytes, zero);
  Add(existing, a, b);
  std::vector<double> fresh_seconds, existing_seconds;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    Add(existing, a, b);
    const auto middle = std::chrono::steady_clock::now();
    const Memory fresh = *allocator.Alloc(kBytes, {});
    Add(fresh, a, b);
    allocator.Free(fresh);
    const auto end = std::chrono::steady_clock::now();
    existing_seconds.push_back(std::chrono::duration<double>(middle - start).count());
    fresh_seconds.push_back(std::chrono::duration<double>(end - middle).count());
  }
  state.counters["first_fresh_ms"] = fresh_seconds.front() * 1e3;
  state.counters["fresh_ms"] = Median(fresh_seconds) * 1e3;
  state.counters["existing_ms"] = Median(existing_seconds) * 1e3;
  state.counters["ratio"] = Median(fresh_seconds) / Median(existing_seconds);
  allocator.Free(a);
  allocator.Free(b);
  allocator.Free(existing);
}
BENCHMARK(BM_AddIntoFreshAndExisting)->Iterations(15)->Unit(benchmark::kMillisecond);

void BM_SmallAllocFree(benchmark::State& state) {
  HostAllocator allocator({});
  for (auto _ : state) allocator.Free(*allocator.Alloc(state.range(0), {}));
}
BENCHMARK(BM_SmallAllocFree)->Arg(64)->Arg(1 << 20)->Arg(64 << 20);

}  // namespace
}  // namespace tg::drivers

BENCHMARK_MAIN();
