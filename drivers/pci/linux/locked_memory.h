#ifndef TG_DRIVERS_PCI_LINUX_LOCKED_MEMORY_H_
#define TG_DRIVERS_PCI_LINUX_LOCKED_MEMORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "drivers/pci/function.h"

namespace tg::pci {

// Memory of this process that stays at its physical addresses. `proc` is where procfs is mounted.
// Before the first one, compaction of locked pages is turned off for the machine
// (Documentation/admin-guide/sysctl/vm.rst, compact_unevictable_allowed), since locking alone does
// not keep pages from being moved.
absl::StatusOr<std::unique_ptr<DmaMemory>> AllocateLockedMemory(const std::string& proc,
                                                                uint64_t size, bool contiguous);

}  // namespace tg::pci

#endif  // TG_DRIVERS_PCI_LINUX_LOCKED_MEMORY_H_
