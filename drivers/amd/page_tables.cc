#include "drivers/amd/page_tables.h"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"

namespace tg::amd {
namespace {

constexpr uint64_t kValid = 1, kSystem = 2;
constexpr uint64_t kAddress = 0x0000'ffff'ffff'f000;
constexpr int kLastLevel = 3;
// A driver maps memory in large pages, so it has tens of tables. Each takes half a millisecond to
// read through an uncached BAR.
constexpr int kMostTables = 2048;

bool IsPage(IpVersion gc, int level, uint64_t entry) {
  if (level == kLastLevel) return true;
  if (gc.major >= 12) return (entry >> 63 & 1) != 0;
  if (gc.major < 10 && level == kLastLevel - 1) return (entry >> 56 & 1) == 0;
  return (entry >> 54 & 1) != 0;
}

}  // namespace

absl::StatusOr<uint64_t> MappedVram(VramWindow* vram, IpVersion gc, uint64_t root, uint64_t base) {
  std::vector<std::pair<uint64_t, int>> tables = {{root, 0}};  // address and level
  uint64_t mapped = 0;
  for (int read = 0; !tables.empty(); ++read) {
    if (read == kMostTables) {
      return absl::ResourceExhaustedError(absl::StrCat("more than ", kMostTables, " page tables"));
    }
    const auto [address, level] = tables.back();
    tables.pop_back();
    std::array<uint8_t, 4096> bytes;
    if (absl::Status s = vram->Read(address, absl::MakeSpan(bytes)); !s.ok()) {
      return absl::Status(s.code(),
                          absl::StrFormat("page table of level %d: %s", level, s.message()));
    }
    for (size_t i = 0; i < bytes.size(); i += 8) {
      uint64_t entry;
      std::memcpy(&entry, bytes.data() + i, 8);
      if (entry == ~uint64_t{0}) {
        return absl::UnavailableError("page tables read all ones: the card does not answer");
      }
      if ((entry & kValid) == 0) continue;
      if (IsPage(gc, level, entry)) {
        if ((entry & kSystem) == 0) mapped += uint64_t{1} << (9 * (kLastLevel - level) + 12);
      } else {
        const uint64_t next = entry & kAddress;
        if (next < base) {
          return absl::OutOfRangeError(
              absl::StrFormat("page table at 0x%x, below the card's memory at 0x%x", next, base));
        }
        tables.emplace_back(next - base, level + 1);
      }
    }
  }
  return mapped;
}

}  // namespace tg::amd
