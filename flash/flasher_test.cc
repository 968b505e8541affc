// A whole flash over the simulated card, with everything failing that can.

#include "flash/flasher.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drivers/sim/amd/navi31_flash.h"
#include "drivers/sim/spi/gd25lq16e.h"
#include "flash/flash_run.h"
#include "flash/sim_card.h"
#include "flash/spi_nor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::flash {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FlasherTest : public ::testing::Test {
 protected:
  FlasherTest()
      : image_(Noise(1)),
        flash_(Noise(2)),
        card_(sim::Navi31Boot::kRomless, absl::MakeSpan(flash_)) {}

  std::vector<uint8_t> image_, flash_;
  SimCard card_;
};

TEST_F(FlasherTest, WritesARangeAndNothingElse) {
  const std::vector<uint8_t> before = flash_;
  const FlashOutcome outcome = FlashOnce(card_, image_, {3, 2}, false);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_THAT(outcome.plan.different, ElementsAre(3, 4));
  EXPECT_EQ(outcome.next_sector, 5);
  EXPECT_TRUE(
      std::equal(image_.begin() + 0x3000, image_.begin() + 0x5000, flash_.begin() + 0x3000));
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 0x3000, flash_.begin()));
  EXPECT_TRUE(std::equal(before.begin() + 0x5000, before.end(), flash_.begin() + 0x5000));
}

TEST_F(FlasherTest, OnlyDifferentSectors) {
  flash_ = image_;
  SimCard card(sim::Navi31Boot::kRomless, absl::MakeSpan(flash_));
  flash_[0x7123] ^= 4;
  const FlashOutcome outcome = FlashOnce(card, image_, {0, 16}, true);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_THAT(outcome.plan.sectors, ElementsAre(7));
  EXPECT_EQ(card.chip().counters().erases, 1);
  EXPECT_EQ(flash_, image_);
}

TEST_F(FlasherTest, SectorRanges) {
  const Chip& chip = Chips()[0];
  EXPECT_EQ(CheckSectorRange(0, -1, chip)->count, 512);
  EXPECT_EQ(CheckSectorRange(511, -1, chip)->count, 1);
  EXPECT_EQ(CheckSectorRange(500, 12, chip)->count, 12);
  for (auto [start, count] : {std::pair{-1, 1}, {512, -1}, {0, 0}, {0, 513}, {511, 2}}) {
    EXPECT_THAT(std::string(CheckSectorRange(start, count, chip).status().message()),
                HasSubstr("invalid sector range"));
  }
}

TEST_F(FlasherTest, ProtectionIsRefusedBeforeAWrite) {
  card_.chip().set_status(1, 0x40);
  EXPECT_EQ(FlashOnce(card_, image_, {0, 2}, false).status.message(),
            "CMP protects the full array; rerun with --clear-cmp");
  card_.chip().set_status(0, 0x24);  // the lowest 64 KiB
  card_.chip().set_status(1, 0x00);
  EXPECT_THAT(std::string(FlashOnce(card_, image_, {15, 2}, false).status.message()),
              HasSubstr("sector 15 is protected"));
  EXPECT_EQ(card_.chip().counters().erases, 0);
  EXPECT_TRUE(FlashOnce(card_, image_, {16, 1}, false).status.ok());
  card_.chip().set_status(1, 0x40);
  EXPECT_THAT(std::string(FlashOnce(card_, image_, {15, 2}, false, true).status.message()),
              HasSubstr("sector 15 is protected"))
      << "clearing CMP would not help";
  EXPECT_EQ(card_.chip().status(1), 0x40) << "and is not done then";
  EXPECT_TRUE(FlashOnce(card_, image_, {16, 1}, false, true).status.ok());
}

TEST_F(FlasherTest, UntestedChipsAreNotWritten) {
  FlashPlan plan;
  plan.sectors = {0};
  EXPECT_THAT(std::string(CheckPlan(plan, Chips()[1], false).message()),
              HasSubstr("never tried with a Winbond W25Q16JW"));
  EXPECT_TRUE(CheckPlan(plan, Chips()[0], false).ok());
}

