#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drivers/pci/config_space.h"
#include "drivers/pci/device_lock.h"
#include "drivers/sim/usb/sim_asm24.h"
#include "drivers/usb/asm24.h"
#include "drivers/usb/asm24_function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::usb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tg::pci::Width;

class Asm24Test : public ::testing::Test {
 protected:
  Asm24Test() : card_("sim:0", {.vendor = 0x1002, .device = 0x744c, .class_code = 0x030000}) {
    card_.AddMemoryBar(0, 1 << 20);
    card_.MakeResizable(0, 0b101);
    card_.AddMemoryBar(2, 8192, true);
    card_.AddRegisterBar(5, 4096,
                         {[this](uint64_t offset, Width width) -> absl::StatusOr<uint64_t> {
                            if (width != Width::k32) return absl::UnimplementedError("only dwords");
                            return registers_[offset];
                          },
                          [this](uint64_t offset, Width width, uint64_t value) -> absl::Status {
                            if (width != Width::k32) return absl::UnimplementedError("only dwords");
                            registers_[offset] = static_cast<uint32_t>(value);
                            return absl::OkStatus();
                          }});
  }
  absl::StatusOr<std::unique_ptr<pci::Function>> Open(int bridges = 4) {
    auto sim = std::make_unique<sim::SimAsm24>(&card_, bridges);
    sim_ = sim.get();
    sim_->set_link_state(link_state_);
    return OpenAsm24Function(std::move(sim), "usb:1:4", pci::DeviceLock());
  }

  sim::SimFunction card_;
  std::map<uint64_t, uint32_t> registers_;
  uint8_t link_state_ = Asm24::kLinkUp;
  sim::SimAsm24* sim_ = nullptr;
};

TEST_F(Asm24Test, SetsTheDeviceUp) {
  for (int bridges : {0, 1, 4, 15}) {
    const auto card = Open(bridges);
    ASSERT_TRUE(card.ok()) << bridges << card.status();
    EXPECT_EQ((*card)->bus(), "usb:1:4");
    EXPECT_EQ(pci::ReadIdentity(**card)->device, 0x744c);
    const pci::Bar bar0 = (*card)->GetBar(0).value();
    EXPECT_EQ(bar0.size, uint64_t{4 << 20}) << "as large as it can be";
    EXPECT_EQ(bar0.address, uint64_t{32} << 30);
    EXPECT_EQ((*card)->GetBar(1)->size, 0u);
    EXPECT_EQ((*card)->GetBar(2)->address, (uint64_t{32} << 30) + (4 << 20));
    EXPECT_EQ((*card)->GetBar(5)->address, 0x10000000u);
    EXPECT_EQ((*card)->ReadConfig(pci::kConfigCommand, Width::k16).value(), 6u);
  }
  EXPECT_THAT(std::string(Open(16).status().message()), HasSubstr("more than 16 bridges"));
}

TEST_F(Asm24Test, RegistersAndMemory) {
  const auto card = Open().value();
  const auto registers = card->MapBar(5).value();
  ASSERT_TRUE(registers->Write32(0x10, 0xcafef00d).ok());
  EXPECT_EQ(registers_[0x10], 0xcafef00d);
  EXPECT_EQ(registers->Read32(0x10).value(), 0xcafef00d);
  ASSERT_TRUE(registers->Write64(0x18, 0x1122334455667788).ok());
  EXPECT_EQ(registers_[0x18], 0x55667788u);
  EXPECT_EQ(registers_[0x1c], 0x11223344u);
  EXPECT_EQ(registers->Read64(0x18).value(), 0x1122334455667788u);

  const auto memory = card->MapBar(0).value();
  std::vector<uint8_t> bytes(10007), back(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 31 >> 2);
  ASSERT_TRUE(memory->WriteBytes((3 << 20) + 5, bytes).ok());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), card_.memory(0).begin() + (3 << 20) + 5));
  EXPECT_EQ(card_.memory(0)[(3 << 20) + 4], 0);
  ASSERT_TRUE(memory->ReadBytes((3 << 20) + 5, absl::MakeSpan(back)).ok());
  EXPECT_EQ(back, bytes);
  ASSERT_TRUE(memory->Write(2, Width::k16, 0xabcd).ok());
  EXPECT_EQ(memory->Read(3, Width::k8).value(), 0xabu);
  EXPECT_EQ(card_.memory(0)[1], 0);
  EXPECT_EQ(card_.memory(0)[4], 0);
}

