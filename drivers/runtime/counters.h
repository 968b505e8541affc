// What ran since the process began: operations, bytes, kernels, seconds, memory held.
//
// The counters are process-wide because what reads them (DEBUG=2 lines, benchmarks, tests) asks
// about a whole program over all of its devices. Each field is atomic; a set of fields read one
// after another is not a snapshot.
#ifndef TG_DRIVERS_RUNTIME_COUNTERS_H_
#define TG_DRIVERS_RUNTIME_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace tg::drivers {

struct CounterValues {
  int64_t ops = 0;            // Arithmetic operations, as estimated by the compiler.
  int64_t mem_bytes = 0;      // Bytes that kernels and copies moved, as estimated.
  int64_t kernels = 0;        // Kernels and copies run.
  int64_t nanoseconds = 0;    // Time in kernels, where it was measured.
  int64_t mem_used = 0;       // Bytes of all buffers that are allocated now, on all devices.
  int64_t mem_used_peak = 0;  // The highest mem_used since the last Reset.
};

class Counters {
 public:
  // Called by the engine after each kernel or copy. `seconds` 0 when it was not measured.
  void AddKernel(int64_t ops, int64_t mem_bytes, double seconds);

  // Called by Buffer. Negative when memory is given back.
  void AddMemory(int64_t bytes);

  CounterValues Read() const;

  // Zeroes everything but mem_used, which is a fact and not a count; the peak becomes mem_used.
  void Reset();

 private:
  std::atomic<int64_t> ops_{0};
  std::atomic<int64_t> mem_bytes_{0};
  std::atomic<int64_t> kernels_{0};
  std::atomic<int64_t> nanoseconds_{0};
  std::atomic<int64_t> mem_used_{0};
  std::atomic<int64_t> mem_used_peak_{0};
};

// The process's counters. Never destroyed.
Counters& GlobalCounters();

}  // namespace tg::drivers

#endif  // TG_DRIVERS_RUNTIME_COUNTERS_H_
