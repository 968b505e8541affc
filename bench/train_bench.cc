// The train step of the digit network at batch 512, replayed: milliseconds, GFLOPS, and the part of
// the FMA peak that this machine has right now.
//
//   bazel run //bench:train_bench
//
// 79.3 MFLOP an image: 26.4 forward, twice that backward, less the first layer's input gradient.
#include <sys/resource.h>

#include <cstdint>

#include "base/settings.h"
#include "bench/limits.h"
#include "benchmark/benchmark.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/random.h"
#include "tools/mnist_net.h"
#include "tools/mnist_training.h"

namespace tg {
namespace {

constexpr int64_t kBatch = 512;
constexpr double kFlopPerImage = 79.3e6 - 0.92e6;
// The best peer on the reference machine (docs/performance.md): half of its FMA peak.
constexpr double kPeerPeakFraction = 0.51;

double PeakResidentMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void BM_TrainStep(benchmark::State& state) {
  const bench::Limits& limits = bench::MachineLimits();
  base::Scoped<int> training(base::kTraining, 1);
  ManualSeed(1);
  const tools::DigitNet net;
  tools::TrainStep step(net);
  const tools::Batch batch = {.images = Rand({kBatch, 1, 28, 28}).Clone(),
                              .labels = RandInt({kBatch}, 0, 10).Cast(kInt32).Clone()};
  // Two calls compile and record.
  for (int i = 0; i < 3; ++i) step(batch, 1e-3);
  for (auto _ : state) benchmark::DoNotOptimize(step(batch, 1e-3));
  const double flop = kFlopPerImage * kBatch;
  state.counters["GFLOPS"] =
      benchmark::Counter(flop / 1e9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of_fma_peak"] = benchmark::Counter(flop / 1e9 / limits.fma_gflops,
                                                     benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of_best_peer"] =
      benchmark::Counter(flop / 1e9 / (limits.fma_gflops * kPeerPeakFraction),
                         benchmark::Counter::kIsIterationInvariantRate);
  state.counters["peak_rss_MiB"] = PeakResidentMiB();
}
BENCHMARK(BM_TrainStep)->Unit(benchmark::kMillisecond)->UseRealTime()->Repetitions(5);

}  // namespace
}  // namespace tg
