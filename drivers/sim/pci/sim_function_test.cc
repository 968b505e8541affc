#include "drivers/sim/pci/sim_function.h"

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drivers/pci/config_space.h"
#include "drivers/sim/pci/faulty_function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tg::pci::Width;

// A card with 1 MiB of memory that can become 4 MiB, and a BAR of 32-bit registers.
class SimFunctionTest : public ::testing::Test {
 protected:
  SimFunctionTest()
      : card_("sim:0", {.vendor = 0x1002,
                        .device = 0x744c,
                        .subsystem_vendor = 0x1da2,
                        .subsystem = 0xe471,
                        .class_code = 0x030000,
                        .revision = 0xc8}) {
    card_.AddMemoryBar(0, 1 << 20);
    card_.MakeResizable(0, 0b101);
    card_.AddRegisterBar(5, 4096,
                         {[this](uint64_t offset, Width width) -> absl::StatusOr<uint64_t> {
                            if (width != Width::k32)
                              return absl::UnimplementedError("only 32 bits");
                            return registers_[offset];
                          },
                          [this](uint64_t offset, Width width, uint64_t value) -> absl::Status {
                            if (width != Width::k32)
                              return absl::UnimplementedError("only 32 bits");
                            registers_[offset] = static_cast<uint32_t>(value);
                            return absl::OkStatus();
                          }});
  }

  std::map<uint64_t, uint32_t> registers_;
  SimFunction card_;
};

TEST_F(SimFunctionTest, Identity) {
  const absl::StatusOr<pci::Identity> id = pci::ReadIdentity(card_);
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(id->vendor, 0x1002);
  EXPECT_EQ(id->device, 0x744c);
  EXPECT_EQ(id->subsystem_vendor, 0x1da2);
  EXPECT_EQ(id->subsystem, 0xe471);
  EXPECT_EQ(id->class_code, 0x030000u);
  EXPECT_EQ(id->revision, 0xc8);
  // Not writable.
  ASSERT_TRUE(card_.WriteConfig(pci::kConfigVendor, Width::k16, 0x1234).ok());
  EXPECT_EQ(card_.ReadConfig(pci::kConfigVendor, Width::k16).value(), 0x1002u);
}

