#include "flash/psp_mailbox.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drivers/sim/amd/navi31_flash.h"
#include "drivers/sim/amd/psp_boot_mailbox.h"
#include "drivers/sim/spi/gd25lq16e.h"
#include "flash/sim_card.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::flash {
namespace {

using ::testing::HasSubstr;

class PspMailboxTest : public ::testing::Test {
 protected:
  explicit PspMailboxTest(sim::Navi31Boot boot = sim::Navi31Boot::kFirmware)
      : flash_(sim::Gd25lq16e::kSize, 0xff),
        card_(boot, absl::MakeSpan(flash_)),
        mailbox_(&card_.registers(), &card_.clock()) {
    firmware().set_sequence({0x80, 0x289});
  }
  sim::PspBootMailbox& firmware() { return card_.navi31().mailbox(); }
  int64_t Count(uint32_t command) {
    const auto it = firmware().counts().find(command);
    return it == firmware().counts().end() ? 0 : it->second;
  }
  std::string Stream(const std::vector<uint8_t>& payload, uint32_t item, uint32_t type = 0x80) {
    return std::string(mailbox_.Stream(payload, item, type, nullptr, nullptr).message());
  }

  std::vector<uint8_t> flash_;
  SimCard card_;
  PspMailbox mailbox_;
};

TEST_F(PspMailboxTest, RunsCommands) {
  const absl::StatusOr<PspMailbox::Reply> reply = mailbox_.Run(PspMailbox::kSpiGetModelId);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->error, 0u);
  EXPECT_EQ(reply->response, 0x1560c8u);
  EXPECT_EQ(*mailbox_.TransferType(), 0x80u);
  EXPECT_EQ(mailbox_.Run(0x55)->error, 0x0eu);
  EXPECT_EQ(mailbox_.Require("NAME", 0x55).status().message(),
            "PSP NAME failed: error=0xe (invalid command)");
}

TEST_F(PspMailboxTest, ErrorTexts) {
  EXPECT_EQ(PspErrorText(0x01), "generic error");
  EXPECT_EQ(PspErrorText(0x0c), "write to SPI error");
  EXPECT_EQ(PspErrorText(0x12), "initialization error");
  for (uint32_t error : {0x00u, 0x13u, 0xffffu}) EXPECT_EQ(PspErrorText(error), "unknown error");
}

TEST_F(PspMailboxTest, TimeoutsAndNotReady) {
  firmware().HangCommand(PspMailbox::kGetFbState, 0);
  EXPECT_EQ(mailbox_.Run(PspMailbox::kGetFbState).status().message(),
            "PSP mailbox command 0x6 timed out");
  EXPECT_EQ(mailbox_.Run(PspMailbox::kGetTransferType).status().message(),
            "PSP mailbox is not ready before command 0x7: status=0x00060000");
}

TEST_F(PspMailboxTest, StreamsAnItem) {
  std::vector<uint8_t> payload(0x2004);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<uint8_t>(i * 3);
  std::vector<size_t> marks;
  const absl::Status status = mailbox_.Stream(
      payload, 0x80, 0x80,
      [&](size_t sent, size_t total, absl::Duration) {
        EXPECT_EQ(total, payload.size());
        marks.push_back(sent);
      },
      nullptr);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(marks, (std::vector<size_t>{0x1000, 0x2000}));
  EXPECT_EQ(firmware().items().at(0x80), payload);
  EXPECT_EQ(*mailbox_.TransferType(), 0x289u);
}

TEST_F(PspMailboxTest, RefusalsSendNothing) {
  EXPECT_EQ(Stream({}, 0x80), "payload is empty");
  EXPECT_EQ(Stream(std::vector<uint8_t>(0x1000000), 0x80),
            "payload exceeds the mailbox's 24-bit size field");
  EXPECT_EQ(Stream({1, 2, 3}, 0x80), "payload size must be divisible by four");
  EXPECT_EQ(Stream({1, 2, 3, 4}, 0x100), "item type must fit in eight bits");
  EXPECT_EQ(Stream({1, 2, 3, 4}, 0x81), "firmware requests item 0x80, not 0x81");
  EXPECT_TRUE(firmware().counts().empty());
}