TEST_F(Asm24Test, ResizeAndReset) {
  const auto card = Open().value();
  ASSERT_TRUE(card->ResizeBar(0, 1 << 20).ok());
  EXPECT_EQ(card->GetBar(0)->size, uint64_t{1 << 20});
  ASSERT_TRUE(card->MapBar(2).value()->Write32(8188, 7).ok());
  EXPECT_EQ(card_.memory(2)[8188], 7);
  ASSERT_TRUE(card->Reset().ok());
  EXPECT_EQ(card->GetBar(0)->size, uint64_t{4 << 20});
  EXPECT_EQ(card->MapBar(2).value()->Read32(8188).value(), 7u);
}

TEST_F(Asm24Test, SharedPage) {
  const auto card = Open().value();
  auto memory = card->AllocateDma(100, true).value();
  EXPECT_THAT(memory->pages(), ElementsAre(0x820000));
  std::vector<uint8_t> bytes(1000), back(1000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  ASSERT_TRUE(memory->Write(3000, bytes).ok());
  ASSERT_TRUE(memory->Read(3000, absl::MakeSpan(back)).ok());
  EXPECT_EQ(back, bytes);
  std::array<uint8_t, 1> first;
  ASSERT_TRUE(sim_->DeviceRead(0x820000 + 3001, absl::MakeSpan(first)).ok());
  EXPECT_EQ(first[0], 1);
}

TEST_F(Asm24Test, SharedSram) {
  const auto card = Open().value();
  auto memory = card->AllocateDma(100 << 10, true).value();
  EXPECT_EQ(memory->size(), 112u << 10) << "slots of 16 KiB";
  ASSERT_EQ(memory->pages().size(), 28u);
  for (size_t i = 0; i < 28; ++i) EXPECT_EQ(memory->pages()[i], 0x200000 + i * 4096);
  // Whole, within a slot, over the border of two, one byte, and up to the end.
  std::vector<uint8_t> expected(memory->size());
  for (const auto& [offset, size] : {std::pair{0, 112 << 10},
                                     {16 << 10, 512},
                                     {5, 100},
                                     {16380, 9},
                                     {40000, 30000},
                                     {1, 1},
                                     {(112 << 10) - 1, 1},
                                     {16 << 10, 20}}) {
    std::vector<uint8_t> bytes(static_cast<size_t>(size));
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(i * 37 + static_cast<size_t>(size));
    }
    std::copy(bytes.begin(), bytes.end(), expected.begin() + offset);
    ASSERT_TRUE(memory->Write(static_cast<uint64_t>(offset), bytes).ok()) << offset;
    std::vector<uint8_t> seen(memory->size());
    ASSERT_TRUE(sim_->DeviceRead(0x200000, absl::MakeSpan(seen)).ok());
    EXPECT_EQ(seen, expected) << offset << " " << size;
    std::vector<uint8_t> back(bytes.size());
    ASSERT_TRUE(memory->Read(static_cast<uint64_t>(offset), absl::MakeSpan(back)).ok());
    EXPECT_EQ(back, bytes) << offset;
  }
  // What the device has written.
  ASSERT_TRUE(sim_->DeviceWrite(0x200000 + 70001, std::vector<uint8_t>{1, 2, 3}).ok());
  std::array<uint8_t, 3> three;
  ASSERT_TRUE(memory->Read(70001, absl::MakeSpan(three)).ok());
  EXPECT_THAT(three, ElementsAre(1, 2, 3));
  EXPECT_EQ(memory->Read(112 << 10, absl::MakeSpan(three)).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(Asm24Test, SharedMemoryEnds) {
  const auto card = Open().value();
  const auto left = [&](uint64_t size) { return card->AllocateDma(size, false).status(); };
  EXPECT_EQ(left(0).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(left((512 << 10) + 1).code(), absl::StatusCode::kResourceExhausted);
  auto page = card->AllocateDma(4096, true).value();
  auto sram = card->AllocateDma(1, true).value();
  EXPECT_THAT(sram->pages(), ElementsAre(0x200000, 0x201000, 0x202000, 0x203000));
  EXPECT_EQ(left(1).message(),
            "usb:1:4: no 1 bytes: the bridge shares a page of 4096 (taken) and one block of 524288 "
            "(taken)");
  page.reset();
  EXPECT_TRUE(left(1).ok());
  EXPECT_FALSE(left(4097).ok());
  sram.reset();
  EXPECT_TRUE(left(512 << 10).ok());
}

TEST_F(Asm24Test, SramTransfersThatCannotBe) {
  sim::SimAsm24 sim(&card_, 0);
  Asm24 bridge(&sim);
  using Code = absl::StatusCode;
  std::vector<uint8_t> bytes(1 << 20);
  const auto write = [&](uint32_t slot, size_t size) {
    return bridge.WriteSram(slot, absl::MakeConstSpan(bytes).first(size)).code();
  };
  EXPECT_EQ(write(0, 0), Code::kInvalidArgument);
  EXPECT_EQ(write(0, 511), Code::kInvalidArgument);
  EXPECT_EQ(write(32, 512), Code::kOutOfRange);
  EXPECT_EQ(write(31, (16 << 10) + 512), Code::kOutOfRange);
  EXPECT_EQ(write(0xffffffff, 512), Code::kOutOfRange);
  EXPECT_EQ(write(31, 16 << 10), Code::kOk);
  EXPECT_EQ(write(0, 512 << 10), Code::kOk);
  EXPECT_EQ(bridge.ReadSram(0, absl::MakeSpan(bytes).first(100)).code(), Code::kInvalidArgument);
  sim.Unplug();
  EXPECT_EQ(write(0, 512), Code::kUnavailable);
  EXPECT_EQ(bridge.ReadSram(0, absl::MakeSpan(bytes).first(512)).code(), Code::kUnavailable);
}

TEST_F(Asm24Test, CompletionsThatDoNotCome) {
  const auto card = Open().value();
  const auto registers = card->MapBar(5).value();
  registers_[0] = 5;
  sim_->LoseCompletions(10);
  EXPECT_EQ(registers->Read32(0).value(), 5u);
  sim_->LoseCompletions(11);
  EXPECT_THAT(std::string(registers->Read32(0).status().message()),
              HasSubstr("TLP error after retries: ret_status=1, address=0x10000000"));
  EXPECT_EQ(registers->Read32(0).value(), 5u);
}

TEST_F(Asm24Test, CompletionsThatSaySo) {
  const auto card = Open().value();
  const auto registers = card->MapBar(5).value();
  auto error = [&](uint8_t status) {
    sim_->SpoilCompletion(status);
    return registers->Read32(0).status();
  };
  EXPECT_EQ(error(2).message(), "TLP completion status: Config Retry");
  EXPECT_EQ(error(2).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(error(4).message(), "TLP completion status: Completer Abort");
  EXPECT_EQ(error(6).message(), "TLP completion status: Reserved (0b110)");
  EXPECT_TRUE(registers->Read32(0).ok());
}

TEST_F(Asm24Test, NobodyThere) {
  const auto card = Open().value();
  const auto registers = card->MapBar(5).value();
  // The device forgets its addresses.
  ASSERT_TRUE(card->WriteConfig(pci::kConfigBar0 + 20, Width::k32, 0x2000'0000).ok());
  EXPECT_EQ(registers->Read32(0).value(), 0xffffffffu);
  EXPECT_EQ(registers->Read64(0).value(), ~uint64_t{0});
  sim_->Unplug();
  EXPECT_EQ(registers->Read32(0).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(registers->Write32(0, 1).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(card->ReadConfig(0, Width::k32).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(card->Reset().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Asm24Test, LinkDown) {
  link_state_ = 0x01;
  EXPECT_EQ(Open().status().message(),
            "usb:1:4: PCIe link not up (LTSSM=0x01), custom firmware not ready");
}

}  // namespace
}  // namespace tg::usb
