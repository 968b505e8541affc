#include "flash/registers.h"

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace tg::flash {
namespace {

class FakeClock final : public Clock {
 public:
  absl::Duration Now() override { return now_; }
  void Sleep(absl::Duration duration) override { now_ += duration; }

 private:
  absl::Duration now_;
};

class OneRegister final : public Registers {
 public:
  explicit OneRegister(uint32_t value) : value_(value) {}
  absl::StatusOr<uint32_t> Read32(uint32_t) override { return value_; }
  absl::Status Write32(uint32_t, uint32_t) override { return absl::OkStatus(); }

 private:
  const uint32_t value_;
};

TEST(WaitUntilTest, TimeoutMustBeInRange) {
  FakeClock clock;
  for (absl::Duration timeout : {absl::ZeroDuration(), absl::Seconds(-1), absl::Seconds(61)}) {
    const absl::Status status =
        WaitUntil(clock, timeout, absl::Milliseconds(1), "x", []() { return true; });
    EXPECT_EQ(status, absl::InvalidArgumentError("timeout must be in (0, 60] seconds"));
  }
}

TEST(WaitUntilTest, PollsOnceMoreAfterTheTimeIsOver) {
  FakeClock clock;
  // The poll itself takes longer than the time there is.
  int polls = 0;
  EXPECT_TRUE(WaitUntil(clock, absl::Seconds(1), absl::Milliseconds(1), "late", [&]() {
                clock.Sleep(absl::Seconds(2));
                return ++polls == 2;
              }).ok());
  EXPECT_EQ(
      WaitUntil(clock, absl::Seconds(1), absl::Milliseconds(1), "late", []() { return false; }),
      absl::DeadlineExceededError("late"));
}

TEST(WaitUntilTest, ErrorsEndIt) {
  FakeClock clock;
  EXPECT_EQ(WaitUntil(clock, absl::Seconds(1), absl::Milliseconds(1), "late",
                      []() -> absl::StatusOr<bool> { return absl::AbortedError("gone"); }),
            absl::AbortedError("gone"));
}

TEST(ReadAliveTest, AllOnesIsNoValue) {
  OneRegister dead(0xffffffff), alive(0xfffffffe);
  EXPECT_EQ(ReadAlive(dead, 0, "ROM_CNTL").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(*ReadAlive(alive, 0, "ROM_CNTL"), 0xfffffffe);
}

TEST(SystemClockTest, Advances) {
  const absl::Duration before = Clock::System().Now();
  Clock::System().Sleep(absl::Milliseconds(1));
  EXPECT_GE(Clock::System().Now() - before, absl::Milliseconds(1));
}

}  // namespace
}  // namespace tg::flash
