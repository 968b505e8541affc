#include "flash/spi_nor.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tg::flash {
namespace {

enum Command : uint8_t {
  kWriteStatus = 0x01,
  kPageProgram = 0x02,
  kReadData = 0x03,
  kWriteEnable = 0x06,
  kSectorErase = 0x20,
  kReadSfdp = 0x5a,
  kReadId = 0x9f,
};

constexpr uint8_t kBusy = 0x01, kWriteEnabled = 0x02;
constexpr uint8_t kCmp = 0x40;

// Chips of 2 MiB whose commands are alike. Times are those after which a chip counts as stuck; what
// data sheets call the longest is, for GD25LQ16E and W25Q16JW, 300 and 400 ms to erase, 2.4 and 3
// ms to program, 30 and 15 ms for the status registers.
constexpr Chip TwoMebibytes(const char* vendor, const char* name, std::array<uint8_t, 3> jedec,
                            Tried tried) {
  return {.vendor = vendor,
          .name = name,
          .jedec = jedec,
          .size = 0x200000,
          .sector = 0x1000,
          .page = 0x100,
          .sector_erase = absl::Seconds(2),
          .page_program = absl::Seconds(1),
          .write_status = absl::Seconds(1),
          .read = tried,
          .erase = tried,
          .program = tried,
          .protection = tried};
}

constexpr Chip kChips[] = {
    TwoMebibytes("GigaDevice", "GD25LQ16E", {0xc8, 0x60, 0x15}, Tried::kSimulated),
    TwoMebibytes("Winbond", "W25Q16JW", {0xef, 0x60, 0x15}, Tried::kUntested),
};

}  // namespace

absl::string_view TriedName(Tried tried) {
  return tried == Tried::kSimulated ? "on a simulated chip only" : "never";
}

absl::Span<const Chip> Chips() { return kChips; }

const Chip* FindChip(absl::Span<const uint8_t> capture) {
  std::vector<uint8_t> cyclic(capture.begin(), capture.end());
  cyclic.insert(cyclic.end(), capture.begin(),
                capture.begin() + static_cast<ptrdiff_t>(std::min<size_t>(capture.size(), 2)));
  for (const Chip& chip : kChips) {
    if (std::search(cyclic.begin(), cyclic.end(), chip.jedec.begin(), chip.jedec.end()) !=
        cyclic.end()) {
      return &chip;
    }
  }
  return nullptr;
}

Range ProtectedRange(const Chip& chip, uint8_t status1, uint8_t status2) {
  const unsigned bp = (status1 >> 2) & 7;
  const bool bottom = status1 & 0x20, small = status1 & 0x40;
  uint32_t size = 0;
  if (bp >= 6) {
    size = chip.size;
  } else if (bp > 0) {
    size = small ? std::min(0x1000u << (bp - 1), 0x8000u)
                 : std::min((chip.size >> 5) << (bp - 1), chip.size);
  }
  const bool cmp = status2 & kCmp;
  // The complement of a part at the top is the part at the bottom that is left.
  if (cmp) size = chip.size - size;
  if (size == 0) return {0, 0};
  return bottom != cmp ? Range{0, size} : Range{chip.size - size, chip.size};
}

absl::Status Mismatch(uint32_t address, uint8_t flash, uint8_t image) {
  return absl::DataLossError(
      absl::StrFormat("verify mismatch at 0x%x: flash=%02x image=%02x", address, flash, image));
}

absl::StatusOr<SpiNor> SpiNor::Probe(SpiBus* bus, Clock* clock) {
  SpiNor nor(bus, clock);
  nor.capture_.resize(4);
  if (absl::Status s = bus->Transfer({.opcode = kReadId}, absl::MakeSpan(nor.capture_)); !s.ok()) {
    return s;
  }
  nor.chip_ = FindChip(nor.capture_);
  if (nor.chip_ == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("unexpected GD25LQ16E JEDEC capture: ",
                     absl::BytesToHexString(absl::string_view(
                         reinterpret_cast<const char*>(nor.capture_.data()), nor.capture_.size())),
                     ": no chip that is known here; nothing was written"));
  }
  return nor;
}

absl::StatusOr<uint8_t> SpiNor::ReadRegister(uint8_t opcode) {
  uint8_t value = 0;
  if (absl::Status s = bus_->Transfer({.opcode = opcode}, absl::MakeSpan(&value, 1)); !s.ok()) {
    return s;
  }
  return value;
}

absl::StatusOr<std::vector<uint8_t>> SpiNor::ReadSfdp(size_t count) {
  std::vector<uint8_t> sfdp(count);
  if (absl::Status s =
          bus_->Transfer({.opcode = kReadSfdp, .address_size = 3}, absl::MakeSpan(sfdp));
      !s.ok()) {
    return s;
  }
  return sfdp;
}

absl::Status SpiNor::Read(uint32_t address, absl::Span<uint8_t> to) {
  if (address > chip_->size || to.size() > chip_->size - address) {
    return absl::OutOfRangeError(absl::StrFormat("read outside %d MiB flash", chip_->size >> 20));
  }
  while (!to.empty()) {
    const absl::Span<uint8_t> chunk = to.first(std::min(to.size(), bus_->max_data()));
    if (absl::Status s =
            bus_->Transfer({.opcode = kReadData, .address = address, .address_size = 3}, chunk);
        !s.ok()) {
      return s;
    }
    address += static_cast<uint32_t>(chunk.size());
    to.remove_prefix(chunk.size());
  }
  return absl::OkStatus();
}

