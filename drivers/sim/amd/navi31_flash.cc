#include "drivers/sim/amd/navi31_flash.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/str_format.h"
#include "absl/types/span.h"

namespace tg::sim {
namespace {

constexpr uint32_t kRomCntl = 0x5a380, kPageMirrorCntl = 0x5a384, kRomIndex = 0x5a390,
                   kRomData = 0x5a394, kRomSwCntl = 0x5a3a0, kRomSwStatus = 0x5a3a4,
                   kRomSwCommand = 0x5a3a8, kRomSwData = 0x5a3b0, kGpioMask = 0x5a504,
                   kGpioA = 0x5a508, kGpioEn = 0x5a510;

// ROM_CNTL. READ_MODE_OVERRIDE has the engine and not the boot sequencer choose how to read;
// without it transactions of software do not reach the pins.
constexpr uint32_t kReadModeOverride = 1u << 3;
constexpr uint32_t kPrescaleShift = 24;
constexpr uint32_t kPrescaleOverride = 1u << 28;
constexpr uint32_t kAutoIncrement = 1u << 29;
// ROM_SW_CNTL: DATA_SIZE [15:0], COMMAND_SIZE [17:16] in bytes less one, RETURN_DATA_ENABLE.
constexpr uint32_t kReturnData = 1u << 19;
constexpr uint32_t kKnownSwCntl = 0xffff | 3u << 16 | kReturnData;
// The pads of SCK, CS, MOSI and MISO. A set MASK bit gives the pad to GPIO.
constexpr uint32_t kSpiPads = 0x780;
constexpr uint32_t kGatedStatus = 0x04000800;
constexpr uint32_t kAllOnes = 0xffffffff;

uint32_t Swap(uint32_t v) { return __builtin_bswap32(v); }

absl::Status NotModelled(uint32_t offset, absl::string_view what) {
  return absl::UnimplementedError(absl::StrFormat("Navi 31: BAR5+0x%x: %s", offset, what));
}

bool InRomController(uint32_t offset) { return offset >= kRomCntl && offset < kRomSwData + 0x100; }

}  // namespace

Navi31Flash::Navi31Flash(Navi31Boot boot, Gd25lq16e* chip, SimClock* clock)
    : boot_(boot),
      chip_(chip),
      clock_(clock),
      mailbox_(boot == Navi31Boot::kRomless    ? PspBootMailbox::State::kDead
               : boot == Navi31Boot::kFirmware ? PspBootMailbox::State::kReady
                                               : PspBootMailbox::State::kSos,
               clock) {}

std::vector<uint32_t> Navi31Flash::Persistent() const {
  return {rom_cntl_, page_mirror_cntl_, rom_index_, gpio_mask_, gpio_a_, gpio_en_, rom_sw_cntl_};
}

// Registers that hold what was written.
uint32_t* Navi31Flash::Plain(uint32_t offset) {
  switch (offset) {
    case kRomCntl:
      return &rom_cntl_;
    case kPageMirrorCntl:
      return &page_mirror_cntl_;
    case kRomIndex:
      return &rom_index_;
    case kRomSwCntl:
      return &rom_sw_cntl_;
    case kRomSwCommand:
      return &rom_sw_command_;
    case kGpioMask:
      return &gpio_mask_;
    case kGpioA:
      return &gpio_a_;
    case kGpioEn:
      return &gpio_en_;
    default:
      return nullptr;
  }
}

absl::StatusOr<uint32_t> Navi31Flash::Read32(uint32_t offset) {
  clock_->Advance(access_ns_);
  if (offset % 4 != 0) return absl::InvalidArgumentError("Navi 31: access is not aligned");
  if (PspBootMailbox::Has(offset)) return mailbox_.Read(offset);
  if (boot_ == Navi31Boot::kSos && InRomController(offset)) return kAllOnes;
  if (offset == kRomSwStatus) {
    if (boot_ != Navi31Boot::kRomless) return kGatedStatus;
    if (done_at_ns_ >= 0 && clock_->now_ns() >= done_at_ns_) {
      done_at_ns_ = -1;
      done_ = true;
    }
    return done_ ? 1u : 0u;
  }
  if (offset >= kRomSwData && offset < kRomSwData + kDataSize) {
    const size_t at = offset - kRomSwData;
    return uint32_t{rx_[at]} | uint32_t{rx_[at + 1]} << 8 | uint32_t{rx_[at + 2]} << 16 |
           uint32_t{rx_[at + 3]} << 24;
  }
  if (offset == kRomData) return ReadAperture();
  if (const uint32_t* plain = Plain(offset)) return *plain;
  return NotModelled(offset, "this register is not modelled");
}

absl::Status Navi31Flash::Write32(uint32_t offset, uint32_t value) {
  clock_->Advance(access_ns_);
  if (offset % 4 != 0) return absl::InvalidArgumentError("Navi 31: access is not aligned");
  if (PspBootMailbox::Has(offset)) return mailbox_.Write(offset, value);
  if (boot_ == Navi31Boot::kSos && InRomController(offset)) return absl::OkStatus();
  if (boot_ == Navi31Boot::kFirmware && (offset == kRomCntl || offset == kRomIndex)) {
    value = Swap(value);
  }
  if (offset == kRomSwStatus) {
    if (value != 0) return NotModelled(offset, "writing anything but 0");
    if (boot_ == Navi31Boot::kRomless && done_at_ns_ < 0) done_ = false;
    return absl::OkStatus();
  }
  if (offset >= kRomSwData && offset < kRomSwData + kDataSize) {
    // The engine shifts out the highest byte first.
    const size_t at = offset - kRomSwData;
    for (size_t i = 0; i < 4; ++i) tx_[at + i] = static_cast<uint8_t>(value >> (24 - 8 * i));
    return absl::OkStatus();
  }
  if (offset == kRomSwCommand) armed_ = true;
  if (offset == kRomIndex) value &= 0x00ffffff;
  uint32_t* const plain = Plain(offset);
  if (plain == nullptr) return NotModelled(offset, "this register is not modelled");
  *plain = value;
  if (offset == kRomIndex) aperture_at_ = value << 8;
  // Writing the sizes starts the command that was written before. 0 is a size as well (a command
  // of one byte), so what tells a start from clearing the register is that a command waits.
  if (offset == kRomSwCntl && armed_ && boot_ == Navi31Boot::kRomless) return StartEngine();
  return absl::OkStatus();
}

absl::Status Navi31Flash::StartEngine() {
  if (rom_sw_cntl_ & ~kKnownSwCntl) return NotModelled(kRomSwCntl, "unknown bits are set");
  if (done_) return NotModelled(kRomSwCntl, "started before ROM_SW_STATUS was cleared");
  if (done_at_ns_ >= 0) return NotModelled(kRomSwCntl, "started while a transaction runs");
  const uint32_t size = rom_sw_cntl_ & 0xffff;
  if (size > kDataSize) return NotModelled(kRomSwCntl, "more data than the window holds");
  armed_ = false;
  if (quirks_.engine_never_done) {
    done_at_ns_ = std::numeric_limits<int64_t>::max();
    return absl::OkStatus();
  }
  const size_t command_size = ((rom_sw_cntl_ >> 16) & 3) + 1;
  std::vector<uint8_t> out = {static_cast<uint8_t>(rom_sw_command_)};
  for (size_t i = 1; i < command_size; ++i) {
    // The address is shifted out from its highest byte in use.
    out.push_back(static_cast<uint8_t>(rom_sw_command_ >> (8 * (command_size - i))));
  }
  const bool returns = rom_sw_cntl_ & kReturnData;
  if (!returns) out.insert(out.end(), tx_.begin(), tx_.begin() + size);
  // The window shows what the transaction before this one received: the engine moves its shift
  // register there when the next one starts.
  std::copy(latched_.begin(), latched_.end(), rx_.begin());
  std::vector<uint8_t> in(returns ? size : 0, 0xff);
  const bool connected =
      ((gpio_mask_ | gpio_a_ | gpio_en_) & kSpiPads) == 0 && (rom_cntl_ & kReadModeOverride);
  if (connected) {
    if (absl::Status s = chip_->Transfer(out, absl::MakeSpan(in)); !s.ok()) return s;
  }
  if (quirks_.rx_rotation != 0 && !in.empty()) {
    std::rotate(
        in.begin(),
        in.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(quirks_.rx_rotation) % in.size()),
        in.end());
  }
  latched_ = std::move(in);
  // An assumption that no test depends on: SCK is 100 MHz divided by the prescaler plus one.
  const int64_t prescale = rom_cntl_ & kPrescaleOverride ? (rom_cntl_ >> kPrescaleShift) & 15 : 0;
  done_at_ns_ =
      clock_->now_ns() + static_cast<int64_t>(out.size() + latched_.size()) * 80 * (prescale + 1);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> Navi31Flash::ReadAperture() {
  if (boot_ != Navi31Boot::kFirmware) {
    return NotModelled(kRomData, "the aperture without running firmware");
  }
  // ROM_INDEX counts 256-byte units; the data register walks on from there.
  if ((rom_cntl_ & kAutoIncrement) == 0) {
    return NotModelled(kRomData, "reading without ROM_INDEX_ADDRESS_AUTO_INCREASE");
  }
  const uint32_t size = quirks_.aperture_mirrored ? Gd25lq16e::kSize / 2 : Gd25lq16e::kSize;
  const uint32_t at = aperture_at_ % size;
  aperture_at_ += 4;
  const uint8_t out[] = {0x03, static_cast<uint8_t>(at >> 16), static_cast<uint8_t>(at >> 8),
                         static_cast<uint8_t>(at)};
  uint8_t in[4];
  if (absl::Status s = chip_->Transfer(out, in); !s.ok()) return s;
  return uint32_t{in[0]} | uint32_t{in[1]} << 8 | uint32_t{in[2]} << 16 | uint32_t{in[3]} << 24;
}

}  // namespace tg::sim
