#include "drivers/sim/spi/gd25lq16e.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drivers/sim/spi/sim_clock.h"
#include "gtest/gtest.h"

namespace tg::sim {
namespace {

using Bytes = std::vector<uint8_t>;

class Gd25lq16eTest : public ::testing::Test {
 protected:
  Gd25lq16eTest() : array_(Gd25lq16e::kSize, 0xff), chip_(absl::MakeSpan(array_), &clock_) {}

  Bytes Send(const Bytes& out, size_t in_count = 0) {
    Bytes in(in_count);
    const absl::Status status = chip_.Transfer(out, absl::MakeSpan(in));
    EXPECT_TRUE(status.ok()) << status;
    return in;
  }
  void Enabled(const Bytes& out) {
    Send({0x06});
    Send(out);
  }
  void Wait() { clock_.Advance(10'000'000'000); }
  uint8_t Status1() { return Send({0x05}, 1)[0]; }

  std::vector<uint8_t> array_;
  SimClock clock_;
  Gd25lq16e chip_;
};

TEST_F(Gd25lq16eTest, IdentifiesItself) {
  EXPECT_EQ(Send({0x9f}, 4), (Bytes{0xc8, 0x60, 0x15, 0xc8}));
  const Bytes sfdp = Send({0x5a, 0, 0, 0}, 9);  // a dummy byte comes first
  EXPECT_EQ(sfdp[0], 0xff);
  EXPECT_EQ(std::string(sfdp.begin() + 1, sfdp.begin() + 5), "SFDP");
  // Dword 2 of the basic table: the highest bit, so 16 Mbit less one.
  EXPECT_EQ(Send({0x5a, 0, 0, 0x34, 0}, 4), (Bytes{0xff, 0xff, 0xff, 0x00}));
}

TEST_F(Gd25lq16eTest, ProgrammingClearsBitsAndErasingSetsThem) {
  Enabled({0x02, 0, 0, 0, 0xf0, 0x3c});
  Wait();
  Enabled({0x02, 0, 0, 0, 0x55, 0xff});
  Wait();
  EXPECT_EQ(Send({0x03, 0, 0, 0}, 3), (Bytes{0x50, 0x3c, 0xff}));
  EXPECT_EQ(Send({0x0b, 0, 0, 0, 0}, 2), (Bytes{0x50, 0x3c}));
  Enabled({0x20, 0, 0x0f, 0xff});
  Wait();
  EXPECT_EQ(Send({0x03, 0, 0, 0}, 2), (Bytes{0xff, 0xff}));
}

TEST_F(Gd25lq16eTest, AProgramWrapsInItsPage) {
  Enabled({0x02, 0, 0x12, 0xfe, 1, 2, 3});
  Wait();
  EXPECT_EQ(Send({0x03, 0, 0x12, 0xfe}, 3), (Bytes{1, 2, 0xff}));
  EXPECT_EQ(Send({0x03, 0, 0x12, 0x00}, 2), (Bytes{3, 0xff}));
  // Of 258 bytes the last 256 count.
  Bytes out = {0x02, 0, 0x20, 0x00};
  for (int i = 0; i < 258; ++i) out.push_back(static_cast<uint8_t>(i < 2 ? 0 : i));
  Enabled(out);
  Wait();
  EXPECT_EQ(Send({0x03, 0, 0x20, 0x00}, 3), (Bytes{0, 1, 2}));
  EXPECT_EQ(Send({0x03, 0, 0x20, 0xff}, 2), (Bytes{0xff, 0xff}));
}

TEST_F(Gd25lq16eTest, BusyTakesSimulatedTimeAndIsDeaf) {
  Enabled({0x20, 0, 0, 0});
  EXPECT_EQ(Status1() & 3, 1);
  EXPECT_EQ(Send({0x9f}, 1), Bytes{0xff});
  Send({0x06});
  clock_.Advance(69'000'000);
  EXPECT_EQ(Status1(), 1);
  clock_.Advance(1'000'000);
  EXPECT_EQ(Status1(), 0) << "idle, and the write enable meanwhile was not heard";
  EXPECT_EQ(chip_.counters().ignored, 2);
}

TEST_F(Gd25lq16eTest, NothingIsWrittenWithoutWriteEnable) {
  Send({0x02, 0, 0, 0, 0});
  Send({0x20, 0, 0, 0});
  Send({0x01, 0, 0x40});
  Send({0x06});
  Send({0x04});
  Send({0x02, 0, 0, 0, 0});
  EXPECT_EQ(array_[0], 0xff);
  EXPECT_EQ(chip_.status(1), 0);
  EXPECT_EQ(chip_.counters().ignored, 4);
  Enabled({0x02, 0, 0, 0, 0});
  Wait();
  EXPECT_EQ(Status1() & 2, 0) << "the latch is gone after a program";
}

struct Protection {
  uint8_t bits;  // BP4..BP0
  bool cmp;
  size_t begin, end;  // protected
};

class ProtectionTest : public ::testing::TestWithParam<Protection> {};

TEST_P(ProtectionTest, EveryEdge) {
  std::vector<uint8_t> array(Gd25lq16e::kSize, 0xff);
  SimClock clock;
  Gd25lq16e chip(absl::MakeSpan(array), &clock);
  chip.set_status(0, static_cast<uint8_t>(GetParam().bits << 2));
  chip.set_status(1, GetParam().cmp ? 0x40 : 0);
  for (size_t sector = 0; sector < 512; ++sector) {
    const size_t at = sector * 0x1000;
    array[at] = 0xff;
    const auto byte = [](size_t v) { return static_cast<uint8_t>(v); };
    const Bytes program = {0x02, byte(at >> 16), byte(at >> 8), byte(at), 0x00};
    ASSERT_TRUE(chip.Transfer(Bytes{0x06}, {}).ok());
    ASSERT_TRUE(chip.Transfer(program, {}).ok());
    clock.Advance(1'000'000'000);
    const bool is_protected = at >= GetParam().begin && at < GetParam().end;
    ASSERT_EQ(array[at], is_protected ? 0xff : 0x00) << "sector " << sector;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ProtectionTest,
                         ::testing::Values(Protection{0b00000, false, 0, 0},
                                           Protection{0b00000, true, 0, 0x200000},
                                           Protection{0b00001, false, 0x1f0000, 0x200000},
                                           Protection{0b00101, false, 0x100000, 0x200000},
                                           Protection{0b01001, false, 0, 0x10000},
                                           Protection{0b01100, false, 0, 0x80000},
                                           Protection{0b00110, false, 0, 0x200000},
                                           Protection{0b10001, false, 0x1ff000, 0x200000},
                                           Protection{0b10011, false, 0x1fc000, 0x200000},
                                           Protection{0b10100, false, 0x1f8000, 0x200000},
                                           Protection{0b11011, false, 0, 0x4000},
                                           Protection{0b00001, true, 0, 0x1f0000},
                                           Protection{0b01001, true, 0x10000, 0x200000}));

TEST_F(Gd25lq16eTest, CmpIsClearedByWritingBothStatusRegisters) {
  chip_.set_status(1, 0x42);
  Enabled({0x01, 0x00, 0x02});
  Wait();
  EXPECT_EQ(Send({0x35}, 1), Bytes{0x02});
  EXPECT_EQ(Send({0x15}, 1), Bytes{0x00});
}

TEST_F(Gd25lq16eTest, LockedStatusRegistersStay) {
  chip_.set_status(1, 0x41);  // SRP1
  Enabled({0x01, 0x00, 0x00});
  Wait();
  EXPECT_EQ(chip_.status(1), 0x41);
}

TEST_F(Gd25lq16eTest, WhatIsNotModelledFailsLoudly) {
  Bytes in(1);
  for (const Bytes& out : {Bytes{0xeb, 0, 0, 0}, Bytes{0xb9}, Bytes{0x01, 0}, Bytes{}}) {
    EXPECT_EQ(chip_.Transfer(out, absl::MakeSpan(in)).code(), absl::StatusCode::kUnimplemented);
  }
}

TEST_F(Gd25lq16eTest, Faults) {
  chip_.Inject(SpiFault::kHalfErase, 1);
  std::fill(array_.begin(), array_.begin() + 0x2000, 0x00);
  Enabled({0x20, 0, 0, 0});
  Wait();
  Enabled({0x20, 0, 0x10, 0});
  Wait();
  EXPECT_EQ(array_[0xfff], 0xff) << "the first erase is not struck";
  EXPECT_EQ(array_[0x17ff], 0xff);
  EXPECT_EQ(array_[0x1800], 0x00);

  chip_.Inject(SpiFault::kHalfProgram, 0);
  Enabled({0x02, 0, 0, 0, 1, 2, 3, 4});
  Wait();
  EXPECT_EQ(Send({0x03, 0, 0, 0}, 4), (Bytes{1, 2, 0xff, 0xff}));

  chip_.Inject(SpiFault::kStuckBusy, 0);
  Enabled({0x20, 0, 0, 0});
  Wait();
  EXPECT_EQ(Status1(), 1);
  chip_.PowerCycle();
  EXPECT_EQ(Status1(), 0);
}

}  // namespace
}  // namespace tg::sim
