#ifndef TG_DRIVERS_AMD_SMU_MAILBOX_H_
#define TG_DRIVERS_AMD_SMU_MAILBOX_H_

// Messages to the SMU, the controller of an AMD GPU that rules power, clocks and fans.
//
// The block MP1 has three registers for it (MP1_SMN_C2PMSG_n, at the same places in SMU 13 and 14):
// 82 takes the argument and gives the answer's value, 66 takes the message and starts it, 90 is the
// response: 0 while a message is worked on, then one of the codes below. Source: PPSMC_Result_* in
// the Linux kernel's smu_v13_0_x_ppsmc.h and smu_v14_0_2_ppsmc.h, and smu_cmn.c.
//
// The mailbox has no lock of its own. Whoever drives the card may use it at any time; a message is
// therefore only begun when none is under way, and observers lock one another out (am_observer.h).

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "drivers/pci/function.h"

namespace tg::amd {

inline constexpr uint32_t kSmuOk = 0x01;
inline constexpr uint32_t kSmuBusy = 0xfc;
inline constexpr uint32_t kSmuRejected = 0xfd;  // something has to be done before
inline constexpr uint32_t kSmuUnknown = 0xfe;
inline constexpr uint32_t kSmuFailed = 0xff;

class SmuMailbox {
 public:
  // `registers` is BAR 5 and outlives this. `base`: MP1's first base in dwords, as the discovery
  // binary has it.
  SmuMailbox(pci::Region* registers, uint64_t base) : registers_(*registers), base_(base) {}

  // Sends a message and waits for its end; gives the value of the argument's register then. `name`
  // is for errors: "GetMetricsTable".
  //
  //   Unavailable        another message is under way and does not end, the SMU says that it is
  //                      busy, or the card does not answer
  //   DeadlineExceeded   no response within `timeout`
  //   Unimplemented      the firmware does not know the message
  //   FailedPrecondition it refuses the message now
  //   Internal           it tried and failed, or its response is not understood
  //   OutOfRange         the registers are not within BAR 5
  absl::StatusOr<uint32_t> Send(absl::string_view name, uint32_t message, uint32_t argument,
                                absl::Duration timeout);

 private:
  absl::StatusOr<uint32_t> Read(uint64_t index);
  absl::Status Write(uint64_t index, uint32_t value);
  // Waits until the response is not 0, and gives it.
  absl::StatusOr<uint32_t> Wait(absl::Duration timeout);

  pci::Region& registers_;
  const uint64_t base_;
};

}  // namespace tg::amd

#endif  // TG_DRIVERS_AMD_SMU_MAILBOX_H_
