#ifndef TG_FLASH_PCI_CARD_H_
#define TG_FLASH_PCI_CARD_H_

// Real cards: PCI functions of this machine, and behind USB bridges.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drivers/pci/function.h"
#include "drivers/pci/linux/linux_function.h"
#include "flash/card.h"

namespace tg::flash {

// The card that is `function`: its registers are BAR5. Unavailable: it does not answer;
// FailedPrecondition: it is no Navi 31, or its BAR5 is too small.
absl::StatusOr<std::unique_ptr<Card>> CardOfFunction(std::unique_ptr<pci::Function> function);

// Finds the `device`-th Navi 31 by transport: "usb", "pci", or "auto" for those behind USB bridges
// and, with `pci_in_auto`, then those of this machine. Devices behind bridges are counted before
// they are opened. NotFound: "no supported usb AMD GPU found", "device index 1 out of range (found
// 1)".
absl::StatusOr<std::unique_ptr<Card>> OpenPciCard(absl::string_view transport, bool pci_in_auto,
                                                  int device, const pci::LinuxHost& host = {});

}  // namespace tg::flash

#endif  // TG_FLASH_PCI_CARD_H_
