#include "flash/rom_aperture.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "flash/ifwi.h"

namespace tg::flash {
namespace {

constexpr uint32_t kRomCntl = 0x5a380, kRomIndex = 0x5a390, kRomData = 0x5a394;
constexpr uint32_t kAutoIncrement = 1u << 29;  // ROM_INDEX_ADDRESS_AUTO_INCREASE
constexpr uint32_t kIndexPage = 0x10000;

// While the firmware runs, writes to the ROM controller arrive with their bytes reversed.
absl::Status WriteSwapped(Registers& registers, uint32_t offset, uint32_t value) {
  return registers.Write32(offset, __builtin_bswap32(value));
}

absl::StatusOr<std::vector<uint8_t>> ReadPages(
    Registers& registers, uint32_t rom_cntl,
    const std::function<absl::Status(size_t done)>& progress) {
  if (absl::Status s = WriteSwapped(registers, kRomCntl, rom_cntl | kAutoIncrement); !s.ok()) {
    return s;
  }
  std::vector<uint8_t> dump;
  dump.reserve(kIfwiSize);
  for (uint32_t page = 0; page < kIfwiSize; page += kIndexPage) {
    if (absl::Status s = WriteSwapped(registers, kRomIndex, page >> 8); !s.ok()) return s;
    for (uint32_t i = 0; i < kIndexPage / 4; ++i) {
      const absl::StatusOr<uint32_t> dword = registers.Read32(kRomData);
      if (!dword.ok()) return dword.status();
      for (int shift = 0; shift < 32; shift += 8) {
        dump.push_back(static_cast<uint8_t>(*dword >> shift));
      }
    }
    if (absl::Status s = progress(page + kIndexPage); !s.ok()) return s;
  }
  return dump;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> ReadRomAperture(
    Registers& registers, const std::function<absl::Status(size_t done)>& progress) {
  const absl::StatusOr<uint32_t> rom_cntl = registers.Read32(kRomCntl);
  if (!rom_cntl.ok()) return rom_cntl.status();
  const absl::StatusOr<uint32_t> rom_index = registers.Read32(kRomIndex);
  if (!rom_index.ok()) return rom_index.status();
  if (*rom_cntl == kAllOnes) {
    return absl::UnavailableError(
        "raw SMUIO ROM controller is unavailable; the SOC15 function-ROM aperture is not a raw SPI "
        "dump");
  }
  absl::StatusOr<std::vector<uint8_t>> dump = ReadPages(registers, *rom_cntl, progress);
  absl::Status restored = WriteSwapped(registers, kRomIndex, *rom_index);
  restored.Update(WriteSwapped(registers, kRomCntl, *rom_cntl));
  if (restored.ok()) return dump;
  return absl::Status(restored.code(),
                      absl::StrFormat("%s%s; not restored: ROM_INDEX was 0x%08x, ROM_CNTL 0x%08x",
                                      dump.ok() ? "" : absl::StrCat(dump.status().message(), "; "),
                                      restored.message(), *rom_index, *rom_cntl));
}

absl::Status CheckRomDump(absl::Span<const uint8_t> dump) {
  constexpr uint8_t kMagic[] = {0xaa, 0x55, 0xaa, 0x55};
  const absl::Span<const uint8_t> magic = dump.first(std::min<size_t>(dump.size(), 4));
  if (dump.size() != kIfwiSize || !std::equal(magic.begin(), magic.end(), std::begin(kMagic))) {
    return absl::DataLossError(absl::StrFormat("invalid raw flash dump: size=0x%x magic=%s",
                                               dump.size(),
                                               absl::BytesToHexString(base::AsText(magic))));
  }
  const absl::Span<const uint8_t> low = dump.first(kIfwiSize / 2);
  if (std::equal(low.begin(), low.end(), dump.begin() + kIfwiSize / 2)) {
    return absl::DataLossError(
        "ROM aperture contains mirrored 1 MiB halves; refusing to write a non-raw 2 MiB dump");
  }
  return absl::OkStatus();
}

}  // namespace tg::flash
