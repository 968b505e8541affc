#ifndef TG_DRIVERS_PCI_LINUX_MAPPED_REGION_H_
#define TG_DRIVERS_PCI_LINUX_MAPPED_REGION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "drivers/pci/function.h"

namespace tg::pci {

// Maps `size` bytes of a file as a region: sysfs's resourceN. Each access is one load or store of
// its width; spans move 8 bytes at once where they are aligned.
absl::StatusOr<std::unique_ptr<Region>> MapRegion(const std::string& path, uint64_t size);

}  // namespace tg::pci

#endif  // TG_DRIVERS_PCI_LINUX_MAPPED_REGION_H_
