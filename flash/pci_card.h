#ifndef TG_FLASH_PCI_CARD_H_
#define TG_FLASH_PCI_CARD_H_

// Real cards: PCI functions of this machine and of others, and behind USB bridges.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "drivers/pci/function.h"
#include "drivers/pci/linux/linux_function.h"
#include "flash/card.h"

namespace tg::flash {

// The card that is `function`: its registers are BAR5. Unavailable: it does not answer;
// FailedPrecondition: it is no Navi 31, or its BAR5 is too small.
absl::StatusOr<std::unique_ptr<Card>> CardOfFunction(std::unique_ptr<pci::Function> function);

// Where cards are looked for.
struct CardSearch {
  std::string transport = "pci";  // "usb", "pci", or "auto": behind USB bridges, and then
  bool pci_in_auto = false;       // with this: PCI functions
  // PCI functions are those that remote_pci serves there ("HOST[:PORT],..."); empty: this
  // machine's.
  std::string remote = {};
  absl::Duration remote_timeout = absl::Seconds(3);
  pci::LinuxHost host = {};
};

// Opens the `device`-th Navi 31. Devices behind bridges are counted before they are opened.
// NotFound: "no supported usb AMD GPU found", "device index 1 out of range (found 1)".
absl::StatusOr<std::unique_ptr<Card>> OpenPciCard(const CardSearch& search, int device);

}  // namespace tg::flash

#endif  // TG_FLASH_PCI_CARD_H_
