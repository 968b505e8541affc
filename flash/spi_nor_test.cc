#include "flash/spi_nor.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drivers/sim/spi/gd25lq16e.h"
#include "drivers/sim/spi/sim_clock.h"
#include "flash/registers.h"
#include "flash/sim_card.h"
#include "flash/spi_bus.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::flash {
namespace {

using ::testing::HasSubstr;

// The chip at the end of plain wires. A transfer takes 10 microseconds.
class Wires final : public SpiBus {
 public:
  Wires(sim::Gd25lq16e* chip, sim::SimClock* clock) : chip_(*chip), clock_(*clock) {}
  size_t max_data() const override { return 256; }
  absl::Status Transfer(const SpiCommand& command, absl::Span<uint8_t> in) override {
    clock_.Advance(10'000);
    std::vector<uint8_t> out = {command.opcode};
    for (int i = command.address_size - 1; i >= 0; --i) {
      out.push_back(static_cast<uint8_t>(command.address >> (8 * i)));
    }
    out.insert(out.end(), command.out.begin(), command.out.end());
    absl::Status status = chip_.Transfer(out, in);
    if (command.opcode == 0x9f && !identification.empty()) {
      std::copy_n(identification.begin(), std::min(in.size(), identification.size()), in.begin());
    }
    return status;
  }
  std::vector<uint8_t> identification;  // instead of the chip's

 private:
  sim::Gd25lq16e& chip_;
  sim::SimClock& clock_;
};

class SpiNorTest : public ::testing::Test {
 protected:
  SpiNorTest()
      : flash_(sim::Gd25lq16e::kSize, 0xff),
        time_(&clock_),
        chip_(absl::MakeSpan(flash_), &clock_),
        wires_(&chip_, &clock_) {}

  SpiNor Probe() {
    absl::StatusOr<SpiNor> nor = SpiNor::Probe(&wires_, &time_);
    EXPECT_TRUE(nor.ok()) << nor.status();
    return *std::move(nor);
  }
  static std::string Text(const absl::Status& status) { return std::string(status.message()); }

  std::vector<uint8_t> flash_;
  sim::SimClock clock_;
  SimTime time_;
  sim::Gd25lq16e chip_;
  Wires wires_;
};

std::vector<uint8_t> Sector(uint8_t seed) {
  std::vector<uint8_t> data(0x1000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 7 + seed);
  return data;
}

TEST_F(SpiNorTest, FindsTheChipWhereverTheCaptureStarts) {
  for (const std::vector<uint8_t>& capture :
       std::vector<std::vector<uint8_t>>{{0xc8, 0x60, 0x15, 0xc8},
                                         {0x60, 0x15, 0xc8, 0xc8},
                                         {0x15, 0xc8, 0xc8, 0x60},
                                         {0xff, 0xc8, 0x60, 0x15}}) {
    ASSERT_NE(FindChip(capture), nullptr);
    EXPECT_STREQ(FindChip(capture)->name, "GD25LQ16E");
  }
  EXPECT_EQ(FindChip({}), nullptr);
  EXPECT_EQ(FindChip({0xc8, 0x15, 0x60, 0xc8}), nullptr);
  wires_.identification = {0xff, 0xff, 0xff, 0xff};
  EXPECT_THAT(Text(SpiNor::Probe(&wires_, &time_).status()),
              HasSubstr("unexpected GD25LQ16E JEDEC capture: ffffffff"));
  wires_.identification = {0xef, 0x60, 0x15, 0xef};
  EXPECT_STREQ(Probe().chip().name, "W25Q16JW");
}

TEST_F(SpiNorTest, RowsAreComplete) {
  for (const Chip& chip : Chips()) {
    EXPECT_EQ(FindChip(chip.jedec), &chip) << chip.name;
    EXPECT_EQ(chip.size % chip.sector, 0u);
    EXPECT_EQ(chip.sector % chip.page, 0u);
    for (absl::Duration d : {chip.sector_erase, chip.page_program, chip.write_status}) {
      EXPECT_GT(d, absl::ZeroDuration());
      EXPECT_LE(d, absl::Seconds(60));
    }
  }
}

TEST_F(SpiNorTest, ReadsErasesAndPrograms) {
  SpiNor nor = Probe();
  const std::vector<uint8_t> data = Sector(3);
  std::fill(flash_.begin(), flash_.end(), 0x00);
  ASSERT_TRUE(nor.WriteSector(0x3000, data).ok());
  std::vector<uint8_t> back(0x1002);
  ASSERT_TRUE(nor.Read(0x2fff, absl::MakeSpan(back)).ok());
  EXPECT_EQ(back.front(), 0);
  EXPECT_EQ(back.back(), 0);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), back.begin() + 1));
  const int64_t transfers = chip_.counters().transfers;
  EXPECT_TRUE(nor.Read(0x200000, {}).ok());
  EXPECT_EQ(chip_.counters().transfers, transfers) << "nothing is nothing to do";
}

