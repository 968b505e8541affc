#include "base/thread_pool.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "base/check.h"
#include "base/cpu_count.h"
#include "base/settings.h"

namespace tg::base {
namespace {

// About 40 microseconds: longer than the gap between two kernels of a captured graph, short enough
// not to be seen in a machine's load.
constexpr int kSpins = 1000;

thread_local bool inside_part = false;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads)
    // Spinning takes the core from the thread that is waited for when there are more threads than
    // cores.
    : spins_(threads <= AvailableCpus() ? kSpins : 0) {
  TG_CHECK_GE(threads, 1);
  workers_.reserve(threads - 1);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { Work(); });
}

ThreadPool::~ThreadPool() {
  stopping_.store(true);
  loops_.fetch_add(1);
  loops_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

bool ThreadPool::RunOnePart() {
  int left = unclaimed_.load(std::memory_order_relaxed);
  do {
    if (left <= 0) return false;
  } while (!unclaimed_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel,
                                             std::memory_order_relaxed));
  inside_part = true;
  try {
    (*fn_)(n_ - left);
  } catch (...) {
    std::lock_guard<std::mutex> lock(exception_mutex_);
    if (exception_ == nullptr) exception_ = std::current_exception();
  }
  inside_part = false;
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  return true;
}

void ThreadPool::Work() {
  while (true) {
    const uint32_t seen = loops_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    while (RunOnePart()) {
    }
    for (int i = 0; i < spins_ && loops_.load(std::memory_order_relaxed) == seen; ++i) Pause();
    loops_.wait(seen, std::memory_order_acquire);
  }
}

void ThreadPool::ParallelFor(int n, absl::FunctionRef<void(int)> fn) {
  if (n <= 0) return;
  std::unique_lock<std::mutex> lock(running_, std::defer_lock);
  if (n == 1 || workers_.empty() || inside_part || !lock.try_lock()) {
    std::exception_ptr first;
    for (int i = 0; i < n; ++i) {
      try {
        fn(i);
      } catch (...) {
        if (first == nullptr) first = std::current_exception();
      }
    }
    if (first != nullptr) std::rethrow_exception(first);
    return;
  }

  fn_ = &fn;
  n_ = n;
  unfinished_.store(n, std::memory_order_relaxed);
  unclaimed_.store(n, std::memory_order_release);
  loops_.fetch_add(1, std::memory_order_acq_rel);
  if (n > threads() - 1) {
    loops_.notify_all();
  } else {
    for (int i = 1; i < n; ++i) loops_.notify_one();
  }
  while (RunOnePart()) {
  }
  int left = unfinished_.load(std::memory_order_acquire);
  for (int i = 0; i < spins_ && left != 0; ++i) {
    Pause();
    left = unfinished_.load(std::memory_order_acquire);
  }
  while (left != 0) {
    unfinished_.wait(left, std::memory_order_acquire);
    left = unfinished_.load(std::memory_order_acquire);
  }
  fn_ = nullptr;
  if (exception_ != nullptr) std::rethrow_exception(std::exchange(exception_, nullptr));
}

ThreadPool& ThreadPool::Default() {
  static ThreadPool* pool = new ThreadPool(Get(kCpuCount));
  return *pool;
}

}  // namespace tg::base
