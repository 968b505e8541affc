#include "drivers/runtime/counters.h"

#include <cmath>

namespace tg::drivers {
namespace {

void RaiseTo(std::atomic<int64_t>& peak, int64_t value) {
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void Counters::AddKernel(int64_t ops, int64_t mem_bytes, double seconds) {
  ops_.fetch_add(ops, std::memory_order_relaxed);
  mem_bytes_.fetch_add(mem_bytes, std::memory_order_relaxed);
  kernels_.fetch_add(1, std::memory_order_relaxed);
  nanoseconds_.fetch_add(std::llround(seconds * 1e9), std::memory_order_relaxed);
}

void Counters::AddMemory(int64_t bytes) {
  const int64_t before = mem_used_.fetch_add(bytes, std::memory_order_relaxed);
  RaiseTo(mem_used_peak_, before + bytes);
}

CounterValues Counters::Read() const {
  CounterValues values;
  values.ops = ops_.load(std::memory_order_relaxed);
  values.mem_bytes = mem_bytes_.load(std::memory_order_relaxed);
  values.kernels = kernels_.load(std::memory_order_relaxed);
  values.nanoseconds = nanoseconds_.load(std::memory_order_relaxed);
  values.mem_used = mem_used_.load(std::memory_order_relaxed);
  values.mem_used_peak = mem_used_peak_.load(std::memory_order_relaxed);
  return values;
}

void Counters::Reset() {
  for (std::atomic<int64_t>* field : {&ops_, &mem_bytes_, &kernels_, &nanoseconds_}) {
    field->store(0, std::memory_order_relaxed);
  }
  mem_used_peak_.store(mem_used_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

Counters& GlobalCounters() {
  static Counters* const counters = new Counters;
  return *counters;
}

}  // namespace tg::drivers
