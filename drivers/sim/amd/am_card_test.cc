#include "drivers/sim/amd/am_card.h"

#include <memory>

#include "absl/status/status.h"
#include "drivers/pci/config_space.h"
#include "drivers/pci/function.h"
#include "drivers/sim/amd/smu.h"
#include "gtest/gtest.h"

namespace tg::sim {
namespace {

using Code = absl::StatusCode;

uint32_t Send(Smu& smu, uint32_t message, uint32_t argument) {
  EXPECT_TRUE(smu.Write(90, 0).ok());
  EXPECT_TRUE(smu.Write(82, argument).ok());
  EXPECT_TRUE(smu.Write(66, message).ok());
  return smu.Read(90).value();
}

TEST(Smu, AnswersMessages) {
  std::vector<uint8_t> table;
  uint64_t at = 0;
  Smu smu(SmuFirmware::k14_0_2, [&](uint64_t address, absl::Span<const uint8_t> bytes) {
    at = address;
    table.assign(bytes.begin(), bytes.end());
    return absl::OkStatus();
  });
  EXPECT_EQ(Send(smu, 1, 41), 1u);
  EXPECT_EQ(smu.Read(82).value(), 42u);
  EXPECT_EQ(Send(smu, 14, 0x80), 1u);
  EXPECT_EQ(Send(smu, 15, 0x1000), 1u);
  EXPECT_EQ(Send(smu, 18, 5), 1u);
  EXPECT_EQ(at, 0x80'0000'1000u);
  EXPECT_EQ(table.size(), 412u);
  EXPECT_EQ(Send(smu, 18, 8), 0xfeu) << "another table";
  EXPECT_EQ(Send(smu, 9, 0), 0xfeu) << "a message of other firmware";
  smu.set_delay(2);
  EXPECT_EQ(Send(smu, 1, 1), 0u);
  EXPECT_EQ(smu.Read(90).value(), 0u);
  EXPECT_EQ(smu.Read(90).value(), 1u);
  EXPECT_EQ(smu.Write(66, 1).code(), Code::kUnimplemented) << "the response was not cleared";
  EXPECT_EQ(smu.Read(3).status().code(), Code::kUnimplemented);
  EXPECT_EQ(smu.Write(3, 0).code(), Code::kUnimplemented);
}

TEST(Smu, SizesOfTables) {
  for (const auto& [firmware, high, get, argument, size] :
       {std::tuple{SmuFirmware::k13_0_0, 14, 18, 5, 396},
        std::tuple{SmuFirmware::k13_0_6, 13, 9, 0, 2268},
        std::tuple{SmuFirmware::k13_0_12, 13, 9, 0, 1284}}) {
    int written = 0;
    Smu smu(firmware, [&written = written](uint64_t, absl::Span<const uint8_t> bytes) {
      written = static_cast<int>(bytes.size());
      return absl::OkStatus();
    });
    EXPECT_EQ(Send(smu, static_cast<uint32_t>(high), 0), 1u);
    EXPECT_EQ(Send(smu, static_cast<uint32_t>(get), static_cast<uint32_t>(argument)), 1u);
    EXPECT_EQ(written, size);
  }
}

TEST(AmCard, Registers) {
  EXPECT_EQ(AmCard::Create({.chip = "gfx906"}).status().code(), Code::kInvalidArgument);
  for (const std::string& chip : AmCard::Chips()) {
    const auto card = AmCard::Create({.chip = chip}).value();
    EXPECT_EQ(card->function().bus(), "sim:" + chip);
    EXPECT_EQ(pci::ReadIdentity(card->function())->vendor, 0x1002);
    const auto registers = card->function().MapBar(5).value();
    EXPECT_EQ(uint64_t{registers->Read32(0xde3 * 4).value()} << 20, card->vram_bytes());
    EXPECT_EQ(registers->Read32((0xa000 + 0x2047) * 4).value(), 0xa0000008u);
    EXPECT_EQ(registers->Read32(0x9000).status().code(), Code::kUnimplemented);
    EXPECT_EQ(registers->Write32((0xa000 + 0x2047) * 4, 0).code(), Code::kPermissionDenied);
    EXPECT_EQ(registers->Read(0, pci::Width::k8).status().code(), Code::kUnimplemented);
    const auto memory = card->function().MapBar(0).value();
    EXPECT_EQ(memory->Read32(card->vram_bytes() - (64 << 10)).value(), 0x28211407u);
    EXPECT_EQ(memory->Write32(0, 1).code(), Code::kPermissionDenied);
  }
}

TEST(AmCard, MemoryBehindASmallBar) {
  const auto card = AmCard::Create({.small_bar = true}).value();
  EXPECT_EQ(card->function().GetBar(0)->size, 256u << 20);
  const auto registers = card->function().MapBar(5).value();
  EXPECT_EQ(registers->Read32(4).status().code(), Code::kUnimplemented);
  const uint64_t at = card->vram_bytes() - (64 << 10);
  ASSERT_TRUE(registers->Write32(6 * 4, static_cast<uint32_t>(at >> 31)).ok());
  ASSERT_TRUE(registers->Write32(0, static_cast<uint32_t>(at & 0x7fffffff) | 1u << 31).ok());
  EXPECT_EQ(registers->Read32(4).value(), 0x28211407u);
}

}  // namespace
}  // namespace tg::sim