TEST_F(SpiNorTest, BlankPagesAreNotProgrammed) {
  SpiNor nor = Probe();
  std::vector<uint8_t> data(0x1000, 0xff);
  data[0x5ff] = 0;
  ASSERT_TRUE(nor.WriteSector(0, data).ok());
  EXPECT_EQ(chip_.counters().erases, 1);
  EXPECT_EQ(chip_.counters().programs, 1);
}

TEST_F(SpiNorTest, Refusals) {
  SpiNor nor = Probe();
  std::vector<uint8_t> byte(1), page(0x100), big(0x101);
  EXPECT_EQ(Text(nor.Read(0x200000, absl::MakeSpan(byte))), "read outside 2 MiB flash");
  EXPECT_EQ(Text(nor.Read(0xffffffff, absl::MakeSpan(byte))), "read outside 2 MiB flash");
  EXPECT_EQ(Text(nor.EraseSector(0x800)), "sector address is not 4 KiB aligned");
  EXPECT_FALSE(nor.EraseSector(0x200000).ok());
  for (const absl::Status& s :
       {nor.ProgramPage(0, {}), nor.ProgramPage(0, big), nor.ProgramPage(0x80, page)}) {
    EXPECT_EQ(Text(s), "page program crosses a 256-byte boundary");
  }
  EXPECT_FALSE(nor.ProgramPage(0x200000, page).ok());
  EXPECT_EQ(chip_.counters().erases + chip_.counters().programs, 0);
}

TEST_F(SpiNorTest, ClearsCmpAndNothingElse) {
  SpiNor nor = Probe();
  EXPECT_FALSE(*nor.ClearCmp());
  chip_.set_status(0, 0x04);
  chip_.set_status(1, 0x42);
  EXPECT_TRUE(*nor.ClearCmp());
  EXPECT_EQ(chip_.status(0), 0x04);
  EXPECT_EQ(chip_.status(1), 0x02);
  chip_.set_status(1, 0x41);  // SRP1 locks the register
  EXPECT_EQ(Text(nor.ClearCmp().status()), "failed to clear CMP (SR2=0x41)");
}

TEST_F(SpiNorTest, FaultsOfTheChipAreFound) {
  const struct {
    sim::SpiFault fault;
    const char* error;
  } faults[] = {{sim::SpiFault::kDropEnable, "WREN failed"},
                {sim::SpiFault::kDropErase, "verify mismatch at 0x0"},
                {sim::SpiFault::kHalfErase, "verify mismatch at 0x800"},
                {sim::SpiFault::kDropProgram, "verify mismatch at 0x0"},
                {sim::SpiFault::kHalfProgram, "verify mismatch at 0x80"},
                {sim::SpiFault::kFlipProgram, "verify mismatch at 0x0"},
                {sim::SpiFault::kFlipRead, "verify mismatch at 0x80"},
                {sim::SpiFault::kStuckBusy, "flash remained busy for 2s"}};
  for (const auto& [fault, error] : faults) {
    SpiNor nor = Probe();
    std::fill(flash_.begin(), flash_.begin() + 0x1000, 0x00);
    chip_.Inject(fault, 0);
    EXPECT_THAT(Text(nor.WriteSector(0, Sector(1))), HasSubstr(error));
    chip_.PowerCycle();
    EXPECT_TRUE(nor.WriteSector(0, Sector(1)).ok()) << error;
  }
}

// What the driver thinks is protected is what the chip protects, for every value of the bits that
// the chip's model has.
TEST_F(SpiNorTest, ProtectionAgreesWithTheChip) {
  const Chip& chip = Chips()[0];
  for (unsigned bits = 0; bits < 64; ++bits) {
    const uint8_t status1 = static_cast<uint8_t>((bits & 31) << 2);
    const uint8_t status2 = bits & 32 ? 0x40 : 0;
    if ((status1 & 0x5c) == 0x58) continue;  // BP4 = 1 with BP2..BP0 = 6: not in the model
    const Range range = ProtectedRange(chip, status1, status2);
    for (uint32_t address = 0; address < chip.size; address += chip.sector) {
      chip_.set_status(0, status1 | 2);
      chip_.set_status(1, status2);
      flash_[address] = 0xff;
      const uint8_t program[] = {0x02, static_cast<uint8_t>(address >> 16),
                                 static_cast<uint8_t>(address >> 8), 0, 0};
      ASSERT_TRUE(chip_.Transfer(program, {}).ok());
      clock_.Advance(1'000'000'000);
      const bool is_protected = address >= range.begin && address < range.end;
      ASSERT_EQ(flash_[address] == 0xff, is_protected)
          << "SR1 " << int{status1} << " SR2 " << int{status2} << " at " << address;
    }
  }
}

}  // namespace
}  // namespace tg::flash
