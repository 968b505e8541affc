#include "flash/pci_card.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drivers/pci/config_space.h"
#include "drivers/pci/match.h"
#include "drivers/usb/asm24.h"
#include "drivers/usb/libusb_transport.h"

namespace tg::flash {
namespace {

constexpr int kRegisterBar = 5;
// The last registers that are used are the GPIO pads at 0x5a510.
constexpr uint64_t kRegistersEnd = 0x60000;

class PciCard final : public Card, private Registers {
 public:
  PciCard(std::unique_ptr<pci::Function> function, std::unique_ptr<pci::Region> region)
      : function_(std::move(function)), region_(std::move(region)) {}

  Registers& registers() override { return *this; }
  Clock& clock() override { return Clock::System(); }
  std::string description() const override { return absl::StrCat("Navi 31 at ", function_->bus()); }

 private:
  absl::StatusOr<uint32_t> Read32(uint32_t offset) override { return region_->Read32(offset); }
  absl::Status Write32(uint32_t offset, uint32_t value) override {
    return region_->Write32(offset, value);
  }

  const std::unique_ptr<pci::Function> function_;
  const std::unique_ptr<pci::Region> region_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Card>> CardOfFunction(std::unique_ptr<pci::Function> function) {
  const absl::StatusOr<pci::Identity> identity = pci::ReadIdentity(*function);
  if (!identity.ok()) return identity.status();
  if (!pci::Navi31Cards().Accepts(*identity)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s is %04x:%04x, no Navi 31; nothing is done to other cards",
                        function->bus(), identity->vendor, identity->device));
  }
  if (absl::Status s = pci::EnableCommand(*function, pci::kCommandMemory); !s.ok()) return s;
  absl::StatusOr<std::unique_ptr<pci::Region>> region = function->MapBar(kRegisterBar);
  if (!region.ok()) return region.status();
  if ((*region)->size() < kRegistersEnd) {
    return absl::FailedPreconditionError(absl::StrCat(
        function->bus(), ": BAR 5 has ", (*region)->size(), " bytes, too few for its registers"));
  }
  return std::make_unique<PciCard>(std::move(function), *std::move(region));
}

absl::StatusOr<std::unique_ptr<Card>> OpenPciCard(absl::string_view transport, bool pci_in_auto,
                                                  int device, const pci::LinuxHost& host) {
  std::vector<usb::UsbDevice> bridges;
  std::vector<std::string> buses;
  if (transport != "pci") {
    absl::StatusOr<std::vector<usb::UsbDevice>> found = usb::ListUsbDevices(usb::kAsm24Ids);
    if (!found.ok()) return found.status();
    bridges = *std::move(found);
  }
  if (transport == "pci" || (transport == "auto" && pci_in_auto)) {
    absl::StatusOr<std::vector<std::string>> found =
        pci::ListLinuxFunctions(host, pci::Navi31Cards());
    if (!found.ok()) return found.status();
    buses = *std::move(found);
  }
  const size_t count = bridges.size() + buses.size();
  if (count == 0) {
    return absl::NotFoundError(
        absl::StrCat("no supported ", transport,
                     " AMD GPU found; check its power and cable, or rehearse with --transport "
                     "sim:FILE"));
  }
  const auto index = static_cast<size_t>(device);
  if (index >= count) {
    return absl::NotFoundError(
        absl::StrFormat("device index %d out of range (found %d)", device, count));
  }
  absl::StatusOr<std::unique_ptr<pci::Function>> function =
      index < bridges.size() ? usb::OpenAsm24Device(bridges[index], host.locks)
                             : pci::OpenLinuxFunction(host, buses[index - bridges.size()]);
  if (!function.ok()) return function.status();
  return CardOfFunction(*std::move(function));
}

}  // namespace tg::flash
