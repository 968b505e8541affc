// The simulated bridge by its requests, as its documentation has them; no driver of ours is used.
#include "drivers/sim/usb/sim_asm24.h"

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "drivers/pci/function.h"
#include "drivers/sim/pci/sim_function.h"
#include "gtest/gtest.h"

namespace tg::sim {
namespace {

using Code = absl::StatusCode;

constexpr absl::Duration kTimeout = absl::Seconds(1);
constexpr uint8_t kConfigRead = 0x04, kConfigWrite = 0x44, kMemoryRead = 0x20, kMemoryWrite = 0x60;

struct Completion {
  uint32_t data = 0;
  int status = 0;
  bool came = false;
};

class SimAsm24Test : public ::testing::Test {
 protected:
  SimAsm24Test() : card_("sim:0", {.vendor = 0x1002, .device = 0x744c}), bridge_(&card_, 1) {
    card_.AddMemoryBar(0, 1 << 20, /*is_64bit=*/false);
  }

  absl::Status Send(uint8_t type, uint64_t address, uint32_t value, uint8_t enables = 0xf,
                    uint16_t mode = 0) {
    std::array<uint8_t, 12> data;
    for (size_t i = 0; i < 8; ++i) data[i] = static_cast<uint8_t>(address >> (8 * i));
    for (size_t i = 0; i < 4; ++i) data[8 + i] = static_cast<uint8_t>(value >> (8 * i));
    return bridge_.ControlOut(0xf0, static_cast<uint16_t>(type | enables << 8), mode, data,
                              kTimeout);
  }
  Completion Complete() {
    std::array<uint8_t, 8> data = {};
    EXPECT_TRUE(bridge_.ControlIn(0xf0, 0, 0, absl::MakeSpan(data), kTimeout).ok());
    Completion c;
    for (size_t i = 0; i < 4; ++i) c.data |= uint32_t{data[i]} << (8 * i);
    c.status = data[4] >> 5;
    c.came = data[7] == 0;
    return c;
  }
  Completion Request(uint8_t type, uint64_t address, uint32_t value = 0, uint8_t enables = 0xf) {
    EXPECT_TRUE(Send(type, address, value, enables).ok());
    return Complete();
  }
  uint8_t Xdata(uint16_t address) {
    uint8_t byte = 0;
    EXPECT_TRUE(bridge_.ControlIn(0xe4, address, 0, {&byte, 1}, kTimeout).ok());
    return byte;
  }
  absl::Status Power(bool on) { return bridge_.ControlOut(0xf3, on ? 1 : 0, 0, {}, kTimeout); }
  // Numbers the one bridge's buses and opens its window for 0x10000000 to 0x100fffff.
  void SetUp() override {
    if (!Power(true).ok()) GTEST_FAIL();
    Request(kConfigWrite, 0x18, 0x00010100);
    Request(kConfigWrite, 0x20, 0x10001000);
    Request(kConfigWrite, 0x04, 0x6);
  }
  // Gives the device its address there, and has it decode that.
  void Assign() {
    Request(kConfigWrite | 1, 1 << 24 | 0x10, 0x10000000);
    Request(kConfigWrite | 1, 1 << 24 | 0x04, 0x2);
  }