TEST_F(SimFunctionTest, AccessesAreChecked) {
  using Code = absl::StatusCode;
  EXPECT_EQ(card_.ReadConfig(4096, Width::k8).status().code(), Code::kOutOfRange);
  EXPECT_EQ(card_.ReadConfig(0xffffffff, Width::k32).status().code(), Code::kOutOfRange);
  EXPECT_EQ(card_.ReadConfig(2, Width::k32).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(card_.ReadConfig(0, Width::k64).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(card_.WriteConfig(0, Width::k8, 256).code(), Code::kInvalidArgument);
  EXPECT_EQ(card_.GetBar(6).status().code(), Code::kOutOfRange);
  EXPECT_EQ(card_.GetBar(-1).status().code(), Code::kOutOfRange);
  EXPECT_EQ(card_.MapBar(2).status().code(), Code::kNotFound);
  EXPECT_EQ(card_.MapBar(1).status().code(), Code::kNotFound) << "upper half of BAR 0";
  const auto bar = card_.MapBar(5).value();
  EXPECT_EQ(bar->Read32(4096).status().code(), Code::kOutOfRange);
  EXPECT_EQ(bar->Read(~uint64_t{0}, Width::k8).status().code(), Code::kOutOfRange);
  EXPECT_EQ(bar->Read32(2).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(bar->Write(0, Width::k16, 0x10000).code(), Code::kInvalidArgument);
  std::vector<uint8_t> bytes(8);
  EXPECT_EQ(bar->ReadBytes(4090, absl::MakeSpan(bytes)).code(), Code::kOutOfRange);
  EXPECT_EQ(bar->Read(0, Width::k8).status().code(), Code::kUnimplemented);
}

TEST_F(SimFunctionTest, RegistersAndMemory) {
  const auto bar5 = card_.MapBar(5).value();
  ASSERT_TRUE(bar5->Write32(0x10, 0xdeadbeef).ok());
  EXPECT_EQ(registers_[0x10], 0xdeadbeef);
  EXPECT_EQ(bar5->Read32(0x10).value(), 0xdeadbeef);
  const auto bar0 = card_.MapBar(0).value();
  const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  ASSERT_TRUE(bar0->WriteBytes(3, bytes).ok());
  EXPECT_EQ(bar0->Read64(8).value(), 0x090807'06u);
  std::vector<uint8_t> back(9);
  ASSERT_TRUE(bar0->ReadBytes(3, absl::MakeSpan(back)).ok());
  EXPECT_EQ(back, bytes);
  // Without memory decoding nobody answers.
  ASSERT_TRUE(card_.WriteConfig(pci::kConfigCommand, Width::k16, 0).ok());
  EXPECT_EQ(bar5->Read32(0x10).value(), 0xffffffff);
  ASSERT_TRUE(bar5->Write32(0x10, 1).ok());
  ASSERT_TRUE(pci::EnableCommand(card_, pci::kCommandMemory).ok());
  EXPECT_EQ(bar5->Read32(0x10).value(), 0xdeadbeef);
}

TEST_F(SimFunctionTest, ProbingFindsWhatTheTableSays) {
  for (int i = 0; i < pci::Function::kBars; ++i) {
    const absl::StatusOr<pci::Bar> probed = pci::ProbeBar(card_, i);
    ASSERT_TRUE(probed.ok()) << i << probed.status();
    const pci::Bar bar = card_.GetBar(i).value();
    EXPECT_EQ(probed->address, bar.address) << i;
    EXPECT_EQ(probed->size, bar.size) << i;
    EXPECT_EQ(probed->prefetchable, bar.prefetchable) << i;
    EXPECT_EQ(probed->is_64bit, bar.is_64bit) << i;
  }
  EXPECT_EQ(card_.ReadConfig(pci::kConfigCommand, Width::k16).value(), pci::kCommandMemory);
}

TEST_F(SimFunctionTest, ResizableBar) {
  EXPECT_EQ(pci::ResizableBarSizes(card_, 0).value(), 0b101u);
  EXPECT_EQ(pci::ResizableBarSizes(card_, 5).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(card_.ResizeBar(0, 2 << 20).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(card_.ResizeBar(0, 3 << 20).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(card_.ResizeBar(0, 4 << 20).ok());
  EXPECT_EQ(card_.GetBar(0)->size, uint64_t{4 << 20});
  EXPECT_EQ(card_.GetBar(0)->address % (4 << 20), 0u);
  EXPECT_EQ(pci::ProbeBar(card_, 0)->size, uint64_t{4 << 20});
  ASSERT_TRUE(card_.MapBar(0).value()->Write32((4 << 20) - 4, 7).ok());
  EXPECT_EQ(card_.memory(0)[(4 << 20) - 4], 7);
}

TEST_F(SimFunctionTest, Capabilities) {
  EXPECT_EQ(pci::FindCapability(card_, pci::kCapabilityExpress).value(), 0x50u);
  EXPECT_EQ(pci::FindCapability(card_, 0x11).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(pci::FindExtendedCapability(card_, 0x0001).status().code(),
            absl::StatusCode::kNotFound);
  // Circles.
  card_.SetConfig(0x50, Width::k16, 0x40 << 8 | pci::kCapabilityExpress);
  EXPECT_EQ(pci::FindCapability(card_, 0x11).status().code(), absl::StatusCode::kDataLoss);
  card_.SetConfig(0x100, Width::k32, 0x1001'0015);
  EXPECT_EQ(pci::FindExtendedCapability(card_, 1).status().code(), absl::StatusCode::kDataLoss);
  card_.SetConfig(0x100, Width::k32, 0x0501'0015);
  EXPECT_EQ(pci::FindExtendedCapability(card_, 1).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SimFunctionTest, DmaAndInterrupts) {
  auto memory = card_.AllocateDma(10000, false).value();
  EXPECT_EQ(memory->size(), 12288u);
  ASSERT_EQ(memory->pages().size(), 3u);
  EXPECT_GT(memory->pages()[0], memory->pages()[1]);
  ASSERT_TRUE(memory->Write(4096, std::vector<uint8_t>{1, 2, 3}).ok());
  std::vector<uint8_t> seen(3);
  EXPECT_EQ(card_.ReadHost(memory->pages()[1], absl::MakeSpan(seen)).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(pci::EnableCommand(card_, pci::kCommandMaster).ok());
  ASSERT_TRUE(card_.ReadHost(memory->pages()[1], absl::MakeSpan(seen)).ok());
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
  ASSERT_TRUE(card_.WriteHost(memory->pages()[0] + 5, std::vector<uint8_t>{9}).ok());
  EXPECT_EQ(memory->direct()[5], 9);
  const uint64_t page = memory->pages()[0];
  memory.reset();
  EXPECT_EQ(card_.WriteHost(page, std::vector<uint8_t>{9}).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(card_.AllocateDma(~uint64_t{0}, false).status().code(),
            absl::StatusCode::kResourceExhausted);
  const auto together = card_.AllocateDma(8192, true).value();
  EXPECT_EQ(together->pages()[0] + 4096, together->pages()[1]);

  const auto interrupt = card_.EnableInterrupt().value();
  EXPECT_EQ(interrupt->Wait(absl::Seconds(1)).status().code(), absl::StatusCode::kDeadlineExceeded);
  card_.RaiseInterrupt();
  card_.RaiseInterrupt();
  EXPECT_EQ(interrupt->Wait(absl::Seconds(1)).value(), 2u);
}

TEST_F(SimFunctionTest, ResetForgets) {
  bool reset = false;
  card_.set_on_reset([&] { reset = true; });
  card_.memory(0)[7] = 7;
  ASSERT_TRUE(pci::EnableCommand(card_, pci::kCommandMaster).ok());
  const uint64_t address = card_.GetBar(0)->address;
  ASSERT_TRUE(card_.Reset().ok());
  EXPECT_TRUE(reset);
  EXPECT_EQ(card_.memory(0)[7], 0);
  EXPECT_EQ(card_.ReadConfig(pci::kConfigCommand, Width::k16).value(), pci::kCommandMemory);
  EXPECT_EQ(card_.GetBar(0)->address, address);
}

TEST_F(SimFunctionTest, FaultsHappenWhereAsked) {
  FaultyFunction faulty(&card_);
  const auto bar5 = faulty.MapBar(5).value();
  const auto bar0 = faulty.MapBar(0).value();
  registers_[0] = 0x1234;

  faulty.Arm(PciFault::kError, 1);
  EXPECT_TRUE(bar5->Read32(0).ok());
  EXPECT_FALSE(bar5->Write32(0, 5).ok());
  EXPECT_EQ(registers_[0], 0x1234u);
  EXPECT_TRUE(bar5->Read32(0).ok());
  EXPECT_EQ(faulty.transactions(), 3);

  faulty.Arm(PciFault::kFlipBit, 1, 7);
  EXPECT_EQ(bar5->Read32(0).value(), 0x1234u);
  EXPECT_EQ(std::popcount(bar5->Read32(0).value() ^ 0x1234), 1);
  EXPECT_EQ(bar5->Read32(0).value(), 0x1234u);

  faulty.Arm(PciFault::kStuck, 0);
  EXPECT_EQ(bar5->Read32(0).value(), 0x1234u);
  ASSERT_TRUE(bar5->Write32(0, 5).ok());
  EXPECT_EQ(bar5->Read32(0).value(), 0x1234u);
  EXPECT_EQ(registers_[0], 5u);

  faulty.Arm(PciFault::kDropWrite, 0);
  EXPECT_TRUE(bar5->Read32(0).ok());
  EXPECT_FALSE(faulty.happened());
  ASSERT_TRUE(bar5->Write32(0, 6).ok());
  EXPECT_EQ(registers_[0], 5u);
  ASSERT_TRUE(bar5->Write32(0, 6).ok());
  EXPECT_EQ(registers_[0], 6u);

  faulty.Arm(PciFault::kShortRead, 0);
  std::vector<uint8_t> bytes(8, 0xaa);
  EXPECT_THAT(std::string(bar0->ReadBytes(0, absl::MakeSpan(bytes)).message()),
              HasSubstr("4 of 8 bytes"));
  EXPECT_THAT(bytes, ElementsAre(0, 0, 0, 0, 0xaa, 0xaa, 0xaa, 0xaa));

  faulty.Arm(PciFault::kLinkLoss, 1);
  EXPECT_TRUE(pci::ReadIdentity(card_).ok());
  EXPECT_EQ(bar5->Read32(0).value(), 6u);
  EXPECT_EQ(bar5->Read32(0).value(), 0xffffffffu);
  ASSERT_TRUE(bar5->Write32(0, 7).ok());
  EXPECT_EQ(registers_[0], 6u);
  ASSERT_TRUE(bar0->ReadBytes(0, absl::MakeSpan(bytes)).ok());
  EXPECT_THAT(bytes, ::testing::Each(0xff));
  EXPECT_THAT(std::string(pci::ReadIdentity(faulty).status().message()),
              HasSubstr("sim:0 does not answer: its vendor id reads all ones"));
}

}  // namespace
}  // namespace tg::sim
