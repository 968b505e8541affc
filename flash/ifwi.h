#ifndef TG_FLASH_IFWI_H_
#define TG_FLASH_IFWI_H_

// The integrated firmware image (IFWI) in the 2 MiB flash of a Navi 31 card.
//
//   0x000000  boot header, 0x54 bytes; begins aa 55 aa 55
//   0x001000  u32: offset of the table of signatures, "$SGN"
//   0x002000  PSP directory A, "$PSP"          0x003000  PSP directory B, "$PSP"
//   0x010000  0x1000 bytes each for A and B    0x012000  ISH descriptor A, 0x20 bytes; B at 0x13000
//   0x1f0000  metadata of the last update, 0x100 bytes
//
// Directory and table: a cookie of four bytes, at +8 a u32 count, from +0x10 on entries of 16
// bytes. $SGN's entries are (type, -, size, offset), u32 each. All numbers are little-endian.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tg::flash {

inline constexpr size_t kIfwiSize = 0x200000;

// A part of an image.
struct IfwiItem {
  uint32_t item;
  size_t offset;
  size_t size;
};

// Where in the image the item is that the boot firmware asks for. InvalidArgument: the image does
// not have it, or has it outside of its bounds. Never reads outside of `image`, whatever is in it.
absl::StatusOr<IfwiItem> ResolveIfwiItem(absl::Span<const uint8_t> image, uint32_t item);

// All items that ResolveIfwiItem knows.
absl::Span<const uint32_t> IfwiItems();

// What speaks against this being a Navi 31 image: a wrong size, missing cookies, entries that
// point outside, nothing but ones or zeros. Empty when nothing was found, which does not mean that
// a card will boot it: signatures are not checked.
std::vector<std::string> IfwiProblems(absl::Span<const uint8_t> image);

}  // namespace tg::flash

#endif  // TG_FLASH_IFWI_H_
