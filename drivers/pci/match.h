#ifndef TG_DRIVERS_PCI_MATCH_H_
#define TG_DRIVERS_PCI_MATCH_H_

// Which functions a driver is for.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "drivers/pci/config_space.h"

namespace tg::pci {

struct Match {
  uint16_t vendor = 0;
  // Pairs of mask and id: one of them must give (device & mask) == id. None: any device.
  std::vector<std::pair<uint16_t, uint16_t>> devices = {};
  std::optional<uint8_t> base_class =
      std::nullopt;  // the class code's upper byte: 0x03 for displays

  bool Accepts(const Identity& identity) const {
    if (identity.vendor != vendor) return false;
    if (base_class && identity.class_code >> 16 != *base_class) return false;
    for (const auto& [mask, id] : devices) {
      if ((identity.device & mask) == id) return true;
    }
    return devices.empty();
  }
};

// RX 7900 XT, XTX and GRE.
inline Match Navi31Cards() { return {.vendor = 0x1002, .devices = {{0xffff, 0x744c}}}; }

}  // namespace tg::pci

#endif  // TG_DRIVERS_PCI_MATCH_H_