constexpr LinkFault kLinkFaults[] = {LinkFault::kError, LinkFault::kLost, LinkFault::kAllOnes,
                                     LinkFault::kDropWrite, LinkFault::kFlipRead};

class LinkFaultTest : public ::testing::TestWithParam<LinkFault> {};

INSTANTIATE_TEST_SUITE_P(All, LinkFaultTest, ::testing::ValuesIn(kLinkFaults));

// One sector with CMP set: every register access.
TEST_P(LinkFaultTest, EveryAccessOfOneSector) {
  FaultRuns runs({7, 1});
  bool struck = true;
  int64_t k = 0;
  for (; struck; ++k) {
    ASSERT_EQ(runs.Check({.link = GetParam(), .at = k}, /*cmp=*/true, &struck), "")
        << "at access " << k;
  }
  EXPECT_GT(k, 5000);
}

// 64 KiB: a fault somewhere in every transaction of the engine, each time somewhere else in it.
TEST(FaultRunsTest, EveryTransactionOf64KiB) {
  FaultRuns runs({32, 16});
  const std::vector<int64_t> starts = runs.TransactionStarts(/*cmp=*/false);
  ASSERT_GT(starts.size(), 3000u);
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const int64_t length = starts[i + 1] - starts[i];
    const int64_t at = starts[i] + static_cast<int64_t>(i * 7919) % length;
    bool struck = false;
    ASSERT_EQ(runs.Check({.link = kLinkFaults[i % 5], .at = at}, /*cmp=*/false, &struck), "")
        << "in transaction " << i << " at access " << at;
    ASSERT_TRUE(struck);
  }
}

// 2 MiB: spread over the whole run.
TEST(FaultRunsTest, SampleOf2MiB) {
  FaultRuns runs({0, 512});
  const std::vector<int64_t> starts = runs.TransactionStarts(/*cmp=*/true);
  ASSERT_GT(starts.size(), 90000u);
  for (size_t i = 0; i < 25; ++i) {
    const int64_t at = starts[(starts.size() - 1) * i / 25] + static_cast<int64_t>(i);
    bool struck = false;
    ASSERT_EQ(runs.Check({.link = kLinkFaults[i % 5], .at = at}, /*cmp=*/true, &struck), "") << at;
    ASSERT_TRUE(struck);
  }
}

// Every erase, program and write enable of 64 KiB: dropped, or done by half, while the status
// registers say that all is well.
TEST(FaultRunsTest, EveryLieOfTheChip) {
  FaultRuns runs({32, 16});
  for (sim::SpiFault fault :
       {sim::SpiFault::kDropErase, sim::SpiFault::kHalfErase, sim::SpiFault::kDropProgram,
        sim::SpiFault::kHalfProgram, sim::SpiFault::kFlipProgram, sim::SpiFault::kDropEnable,
        sim::SpiFault::kStuckBusy}) {
    const bool erase = fault == sim::SpiFault::kDropErase || fault == sim::SpiFault::kHalfErase;
    int64_t k = 0;
    for (bool struck = true; struck; ++k) {
      ASSERT_EQ(runs.Check({.in_chip = true, .chip = fault, .at = k}, /*cmp=*/false, &struck), "")
          << "fault " << static_cast<int>(fault) << " at operation " << k;
    }
    EXPECT_GE(k, erase ? 17 : 257) << static_cast<int>(fault);
  }
}

// The checks can fail: a chip that lies while nobody looks is noticed by them.
TEST(FaultRunsTest, TheChecksCanFail) {
  const std::vector<uint8_t> image = Noise(1);
  std::vector<uint8_t> flash = Noise(2);
  SimCard card(sim::Navi31Boot::kRomless, absl::MakeSpan(flash));
  card.chip().Inject(sim::SpiFault::kDropProgram, 3);
  const FlashOutcome outcome = FlashOnce(card, image, {0, 1}, false);
  EXPECT_EQ(std::string(outcome.status.message()).find("verify mismatch at 0x300"), 0u)
      << outcome.status;
  EXPECT_EQ(outcome.next_sector, 0);
}

}  // namespace
}  // namespace tg::flash