absl::Status SpiNor::WaitIdle(absl::Duration timeout) {
  return WaitUntil(*clock_, timeout, absl::Milliseconds(2),
                   absl::StrFormat("flash remained busy for %gs", absl::ToDoubleSeconds(timeout)),
                   [this]() -> absl::StatusOr<bool> {
                     const absl::StatusOr<uint8_t> status = Status1();
                     if (!status.ok()) return status.status();
                     return (*status & kBusy) == 0;
                   });
}

absl::Status SpiNor::EnableWrite() {
  if (absl::Status s = bus_->Transfer({.opcode = kWriteEnable}, {}); !s.ok()) return s;
  const absl::StatusOr<uint8_t> status = Status1();
  if (!status.ok()) return status.status();
  if ((*status & kWriteEnabled) == 0) {
    return absl::FailedPreconditionError(absl::StrFormat("WREN failed (SR1=0x%02x)", *status));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> SpiNor::ClearCmp() {
  const absl::StatusOr<uint8_t> status1 = Status1();
  if (!status1.ok()) return status1.status();
  const absl::StatusOr<uint8_t> status2 = Status2();
  if (!status2.ok()) return status2.status();
  if ((*status2 & kCmp) == 0) return false;
  // The registers are non-volatile and some of their bits cannot be cleared again: a misread value
  // must not be written back.
  const absl::StatusOr<uint8_t> again1 = Status1();
  if (!again1.ok()) return again1.status();
  const absl::StatusOr<uint8_t> again2 = Status2();
  if (!again2.ok()) return again2.status();
  if (*again1 != *status1 || *again2 != *status2) {
    return absl::DataLossError(absl::StrFormat(
        "status registers read differently twice (SR1=0x%02x then 0x%02x, SR2=0x%02x then 0x%02x); "
        "CMP was not changed",
        *status1, *again1, *status2, *again2));
  }
  if (absl::Status s = EnableWrite(); !s.ok()) return s;
  const uint8_t data[] = {static_cast<uint8_t>(*status1 & 0xfc),
                          static_cast<uint8_t>(*status2 & ~kCmp)};
  if (absl::Status s = bus_->Transfer({.opcode = kWriteStatus, .out = data}, {}); !s.ok()) {
    return s;
  }
  if (absl::Status s = WaitIdle(chip_->write_status); !s.ok()) return s;
  const absl::StatusOr<uint8_t> after = Status2();
  if (!after.ok()) return after.status();
  if (*after & kCmp) {
    return absl::FailedPreconditionError(
        absl::StrFormat("failed to clear CMP (SR2=0x%02x)", *after));
  }
  return true;
}

absl::Status SpiNor::EraseSector(uint32_t address) {
  if (address % chip_->sector != 0) {
    return absl::InvalidArgumentError("sector address is not 4 KiB aligned");
  }
  if (address >= chip_->size) return absl::OutOfRangeError("sector is outside of the flash");
  if (absl::Status s = EnableWrite(); !s.ok()) return s;
  if (absl::Status s =
          bus_->Transfer({.opcode = kSectorErase, .address = address, .address_size = 3}, {});
      !s.ok()) {
    return s;
  }
  return WaitIdle(chip_->sector_erase);
}

absl::Status SpiNor::ProgramPage(uint32_t address, absl::Span<const uint8_t> data) {
  if (data.empty() || data.size() > chip_->page - address % chip_->page) {
    return absl::InvalidArgumentError("page program crosses a 256-byte boundary");
  }
  if (address >= chip_->size) return absl::OutOfRangeError("page is outside of the flash");
  if (absl::Status s = EnableWrite(); !s.ok()) return s;
  if (absl::Status s = bus_->Transfer(
          {.opcode = kPageProgram, .address = address, .address_size = 3, .out = data}, {});
      !s.ok()) {
    return s;
  }
  return WaitIdle(chip_->page_program);
}

absl::Status SpiNor::WriteSector(uint32_t address, absl::Span<const uint8_t> data) {
  if (data.size() != chip_->sector) {
    return absl::InvalidArgumentError("a sector's data has another size");
  }
  if (absl::Status s = EraseSector(address); !s.ok()) return s;
  for (uint32_t at = 0; at < chip_->sector; at += chip_->page) {
    const absl::Span<const uint8_t> page = data.subspan(at, chip_->page);
    if (std::all_of(page.begin(), page.end(), [](uint8_t b) { return b == 0xff; })) continue;
    if (absl::Status s = ProgramPage(address + at, page); !s.ok()) return s;
  }
  std::vector<uint8_t> back(data.size());
  if (absl::Status s = Read(address, absl::MakeSpan(back)); !s.ok()) return s;
  for (size_t i = 0; i < back.size(); ++i) {
    if (back[i] != data[i]) {
      return Mismatch(address + static_cast<uint32_t>(i), back[i], data[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace tg::flash
