// Memory-bound work on data beyond the caches, and what fresh memory costs: an elementwise sum of
// 64M floats into tensors that exist, and into new ones.
//
//   bazel run //bench:memory_bench
//
// `of_copy` is the ratio to the copy bandwidth that this machine has right now. BM_AddFresh prints
// `of_existing`, its time by that of the sum into existing memory: at most 1.3 is the aim.
#include <chrono>
#include <cstdint>
#include <vector>

#include "bench/limits.h"
#include "benchmark/benchmark.h"
#include "tg/engine/backend.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/tensor.h"

namespace tg {
namespace {

constexpr int64_t kElements = 64 << 20;
constexpr double kBytes = 12.0 * kElements;

struct Operands {
  Tensor a = Full({kElements}, 1.0).Clone();
  Tensor b = Full({kElements}, 2.0).Clone();
  Operands() {
    engine::EngineIsBackend();
    Tensor::Realize(std::vector<Tensor>{a, b});
  }
};

void Report(benchmark::State& state) {
  const double gb = kBytes / 1e9;
  state.counters["GB/s"] = benchmark::Counter(gb, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of_copy"] = benchmark::Counter(gb / bench::MachineLimits().copy_gbps,
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void AddExisting(const Operands& x, Tensor& sum) {
  sum.Assign(x.a + x.b);
  sum.Realize();
}

void BM_AddExisting(benchmark::State& state) {
  const Operands x;
  Tensor sum = Full({kElements}, 0.0).Clone();
  AddExisting(x, sum);
  for (auto _ : state) AddExisting(x, sum);
  Report(state);
}
BENCHMARK(BM_AddExisting)->Unit(benchmark::kMillisecond)->UseRealTime()->Repetitions(5);

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void BM_AddFresh(benchmark::State& state) {
  const Operands x;
  Tensor existing = Full({kElements}, 0.0).Clone();
  AddExisting(x, existing);
  { Tensor first = (x.a + x.b).Realize(); }
  double fresh_seconds = 0, existing_seconds = 0;
  for (auto _ : state) {
    const double start = Seconds();
    { Tensor sum = (x.a + x.b).Realize(); }
    const double middle = Seconds();
    AddExisting(x, existing);
    fresh_seconds += middle - start;
    existing_seconds += Seconds() - middle;
    state.SetIterationTime(middle - start);
  }
  Report(state);
  state.counters["of_existing"] = fresh_seconds / existing_seconds;
}
BENCHMARK(BM_AddFresh)->Unit(benchmark::kMillisecond)->UseManualTime()->Repetitions(5);

}  // namespace
}  // namespace tg
