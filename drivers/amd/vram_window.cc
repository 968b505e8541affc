#include "drivers/amd/vram_window.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "drivers/amd/am_layout.h"

namespace tg::amd {

absl::Status VramWindow::Read(uint64_t address, absl::Span<uint8_t> bytes) {
  if (address % 4 != 0 || bytes.size() % 4 != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "memory of the card: %d bytes at 0x%x are no whole dwords", bytes.size(), address));
  }
  if (address > size_ || bytes.size() > size_ - address) {
    return absl::OutOfRangeError(absl::StrFormat("memory of the card: %d bytes at 0x%x of 0x%x",
                                                 bytes.size(), address, size_));
  }
  if (address < bar0_.size()) {
    const uint64_t n = std::min<uint64_t>(bytes.size(), bar0_.size() - address);
    if (absl::Status s = bar0_.ReadBytes(address, bytes.first(n)); !s.ok()) return s;
    bytes.remove_prefix(n);
    address += n;
  }
  for (; !bytes.empty(); bytes.remove_prefix(4), address += 4) {
    const auto high = static_cast<uint32_t>(address >> 31);
    const auto low = static_cast<uint32_t>(address & 0x7fff'ffff);
    if (absl::Status s = registers_.Write32(kMmIndexHi * 4, high); !s.ok()) return s;
    if (absl::Status s = registers_.Write32(kMmIndex * 4, low | 1u << 31); !s.ok()) return s;
    const absl::StatusOr<uint32_t> data = registers_.Read32(kMmData * 4);
    if (!data.ok()) return data.status();
    for (int i = 0; i < 4; ++i) {
      bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(*data >> (8 * i));
    }
  }
  return absl::OkStatus();
}

}  // namespace tg::amd
