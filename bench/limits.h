// What this machine can do at most, measured in this process: the yardstick of every benchmark.
//
//   state.counters["of_peak"] = gflops / MachineLimits().fma_gflops;
//
// Numbers are the best of several short runs; they hold for the clock and the neighbours that the
// machine has right now, which on shared machines changes. Measuring takes about a second.
#ifndef TG_BENCH_LIMITS_H_
#define TG_BENCH_LIMITS_H_

namespace tg::bench {

// float32 multiply-adds with the widest vectors that the processor has, in registers, on `threads`
// threads at once. In GFLOPS (1e9 operations a second, a multiply-add counting two).
double MeasureFmaGflops(int threads);

// Memory that no cache holds, in huge pages where the system gives them. In GB/s (1e9 bytes).
// Reading sums 128 MiB a thread. Copying is memcpy between as much; it counts bytes read and bytes
// written.
double MeasureReadGBps(int threads);
double MeasureCopyGBps(int threads);

struct Limits {
  int threads;  // cores that this process may use
  double fma_gflops_one_core;
  double fma_gflops;
  double read_gbps;
  double copy_gbps;
};

// Measured when first asked for, on all cores that the process may use. Thread safe.
const Limits& MachineLimits();

}  // namespace tg::bench

#endif  // TG_BENCH_LIMITS_H_