TEST_F(PspMailboxTest, ARejectedStartIsNotEnded) {
  firmware().FailCommand(PspMailbox::kStartTransfer, 0, 0x10);
  EXPECT_EQ(Stream({1, 2, 3, 4}, 0x80),
            "PSP START_TRANSFER failed: error=0x10 (state machine not initialized)");
  EXPECT_EQ(Count(PspMailbox::kEndTransfer), 0);
}

TEST_F(PspMailboxTest, AnInterruptedTransferIsEndedOnce) {
  const std::vector<uint8_t> payload(64);
  for (int64_t k = 0; k < 16; ++k) {
    const int64_t ends = Count(PspMailbox::kEndTransfer);
    firmware().FailCommand(PspMailbox::kDataTransfer, Count(PspMailbox::kDataTransfer) + k, 0x11);
    EXPECT_THAT(Stream(payload, 0x80), HasSubstr("PSP DATA_TRANSFER@0x"));
    EXPECT_EQ(Count(PspMailbox::kEndTransfer), ends + 1) << k;
    EXPECT_EQ(*mailbox_.TransferType(), 0x80u) << "the firmware asks again";
  }
  int polls = 0;
  const absl::Status cancelled =
      mailbox_.Stream(payload, 0x80, 0x80, nullptr, [&]() { return ++polls == 5; });
  EXPECT_EQ(cancelled.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Count(PspMailbox::kEndTransfer), 17);
  EXPECT_EQ(Stream(payload, 0x80), "");
}

TEST_F(PspMailboxTest, ARejectedEndIsNotSentAgain) {
  firmware().FailCommand(PspMailbox::kEndTransfer, 0, 0x0d);
  EXPECT_EQ(Stream({1, 2, 3, 4}, 0x80),
            "PSP END_TRANSFER failed: error=0xd (signature validation error)");
  EXPECT_EQ(Count(PspMailbox::kEndTransfer), 1);
}

// The first error is what counts, also when the firmware cannot be told.
TEST_F(PspMailboxTest, AHangDuringDataIsTheErrorThatIsReported) {
  firmware().HangCommand(PspMailbox::kDataTransfer, 1);
  EXPECT_EQ(Stream({1, 2, 3, 4, 5, 6, 7, 8}, 0x80), "PSP mailbox command 0x9 timed out");
}

TEST_F(PspMailboxTest, ALinkThatFailsAtAnyAccess) {
  const std::vector<uint8_t> payload(16);
  for (LinkFault fault : {LinkFault::kError, LinkFault::kLost, LinkFault::kAllOnes}) {
    bool finished = false;
    for (int64_t k = 0; !finished; ++k) {
      SimCard card(sim::Navi31Boot::kFirmware, absl::MakeSpan(flash_));
      card.navi31().mailbox().set_sequence({0x280});
      PspMailbox mailbox(&card.registers(), &card.clock());
      card.registers().Inject(fault, k);
      const absl::Status status = mailbox.Stream(payload, 0x80, 0x280, nullptr, nullptr);
      finished = card.registers().count() <= k;
      // All ones in the response of the last command are not looked at: it has succeeded.
      EXPECT_TRUE(status.ok() || !finished);
      if (status.ok()) {
        EXPECT_EQ(card.navi31().mailbox().items().at(0x80), payload);
      }
      ASSERT_LT(k, 10000);
    }
  }
}

class SosTest : public PspMailboxTest {
 protected:
  SosTest() : PspMailboxTest(sim::Navi31Boot::kSos) {}
};

TEST_F(SosTest, UpdatesAreGated) {
  EXPECT_EQ(mailbox_.Run(PspMailbox::kGetTransferType)->error, uint32_t{PspMailbox::kGated});
  EXPECT_EQ(mailbox_.Run(PspMailbox::kGetBootPartition)->error, 0u);
}

}  // namespace
}  // namespace tg::flash
