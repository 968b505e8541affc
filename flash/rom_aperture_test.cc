#include "flash/rom_aperture.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drivers/sim/amd/navi31_flash.h"
#include "flash/ifwi.h"
#include "flash/sim_card.h"
#include "flash/test_image.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::flash {
namespace {

using ::testing::HasSubstr;

absl::Status Go(size_t) { return absl::OkStatus(); }

TEST(RomApertureTest, ReadsAllAndRestores) {
  std::vector<uint8_t> flash = TestImage(5);
  SimCard card(sim::Navi31Boot::kFirmware, absl::MakeSpan(flash));
  const std::vector<uint32_t> found = card.navi31().Persistent();
  std::vector<size_t> marks;
  const auto dump = ReadRomAperture(card.registers(), [&](size_t done) {
    marks.push_back(done);
    return absl::OkStatus();
  });
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(*dump, flash);
  EXPECT_EQ(marks.size(), 32u);
  EXPECT_EQ(marks.back(), kIfwiSize);
  EXPECT_TRUE(CheckRomDump(*dump).ok());
  EXPECT_EQ(card.navi31().Persistent(), found);
}

TEST(RomApertureTest, NothingIsWrittenToADeadController) {
  std::vector<uint8_t> flash = TestImage(5);
  SimCard card(sim::Navi31Boot::kSos, absl::MakeSpan(flash));
  const auto dump = ReadRomAperture(card.registers(), Go);
  EXPECT_THAT(std::string(dump.status().message()), HasSubstr("ROM controller is unavailable"));
  EXPECT_EQ(card.registers().count(), 2);
}

TEST(RomApertureTest, RestoresWhenAnythingFails) {
  std::vector<uint8_t> flash = TestImage(5);
  // Around the setup, the first page, a page's change, and the end.
  for (int64_t k : {2, 3, 4, 5, 1000, 16388, 16389, 524322, 524323, 524324}) {
    SimCard card(sim::Navi31Boot::kFirmware, absl::MakeSpan(flash));
    const std::vector<uint32_t> found = card.navi31().Persistent();
    card.registers().Inject(LinkFault::kError, k);
    const auto dump = ReadRomAperture(card.registers(), Go);
    const bool struck = card.registers().count() > k;
    EXPECT_EQ(dump.ok(), !struck) << k;
    if (card.navi31().Persistent() != found) {
      EXPECT_THAT(std::string(dump.status().message()), HasSubstr("not restored")) << k;
    }
  }
}

TEST(RomApertureTest, AnInterruptionRestores) {
  std::vector<uint8_t> flash = TestImage(5);
  SimCard card(sim::Navi31Boot::kFirmware, absl::MakeSpan(flash));
  const std::vector<uint32_t> found = card.navi31().Persistent();
  const auto dump = ReadRomAperture(card.registers(), [](size_t done) {
    return done == 0x20000 ? absl::CancelledError("interrupted") : absl::OkStatus();
  });
  EXPECT_EQ(dump.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(card.navi31().Persistent(), found);
}

TEST(RomApertureTest, WhatIsNoImageIsRefused) {
  std::vector<uint8_t> flash = TestImage(5);
  SimCard card(sim::Navi31Boot::kFirmware, absl::MakeSpan(flash));
  card.navi31().quirks().aperture_mirrored = true;
  const auto mirrored = ReadRomAperture(card.registers(), Go);
  ASSERT_TRUE(mirrored.ok());
  EXPECT_THAT(std::string(CheckRomDump(*mirrored).message()), HasSubstr("mirrored 1 MiB halves"));
  EXPECT_EQ(CheckRomDump(std::vector<uint8_t>(kIfwiSize, 0xff)).message(),
            "invalid raw flash dump: size=0x200000 magic=ffffffff");
  flash.pop_back();
  EXPECT_EQ(CheckRomDump(flash).message(), "invalid raw flash dump: size=0x1fffff magic=aa55aa55");
  EXPECT_EQ(CheckRomDump({}).message(), "invalid raw flash dump: size=0x0 magic=");
}

}  // namespace
}  // namespace tg::flash
