#include "flash/rom_sw.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

namespace tg::flash {
namespace {

constexpr uint32_t kRomCntl = 0x5a380, kPageMirrorCntl = 0x5a384, kRomSwCntl = 0x5a3a0,
                   kRomSwStatus = 0x5a3a4, kRomSwCommand = 0x5a3a8, kRomSwData = 0x5a3b0,
                   kGpioMask = 0x5a504, kGpioA = 0x5a508, kGpioEn = 0x5a510;

// GPIO pads 7 to 10 are the flash's SCK, CS, MOSI and MISO.
constexpr uint32_t kSpiPads = 0x780;

// ROM_CNTL: SCK_PRESCALE_REFCLK [27:24] with its override bit 28; bit 0 CLOCK_GATING_EN; bit 3
// READ_MODE_OVERRIDE, which for a transaction replaces the low four bits.
constexpr uint32_t kPrescaleMask = 0x1f000000, kPrescaleOverride = 1u << 28, kClockGating = 1;
constexpr uint32_t kReadModeMask = 0xf, kReadModeOverride = 8;
// PAGE_MIRROR_CNTL [27:25]: software's accesses are not to be served from the mirror.
constexpr uint32_t kMirrorMask = 0x0e000000, kMirrorBypass = 0x06000000;
// ROM_SW_CNTL: DATA_SIZE [15:0], COMMAND_SIZE [17:16] less one, RETURN_DATA_ENABLE.
constexpr uint32_t kReturnData = 1u << 19;
constexpr uint32_t kDone = 1;
// What ROM_SW_STATUS shows, whatever is written, while the PSP's firmware runs.
constexpr uint32_t kGatedStatus = 0x04000800;

constexpr absl::Duration kTransactionTimeout = absl::Seconds(2);

absl::Status Annotate(const absl::Status& status, absl::string_view more) {
  return absl::Status(status.code(), absl::StrCat(status.message(), more));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RomSw>> RomSw::Open(Registers* registers, Clock* clock,
                                                   int prescale) {
  if (prescale < 0 || prescale > 15) return absl::InvalidArgumentError("prescale must be 0..15");
  auto bus = std::unique_ptr<RomSw>(new RomSw(registers, clock));
  absl::StatusOr<Saved> found = bus->Save();
  if (!found.ok()) return found.status();
  // Looked at before anything is written, since ROM_CNTL takes writes differently then.
  const absl::StatusOr<uint32_t> status = ReadAlive(*registers, kRomSwStatus, "ROM_SW_STATUS");
  if (!status.ok()) return status.status();
  if (*status == kGatedStatus) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "ROM_SW engine is gated (status=0x%08x): the card's firmware runs and keeps the flash to "
        "itself; nothing was written; use `dump --firmware`, or start the card without its flash",
        *status));
  }
  // These values are written back at the end: a wrong one would stay.
  const absl::StatusOr<Saved> again = bus->Save();
  if (!again.ok()) return again.status();
  if (*again != *found) {
    return absl::DataLossError(
        "the card's registers read differently twice: the link is not reliable; nothing was "
        "written");
  }
  bus->found_ = *found;
  bus->open_ = true;
  const uint32_t rom_cntl = (found->rom_cntl & ~kPrescaleMask) | kPrescaleOverride |
                            static_cast<uint32_t>(prescale) << 24 | kClockGating;
  if (absl::Status s = registers->Write32(kRomCntl, rom_cntl); !s.ok()) {
    const absl::Status closed = bus->Close();
    return closed.ok() ? s : Annotate(s, absl::StrCat("; ", closed.message()));
  }
  return bus;
}

RomSw::~RomSw() {
  if (open_) (void)Close();
}

