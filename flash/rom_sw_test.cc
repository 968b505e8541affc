#include "flash/rom_sw.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "drivers/sim/amd/navi31_flash.h"
#include "drivers/sim/spi/gd25lq16e.h"
#include "flash/registers.h"
#include "flash/sim_card.h"
#include "flash/spi_bus.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::flash {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Writes down what passes.
class Recorder final : public Registers {
 public:
  explicit Recorder(Registers* card) : card_(*card) {}
  absl::StatusOr<uint32_t> Read32(uint32_t offset) override {
    const absl::StatusOr<uint32_t> value = card_.Read32(offset);
    log.push_back(absl::StrFormat("R %05x", offset));
    return value;
  }
  absl::Status Write32(uint32_t offset, uint32_t value) override {
    log.push_back(absl::StrFormat("W %05x %x", offset, value));
    return card_.Write32(offset, value);
  }
  std::vector<std::string> log;

 private:
  Registers& card_;
};

class RomSwTest : public ::testing::Test {
 protected:
  explicit RomSwTest(sim::Navi31Boot boot = sim::Navi31Boot::kRomless)
      : flash_(sim::Gd25lq16e::kSize, 0xff),
        card_(boot, absl::MakeSpan(flash_)),
        recorder_(&card_.registers()),
        found_(card_.navi31().Persistent()) {}

  std::unique_ptr<RomSw> Open(int prescale = 8) {
    absl::StatusOr<std::unique_ptr<RomSw>> bus = RomSw::Open(&recorder_, &card_.clock(), prescale);
    EXPECT_TRUE(bus.ok()) << bus.status();
    return bus.ok() ? *std::move(bus) : nullptr;
  }

  std::vector<uint8_t> flash_;
  SimCard card_;
  Recorder recorder_;
  const std::vector<uint32_t> found_;
};

TEST_F(RomSwTest, AccessOrderOfACommandWithData) {
  const std::unique_ptr<RomSw> bus = Open();
  EXPECT_EQ(card_.navi31().Persistent()[0], 0x18800021u);
  recorder_.log.clear();
  const uint8_t data[] = {1, 2, 3, 4, 5};
  ASSERT_TRUE(
      bus->Transfer({.opcode = 0x02, .address = 0x12345, .address_size = 3, .out = data}, {}).ok());
  EXPECT_THAT(recorder_.log,
              ElementsAre(
                  // Save.
                  "R 5a504", "R 5a508", "R 5a510", "R 5a384", "R 5a380",
                  // Pads, mirror, read mode, engine cleared.
                  "W 5a504 0", "W 5a508 0", "W 5a510 0", "W 5a384 6000000", "W 5a380 18800028",
                  "W 5a3a0 0", "W 5a3a4 0", "R 5a3a4",
                  // Command, data, go.
                  "W 5a3a8 1234502", "W 5a3b0 1020304", "W 5a3b4 5000000", "W 5a3a0 30005",
                  "R 5a3a0", "R 5a3a4", "R 5a3a4", "R 5a3a4", "R 5a3a4", "R 5a3a4", "R 5a3a4",
                  // Restore.
                  "W 5a3a0 0", "W 5a3a4 0", "W 5a380 18800021", "W 5a384 a000000", "W 5a508 80",
                  "W 5a510 100", "W 5a504 780"));
}

TEST_F(RomSwTest, CommandsThatReturnDataAreSentTwice) {
  const std::unique_ptr<RomSw> bus = Open();
  std::vector<uint8_t> id(4);
  ASSERT_TRUE(bus->Transfer({.opcode = 0x9f}, absl::MakeSpan(id)).ok());
  EXPECT_THAT(id, ElementsAre(0xc8, 0x60, 0x15, 0xc8));
  EXPECT_EQ(card_.chip().counters().transfers, 2);
  recorder_.log.clear();
  uint8_t status = 0xee;
  ASSERT_TRUE(bus->Transfer({.opcode = 0x05}, absl::MakeSpan(&status, 1)).ok());
  EXPECT_EQ(status, 0);
  EXPECT_THAT(recorder_.log, ::testing::Contains("W 5a3a0 80002")) << "two bytes at first";
  EXPECT_THAT(recorder_.log, ::testing::Contains("W 5a3a0 80001"));
}

TEST_F(RomSwTest, CloseRestoresEverything) {
  for (int prescale : {0, 8, 15}) {
    const std::unique_ptr<RomSw> bus = Open(prescale);
    ASSERT_TRUE(bus->Transfer({.opcode = 0x06}, {}).ok());
    EXPECT_NE(card_.navi31().Persistent(), found_);
    EXPECT_TRUE(bus->Close().ok());
    EXPECT_EQ(card_.navi31().Persistent(), found_);
  }
  Open();  // the destructor closes
  EXPECT_EQ(card_.navi31().Persistent(), found_);
}

