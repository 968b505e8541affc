#include "drivers/pci/linux/linux_function.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "drivers/pci/config_space.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/linux/locked_memory.h"
#include "drivers/sim/pci/sysfs_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::pci {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kCard[] = "0000:03:00.0";

class LinuxFunctionTest : public ::testing::Test {
 protected:
  LinuxFunctionTest()
      : dir_(::testing::TempDir() + "/linux_" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(dir_);
    for (const char* name : {"/locks", "/proc/self", "/proc/sys/vm"}) {
      fs::create_directories(dir_ + name);
    }
    host_ = {.sys = dir_ + "/sys", .proc = dir_ + "/proc", .locks = dir_ + "/locks"};
    tree_.emplace(host_.sys);
    card_.bus = kCard;
    card_.identity = {.vendor = 0x1002, .device = 0x744c, .class_code = 0x030000};
    card_.bar_sizes = {1 << 20, 0, 8192, 0, 0, 4096};
    card_.resizable = true;
  }
  std::string Attribute(const std::string& name) {
    return base::ReadFile(tree_->Folder(kCard) + "/" + name).value();
  }
  absl::Status OpenStatus(const std::string& bus = kCard) {
    return OpenLinuxFunction(host_, bus).status();
  }

  const std::string dir_;
  LinuxHost host_;
  std::optional<sim::SysfsTree> tree_;
  sim::SysfsFunction card_;
};

TEST_F(LinuxFunctionTest, Lists) {
  EXPECT_THAT(ListLinuxFunctions({.sys = dir_ + "/none"}, Navi31Cards()).value(), IsEmpty());
  card_.bus = "0000:83:00.0";
  tree_->Add(card_);
  card_.bus = kCard;
  tree_->Add(card_);
  card_.bus = "0000:03:00.1";
  card_.identity.device = 0xab30;
  card_.identity.class_code = 0x040300;
  tree_->Add(card_);
  card_.bus = "0000:04:00.0";
  card_.identity = {.vendor = 0x10de, .device = 0x744c};
  tree_->Add(card_);
  // A device that is just going away.
  fs::create_directories(tree_->Folder("0000:05:00.0"));
  EXPECT_THAT(ListLinuxFunctions(host_, Navi31Cards()).value(), ElementsAre(kCard, "0000:83:00.0"));
  EXPECT_THAT(ListLinuxFunctions(host_, {.vendor = 0x1002}).value(),
              ElementsAre(kCard, "0000:03:00.1", "0000:83:00.0"));
  EXPECT_THAT(ListLinuxFunctions(host_, {.vendor = 0x1002, .base_class = 4}).value(),
              ElementsAre("0000:03:00.1"));
  EXPECT_THAT(ListLinuxFunctions(host_, {.vendor = 0x1002, .devices = {{0xff00, 0xab00}}}).value(),
              ElementsAre("0000:03:00.1"));
}

