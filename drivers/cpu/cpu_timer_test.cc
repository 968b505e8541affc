#include "drivers/cpu/cpu_timer.h"

#include <signal.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/file.h"
#include "codegen/ir/uop.h"
#include "gtest/gtest.h"

namespace tg::drivers {
namespace {

constexpr double kNoCutoff = std::numeric_limits<double>::infinity();
constexpr int64_t kCount = 4096;

lower::LinearProgram Program(const std::string& name, int threads = 1, int64_t count = kCount) {
  lower::LinearProgram p;
  p.name = name;
  p.threads = threads;
  for (int i = 0; i < 2; ++i) p.params.push_back({.dtype = ir::kFloat32, .size = count});
  p.variables.push_back(ir::Variable("n", 0, count));
  return p;
}

class CpuTimerTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::string> bytes = base::ReadFile("drivers/cpu/timed.o");
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    object_ = *bytes;
  }

  absl::StatusOr<double> Time(search::Timer& timer, const std::string& name, int threads = 1,
                              double cutoff = kNoCutoff) {
    return timer.Time(Program(name, threads), object_, cutoff);
  }

  std::string object_;
};

TEST_F(CpuTimerTest, TellsFastFromSlow) {
  const auto timer = MakeCpuTimer();
  const auto fast = Time(*timer, "Add"), slow = Time(*timer, "Slow");
  ASSERT_TRUE(fast.ok()) << fast.status();
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_GT(*fast, 0);
  EXPECT_GT(*slow, *fast);
}

TEST_F(CpuTimerTest, RunsPartsOnThreads) {
  const auto timer = MakeCpuTimer({.threads = 2});
  EXPECT_TRUE(Time(*timer, "Add", 2).ok());
  EXPECT_TRUE(absl::IsAborted(Time(*timer, "Illegal", 2).status()));
  EXPECT_TRUE(Time(*timer, "Add", 7).ok());
}

TEST_F(CpuTimerTest, KillsWhatDoesNotEndAndGoesOn) {
  const auto timer = MakeCpuTimer({.limit = 3});
  for (const int threads : {1, 2}) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(Time(*timer, "Endless", threads).status()));
    EXPECT_TRUE(Time(*timer, "Add").ok());
  }
}

TEST_F(CpuTimerTest, LeavesWhatIsBeyondTheCutoff) {
  const auto timer = MakeCpuTimer({.limit = 1e6, .grace = 1e6, .runs = 0, .threads = 2});
  // The worker stays: the second run of DamagesInput would crash in the same memory.
  EXPECT_TRUE(Time(*timer, "DamagesInput").ok());
  for (const int parts : {1, 2, 3, 40}) {
    const auto time = Time(*timer, "Endless", parts, 1e-3);
    ASSERT_TRUE(time.ok()) << parts << " parts: " << time.status();
    EXPECT_TRUE(std::isinf(*time)) << *time;
    EXPECT_TRUE(Time(*timer, "Add", parts).ok());
  }
  EXPECT_TRUE(absl::IsAborted(Time(*timer, "DamagesInput").status()));
}

TEST_F(CpuTimerTest, SurvivesCrashes) {
  const auto timer = MakeCpuTimer();
  for (const char* name : {"BeyondTheEnd", "BeforeTheStart", "Illegal"}) {
    const absl::Status s = Time(*timer, name).status();
    EXPECT_TRUE(absl::IsAborted(s)) << name << ": " << s;
    EXPECT_TRUE(absl::StrContains(s.message(), "kernel crashed")) << s;
    EXPECT_TRUE(Time(*timer, "Add").ok());
  }
}

TEST_F(CpuTimerTest, GivesANewWorkerNewBuffers) {
  const auto timer = MakeCpuTimer({.runs = 1});
  // The first run damages the input, the next one finds it damaged and crashes: each time.
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(absl::IsAborted(Time(*timer, "DamagesInput").status()));
  }
}

TEST_F(CpuTimerTest, TakesNewParameters) {
  const auto timer = MakeCpuTimer();
  for (const int64_t count : {int64_t{1}, kCount, int64_t{1} << 20, int64_t{0}}) {
    const lower::LinearProgram p = Program("Add", 1, count);
    EXPECT_TRUE(timer->Time(p, object_, kNoCutoff).ok()) << count;
  }
}

TEST_F(CpuTimerTest, RefusesWhatDoesNotLoadOrFit) {
  const auto timer = MakeCpuTimer();
  EXPECT_TRUE(absl::IsInvalidArgument(Time(*timer, "Absent").status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(timer->Time(Program("Add"), "not an object", kNoCutoff).status()));
  EXPECT_TRUE(Time(*timer, "Add").ok());
}

}  // namespace
}  // namespace tg::drivers
