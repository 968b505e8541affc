#include "flash/pci_card.h"

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/remote/borrowed_source.h"
#include "drivers/pci/remote/server.h"
#include "drivers/pci/remote/socket.h"
#include "drivers/sim/amd/navi31_flash.h"
#include "drivers/sim/pci/sim_function.h"
#include "drivers/sim/pci/sysfs_tree.h"
#include "drivers/sim/spi/gd25lq16e.h"
#include "drivers/sim/usb/sim_asm24.h"
#include "drivers/usb/asm24_function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::flash {
namespace {

using ::testing::HasSubstr;
using ::tg::pci::Width;

constexpr char kBus[] = "0000:03:00.0";

// A simulated Navi 31 as a PCI function: behind a simulated USB bridge, or of another machine.
class SimulatedCardTest : public ::testing::Test {
 protected:
  SimulatedCardTest() : flash_(sim::Gd25lq16e::kSize, 0xff) {
    for (size_t i = 0; i < 0x2000; ++i) flash_[i] = static_cast<uint8_t>(i * 7 >> 1);
  }
  void MakeFunction(uint16_t device) {
    chip_ = std::make_unique<sim::Gd25lq16e>(absl::MakeSpan(flash_), &clock_);
    navi31_ = std::make_unique<sim::Navi31Flash>(sim::Navi31Boot::kRomless, chip_.get(), &clock_);
    function_ = std::make_unique<sim::SimFunction>(
        "sim:0", pci::Identity{.vendor = 0x1002, .device = device});
    function_->AddRegisterBar(
        5, 1 << 20,
        {[this](uint64_t offset, Width width) -> absl::StatusOr<uint64_t> {
           if (width != Width::k32) return absl::UnimplementedError("only dwords");
           absl::StatusOr<uint32_t> value = navi31_->Read32(static_cast<uint32_t>(offset));
           if (!value.ok()) return value.status();
           return *value;
         },
         [this](uint64_t offset, Width width, uint64_t value) -> absl::Status {
           if (width != Width::k32) return absl::UnimplementedError("only dwords");
           return navi31_->Write32(static_cast<uint32_t>(offset), static_cast<uint32_t>(value));
         }});
  }
  absl::StatusOr<std::unique_ptr<Card>> Open(uint16_t device) {
    MakeFunction(device);
    absl::StatusOr<std::unique_ptr<pci::Function>> bridged = usb::OpenAsm24Function(
        std::make_unique<sim::SimAsm24>(function_.get(), 4), "usb:1:4", pci::DeviceLock());
    if (!bridged.ok()) return bridged.status();
    return CardOfFunction(*std::move(bridged));
  }

  std::vector<uint8_t> flash_;
  sim::SimClock clock_;
  std::unique_ptr<sim::Gd25lq16e> chip_;
  std::unique_ptr<sim::Navi31Flash> navi31_;
  std::unique_ptr<sim::SimFunction> function_;
};

TEST_F(SimulatedCardTest, RegistersReachTheCard) {
  const auto card = Open(0x744c);
  ASSERT_TRUE(card.ok()) << card.status();
  EXPECT_EQ((*card)->description(), "Navi 31 at usb:1:4");
  // ROM_CNTL and the aperture behind ROM_INDEX and ROM_DATA.
  EXPECT_EQ((*card)->registers().Read32(0x5a380).value(), 0x19800021u);
  ASSERT_TRUE((*card)->registers().Write32(0x5a390, 0x100).ok());
  EXPECT_EQ((*card)->registers().Read32(0x5a390).value(), 0x100u);
  EXPECT_FALSE((*card)->registers().Read32(1 << 20).ok());
}

TEST_F(SimulatedCardTest, OtherCardsAreLeftAlone) {
  EXPECT_THAT(std::string(Open(0x7480).status().message()),
              HasSubstr("usb:1:4 is 1002:7480, no Navi 31"));
}

TEST_F(SimulatedCardTest, OfAnotherMachine) {
  MakeFunction(0x744c);
  auto listener = pci::remote::Listener::Open({.host = "127.0.0.1", .port = 0}).value();
  const std::string address = absl::StrCat("127.0.0.1:", listener.address().port);
  std::thread server([&] {
    for (int i = 0; i < 2; ++i) {
      pci::remote::BorrowedSource source(function_.get());
      EXPECT_TRUE(pci::remote::ServeClient(**listener.Accept(), source).ok());
    }
  });
  const std::string root = ::testing::TempDir() + "/remote_card";
  std::filesystem::create_directories(root + "/tmp");
  // A card of this machine is not looked for.
  CardSearch search = {.remote = address, .host = {.sys = root + "/none", .locks = root + "/tmp"}};
  {
    const auto card = OpenPciCard(search, 0);
    ASSERT_TRUE(card.ok()) << card.status();
    EXPECT_EQ((*card)->description(), absl::StrCat("Navi 31 at remote:", address, ":sim:0:0"));
    EXPECT_EQ((*card)->registers().Read32(0x5a380).value(), 0x19800021u);
  }
  EXPECT_EQ(OpenPciCard(search, 1).status().message(), "device index 1 out of range (found 1)");
  server.join();
  search.remote = "nobody:0";
  EXPECT_THAT(std::string(OpenPciCard(search, 0).status().message()),
              HasSubstr("REMOTE: \"nobody:0\" is no address"));
  search.transport = "usb";
  EXPECT_THAT(std::string(OpenPciCard(search, 9).status().message()),
              ::testing::Not(HasSubstr("REMOTE")));
}

TEST(PciCard, OfThisMachine) {
  const std::string root = ::testing::TempDir() + "/pci_card";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root + "/tmp");
  const pci::LinuxHost host{.sys = root + "/sys", .proc = root + "/proc", .locks = root + "/tmp"};
  EXPECT_THAT(std::string(OpenPciCard({.host = host}, 0).status().message()),
              HasSubstr("no supported pci AMD GPU found"));
  sim::SysfsTree tree(host.sys);
  sim::SysfsFunction card;
  card.bus = kBus;
  card.identity = {.vendor = 0x1002, .device = 0x744c};
  card.bar_sizes = {1 << 20, 0, 0, 0, 0, 1 << 20};
  tree.Add(card);
  EXPECT_EQ(OpenPciCard({.host = host}, 1).status().message(),
            "device index 1 out of range (found 1)");
  {
    const auto opened = OpenPciCard({.host = host}, 0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ((*opened)->description(), "Navi 31 at 0000:03:00.0");
    ASSERT_TRUE((*opened)->registers().Write32(0x5a390, 0x1234).ok());
    EXPECT_EQ((*opened)->registers().Read32(0x5a390).value(), 0x1234u);
    EXPECT_THAT(std::string(OpenPciCard({.host = host}, 0).status().message()),
                HasSubstr("Failed to acquire lock file am_0000:03:00.0.lock"));
  }
  std::filesystem::remove_all(root);
  sim::SysfsTree again(host.sys);
  std::filesystem::create_directories(root + "/tmp");
  card.bar_sizes = {1 << 20, 0, 0, 0, 0, 4096};
  again.Add(card);
  EXPECT_THAT(std::string(OpenPciCard({.host = host}, 0).status().message()),
              HasSubstr("too few for its registers"));
}

}  // namespace
}  // namespace tg::flash