absl::StatusOr<RomSw::Saved> RomSw::Save() {
  Saved saved;
  const struct {
    uint32_t offset;
    const char* name;
    uint32_t* value;
  } reads[] = {{kGpioMask, "GPIO MASK", &saved.gpio_mask},
               {kGpioA, "GPIO A", &saved.gpio_a},
               {kGpioEn, "GPIO EN", &saved.gpio_en},
               {kPageMirrorCntl, "PAGE_MIRROR_CNTL", &saved.page_mirror_cntl},
               {kRomCntl, "ROM_CNTL", &saved.rom_cntl}};
  for (const auto& read : reads) {
    const absl::StatusOr<uint32_t> value = ReadAlive(registers_, read.offset, read.name);
    if (!value.ok()) return value.status();
    *read.value = *value;
  }
  return saved;
}

// All of it, in this order, whatever fails on the way.
absl::Status RomSw::Restore(const Saved& saved, std::string* left) {
  const struct {
    uint32_t offset;
    const char* name;
    uint32_t value;
  } writes[] = {{kRomSwCntl, "ROM_SW_CNTL", 0},
                {kRomSwStatus, "ROM_SW_STATUS", 0},
                {kRomCntl, "ROM_CNTL", saved.rom_cntl},
                {kPageMirrorCntl, "PAGE_MIRROR_CNTL", saved.page_mirror_cntl},
                {kGpioA, "GPIO A", saved.gpio_a},
                {kGpioEn, "GPIO EN", saved.gpio_en},
                {kGpioMask, "GPIO MASK", saved.gpio_mask}};
  std::vector<absl::string_view> names;
  absl::Status first;
  for (const auto& write : writes) {
    const absl::Status status = registers_.Write32(write.offset, write.value);
    if (status.ok()) continue;
    first.Update(status);
    names.push_back(write.name);
  }
  *left = absl::StrJoin(names, ", ");
  return first;
}

absl::Status RomSw::Close() {
  if (!open_) return absl::OkStatus();
  open_ = false;
  // Each transaction has put its registers back; a write that was lost on the way would show here,
  // so everything is written and read once more.
  std::string left;
  absl::Status status = Restore(found_, &left);
  const absl::StatusOr<Saved> now = Save();
  if (!now.ok()) {
    return Annotate(
        now.status(),
        absl::StrFormat("; the link is lost and the registers cannot be restored: ROM_CNTL was "
                        "0x%08x, PAGE_MIRROR_CNTL 0x%08x, GPIO MASK/A/EN 0x%x/0x%x/0x%x",
                        found_.rom_cntl, found_.page_mirror_cntl, found_.gpio_mask, found_.gpio_a,
                        found_.gpio_en));
  }
  if (*now == found_) return absl::OkStatus();
  // Once more: what failed may have been a single access.
  status = Restore(found_, &left);
  const absl::StatusOr<Saved> again = Save();
  if (again.ok() && *again == found_) return absl::OkStatus();
  status.Update(absl::DataLossError(absl::StrFormat(
      "registers do not keep what is restored: ROM_CNTL was 0x%08x, PAGE_MIRROR_CNTL 0x%08x, GPIO "
      "MASK/A/EN 0x%x/0x%x/0x%x; switch the card's power off and on",
      found_.rom_cntl, found_.page_mirror_cntl, found_.gpio_mask, found_.gpio_a, found_.gpio_en)));
  return status;
}

absl::Status RomSw::Transfer(const SpiCommand& command, absl::Span<uint8_t> in) {
  if (!command.out.empty() && !in.empty()) {
    return absl::InvalidArgumentError("simultaneous TX and RX is unsupported");
  }
  if (command.address_size < 0 || command.address_size > 3) {
    return absl::InvalidArgumentError("address_len must be 0..3");
  }
  if (command.out.size() > max_data() || in.size() > max_data()) {
    return absl::InvalidArgumentError("transfer data must be <= 256 bytes");
  }
  if (!in.empty()) {
    // The first one is for its effect on the window; registers are captured two bytes at least.
    std::array<uint8_t, 256> ignored;
    const size_t count = command.address_size == 0 ? std::max<size_t>(in.size(), 2) : in.size();
    if (absl::Status s = Transact(command, absl::MakeSpan(ignored).first(count)); !s.ok()) {
      return s;
    }
  }
  return Transact(command, in);
}

