#include "drivers/amd/smu_mailbox.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace tg::amd {
namespace {

// MP1_SMN_C2PMSG_66, 82 and 90: segment 0 of MP1, in dwords.
constexpr uint64_t kMessage = 0x282, kArgument = 0x292, kResponse = 0x29a;
// Messages take microseconds; the rare slow one does not mind being looked at less often.
constexpr int kQuickPolls = 100;
constexpr absl::Duration kSlowPoll = absl::Microseconds(100);

}  // namespace

absl::StatusOr<uint32_t> SmuMailbox::Read(uint64_t index) {
  absl::StatusOr<uint32_t> value = registers_.Read32((base_ + index) * 4);
  if (value.ok() && *value == pci::AllOnes(pci::Width::k32)) {
    return absl::UnavailableError(
        absl::StrFormat("the card does not answer: register 0x%x of the SMU's mailbox is all ones",
                        (base_ + index) * 4));
  }
  return value;
}

absl::Status SmuMailbox::Write(uint64_t index, uint32_t value) {
  return registers_.Write32((base_ + index) * 4, value);
}

absl::StatusOr<uint32_t> SmuMailbox::Wait(absl::Duration timeout) {
  const absl::Time end = absl::Now() + timeout;
  for (int polls = 0;; ++polls) {
    // Looked at before the response, so that a process which was not running for long still looks
    // once more.
    const bool late = absl::Now() >= end;
    absl::StatusOr<uint32_t> response = Read(kResponse);
    if (!response.ok() || *response != 0) return response;
    if (late) return absl::DeadlineExceededError("no response");
    if (polls >= kQuickPolls) absl::SleepFor(kSlowPoll);
  }
}

absl::StatusOr<uint32_t> SmuMailbox::Send(absl::string_view name, uint32_t message,
                                          uint32_t argument, absl::Duration timeout) {
  absl::StatusOr<uint32_t> idle = Wait(timeout);
  if (absl::IsDeadlineExceeded(idle.status())) {
    return absl::UnavailableError(
        absl::StrCat("SMU message ", name,
                     ": the mailbox is taken: a message of somebody else has "
                     "had no response for ",
                     absl::FormatDuration(timeout)));
  }
  if (!idle.ok()) return idle.status();
  if (absl::Status s = Write(kResponse, 0); !s.ok()) return s;
  if (absl::Status s = Write(kArgument, argument); !s.ok()) return s;
  if (absl::Status s = Write(kMessage, message); !s.ok()) return s;
  const absl::StatusOr<uint32_t> response = Wait(timeout);
  if (absl::IsDeadlineExceeded(response.status())) {
    return absl::DeadlineExceededError(
        absl::StrCat("SMU message ", name, ": no response within ", absl::FormatDuration(timeout)));
  }
  if (!response.ok()) return response.status();
  const std::string what = absl::StrFormat("SMU message %s (0x%x): ", name, message);
  switch (*response) {
    case kSmuOk:
      return Read(kArgument);
    case kSmuBusy:
      return absl::UnavailableError(absl::StrCat(what, "the SMU is busy"));
    case kSmuRejected:
      return absl::FailedPreconditionError(absl::StrCat(what, "refused in the card's state"));
    case kSmuUnknown:
      return absl::UnimplementedError(absl::StrCat(what, "the firmware does not know it"));
    case kSmuFailed:
      return absl::InternalError(absl::StrCat(what, "failed"));
    default:
      return absl::InternalError(
          absl::StrCat(what, absl::StrFormat("response 0x%x is not known", *response)));
  }
}

}  // namespace tg::amd
