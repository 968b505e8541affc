#include "flash/registers.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace tg::flash {
namespace {

class SystemClock final : public Clock {
 public:
  absl::Duration Now() override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return absl::DurationFromTimespec(now);
  }
  void Sleep(absl::Duration duration) override { absl::SleepFor(duration); }
};

}  // namespace

Clock& Clock::System() {
  static SystemClock clock;
  return clock;
}

absl::StatusOr<uint32_t> ReadAlive(Registers& registers, uint32_t offset, absl::string_view name) {
  absl::StatusOr<uint32_t> value = registers.Read32(offset);
  if (value.ok() && *value == kAllOnes) {
    return absl::UnavailableError(absl::StrCat(
        name, " reads all ones: the card does not answer; switch its power off and on"));
  }
  return value;
}

absl::Status WaitUntil(Clock& clock, absl::Duration timeout, absl::Duration interval,
                       absl::string_view message, absl::FunctionRef<absl::StatusOr<bool>()> ready) {
  if (timeout <= absl::ZeroDuration() || timeout > absl::Seconds(60)) {
    return absl::InvalidArgumentError("timeout must be in (0, 60] seconds");
  }
  constexpr int kPollsWithoutSleep = 16;
  const absl::Duration deadline = clock.Now() + timeout;
  for (int polls = 0;; ++polls) {
    const bool last = clock.Now() >= deadline;
    const absl::StatusOr<bool> done = ready();
    if (!done.ok()) return done.status();
    if (*done) return absl::OkStatus();
    if (last) return absl::DeadlineExceededError(message);
    if (polls >= kPollsWithoutSleep) clock.Sleep(interval);
  }
}

}  // namespace tg::flash