TEST_F(RomSwTest, Refusals) {
  const auto message = [](const absl::Status& s) { return std::string(s.message()); };
  EXPECT_EQ(message(RomSw::Open(&recorder_, &card_.clock(), 16).status()),
            "prescale must be 0..15");
  EXPECT_EQ(message(RomSw::Open(&recorder_, &card_.clock(), -1).status()),
            "prescale must be 0..15");
  EXPECT_TRUE(recorder_.log.empty());
  const std::unique_ptr<RomSw> bus = Open();
  recorder_.log.clear();
  std::vector<uint8_t> in(257), out(257);
  EXPECT_EQ(message(bus->Transfer({.opcode = 2, .out = out}, absl::MakeSpan(in))),
            "simultaneous TX and RX is unsupported");
  EXPECT_EQ(message(bus->Transfer({.opcode = 2, .address_size = 4}, {})),
            "address_len must be 0..3");
  EXPECT_EQ(message(bus->Transfer({.opcode = 2, .out = out}, {})),
            "transfer data must be <= 256 bytes");
  EXPECT_EQ(message(bus->Transfer({.opcode = 3}, absl::MakeSpan(in))),
            "transfer data must be <= 256 bytes");
  EXPECT_TRUE(recorder_.log.empty());
}

TEST_F(RomSwTest, AnEngineThatNeverEnds) {
  const std::unique_ptr<RomSw> bus = Open();
  card_.navi31().quirks().engine_never_done = true;
  const absl::Status status = bus->Transfer({.opcode = 0x06}, {});
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(std::string(status.message()),
            "ROM_SW transaction timeout (status=0x00000000); engine may be gated after SOS boot");
  EXPECT_TRUE(bus->Close().ok());
  EXPECT_EQ(card_.navi31().Persistent(), found_);
}

// Another value that does not go away.
TEST_F(RomSwTest, AStatusThatDoesNotClear) {
  const std::unique_ptr<RomSw> bus = Open();
  card_.registers().Inject(LinkFault::kDropWrite, card_.registers().count() + 11);
  EXPECT_EQ(std::string(bus->Transfer({.opcode = 0x06}, {}).message()),
            "ROM_SW_STATUS did not clear (status=0x00000001): the engine is gated while firmware "
            "runs; start the card without booting from its flash");
  EXPECT_EQ(card_.chip().counters().transfers, 0);
  EXPECT_TRUE(bus->Close().ok());
  EXPECT_EQ(card_.navi31().Persistent(), found_);
}

TEST_F(RomSwTest, ALostLinkIsStated) {
  for (LinkFault fault : {LinkFault::kLost, LinkFault::kAllOnes}) {
    card_.registers().Inject(LinkFault::kNone, 0);
    const std::unique_ptr<RomSw> bus = Open();
    card_.registers().Inject(fault, card_.registers().count() + 8);
    std::vector<uint8_t> id(4);
    EXPECT_EQ(bus->Transfer({.opcode = 0x9f}, absl::MakeSpan(id)).code(),
              absl::StatusCode::kUnavailable);
    const absl::Status closed = bus->Close();
    EXPECT_EQ(closed.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(closed.message()), HasSubstr("ROM_CNTL was 0x"));
    card_.registers().Inject(LinkFault::kNone, 0);
  }
}

TEST_F(RomSwTest, AWrongFirstReadIsNoticedBeforeAWrite) {
  // Ten of them; between is the status, whose wrong bit is cleared before it matters.
  for (int64_t k : {0, 1, 2, 3, 4, 6, 7, 8, 9, 10}) {
    card_.registers().Inject(LinkFault::kFlipRead, card_.registers().count() + k);
    recorder_.log.clear();
    const absl::Status status = RomSw::Open(&recorder_, &card_.clock(), 8).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << k;
    EXPECT_THAT(recorder_.log, ::testing::Each(::testing::StartsWith("R"))) << k;
  }
}

class GatedTest : public RomSwTest {
 protected:
  GatedTest() : RomSwTest(sim::Navi31Boot::kFirmware) {}
};

TEST_F(GatedTest, IsNoticedBeforeAWrite) {
  const absl::Status status = RomSw::Open(&recorder_, &card_.clock(), 8).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("gated (status=0x04000800)"));
  EXPECT_THAT(recorder_.log, ::testing::Each(::testing::StartsWith("R")));
}

class DeadTest : public RomSwTest {
 protected:
  DeadTest() : RomSwTest(sim::Navi31Boot::kSos) {}
};

TEST_F(DeadTest, AControllerThatReadsAllOnesIsNotOpened) {
  const absl::Status status = RomSw::Open(&recorder_, &card_.clock(), 8).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(recorder_.log, ::testing::Each(::testing::StartsWith("R")));
}

}  // namespace
}  // namespace tg::flash
