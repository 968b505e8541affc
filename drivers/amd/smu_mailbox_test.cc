#include "drivers/amd/smu_mailbox.h"

#include <memory>

#include "absl/status/status.h"
#include "drivers/sim/amd/am_card.h"
#include "drivers/sim/amd/smu.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

constexpr uint64_t kMp1 = 0x16000;
// For what answers, and for what never does.
constexpr absl::Duration kLong = absl::Seconds(60), kShort = absl::Milliseconds(5);

class SmuMailboxTest : public ::testing::Test {
 protected:
  std::unique_ptr<sim::AmCard> card_ = sim::AmCard::Create({}).value();
  std::unique_ptr<pci::Region> registers_ = card_->function().MapBar(5).value();
  SmuMailbox mailbox_{registers_.get(), kMp1};
};

TEST_F(SmuMailboxTest, Answers) {
  EXPECT_EQ(mailbox_.Send("TestMessage", 1, 6, kLong).value(), 7u);
  // Longer than the quick polls.
  card_->smu().set_delay(110);
  EXPECT_EQ(mailbox_.Send("TestMessage", 1, 7, kLong).value(), 8u);
  EXPECT_EQ(mailbox_.Send("NoSuch", 99, 0, kLong).status().code(), Code::kUnimplemented);
}

TEST_F(SmuMailboxTest, Faults) {
  const auto fails = [&](sim::SmuFault fault, Code code, const char* text,
                         absl::Duration timeout = kLong) {
    card_->smu().set_fault(fault);
    const absl::Status s = mailbox_.Send("TestMessage", 1, 6, timeout).status();
    EXPECT_EQ(s.code(), code) << s;
    EXPECT_THAT(std::string(s.message()), HasSubstr(text));
  };
  fails(sim::SmuFault::kBusy, Code::kUnavailable, "SMU message TestMessage (0x1): the SMU is busy");
  fails(sim::SmuFault::kRejected, Code::kFailedPrecondition, "refused");
  fails(sim::SmuFault::kUnknown, Code::kUnimplemented, "does not know it");
  fails(sim::SmuFault::kFailed, Code::kInternal, "failed");
  fails(sim::SmuFault::kStrange, Code::kInternal, "response 0x77 is not known");
  fails(sim::SmuFault::kAllOnes, Code::kUnavailable, "the card does not answer");
  const int before = card_->smu().messages();
  fails(sim::SmuFault::kTaken, Code::kUnavailable, "the mailbox is taken", kShort);
  EXPECT_EQ(card_->smu().messages(), before) << "a message of somebody else was cut off";
  fails(sim::SmuFault::kNoResponse, Code::kDeadlineExceeded, "no response within 5ms", kShort);
  // And then the mailbox stays taken: its message is still under way.
  fails(sim::SmuFault::kNone, Code::kUnavailable, "the mailbox is taken", kShort);
}

TEST_F(SmuMailboxTest, RegistersOutsideOfTheBar) {
  SmuMailbox mailbox(registers_.get(), uint64_t{1} << 30);
  EXPECT_EQ(mailbox.Send("TestMessage", 1, 6, kShort).status().code(), Code::kOutOfRange);
  SmuMailbox wraps(registers_.get(), ~uint64_t{0} >> 2);
  EXPECT_FALSE(wraps.Send("TestMessage", 1, 6, kShort).ok());
}

}  // namespace
}  // namespace tg::amd
