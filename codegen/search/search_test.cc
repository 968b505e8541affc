#include "codegen/search/search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/disk_cache.h"
#include "codegen/interp/renderer.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/optimize.h"
#include "codegen/opt/testing/evaluate.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::search {
namespace {

using ir::UOp;

// Takes the time of a candidate from a function of it and the number of candidates before it.
class FakeTimer : public Timer {
 public:
  using Answer = std::function<absl::StatusOr<double>(const lower::LinearProgram&, int)>;
  explicit FakeTimer(Answer answer) : answer_(std::move(answer)) {}

  absl::StatusOr<double> Time(const lower::LinearProgram& program, absl::string_view object,
                              double cutoff) override {
    objects.emplace_back(object);
    cutoffs.push_back(cutoff);
    return answer_(program, static_cast<int>(objects.size()) - 1);
  }

  std::vector<std::string> objects;
  std::vector<double> cutoffs;

 private:
  Answer answer_;
};

// Programs with fewer instructions per operation are faster.
absl::StatusOr<double> ByTraffic(const lower::LinearProgram& program, int) {
  return program.estimates.lds_bytes * 1e-9 + static_cast<double>(program.ops.size()) * 1e-9;
}

UOp Ast() { return opt::Matmul(16, 12, 20, false, false).ast; }

class SearchTest : public testing::Test {
 protected:
  SearchResult Run(FakeTimer& timer, const SearchOptions& options = {}) {
    absl::StatusOr<SearchResult> r = SearchBest(Ast(), *renderer_, timer, options);
    EXPECT_TRUE(r.ok()) << r.status();
    return r.ok() ? *std::move(r) : SearchResult();
  }

  const std::unique_ptr<render::Renderer> renderer_ = interp::MakeRenderer();
};

TEST_F(SearchTest, FindsTheFastestOfWhatItMeasuredAndItComputesTheSame) {
  std::vector<double> times;
  FakeTimer timer([&](const lower::LinearProgram& p, int n) {
    absl::StatusOr<double> t = ByTraffic(p, n);
    times.push_back(*t);
    return t;
  });
  const SearchResult r = Run(timer);
  EXPECT_GT(r.measured, 15);
  EXPECT_LT(r.rejected, r.measured) << r.duplicates << " duplicates";
  EXPECT_EQ(r.measured, static_cast<int>(times.size()));
  EXPECT_EQ(r.seconds, *std::min_element(times.begin(), times.end()));
  EXPECT_LT(r.seconds, times.front());  // the heuristics'
  EXPECT_EQ(r.curve.back().seconds, r.seconds);
  opt::Buffers before = opt::RandomBuffers(Ast(), 1), after = before;
  ASSERT_TRUE(opt::Evaluate(Ast(), before).ok());
  ASSERT_TRUE(opt::Evaluate(r.kernel, after).ok());
  EXPECT_EQ(before, after);
  const auto again = opt::ApplyOpts(Ast(), renderer_->target(), r.opts);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, r.kernel);
}

TEST_F(SearchTest, IsTheSameForAnyNumberOfCompilingThreads) {
  FakeTimer one(ByTraffic), four(ByTraffic);
  const SearchResult a = Run(one), b = Run(four, {.parallel = 4});
  EXPECT_EQ(one.objects, four.objects);
  EXPECT_EQ(opt::ToString(a.opts), opt::ToString(b.opts));
}

TEST_F(SearchTest, MeasuresNoCodeTwiceAndCutsOffAtAMultipleOfTheBest) {
  FakeTimer timer(ByTraffic);
  const SearchResult r = Run(timer, {.cutoff = 3});
  std::vector<std::string> sorted = timer.objects;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  EXPECT_TRUE(std::isinf(timer.cutoffs.front()));
  EXPECT_LE(timer.cutoffs.back(), 3 * r.curve.front().seconds);
}

TEST_F(SearchTest, UsesNoMoreThreadsThanItMay) {
  for (const int threads : {1, 2, 4}) {
    int most = 0;
    FakeTimer timer([&](const lower::LinearProgram& p, int n) {
      most = std::max(most, p.threads);
      return ByTraffic(p, n);
    });
    Run(timer, {.threads = threads});
    EXPECT_EQ(most, threads);
  }
}

TEST_F(SearchTest, GoesOnAfterCandidatesThatCrashOrDoNotEnd) {
  FakeTimer timer([&](const lower::LinearProgram& p, int n) -> absl::StatusOr<double> {
    if (n % 3 == 0) return absl::AbortedError("signal 11");
    if (n % 3 == 1) return absl::DeadlineExceededError("10 s");
    return ByTraffic(p, n);
  });
  const SearchResult r = Run(timer);
  EXPECT_GT(r.crashed, 5);
  EXPECT_GT(r.endless, 5);
  EXPECT_GT(r.measured, 5);
  EXPECT_LT(r.seconds, 1);
}

TEST_F(SearchTest, FallsBackToTheHeuristicsWhenNothingRuns) {
  FakeTimer timer([](const lower::LinearProgram&, int) { return absl::AbortedError("signal 4"); });
  const SearchResult r = Run(timer);
  EXPECT_TRUE(std::isinf(r.seconds));
  EXPECT_EQ(r.kernel, opt::Optimize(Ast(), renderer_->target(), 1));
}

TEST_F(SearchTest, FailsWithTheTimersOwnErrors) {
  FakeTimer timer([](const lower::LinearProgram&, int) { return absl::InternalError("no fork"); });
  EXPECT_EQ(SearchBest(Ast(), *renderer_, timer).status(), absl::InternalError("no fork"));
  EXPECT_FALSE(SearchBest(ir::Const(ir::kInt32, 1), *renderer_, timer).ok());
}

TEST_F(SearchTest, GivesTheBestSoFarWhenInterruptedAndDoesNotKeepIt) {
  base::DiskCache cache(testing::TempDir() + "/interrupted.db");
  std::atomic<int> measured{0};
  FakeTimer timer([&](const lower::LinearProgram& p, int n) {
    ++measured;
    return ByTraffic(p, n);
  });
  SearchOptions options{.cache = &cache};
  options.interrupted = [&] { return measured == 7; };
  const SearchResult r = Run(timer, options);
  EXPECT_TRUE(r.interrupted);
  EXPECT_EQ(r.measured, 7);
  EXPECT_LT(r.seconds, 1);
  FakeTimer second(ByTraffic);
  EXPECT_FALSE(Run(second, {.cache = &cache}).from_cache);
}

TEST_F(SearchTest, TakesResultsFromTheCache) {
  base::DiskCache cache(testing::TempDir() + "/searches.db");
  FakeTimer timer(ByTraffic);
  const SearchResult first = Run(timer, {.cache = &cache});
  EXPECT_FALSE(first.from_cache);
  FakeTimer unused(ByTraffic);
  const auto start = std::chrono::steady_clock::now();
  const SearchResult hit = Run(unused, {.cache = &cache});
  RecordProperty("hit_us", static_cast<int>(std::chrono::duration<double, std::micro>(
                                                std::chrono::steady_clock::now() - start)
                                                .count()));
  EXPECT_TRUE(hit.from_cache);
  EXPECT_TRUE(unused.objects.empty());
  EXPECT_EQ(hit.kernel, first.kernel);
  EXPECT_EQ(hit.seconds, first.seconds);
  // Other options are another search, and a search that ignores the cache begins afresh.
  EXPECT_FALSE(Run(timer, {.width = 3, .cache = &cache}).from_cache);
  EXPECT_FALSE(Run(timer, {.cache = &cache, .ignore_cache = true}).from_cache);
}

}  // namespace
}  // namespace tg::search
