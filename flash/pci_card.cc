#include "flash/pci_card.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drivers/pci/config_space.h"
#include "drivers/pci/match.h"
#include "drivers/pci/remote/remotes.h"
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

absl::StatusOr<std::unique_ptr<Card>> OpenPciCard(const CardSearch& search, int device) {
  using Opener = std::function<absl::StatusOr<std::unique_ptr<pci::Function>>()>;
  std::vector<Opener> found;
  const bool wants_pci =
      search.transport == "pci" || (search.transport == "auto" && search.pci_in_auto);
  if (search.transport != "pci") {
    const absl::StatusOr<std::vector<usb::UsbDevice>> bridges = usb::ListUsbDevices(usb::kAsm24Ids);
    if (!bridges.ok()) return bridges.status();
    for (const usb::UsbDevice& bridge : *bridges) {
      found.push_back(
          [&search, bridge] { return usb::OpenAsm24Device(bridge, search.host.locks); });
    }
  }
  if (wants_pci && !search.remote.empty()) {
    const auto clients = pci::remote::ConnectRemotes(search.remote, search.remote_timeout);
    if (!clients.ok()) return clients.status();
    const auto devices = pci::remote::ListRemoteDevices(*clients, pci::Navi31Cards());
    if (!devices.ok()) return devices.status();
    for (const pci::remote::RemoteDevice& remote : *devices) {
      found.push_back([&search, remote] { return remote.Open(search.host.locks); });
    }
  } else if (wants_pci) {
    const absl::StatusOr<std::vector<std::string>> buses =
        pci::ListLinuxFunctions(search.host, pci::Navi31Cards());
    if (!buses.ok()) return buses.status();
    for (const std::string& bus : *buses) {
      found.push_back([&search, bus] { return pci::OpenLinuxFunction(search.host, bus); });
    }
  }
  if (found.empty()) {
    std::string where;
    if (wants_pci && !search.remote.empty()) where = absl::StrCat(" at REMOTE ", search.remote);
    std::string what = "check its power and cable, ";
    if (!wants_pci && search.transport == "auto") {
      what =
          "a card in this machine has to be asked for with --transport pci; check power and "
          "cable, ";
    }
    return absl::NotFoundError(absl::StrCat("no supported ", search.transport, " AMD GPU found",
                                            where, "; ", what,
                                            "or rehearse with --transport sim:FILE"));
  }
  const auto index = static_cast<size_t>(device);
  if (index >= found.size()) {
    return absl::NotFoundError(
        absl::StrFormat("device index %d out of range (found %d)", device, found.size()));
  }
  absl::StatusOr<std::unique_ptr<pci::Function>> function = found[index]();
  if (!function.ok()) return function.status();
  return CardOfFunction(*std::move(function));
}

}  // namespace tg::flash
