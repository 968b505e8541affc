#ifndef TG_DRIVERS_SIM_AMD_PSP_BOOT_MAILBOX_H_
#define TG_DRIVERS_SIM_AMD_PSP_BOOT_MAILBOX_H_

// The mailbox of the PSP's boot firmware on a simulated Navi 31, with the state machine through
// which it takes a new flash image item by item.
//
// A command is written to COMMAND as cmd << 16, its argument before that to COMMAND_DATA, and the
// doorbell starts it. While it runs, bit 31 of COMMAND is clear; afterwards it is set, the low 16
// bits are the error, and COMMAND_DATA is the response.
//
// The firmware says which item it wants (bits 7..0 of the transfer type, the phase above it). An
// item is started with its size, sent in dwords and ended with the number of bytes; only then does
// the firmware look at it and go on to the next. The last phase is 2.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drivers/sim/spi/sim_clock.h"

namespace tg::sim {

class PspBootMailbox {
 public:
  enum class State {
    kDead,   // no firmware: registers read 0, a doorbell does nothing
    kReady,  // takes updates
    kSos,    // the secure OS runs: update commands are rejected with 0xa
  };

  static constexpr uint32_t kDoorbell = 0x58224, kCommand = 0x582cc, kCommandData = 0x582d0;
  static bool Has(uint32_t offset) {
    return offset == kDoorbell || offset == kCommand || offset == kCommandData;
  }

  // Errors as the firmware numbers them; those that this model gives.
  enum Error : uint32_t {
    kOk = 0x00,
    kInvalidParameter = 0x03,
    kPartitionUpdate = 0x0a,
    kSignature = 0x0d,
    kInvalidCommand = 0x0e,
    kNotInitialized = 0x10,
    kTransfer = 0x11,
  };

  PspBootMailbox(State state, const SimClock* clock);

  absl::StatusOr<uint32_t> Read(uint32_t offset);
  absl::Status Write(uint32_t offset, uint32_t value);

  // The transfer types that the firmware goes through, (phase << 8 | item) each. The default asks
  // for the boot header, the directories and both partitions, and ends with the metadata.
  void set_sequence(std::vector<uint32_t> sequence) { sequence_ = std::move(sequence); }
  // From the `nth` command with this code on (counted from 0), once: this error instead.
  void FailCommand(uint32_t command, int64_t nth, uint32_t error);
  // From the `nth` command with this code on: the firmware hangs.
  void HangCommand(uint32_t command, int64_t nth);

  // What was received, by item; only items whose end was accepted.
  const std::map<uint32_t, std::vector<uint8_t>>& items() const { return items_; }
  // How often each command was run.
  const std::map<uint32_t, int64_t>& counts() const { return counts_; }
  bool finished() const { return step_ >= sequence_.size(); }

 private:
  struct Result {
    uint32_t error;
    uint32_t response = 0;
  };
  Result Run(uint32_t command, uint32_t data);
  Result Start(uint32_t data);
  Result Data(uint32_t data);
  Result End(uint32_t data);

  const State state_;
  const SimClock* const clock_;
  std::vector<uint32_t> sequence_;
  size_t step_ = 0;

  uint32_t command_;
  uint32_t data_ = 0;
  uint32_t result_ = 0;
  uint32_t response_ = 0;
  int64_t busy_until_ns_ = -1;  // -1: idle

  bool receiving_ = false;
  uint32_t expected_size_ = 0;
  std::vector<uint8_t> received_;
  std::map<uint32_t, std::vector<uint8_t>> items_;
  std::map<uint32_t, int64_t> counts_;
  struct Fault {
    int64_t nth;
    bool hang;
    uint32_t error;
  };
  std::map<uint32_t, Fault> faults_;
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_AMD_PSP_BOOT_MAILBOX_H_
