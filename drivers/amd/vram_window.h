#ifndef TG_DRIVERS_AMD_VRAM_WINDOW_H_
#define TG_DRIVERS_AMD_VRAM_WINDOW_H_

// Reads an AMD GPU's memory: through BAR 0, and what lies beyond it through the register pair
// MM_INDEX and MM_DATA. That pair has no lock; drivers use it only while they start a card.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "drivers/pci/function.h"

namespace tg::amd {

class VramWindow {
 public:
  // `bar0` and `registers` (BAR 5) outlive this. `size`: memory of the card in bytes.
  VramWindow(pci::Region* bar0, pci::Region* registers, uint64_t size)
      : bar0_(*bar0), registers_(*registers), size_(size) {}

  uint64_t size() const { return size_; }

  // Whole dwords at a multiple of 4; InvalidArgument otherwise. OutOfRange: not within the memory.
  absl::Status Read(uint64_t address, absl::Span<uint8_t> bytes);

 private:
  pci::Region& bar0_;
  pci::Region& registers_;
  const uint64_t size_;
};

}  // namespace tg::amd

#endif  // TG_DRIVERS_AMD_VRAM_WINDOW_H_
