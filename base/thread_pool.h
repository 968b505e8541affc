#ifndef TG_BASE_THREAD_POOL_H_
#define TG_BASE_THREAD_POOL_H_

// Threads that stay, for work that is split in a few parts thousands of times a second.

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace tg::base {

// Runs loops on a fixed set of threads. Idle threads spin for some tens of microseconds before they
// sleep, so that a loop that follows soon starts in about a microsecond.
//
// Thread safe. Not usable in a child process after fork().
class ThreadPool {
 public:
  // `threads` counts the caller of ParallelFor, too: 1 starts no thread at all.
  explicit ThreadPool(int threads);
  // No ParallelFor may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls fn(0) ... fn(n - 1), each once, on the pool's threads and the calling one, and returns
  // when all are done; what they wrote is then visible to the caller. Parts are taken in rising
  // order.
  //
  // Called from inside a part, or while another thread's loop is running on this pool, it runs the
  // parts on the calling thread. When parts throw, the others still run and then the first
  // exception is thrown here. Settings that the caller has scoped are not those of the other
  // threads.
  void ParallelFor(int n, absl::FunctionRef<void(int)> fn);

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // A pool of CPU_COUNT threads (as set when it is first called), for the whole process; never
  // destroyed.
  static ThreadPool& Default();

 private:
  void Work();
  // Takes a part of the running loop and runs it; false when none is left.
  bool RunOnePart();

  // The running loop. A thread that takes a part from unclaimed_ may read the others until it has
  // taken that part off unfinished_: the loop cannot end, and be replaced, before.
  absl::FunctionRef<void(int)>* fn_ = nullptr;
  int n_ = 0;
  alignas(64) std::atomic<int> unclaimed_{0};
  alignas(64) std::atomic<int> unfinished_{0};

  // Rises with each loop; idle threads sleep on it.
  alignas(64) std::atomic<uint32_t> loops_{0};
  std::atomic<bool> stopping_{false};

  std::mutex running_;  // held by the thread whose loop is running
  std::mutex exception_mutex_;
  std::exception_ptr exception_;
  const int spins_;
  std::vector<std::thread> workers_;
};

}  // namespace tg::base

#endif  // TG_BASE_THREAD_POOL_H_
