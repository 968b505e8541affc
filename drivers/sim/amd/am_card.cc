#include "drivers/sim/amd/am_card.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drivers/sim/amd/discovery_image.h"

namespace tg::sim {
namespace {

using ::tg::pci::Width;

constexpr uint64_t kGiB = uint64_t{1} << 30;
// In dwords.
constexpr uint64_t kMmIndex = 0, kMmData = 1, kMmIndexHi = 6, kMemsize = 0xde3, kIov = 0xde5;
constexpr uint64_t kGcSegments[] = {0x1260, 0xa000};
constexpr uint64_t kScratchReg7 = 0xa000 + 0x2047;
constexpr uint64_t kMp1 = 0x16000;
constexpr uint64_t kC2pmsg0 = kMp1 + 0x240;  // C2PMSG_0; 66 at 0x282, 82 at 0x292, 90 at 0x29a
constexpr uint64_t kMmhub = 0x1a000;
constexpr uint64_t kLfbCntl = kMmhub + 0xc97, kLfbSize = kMmhub + 0xc98;

constexpr uint32_t kDriverVersion = 0xa0000008;
constexpr uint64_t kTables = 0x97000;                // where that version has the SMU write
constexpr uint64_t kMemoryBase = 0x80'0000'0000;     // the memory in the GPU's address space
constexpr uint64_t kPageTables = 33 * (kGiB >> 10);  // behind the 32 MiB of boot memory

}  // namespace

struct AmCard::Chip {
  const char* name;
  uint16_t device;
  uint32_t class_code;
  uint64_t vram;
  uint8_t gc[3], mp1[3], mmhub[3];
  SmuFirmware smu;
  // Where the card's memory begins in its group of cards, by region and size of a region.
  uint32_t lfb_region, lfb_size;
};

const AmCard::Chip AmCard::kChips[] = {
    {"gfx942",
     0x74a1,
     0x120000,
     192 * kGiB,
     {9, 4, 3},
     {13, 0, 6},
     {1, 8, 0},
     SmuFirmware::k13_0_6,
     3,
     0x3000},
    {"gfx950",
     0x75a0,
     0x120000,
     288 * kGiB,
     {9, 5, 0},
     {13, 0, 12},
     {1, 8, 1},
     SmuFirmware::k13_0_12,
     0,
     0x4800},
    {"gfx1100",
     0x744c,
     0x030000,
     24 * kGiB,
     {11, 0, 0},
     {13, 0, 0},
     {3, 0, 0},
     SmuFirmware::k13_0_0,
     0,
     0},
    {"gfx1200",
     0x7590,
     0x030000,
     16 * kGiB,
     {12, 0, 0},
     {14, 0, 2},
     {4, 1, 0},
     SmuFirmware::k14_0_2,
     0,
     0},
    {"gfx1201",
     0x7550,
     0x030000,
     16 * kGiB,
     {12, 0, 1},
     {14, 0, 3},
     {4, 1, 0},
     SmuFirmware::k14_0_2,
     0,
     0},
};

std::vector<std::string> AmCard::Chips() {
  std::vector<std::string> names;
  for (const Chip& chip : kChips) names.push_back(chip.name);
  return names;
}

absl::StatusOr<std::unique_ptr<AmCard>> AmCard::Create(const Options& options) {
  for (const Chip& chip : kChips) {
    if (options.chip == chip.name) return std::unique_ptr<AmCard>(new AmCard(chip, options));
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no simulated \"", options.chip,
                                                 "\", but ", absl::StrJoin(Chips(), ", ")));
}

AmCard::AmCard(const Chip& chip, const Options& options)
    : chip_(chip),
      options_(options),
      function_(absl::StrCat("sim:", chip.name),
                {.vendor = 0x1002, .device = chip.device, .class_code = chip.class_code}),
      smu_(chip.smu, [this](uint64_t address, absl::Span<const uint8_t> bytes) {
        if (address < kMemoryBase || address - kMemoryBase > chip_.vram - bytes.size()) {
          return absl::OutOfRangeError(
              absl::StrFormat("SMU: no memory of the card at 0x%x", address));
        }
        Put(address - kMemoryBase, bytes);
        return absl::OkStatus();
      }) {
  function_.AddRegisterBar(
      0, options.small_bar ? kGiB / 4 : std::bit_ceil(chip.vram),
      {[this](uint64_t at, Width width) { return ReadMemory(at, width); },
       [](uint64_t, Width, uint64_t) {
         return absl::PermissionDeniedError("an observer writes to the card's memory");
       }},
      /*is_64bit=*/true);
  function_.AddRegisterBar(
      5, 1 << 20,
      {[this](uint64_t at, Width width) { return ReadRegister(at, width); },
       [this](uint64_t at, Width width, uint64_t v) { return WriteRegister(at, width, v); }});

  const auto block = [](uint16_t id, const uint8_t(&v)[3], std::vector<uint64_t> bases) {
    return DiscoveryBlock{id, 0, v[0], v[1], v[2], std::move(bases)};
  };
  DiscoveryImage image;
  image.dies = {{block(11, chip.gc, {kGcSegments[0], kGcSegments[1], 0x1c000, 0x2402c00}),
                 block(34, chip.mmhub, {kMmhub, 0x2408800}), block(1, chip.mp1, {kMp1, 0xdc0000}),
                 block(255, chip.mp1, {kMp1, 0xdc0000})}};
  Put(chip.vram - (64 << 10), image.Build());

  // As the driver has done when it started the card.
  const uint64_t tables = kMemoryBase + kTables;
  const bool accelerator = chip.smu == SmuFirmware::k13_0_6 || chip.smu == SmuFirmware::k13_0_12;
  const std::pair<uint32_t, uint64_t> messages[] = {{accelerator ? 13 : 14, tables >> 32},
                                                    {accelerator ? 14 : 15, tables & 0xffffffff}};
  for (const auto& [message, argument] : messages) {
    smu_.Write(90, 0).IgnoreError();
    smu_.Write(82, static_cast<uint32_t>(argument)).IgnoreError();
    smu_.Write(66, message).IgnoreError();
    smu_.Read(90).IgnoreError();
  }
  MapPages(3);
  smu_.set_fault(options.fault);
}

