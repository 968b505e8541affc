#include "base/thread_pool.h"

#include <atomic>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tg::base {
namespace {

TEST(ThreadPoolTest, RunsEachPartOnceWhateverTheSizes) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int n : {0, 1, 2, 3, 7, 100}) {
      std::vector<std::atomic<int>> runs(n);
      pool.ParallelFor(n, [&](int i) { ++runs[i]; });
      for (int i = 0; i < n; ++i) EXPECT_EQ(runs[i], 1) << threads << " " << n << " " << i;
    }
  }
}

TEST(ThreadPoolTest, NegativeCountRunsNothing) {
  ThreadPool pool(2);
  pool.ParallelFor(-3, [&](int) { FAIL(); });
}

TEST(ThreadPoolTest, ManyShortLoopsSeePlainMemory) {
  ThreadPool pool(4);
  std::vector<int> values(4, 0);
  for (int loop = 1; loop <= 20000; ++loop) {
    pool.ParallelFor(4, [&](int i) { values[i] += i; });
    ASSERT_EQ(values[3], 3 * loop);
  }
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 6 * 20000);
}

TEST(ThreadPoolTest, UsesItsThreads) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  std::vector<std::thread::id> ids(2);
  // Both parts wait for each other: on one thread this would never end.
  pool.ParallelFor(2, [&](int i) {
    ids[i] = std::this_thread::get_id();
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_NE(ids[0], ids[1]);
}

TEST(ThreadPoolTest, NestedLoopsRunInline) {
  ThreadPool pool(3);
  std::atomic<int> inner{0};
  std::atomic<int> elsewhere{0};
  pool.ParallelFor(6, [&](int) {
    const auto self = std::this_thread::get_id();
    pool.ParallelFor(5, [&](int) {
      ++inner;
      if (std::this_thread::get_id() != self) ++elsewhere;
    });
  });
  EXPECT_EQ(inner, 30);
  EXPECT_EQ(elsewhere, 0);
}

TEST(ThreadPoolTest, SeveralCallersAtOnce) {
  ThreadPool pool(3);
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int loop = 0; loop < 500; ++loop) {
        int mine[5] = {};
        pool.ParallelFor(5, [&](int i) { mine[i] = i + 1; });
        total += mine[0] + mine[1] + mine[2] + mine[3] + mine[4];
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 500 * 15);
}

TEST(ThreadPoolTest, FirstExceptionArrivesAfterAllParts) {
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::atomic<int> runs{0};
    EXPECT_THROW(pool.ParallelFor(10,
                                  [&](int i) {
                                    ++runs;
                                    if (i % 3 == 0) throw std::runtime_error("part failed");
                                  }),
                 std::runtime_error);
    EXPECT_EQ(runs, 10);
    pool.ParallelFor(4, [&](int) { ++runs; });
    EXPECT_EQ(runs, 14);
  }
}

TEST(ThreadPoolTest, StartsAndStopsIdle) {
  for (int i = 0; i < 200; ++i) ThreadPool pool(3);
}

TEST(ThreadPoolTest, DefaultIsShared) { EXPECT_EQ(&ThreadPool::Default(), &ThreadPool::Default()); }

}  // namespace
}  // namespace tg::base
