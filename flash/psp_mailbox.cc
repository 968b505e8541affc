#include "flash/psp_mailbox.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tg::flash {
namespace {

constexpr uint32_t kDoorbell = 0x58224, kCommandReg = 0x582cc, kCommandData = 0x582d0;
constexpr uint32_t kReady = 1u << 31;
constexpr size_t kProgressStep = 0x1000;

constexpr const char* kErrors[] = {
    nullptr,
    "generic error",
    "out of bounds",
    "invalid parameter",
    "off-chip boot error",
    "address not set",
    "parse off-chip error",
    "address map error",
    "parse on-chip error",
    "full update error",
    "partition update error",
    "map on-chip error",
    "write to SPI error",
    "signature validation error",
    "invalid command",
    "signature not found",
    "state machine not initialized",
    "state machine transfer error",
    "initialization error",
};

}  // namespace

absl::string_view PspErrorText(uint32_t error) {
  return error >= 1 && error < std::size(kErrors) ? kErrors[error] : "unknown error";
}

absl::StatusOr<PspMailbox::Reply> PspMailbox::Run(uint32_t command, std::optional<uint32_t> data,
                                                  absl::Duration timeout) {
  const absl::StatusOr<uint32_t> status = ReadAlive(registers_, kCommandReg, "PSP mailbox");
  if (!status.ok()) return status.status();
  if ((*status & kReady) == 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "PSP mailbox is not ready before command 0x%x: status=0x%08x", command, *status));
  }
  if (data.has_value()) {
    if (absl::Status s = registers_.Write32(kCommandData, *data); !s.ok()) return s;
  }
  if (absl::Status s = registers_.Write32(kCommandReg, command << 16); !s.ok()) return s;
  if (absl::Status s = registers_.Write32(kDoorbell, 1); !s.ok()) return s;
  if (absl::Status s = WaitUntil(clock_, timeout, absl::Milliseconds(1),
                                 absl::StrFormat("PSP mailbox command 0x%x timed out", command),
                                 [this]() -> absl::StatusOr<bool> {
                                   const absl::StatusOr<uint32_t> now =
                                       ReadAlive(registers_, kCommandReg, "PSP mailbox");
                                   if (!now.ok()) return now.status();
                                   return (*now & kReady) != 0;
                                 });
      !s.ok()) {
    return s;
  }
  const absl::StatusOr<uint32_t> done = ReadAlive(registers_, kCommandReg, "PSP mailbox");
  if (!done.ok()) return done.status();
  const absl::StatusOr<uint32_t> response = registers_.Read32(kCommandData);
  if (!response.ok()) return response.status();
  return Reply{*done & 0xffff, *response};
}

absl::StatusOr<uint32_t> PspMailbox::Require(absl::string_view name, uint32_t command,
                                             std::optional<uint32_t> data, absl::Duration timeout) {
  const absl::StatusOr<Reply> reply = Run(command, data, timeout);
  if (!reply.ok()) return reply.status();
  if (reply->error != 0) {
    return absl::FailedPreconditionError(absl::StrFormat("PSP %s failed: error=0x%x (%s)", name,
                                                         reply->error, PspErrorText(reply->error)));
  }
  return reply->response;
}

absl::StatusOr<uint32_t> PspMailbox::TransferType() {
  return Require("GET_TRANSFER_TYPE", kGetTransferType);
}

absl::Status PspMailbox::Stream(absl::Span<const uint8_t> payload, uint32_t item,
                                uint32_t transfer_type, const Progress& progress,
                                const std::function<bool()>& interrupted) {
  if (payload.empty()) return absl::InvalidArgumentError("payload is empty");
  if (payload.size() > 0xffffff) {
    return absl::InvalidArgumentError("payload exceeds the mailbox's 24-bit size field");
  }
  if (payload.size() % 4 != 0) {
    return absl::InvalidArgumentError("payload size must be divisible by four");
  }
  if (item > 0xff) return absl::InvalidArgumentError("item type must fit in eight bits");
  if ((transfer_type & 0xff) != item) {
    return absl::FailedPreconditionError(
        absl::StrFormat("firmware requests item 0x%x, not 0x%x", transfer_type & 0xff, item));
  }
  const uint32_t size = static_cast<uint32_t>(payload.size());
  // A start that is rejected leaves nothing to end.
  if (absl::StatusOr<uint32_t> s = Require("START_TRANSFER", kStartTransfer, size << 8 | item);
      !s.ok()) {
    return s.status();
  }
  const absl::Duration start = clock_.Now();
  uint32_t sent = 0;
  const auto send = [&]() -> absl::Status {
    while (sent < size) {
      if (interrupted && interrupted()) return absl::CancelledError("interrupted");
      uint32_t dword = 0;
      for (uint32_t i = 0; i < 4; ++i) dword |= uint32_t{payload[sent + i]} << (8 * i);
      if (absl::StatusOr<uint32_t> s =
              Require(absl::StrFormat("DATA_TRANSFER@0x%x", sent), kDataTransfer, dword);
          !s.ok()) {
        return s.status();
      }
      sent += 4;
      if (progress && sent % kProgressStep == 0) progress(sent, size, clock_.Now() - start);
    }
    return absl::OkStatus();
  };
  if (absl::Status status = send(); !status.ok()) {
    // The firmware waits for the rest. Whether it hears this does not matter: the first error does.
    (void)Run(kEndTransfer, sent << 8 | item);
    return status;
  }
  // An end that is rejected is not sent again: the firmware has judged the item.
  return Require("END_TRANSFER", kEndTransfer, size << 8 | item, absl::Seconds(60)).status();
}

}  // namespace tg::flash