absl::Status RomSw::Transact(const SpiCommand& command, absl::Span<uint8_t> in) {
  const absl::StatusOr<Saved> saved = Save();
  if (!saved.ok()) return saved.status();
  const absl::Status status = Engine(*saved, command, in);
  std::string left;
  const absl::Status restored = Restore(*saved, &left);
  if (restored.ok()) return status;
  return Annotate(status.ok() ? restored : status, absl::StrCat("; not restored: ", left));
}

absl::Status RomSw::Engine(const Saved& saved, const SpiCommand& command, absl::Span<uint8_t> in) {
  const std::pair<uint32_t, uint32_t> setup[] = {
      {kGpioMask, saved.gpio_mask & ~kSpiPads},
      {kGpioA, saved.gpio_a & ~kSpiPads},
      {kGpioEn, saved.gpio_en & ~kSpiPads},
      {kPageMirrorCntl, (saved.page_mirror_cntl & ~kMirrorMask) | kMirrorBypass},
      {kRomCntl, (saved.rom_cntl & ~kReadModeMask) | kReadModeOverride},
      {kRomSwCntl, 0},
      {kRomSwStatus, 0}};
  for (const auto& [offset, value] : setup) {
    if (absl::Status s = registers_.Write32(offset, value); !s.ok()) return s;
  }
  const absl::StatusOr<uint32_t> cleared = ReadAlive(registers_, kRomSwStatus, "ROM_SW_STATUS");
  if (!cleared.ok()) return cleared.status();
  if (*cleared != 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "ROM_SW_STATUS did not clear (status=0x%08x): the engine is gated while firmware runs; "
        "start the card without booting from its flash",
        *cleared));
  }
  const uint32_t code = (command.address & 0xffffff) << 8 | command.opcode;
  if (absl::Status s = registers_.Write32(kRomSwCommand, code); !s.ok()) return s;
  for (size_t at = 0; at < command.out.size(); at += 4) {
    uint32_t dword = 0;
    for (size_t i = 0; i < 4; ++i) {
      dword = dword << 8 | (at + i < command.out.size() ? command.out[at + i] : 0u);
    }
    const uint32_t offset = kRomSwData + static_cast<uint32_t>(at);
    if (absl::Status s = registers_.Write32(offset, dword); !s.ok()) return s;
  }
  const uint32_t size = static_cast<uint32_t>(in.empty() ? command.out.size() : in.size());
  const uint32_t cntl =
      static_cast<uint32_t>(command.address_size) << 16 | (in.empty() ? 0 : kReturnData) | size;
  if (absl::Status s = registers_.Write32(kRomSwCntl, cntl); !s.ok()) return s;
  // Reading it back pushes the write through the bridges on the way.
  if (absl::StatusOr<uint32_t> flush = ReadAlive(registers_, kRomSwCntl, "ROM_SW_CNTL");
      !flush.ok()) {
    return flush.status();
  }
  const absl::StatusOr<uint32_t> start = registers_.Read32(kRomSwStatus);
  if (!start.ok()) return start.status();
  const std::string timed_out = absl::StrFormat(
      "ROM_SW transaction timeout (status=0x%08x); engine may be gated after SOS boot", *start);
  if (absl::Status s = WaitUntil(clock_, kTransactionTimeout, absl::Milliseconds(1), timed_out,
                                 [&]() -> absl::StatusOr<bool> {
                                   const absl::StatusOr<uint32_t> status =
                                       ReadAlive(registers_, kRomSwStatus, "ROM_SW_STATUS");
                                   if (!status.ok()) return status.status();
                                   return (*status & kDone) != 0;
                                 });
      !s.ok()) {
    return s;
  }
  for (size_t at = 0; at < in.size(); at += 4) {
    const absl::StatusOr<uint32_t> dword =
        registers_.Read32(kRomSwData + static_cast<uint32_t>(at));
    if (!dword.ok()) return dword.status();
    for (size_t i = at; i < std::min(at + 4, in.size()); ++i) {
      in[i] = static_cast<uint8_t>(*dword >> (8 * (i - at)));
    }
  }
  return absl::OkStatus();
}

}  // namespace tg::flash