uint64_t AmCard::vram_bytes() const { return chip_.vram; }

void AmCard::Put(uint64_t address, absl::Span<const uint8_t> bytes) {
  for (uint8_t byte : bytes) {
    pages_[address / 4096][address % 4096] = byte;
    ++address;
  }
}

void AmCard::PutEntry(uint64_t table, uint64_t index, uint64_t entry) {
  Put(table + index * 8, std::bit_cast<std::array<uint8_t, 8>>(entry));
}

void AmCard::MapPages(int pages) {
  const uint64_t base = uint64_t{chip_.lfb_region} * (uint64_t{chip_.lfb_size} << 24);
  const bool gfx9 = chip_.gc[0] == 9, gfx12 = chip_.gc[0] == 12;
  const uint64_t page = 0x71;  // valid, executable, readable, writable
  const uint64_t large = gfx9 ? 0 : uint64_t{1} << (gfx12 ? 63 : 54);
  const uint64_t more = gfx9 ? uint64_t{1} << 56 : 0;  // a level 2 entry leads to a table
  const uint64_t last = gfx12 ? uint64_t{1} << 63 : 0;
  const uint64_t level1 = kPageTables, level2 = kPageTables + 0x1000, level3 = kPageTables + 0x2000;
  PutEntry(0, 0, (base + level1) | 1);
  PutEntry(level1, 5, (base + level2) | 1);
  for (uint64_t i = 0; i < static_cast<uint64_t>(pages); ++i) {
    PutEntry(level2, i, (base + (i + 32) * (2 << 20)) | page | large);
  }
  PutEntry(level2, 511, (base + level3) | 1 | more);
  PutEntry(level3, 7, (base + kPageTables + 0x3000) | page | last);
  PutEntry(level3, 8, 0x12345000 | page | 2 | last);
}

uint8_t AmCard::Byte(uint64_t address) const {
  if (address >= chip_.vram) return 0xff;
  const auto it = pages_.find(address / 4096);
  return it == pages_.end() ? 0 : it->second[address % 4096];
}

absl::StatusOr<uint64_t> AmCard::ReadMemory(uint64_t offset, Width width) {
  uint64_t value = 0;
  for (int i = static_cast<int>(width); i-- > 0;) {
    value = value << 8 | Byte(offset + static_cast<uint64_t>(i));
  }
  return value;
}

absl::StatusOr<uint64_t> AmCard::ReadRegister(uint64_t offset, Width width) {
  if (width != Width::k32) return absl::UnimplementedError("AM card: registers have 32 bits");
  const uint64_t dword = offset / 4;
  if (options_.fault == SmuFault::kAllOnes) return pci::AllOnes(Width::k32);
  switch (dword) {
    case kMmIndex:
      return mm_index_;
    case kMmIndexHi:
      return mm_index_hi_;
    case kMmData:
      if ((mm_index_ >> 31) == 0) {
        return absl::UnimplementedError("AM card: MM_DATA shows registers when bit 31 is clear");
      }
      return ReadMemory((uint64_t{mm_index_hi_} << 31) + (mm_index_ & 0x7fffffff), Width::k32);
    case kMemsize:
      return chip_.vram >> 20;
    case kIov:
      return options_.virtual_function ? 1 : 0;
    case kScratchReg7:
      return options_.started ? kDriverVersion : 0;
    case kLfbCntl:
      return uint64_t{chip_.lfb_region} | 7 << 4;
    case kLfbSize:
      return chip_.lfb_size;
    default:
      if (dword >= kC2pmsg0 && dword < kC2pmsg0 + 128) {
        const absl::StatusOr<uint32_t> value = smu_.Read(static_cast<int>(dword - kC2pmsg0));
        if (!value.ok()) return value.status();
        return *value;
      }
      return absl::UnimplementedError(
          absl::StrFormat("AM card: register 0x%x is not modelled", offset));
  }
}

absl::Status AmCard::WriteRegister(uint64_t offset, Width width, uint64_t value) {
  if (width != Width::k32) return absl::UnimplementedError("AM card: registers have 32 bits");
  const uint64_t dword = offset / 4;
  if (options_.fault == SmuFault::kAllOnes) return absl::OkStatus();
  if (dword == kMmIndex) {
    mm_index_ = static_cast<uint32_t>(value);
  } else if (dword == kMmIndexHi) {
    mm_index_hi_ = static_cast<uint32_t>(value);
  } else if (dword >= kC2pmsg0 && dword < kC2pmsg0 + 128) {
    return smu_.Write(static_cast<int>(dword - kC2pmsg0), static_cast<uint32_t>(value));
  } else {
    return absl::PermissionDeniedError(
        absl::StrFormat("an observer writes to register 0x%x", offset));
  }
  return absl::OkStatus();
}

}  // namespace tg::sim
