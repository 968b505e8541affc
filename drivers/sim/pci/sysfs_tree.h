#ifndef TG_DRIVERS_SIM_PCI_SYSFS_TREE_H_
#define TG_DRIVERS_SIM_PCI_SYSFS_TREE_H_

// A folder that looks like sysfs with PCI functions in it, for what opens functions of this
// machine. Files are plain ones: config space and BARs keep what is written, attributes do not act.

#include <array>
#include <cstdint>
#include <string>

#include "drivers/pci/config_space.h"
#include "drivers/pci/function.h"

namespace tg::sim {

struct SysfsFunction {
  std::string bus;  // "0000:03:00.0"
  pci::Identity identity;
  std::array<uint64_t, pci::Function::kBars> bar_sizes = {};
  std::string driver = {};  // a kernel driver that is bound to it; empty: none
  bool can_reset = true;
  bool resizable = false;  // BAR 0
};

class SysfsTree {
 public:
  // Uses `root`, an empty folder.
  explicit SysfsTree(std::string root);

  const std::string& root() const { return root_; }
  // The folder of a function.
  std::string Folder(const std::string& bus) const { return root_ + "/bus/pci/devices/" + bus; }
  void Add(const SysfsFunction& function);

 private:
  const std::string root_;
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_PCI_SYSFS_TREE_H_