  SimFunction card_;
  SimAsm24 bridge_;
};

TEST_F(SimAsm24Test, LinkAndXdata) {
  EXPECT_EQ(Xdata(0xb450), 0x78);
  ASSERT_TRUE(Power(false).ok());
  EXPECT_EQ(Xdata(0xb450), 0);
  EXPECT_FALSE(Request(kConfigRead, 0).came) << "without power nobody completes";
  ASSERT_TRUE(bridge_.ControlOut(0xe5, 0xa004, 0x5a, {}, kTimeout).ok());
  EXPECT_EQ(Xdata(0xa004), 0x5a);
  std::vector<uint8_t> many(256);
  EXPECT_EQ(bridge_.ControlIn(0xe4, 0, 0, absl::MakeSpan(many), kTimeout).code(),
            Code::kUnavailable);
  EXPECT_EQ(bridge_.ControlOut(0x77, 0, 0, {}, kTimeout).code(), Code::kUnavailable);
  EXPECT_EQ(bridge_.ControlOut(0xf0, 0, 0, {}, kTimeout).code(), Code::kUnavailable);
}

TEST_F(SimAsm24Test, ConfigSpace) {
  EXPECT_EQ(Request(kConfigRead, 0).data, 0x24641b21u) << "the bridge";
  EXPECT_EQ(Request(kConfigRead | 1, 1 << 24).data, 0x744c1002u) << "the device";
  EXPECT_EQ(Request(kConfigRead | 1, 1 << 24, 0, 0x4).data, 0x004c0000u) << "one byte of it";
  EXPECT_EQ(Request(kConfigRead, 1 << 24).status, 1) << "bus 1 takes requests of type 1";
  EXPECT_EQ(Request(kConfigRead | 1, 2 << 24).status, 1) << "there is no bus 2";
  EXPECT_EQ(Request(kConfigRead | 1, 1 << 24 | 1 << 19).status, 1) << "nor a device 1";
  ASSERT_TRUE(Power(true).ok());
  EXPECT_EQ(Request(kConfigRead | 1, 1 << 24).status, 1) << "buses are not numbered any more";
}

TEST_F(SimAsm24Test, MemoryAndWindows) {
  EXPECT_EQ(Request(kMemoryRead, 0x10000000).status, 1) << "the device has no address yet";
  Assign();
  ASSERT_TRUE(Send(kMemoryWrite, 0x10000010, 0x11223344).ok());
  EXPECT_EQ(Request(kMemoryRead, 0x10000010).data, 0x11223344u);
  ASSERT_TRUE(Send(kMemoryWrite, 0x10000010, 0xaabbccdd, 0x6).ok());
  EXPECT_EQ(Request(kMemoryRead, 0x10000010).data, 0x11bbcc44u);
  EXPECT_EQ(Request(kMemoryRead, 0x10100000).status, 1) << "behind the window";
  Request(kConfigWrite, 0x20, 0x20002000);
  EXPECT_EQ(Request(kMemoryRead, 0x10000010).status, 1) << "the window has moved away";
  EXPECT_EQ(Request(kMemoryRead, 0x10000010).data, 0xffffffffu);
}

TEST_F(SimAsm24Test, Streams) {
  Assign();
  std::vector<uint8_t> bytes(4096), back(4096);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 >> 1);
  EXPECT_FALSE(bridge_.BulkOut(0x02, bytes, kTimeout).ok()) << "it was not announced";
  ASSERT_TRUE(Send(kMemoryWrite, 0x10001000, 1024, 0xf, 1).ok());
  ASSERT_TRUE(bridge_.BulkOut(0x02, bytes, kTimeout).ok());
  EXPECT_FALSE(bridge_.BulkOut(0x02, bytes, kTimeout).ok()) << "once";
  ASSERT_TRUE(Send(kMemoryRead, 0x10001000, 1024, 0xf, 2).ok());
  EXPECT_FALSE(bridge_.BulkIn(0x81, absl::MakeSpan(back).first(4), kTimeout).ok());
  ASSERT_TRUE(Send(kMemoryRead, 0x10001000, 1024, 0xf, 2).ok());
  ASSERT_TRUE(bridge_.BulkIn(0x81, absl::MakeSpan(back), kTimeout).ok());
  EXPECT_EQ(back, bytes);
  EXPECT_FALSE(Send(kMemoryRead, 0x10001000, 1024, 0xf, 1).ok()) << "a read is no write";
}

TEST_F(SimAsm24Test, Sram) {
  const auto announce = [&](uint16_t value, uint16_t index) {
    return bridge_.ControlOut(0xf2, value, index, {}, kTimeout).ok();
  };
  std::vector<uint8_t> bytes(33 * 512), back(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 13 >> 2);
  ASSERT_TRUE(announce(33, 4 | 2 << 8));
  ASSERT_TRUE(bridge_.BulkOut(0x02, bytes, kTimeout).ok());
  std::vector<uint8_t> seen(bytes.size());
  ASSERT_TRUE(bridge_.DeviceRead(0x200000 + 4 * 16384, absl::MakeSpan(seen)).ok());
  EXPECT_EQ(seen, bytes);
  ASSERT_TRUE(announce(33 | 0x8000, 4 | 2 << 8));
  EXPECT_FALSE(bridge_.BulkOut(0x02, bytes, kTimeout).ok()) << "a read was announced";
  ASSERT_TRUE(bridge_.BulkIn(0x81, absl::MakeSpan(back), kTimeout).ok());
  EXPECT_EQ(back, bytes);
  EXPECT_FALSE(bridge_.BulkIn(0x81, absl::MakeSpan(back), kTimeout).ok()) << "once";
  EXPECT_FALSE(announce(0, 0));
  EXPECT_FALSE(announce(33, 1 << 8)) << "33 sectors need two slots";
  EXPECT_FALSE(announce(33, 31 | 2 << 8)) << "behind the end";
  EXPECT_FALSE(announce(1, 255 | 1 << 8));
}

TEST_F(SimAsm24Test, WhatTheDeviceSees) {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  std::vector<uint8_t> back(3);
  ASSERT_TRUE(bridge_.DeviceWrite(0x820ffd, bytes).ok());
  EXPECT_EQ(Xdata(0xafff), 3);
  ASSERT_TRUE(bridge_.DeviceRead(0x820ffd, absl::MakeSpan(back)).ok());
  EXPECT_EQ(back, bytes);
  for (uint64_t address :
       {uint64_t{0x820ffe}, uint64_t{0x27fffe}, uint64_t{0x1fffff}, uint64_t{0}, ~uint64_t{0}}) {
    EXPECT_EQ(bridge_.DeviceRead(address, absl::MakeSpan(back)).code(), Code::kOutOfRange);
    EXPECT_EQ(bridge_.DeviceWrite(address, bytes).code(), Code::kOutOfRange);
  }
}

TEST_F(SimAsm24Test, Faults) {
  bridge_.LoseCompletions(1);
  EXPECT_FALSE(Request(kConfigRead, 0).came);
  EXPECT_TRUE(Request(kConfigRead, 0).came);
  bridge_.SpoilCompletion(4);
  EXPECT_EQ(Request(kConfigRead, 0).status, 4);
  EXPECT_EQ(Request(kConfigRead, 0).status, 0);
  bridge_.Unplug();
  EXPECT_EQ(Send(kConfigRead, 0, 0).code(), Code::kUnavailable);
  std::vector<uint8_t> bytes(512);
  EXPECT_EQ(bridge_.BulkOut(0x02, bytes, kTimeout).code(), Code::kUnavailable);
  EXPECT_EQ(bridge_.BulkIn(0x81, absl::MakeSpan(bytes), kTimeout).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace tg::sim
