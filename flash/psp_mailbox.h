#ifndef TG_FLASH_PSP_MAILBOX_H_
#define TG_FLASH_PSP_MAILBOX_H_

// The mailbox of the boot firmware that Navi 31's PSP runs after power-on, and the transfer of an
// image through it. It takes updates until a driver starts the secure OS.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "flash/registers.h"

namespace tg::flash {

class PspMailbox {
 public:
  enum Command : uint32_t {
    kGetBootPartition = 0x01,
    kGetFbState = 0x06,
    kGetTransferType = 0x07,
    kStartTransfer = 0x08,
    kDataTransfer = 0x09,
    kEndTransfer = 0x0a,
    kSpiGetModelId = 0x0b,
  };
  // Among the errors: updates are not taken (any more).
  static constexpr uint32_t kGated = 0x0a;

  struct Reply {
    uint32_t error;
    uint32_t response;
  };

  // Bytes sent of the total, with the time since the start.
  using Progress = std::function<void(size_t sent, size_t total, absl::Duration elapsed)>;

  // Both arguments outlive the mailbox.
  PspMailbox(Registers* registers, Clock* clock) : registers_(*registers), clock_(*clock) {}

  // Runs a command to its end. A reply with an error is a reply; an error status means that the
  // mailbox was not ready or did not answer in time.
  absl::StatusOr<Reply> Run(uint32_t command, std::optional<uint32_t> data = std::nullopt,
                            absl::Duration timeout = absl::Seconds(10));

  // The same, with a reply's error as a FailedPrecondition that explains it. `name` is for the
  // text.
  absl::StatusOr<uint32_t> Require(absl::string_view name, uint32_t command,
                                   std::optional<uint32_t> data = std::nullopt,
                                   absl::Duration timeout = absl::Seconds(10));

  // Phase and item that the firmware waits for: item in bits 7..0, phase above.
  absl::StatusOr<uint32_t> TransferType();

  // Sends an item's bytes. `transfer_type` is what TransferType returned last; when that is for
  // another item, nothing is sent. When sending fails on the way, or `interrupted` becomes true,
  // the firmware is told once how much it got, and the first error is returned. `progress` is
  // called after every 4 KiB; it and `interrupted` may be null.
  absl::Status Stream(absl::Span<const uint8_t> payload, uint32_t item, uint32_t transfer_type,
                      const Progress& progress, const std::function<bool()>& interrupted);

 private:
  Registers& registers_;
  Clock& clock_;
};

// What an error number of the mailbox means; "unknown error" for those that are not documented.
absl::string_view PspErrorText(uint32_t error);

}  // namespace tg::flash

#endif  // TG_FLASH_PSP_MAILBOX_H_
