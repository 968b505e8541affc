#ifndef TG_FLASH_REGISTERS_H_
#define TG_FLASH_REGISTERS_H_

// What the flash libraries need of a card: its registers, and time.

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace tg::flash {

// 32-bit registers at byte offsets in BAR5. Accesses happen in the order of the calls. An error
// means that the access may or may not have reached the card. Implementations need not be thread
// safe.
class Registers {
 public:
  virtual ~Registers() = default;
  virtual absl::StatusOr<uint32_t> Read32(uint32_t offset) = 0;
  virtual absl::Status Write32(uint32_t offset, uint32_t value) = 0;
};

// A function that has left the bus, or a controller that is switched off, reads as all ones.
inline constexpr uint32_t kAllOnes = 0xffffffff;

// Read32, with all ones turned into an Unavailable error. For registers in which that is no value.
absl::StatusOr<uint32_t> ReadAlive(Registers& registers, uint32_t offset, absl::string_view name);

// Monotonic time and waiting; simulated hardware has its own.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Duration Now() = 0;
  virtual void Sleep(absl::Duration duration) = 0;

  // The machine's.
  static Clock& System();
};

// Polls `ready`, a few times at once and then every `interval`, until it returns true or an error.
// DeadlineExceeded with `message` after `timeout`; one poll happens after the time is over, so a
// process that was not scheduled for long does not fail for that. InvalidArgument: `timeout` is
// not in (0, 60] seconds.
absl::Status WaitUntil(Clock& clock, absl::Duration timeout, absl::Duration interval,
                       absl::string_view message, absl::FunctionRef<absl::StatusOr<bool>()> ready);

}  // namespace tg::flash

#endif  // TG_FLASH_REGISTERS_H_