TEST_F(LinuxFunctionTest, ConfigSpaceAndBars) {
  tree_->Add(card_);
  const auto card = OpenLinuxFunction(host_, kCard).value();
  EXPECT_EQ(card->bus(), kCard);
  EXPECT_EQ(Attribute("enable"), "1\n");
  EXPECT_EQ(ReadIdentity(*card)->device, 0x744c);
  ASSERT_TRUE(card->WriteConfig(0x801, Width::k8, 0xab).ok());
  EXPECT_EQ(card->ReadConfig(0x800, Width::k32).value(), 0xab00u);
  EXPECT_EQ(Attribute("config")[0x801], '\xab');

  const Bar bar0 = card->GetBar(0).value();
  EXPECT_EQ(bar0.address, 0x8000000000u);
  EXPECT_EQ(bar0.size, 1u << 20);
  EXPECT_TRUE(bar0.prefetchable && bar0.is_64bit);
  EXPECT_EQ(card->GetBar(1)->size, 0u);
  EXPECT_FALSE(card->GetBar(5)->prefetchable);
  const auto registers = card->MapBar(5).value();
  ASSERT_TRUE(registers->Write32(0x10, 0x01020304).ok());
  ASSERT_TRUE(registers->Write(0x14, Width::k16, 0xbeef).ok());
  ASSERT_TRUE(registers->Write64(0x18, 0x1122334455667788).ok());
  EXPECT_EQ(Attribute("resource5").substr(0x10, 4), "\x04\x03\x02\x01");
  EXPECT_EQ(registers->Read(0x15, Width::k8).value(), 0xbeu);
  EXPECT_EQ(registers->Read64(0x18).value(), 0x1122334455667788u);
  EXPECT_EQ(registers->direct()[0x10], 4);
  const auto memory = card->MapBar(0).value();
  std::vector<uint8_t> bytes(1000), back(1000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  ASSERT_TRUE(memory->WriteBytes(4093, bytes).ok());
  ASSERT_TRUE(memory->ReadBytes(4093, absl::MakeSpan(back)).ok());
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(card->MapBar(3).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LinuxFunctionTest, ResetAndResize) {
  tree_->Add(card_);
  const auto card = OpenLinuxFunction(host_, kCard).value();
  ASSERT_TRUE(card->Reset().ok());
  EXPECT_EQ(Attribute("reset"), "1");
  ASSERT_TRUE(card->ResizeBar(0, uint64_t{16} << 30).ok());
  EXPECT_EQ(Attribute("resource0_resize"), "14");
  EXPECT_THAT(std::string(card->ResizeBar(5, 1 << 20).message()),
              HasSubstr("Ensure the resizable BAR option is enabled."));
  fs::remove(tree_->Folder(kCard) + "/reset");
  EXPECT_EQ(card->Reset().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(card->EnableInterrupt().status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(LinuxFunctionTest, RefusesToOpen) {
  using Code = absl::StatusCode;
  EXPECT_EQ(OpenStatus().code(), Code::kNotFound);
  for (const char* bus : {"", "03:00.0", "0000:03:00.0/..", "../../../etc", "0000:0g:00.0"}) {
    EXPECT_EQ(OpenStatus(bus).code(), Code::kInvalidArgument) << bus;
  }
  card_.driver = "amdgpu";
  tree_->Add(card_);
  EXPECT_EQ(OpenStatus().code(), Code::kFailedPrecondition);
  EXPECT_THAT(std::string(OpenStatus().message()),
              HasSubstr("Driver is bound to 0000:03:00.0: amdgpu"));
  EXPECT_TRUE(fs::is_empty(host_.locks));
  fs::remove(tree_->Folder(kCard) + "/driver");
  {
    const DeviceLock lock = DeviceLock::Acquire(LockPath(host_.locks, kAmdLocks, kCard)).value();
    EXPECT_EQ(OpenStatus().code(), Code::kUnavailable);
    EXPECT_THAT(std::string(OpenStatus().message()),
                HasSubstr("Failed to acquire lock file am_0000:03:00.0.lock"));
  }
  {
    const auto card = OpenLinuxFunction(host_, kCard).value();
    EXPECT_EQ(OpenStatus().code(), Code::kUnavailable);
  }
  EXPECT_TRUE(OpenStatus().ok());
  // Gone from the bus.
  std::ofstream(tree_->Folder(kCard) + "/config") << std::string(4096, '\xff');
  EXPECT_EQ(OpenStatus().code(), Code::kUnavailable);
  EXPECT_THAT(std::string(OpenStatus().message()), HasSubstr("does not answer"));
  // As without privileges.
  std::ofstream(tree_->Folder(kCard) + "/config") << std::string(64, '\x02');
  const auto card = OpenLinuxFunction(host_, kCard).value();
  EXPECT_EQ(card->ReadConfig(0x40, Width::k32).status().code(), Code::kPermissionDenied);
}

TEST_F(LinuxFunctionTest, Observes) {
  using Code = absl::StatusCode;
  tree_->Add(card_);
  const LinuxOpenOptions observe = {.observe = true};
  EXPECT_THAT(std::string(OpenLinuxFunction(host_, kCard, observe).status().message()),
              HasSubstr("is disabled: nobody drives it"));
  EXPECT_EQ(Attribute("enable"), "0\n") << "it was left as it was";
  const auto owner = OpenLinuxFunction(host_, kCard).value();
  std::ofstream(tree_->Folder(kCard) + "/power_state") << "D3hot\n";
  EXPECT_THAT(std::string(OpenLinuxFunction(host_, kCard, observe).status().message()),
              HasSubstr("is asleep (D3hot)"));
  std::ofstream(tree_->Folder(kCard) + "/power_state") << "D0\n";
  {
    const auto seen = OpenLinuxFunction(host_, kCard, observe).value();
    EXPECT_EQ(ReadIdentity(*seen)->device, 0x744c);
    const auto registers = seen->MapBar(5).value();
    ASSERT_TRUE(owner->MapBar(5).value()->Write32(0x40, 0x1234).ok());
    EXPECT_EQ(registers->Read32(0x40).value(), 0x1234u);
    EXPECT_EQ(seen->WriteConfig(4, Width::k16, 0).code(), Code::kFailedPrecondition);
    EXPECT_EQ(seen->Reset().code(), Code::kFailedPrecondition);
    EXPECT_EQ(seen->ResizeBar(0, 1 << 20).code(), Code::kFailedPrecondition);
    EXPECT_EQ(seen->AllocateDma(1, false).status().code(), Code::kFailedPrecondition);
    EXPECT_EQ(OpenLinuxFunction(host_, kCard, observe).status().code(), Code::kUnavailable);
  }
  EXPECT_TRUE(OpenLinuxFunction(host_, kCard, observe).ok()) << "the other one has ended";
}

TEST_F(LinuxFunctionTest, BrokenAttributes) {
  tree_->Add(card_);
  const auto card = OpenLinuxFunction(host_, kCard).value();
  const std::string resource = tree_->Folder(kCard) + "/resource";
  std::ofstream(resource) << "zzz\n";
  EXPECT_EQ(card->GetBar(0).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(card->GetBar(1)->size, 0u);
  std::ofstream(resource) << "0x10 0x5 0x200\n0x0 0xffffffffff 0x200\n";
  EXPECT_EQ(card->GetBar(0)->size, 0u);
  EXPECT_EQ(card->MapBar(1).status().code(), absl::StatusCode::kNotFound) << "no file resource1";
  std::ofstream(resource) << "0x0 0xffffffffff 0x200\n";
  EXPECT_EQ(card->MapBar(0).status().code(), absl::StatusCode::kFailedPrecondition);
}

// This process's real memory.
TEST_F(LinuxFunctionTest, LockedMemory) {
  const std::string compaction = host_.proc + "/sys/vm/compact_unevictable_allowed";
  std::ofstream(compaction) << "1\n";
  fs::create_symlink("/proc/self/pagemap", host_.proc + "/self/pagemap");
  EXPECT_EQ(AllocateLockedMemory(host_.proc, 0, false).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AllocateLockedMemory(host_.proc, (2 << 20) + 1, true).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(AllocateLockedMemory(host_.proc, ~uint64_t{0}, false).status().code(),
            absl::StatusCode::kResourceExhausted);
  const auto memory = AllocateLockedMemory(host_.proc, 64 * 1024 + 1, false);
  EXPECT_EQ(base::ReadFile(compaction).value()[0], '0');
  if (!memory.ok()) {
    EXPECT_EQ(memory.status().code(), absl::StatusCode::kPermissionDenied) << memory.status();
    GTEST_SKIP() << "physical addresses need privileges: " << memory.status();
  }
  EXPECT_EQ((*memory)->size(), 17u * 4096);
  const auto pages = (*memory)->pages();
  EXPECT_EQ(std::set<uint64_t>(pages.begin(), pages.end()).size(), 17u);
  for (uint64_t page : pages) EXPECT_EQ(page % 4096, 0u);
  ASSERT_TRUE((*memory)->Write(4090, std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}).ok());
  EXPECT_EQ((*memory)->direct()[4096], 7);
  // In its place still.
  std::ofstream(compaction) << "0\n";
  EXPECT_EQ(AllocateLockedMemory(host_.proc, 4096, true).value()->pages().size(), 1u);
  const auto huge = AllocateLockedMemory(host_.proc, 8192, true);
  if (!huge.ok()) {
    EXPECT_THAT(std::string(huge.status().message()), HasSubstr("nr_hugepages"));
    return;
  }
  for (size_t i = 1; i < (*huge)->pages().size(); ++i) {
    EXPECT_EQ((*huge)->pages()[i], (*huge)->pages()[0] + i * 4096);
  }
}

}  // namespace
}  // namespace tg::pci
