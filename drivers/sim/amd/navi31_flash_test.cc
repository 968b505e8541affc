#include "drivers/sim/amd/navi31_flash.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drivers/sim/amd/psp_boot_mailbox.h"
#include "drivers/sim/spi/gd25lq16e.h"
#include "drivers/sim/spi/sim_clock.h"
#include "gtest/gtest.h"

namespace tg::sim {
namespace {

class Card {
 public:
  explicit Card(Navi31Boot boot)
      : array_(Gd25lq16e::kSize, 0xff),
        chip_(absl::MakeSpan(array_), &clock_),
        flash_(boot, &chip_, &clock_) {}

  uint32_t Read(uint32_t offset) {
    const absl::StatusOr<uint32_t> value = flash_.Read32(offset);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.value_or(0);
  }
  void Write(uint32_t offset, uint32_t value) {
    const absl::Status status = flash_.Write32(offset, value);
    EXPECT_TRUE(status.ok()) << status;
  }
  // The pads to SPI, and the engine in charge of the read mode.
  void Connect() {
    for (uint32_t gpio : {0x5a504, 0x5a508, 0x5a510}) Write(gpio, 0);
    Write(0x5a380, 0x18000008);
  }
  // One transaction, waited for.
  void Engine(uint32_t command, uint32_t cntl) {
    Write(0x5a3a4, 0);
    Write(0x5a3a8, command);
    Write(0x5a3a0, cntl);
    for (int i = 0; i < 100000 && Read(0x5a3a4) == 0; ++i) {
    }
    EXPECT_EQ(Read(0x5a3a4), 1u);
  }
  // Error in the low half, response in the high one.
  uint64_t Mailbox(uint32_t command, uint32_t data) {
    Write(PspBootMailbox::kCommandData, data);
    Write(PspBootMailbox::kCommand, command << 16);
    Write(PspBootMailbox::kDoorbell, 1);
    EXPECT_EQ(Read(PspBootMailbox::kCommand) >> 31, 0u) << "busy at first";
    clock_.Advance(1'000'000'000);
    const uint32_t status = Read(PspBootMailbox::kCommand);
    EXPECT_EQ(status >> 31, 1u);
    return uint64_t{Read(PspBootMailbox::kCommandData)} << 32 | (status & 0xffff);
  }

  std::vector<uint8_t> array_;
  SimClock clock_;
  Gd25lq16e chip_;
  Navi31Flash flash_;
};

constexpr uint32_t kReturn = 0x80000;

TEST(RomSwEngine, TheWindowIsOneTransactionLate) {
  Card card(Navi31Boot::kRomless);
  card.Connect();
  card.Engine(0x9f, kReturn | 4);
  EXPECT_EQ(card.Read(0x5a3b0), 0u);
  card.Engine(0x05, kReturn | 2);
  EXPECT_EQ(card.Read(0x5a3b0), 0xc81560c8u);
}

TEST(RomSwEngine, DataAndAddressGoHighestByteFirst) {
  Card card(Navi31Boot::kRomless);
  card.Connect();
  card.Engine(0x06, 0);
  card.Write(0x5a3b0, 0x01020304);
  card.Engine(0x001000 << 8 | 0x02, 3u << 16 | 3);
  EXPECT_EQ(card.array_[0x1000], 1);
  EXPECT_EQ(card.array_[0x1001], 2);
  EXPECT_EQ(card.array_[0x1002], 3);
  EXPECT_EQ(card.array_[0x1003], 0xff);
}

TEST(RomSwEngine, ThePadsMustBelongToSpi) {
  for (uint32_t gpio : {0x5a504, 0x5a508, 0x5a510}) {
    Card card(Navi31Boot::kRomless);
    card.Connect();
    card.Write(gpio, 0x100);
    card.Engine(0x9f, kReturn | 4);
    card.Engine(0x9f, kReturn | 4);
    EXPECT_EQ(card.Read(0x5a3b0), 0xffffffffu);
  }
}

TEST(RomSwEngine, GatedWhenFirmwareRuns) {
  Card card(Navi31Boot::kFirmware);
  card.Write(0x5a3a4, 0);
  EXPECT_EQ(card.Read(0x5a3a4), 0x04000800u);
  Card sos(Navi31Boot::kSos);
  EXPECT_EQ(sos.Read(0x5a380), 0xffffffffu);
}

TEST(RomSwEngine, MisuseFailsLoudly) {
  Card card(Navi31Boot::kRomless);
  const auto code = [&](uint32_t offset, uint32_t value) {
    return card.flash_.Write32(offset, value).code();
  };
  EXPECT_EQ(code(0x5a381, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(0x5a388, 0), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code(0x5a3a4, 1), absl::StatusCode::kUnimplemented);
  card.Connect();
  card.Write(0x5a3a8, 0x9f);
  EXPECT_EQ(code(0x5a3a0, kReturn | 1), absl::StatusCode::kUnimplemented) << "status not cleared";
  card.Write(0x5a3a4, 0);
  EXPECT_EQ(code(0x5a3a0, kReturn | 0x101), absl::StatusCode::kUnimplemented) << "too much";
  EXPECT_EQ(code(0x5a3a0, 1u << 18), absl::StatusCode::kUnimplemented) << "unknown bit";
  EXPECT_EQ(card.flash_.Read32(0x5a394).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(RomAperture, WritesArriveSwappedAndTheIndexWalks) {
  Card card(Navi31Boot::kFirmware);
  for (uint32_t i = 0; i < 16; ++i) card.array_[0x10000 + i] = static_cast<uint8_t>(i);
  card.Write(0x5a380, __builtin_bswap32(card.Read(0x5a380) | 1u << 29));
  card.Write(0x5a390, __builtin_bswap32(0x100));
  EXPECT_EQ(card.Read(0x5a394), 0x03020100u);
  EXPECT_EQ(card.Read(0x5a394), 0x07060504u);
  EXPECT_EQ(card.Read(0x5a390), 0x100u);
}

TEST(Mailbox, TakesAnItem) {
  Card card(Navi31Boot::kFirmware);
  card.flash_.mailbox().set_sequence({0x80, 0x289});
  EXPECT_EQ(card.Mailbox(7, 0), uint64_t{0x80} << 32);
  EXPECT_EQ(card.Mailbox(9, 0) & 0xffff, 0x10u) << "data before a start";
  EXPECT_EQ(card.Mailbox(8, 4 << 8 | 0x81) & 0xffff, 0x03u) << "not the item it wants";
  EXPECT_EQ(card.Mailbox(8, 4 << 8 | 0x80) & 0xffff, 0u);
  EXPECT_EQ(card.Mailbox(9, 0x44332211) & 0xffff, 0u);
  EXPECT_EQ(card.Mailbox(9, 0) & 0xffff, 0x11u) << "more than was announced";
  EXPECT_EQ(card.Mailbox(10, 4 << 8 | 0x80) & 0xffff, 0u);
  EXPECT_EQ(card.flash_.mailbox().items().at(0x80), (std::vector<uint8_t>{0x11, 0x22, 0x33, 0x44}));
  EXPECT_EQ(card.Mailbox(7, 0), uint64_t{0x289} << 32);
}

TEST(Mailbox, APartialEndGivesTheItemUp) {
  Card card(Navi31Boot::kFirmware);
  card.flash_.mailbox().set_sequence({0x280});
  EXPECT_EQ(card.Mailbox(8, 8 << 8 | 0x80) & 0xffff, 0u);
  EXPECT_EQ(card.Mailbox(9, 0) & 0xffff, 0u);
  EXPECT_EQ(card.Mailbox(10, 4 << 8 | 0x80) & 0xffff, 0x11u);
  EXPECT_EQ(card.Mailbox(7, 0), uint64_t{0x280} << 32) << "asks again";
  EXPECT_FALSE(card.flash_.mailbox().finished());
}

TEST(Mailbox, OtherStates) {
  Card sos(Navi31Boot::kSos);
  EXPECT_EQ(sos.Mailbox(7, 0) & 0xffff, 0x0au);
  EXPECT_EQ(sos.Mailbox(1, 0) & 0xffff, 0u);
  EXPECT_EQ(sos.Mailbox(0x55, 0) & 0xffff, 0x0eu);
  Card romless(Navi31Boot::kRomless);
  EXPECT_EQ(romless.Read(PspBootMailbox::kCommand), 0u);
}

}  // namespace
}  // namespace tg::sim
