// A real function: QEMU's "edu" device (docs/specs/edu.rst there), which has registers, DMA and a
// buffer of 4 KiB. edu_vm.sh runs this in a virtual machine; elsewhere there is nothing to test.
//
// BAR 0: 0x00 identification 0x010000ed, 0x04 gives what was written inverted, 0x08 a factorial
// (0x20 bit 0: at work); 64 bits: 0x80 source, 0x88 destination, 0x90 count, 0x98 command (bit 0
// start and busy, bit 1 from the device to memory). The buffer is at 0x40000 of the device's side.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "drivers/pci/config_space.h"
#include "drivers/pci/linux/linux_function.h"
#include "drivers/pci/match.h"
#include "gtest/gtest.h"

namespace tg::pci {
namespace {

constexpr uint64_t kBuffer = 0x40000;

class EduTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto buses =
        ListLinuxFunctions({}, {.vendor = 0x1234, .devices = {{0xffff, 0x11e8}}}).value();
    if (buses.empty()) GTEST_SKIP() << "no edu device here; run edu_vm.sh";
    card_ = OpenLinuxFunction({}, buses[0]).value();
    ASSERT_TRUE(EnableCommand(*card_, kCommandMemory | kCommandMaster).ok());
    registers_ = card_->MapBar(0).value();
  }
  void Copy(uint64_t from, uint64_t to, uint64_t count, uint64_t command) {
    ASSERT_TRUE(registers_->Write64(0x80, from).ok());
    ASSERT_TRUE(registers_->Write64(0x88, to).ok());
    ASSERT_TRUE(registers_->Write64(0x90, count).ok());
    ASSERT_TRUE(registers_->Write64(0x98, command | 1).ok());
    for (int i = 0; i < 1000 && (registers_->Read64(0x98).value() & 1) != 0; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    ASSERT_EQ(registers_->Read64(0x98).value() & 1, 0u) << "the transfer does not end";
  }
  // Writes to the last page of the memory, has the device copy it to the first, and reads it.
  void RoundTrip(DmaMemory& memory) {
    std::vector<uint8_t> bytes(1000), back(1000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 29 >> 1);
    const uint64_t last = memory.size() - 4096;
    ASSERT_TRUE(memory.Write(last + 8, bytes).ok());
    Copy(memory.pages().back() + 8, kBuffer, bytes.size(), 0);
    Copy(kBuffer, memory.pages()[0] + 16, bytes.size(), 2);
    ASSERT_TRUE(memory.Read(16, absl::MakeSpan(back)).ok());
    EXPECT_EQ(back, bytes);
  }

  std::unique_ptr<Function> card_;
  std::unique_ptr<Region> registers_;
};

TEST_F(EduTest, Registers) {
  EXPECT_EQ(ReadIdentity(*card_)->device, 0x11e8);
  EXPECT_EQ(registers_->size(), 1u << 20);
  EXPECT_EQ(registers_->Read32(0).value(), 0x010000edu);
  ASSERT_TRUE(registers_->Write32(4, 0x12345678).ok());
  EXPECT_EQ(registers_->Read32(4).value(), ~0x12345678u);
  ASSERT_TRUE(registers_->Write32(8, 10).ok());
  while ((registers_->Read32(0x20).value() & 1) != 0) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(registers_->Read32(8).value(), 3628800u);
}

TEST_F(EduTest, DmaToLockedPages) {
  const auto memory = card_->AllocateDma(16 * 4096, /*contiguous=*/false).value();
  EXPECT_EQ(memory->pages().size(), 16u);
  RoundTrip(*memory);
}

TEST_F(EduTest, DmaToAHugePage) {
  const auto memory = card_->AllocateDma(1 << 20, /*contiguous=*/true).value();
  ASSERT_EQ(memory->size(), 2u << 20);
  for (size_t i = 1; i < memory->pages().size(); ++i) {
    EXPECT_EQ(memory->pages()[i], memory->pages()[0] + i * 4096);
  }
  RoundTrip(*memory);
}

TEST_F(EduTest, Exclusive) {
  EXPECT_EQ(OpenLinuxFunction({}, card_->bus()).status().code(), absl::StatusCode::kUnavailable);
  const auto seen = OpenLinuxFunction({}, card_->bus(), {.observe = true});
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ((*seen)->MapBar(0).value()->Read32(0).value(), 0x010000edu);
}

// Debian's kernel has no VFIO without an IOMMU, so there are no interrupts, and it says why.
TEST_F(EduTest, Interrupts) {
  const absl::Status s = card_->EnableInterrupt().status();
  EXPECT_FALSE(s.ok());
  EXPECT_FALSE(s.message().empty());
}

}  // namespace
}  // namespace tg::pci
