#include "drivers/sim/usb/sim_asm24.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace tg::sim {
namespace {

using ::tg::pci::Width;

constexpr uint8_t kUnsupportedRequest = 1;
constexpr size_t kSramSize = 512 << 10, kSlot = 16 << 10, kSector = 512;
constexpr uint64_t kSramOnBus = 0x200000, kPageOnBus = 0x820000;
constexpr size_t kPageInXdata = 0xa000, kPage = 4096;

absl::Status Unknown(uint8_t request) {
  return absl::UnavailableError(absl::StrFormat("stall: request 0x%02x", request));
}

}  // namespace

SimAsm24::SimAsm24(SimFunction* device, int bridges)
    : device_(*device), bridges_(static_cast<size_t>(bridges)), xdata_(1 << 16), sram_(kSramSize) {}

void SimAsm24::PowerOn() {
  for (Header& bridge : bridges_) {
    bridge = {};
    bridge[0] = 0x21, bridge[1] = 0x1b, bridge[2] = 0x64, bridge[3] = 0x24;
    bridge[0x0e] = 1;
  }
  // The device, too, has lost its addresses.
  for (uint32_t i = 0; i < pci::Function::kBars; ++i) {
    static_cast<void>(device_.WriteConfig(pci::kConfigBar0 + 4 * i, Width::k32, 0));
  }
  static_cast<void>(device_.WriteConfig(pci::kConfigCommand, Width::k16, 0));
}

uint32_t SimAsm24::Register(const Header& bridge, uint32_t at) const {
  return uint32_t{bridge[at]} | uint32_t{bridge[at + 1]} << 8 | uint32_t{bridge[at + 2]} << 16 |
         uint32_t{bridge[at + 3]} << 24;
}

bool SimAsm24::Routed(int bus) const {
  if (static_cast<size_t>(bus) > bridges_.size()) return false;
  for (int i = 0; i < bus; ++i) {
    const Header& bridge = bridges_[static_cast<size_t>(i)];
    if (bridge[0x18] != i || bridge[0x19] != i + 1 || bridge[0x1a] < bus) return false;
  }
  return true;
}

bool SimAsm24::Passes(uint64_t address) const {
  return std::all_of(bridges_.begin(), bridges_.end(), [&](const Header& bridge) {
    if ((bridge[4] & pci::kCommandMemory) == 0) return false;
    const uint32_t memory = Register(bridge, 0x20), prefetch = Register(bridge, 0x24);
    const uint64_t base = uint64_t{memory & 0xfff0} << 16;
    const uint64_t limit = uint64_t{memory >> 20} << 20 | 0xfffff;
    const uint64_t high_base = uint64_t{prefetch & 0xfff0} << 16 | uint64_t{Register(bridge, 0x28)}
                                                                       << 32;
    const uint64_t high_limit =
        (uint64_t{prefetch >> 20} << 20 | 0xfffff) | uint64_t{Register(bridge, 0x2c)} << 32;
    return (address >= base && address <= limit) || (address >= high_base && address <= high_limit);
  });
}

void SimAsm24::Complete(uint32_t data, uint8_t status) {
  for (size_t i = 0; i < 4; ++i) completion_[i] = static_cast<uint8_t>(data >> (8 * i));
  completion_[4] = static_cast<uint8_t>(status << 5);
  completion_[7] = 0;
}

void SimAsm24::Config(uint8_t type, uint8_t enables, uint64_t address, uint32_t value) {
  const int bus = static_cast<int>(address >> 24 & 0xff);
  const auto at = static_cast<uint32_t>(address & 0xffc);
  const bool write = (type & 0x40) != 0;
  // Type 0 requests are for the bus behind the controller, and only device 0 is on any.
  if ((type & 1) != (bus > 0 ? 1 : 0) || (address >> 16 & 0xff) != 0 || !Routed(bus)) {
    return Complete(0xffffffff, kUnsupportedRequest);
  }
  uint32_t word = 0;
  for (uint32_t b = 0; b < 4; ++b) {
    if ((enables >> b & 1) == 0) continue;
    const auto byte = static_cast<uint8_t>(value >> (8 * b));
    if (static_cast<size_t>(bus) == bridges_.size()) {
      if (write) {
        static_cast<void>(device_.WriteConfig(at + b, Width::k8, byte));
      } else {
        word |= *device_.ReadConfig(at + b, Width::k8) << (8 * b);
      }
    } else if (at < sizeof(Header)) {
      uint8_t& header = bridges_[static_cast<size_t>(bus)][at + b];
      if (write && (at == 4 || at >= 0x18)) header = byte;
      word |= uint32_t{header} << (8 * b);
    }
  }
  Complete(word, 0);
}

bool SimAsm24::Memory(bool write, uint8_t enables, uint64_t address, uint32_t& value) {
  if (!Passes(address)) return false;
  for (int i = 0; i < pci::Function::kBars; ++i) {
    const pci::Bar bar = *device_.GetBar(i);
    if (bar.size == 0 || address < bar.address || address - bar.address >= bar.size) continue;
    std::unique_ptr<pci::Region>& region = regions_[i];
    if (region == nullptr || region->size() != bar.size) region = *device_.MapBar(i);
    const uint64_t offset = address - bar.address;
    if (enables == 0xf) {
      if (write) return region->Write32(offset, value).ok();
      const absl::StatusOr<uint32_t> word = region->Read32(offset);
      if (word.ok()) value = *word;
      return word.ok();
    }
    for (uint32_t b = 0; b < 4; ++b) {
      if ((enables >> b & 1) == 0) continue;
      if (write) {
        if (!region->Write(offset + b, Width::k8, value >> (8 * b) & 0xff).ok()) return false;
      } else {
        const absl::StatusOr<uint64_t> byte = region->Read(offset + b, Width::k8);
        if (!byte.ok()) return false;
        value |= static_cast<uint32_t>(*byte) << (8 * b);
      }
    }
    return true;
  }
  return false;
}

absl::Status SimAsm24::ControlOut(uint8_t request, uint16_t value, uint16_t index,
                                  absl::Span<const uint8_t> data, absl::Duration) {
  if (unplugged_) return absl::UnavailableError("no such device");
  switch (request) {
    case 0xe5:
      xdata_[value] = static_cast<uint8_t>(index);
      return absl::OkStatus();
    case 0xf3:
      power_ = value != 0;
      if (power_) PowerOn();
      return absl::OkStatus();
    case 0xf2:
      return AnnounceSram(value, index);
    case 0xf0:
      break;
    default:
      return Unknown(request);
  }
  if (data.size() != 12) return Unknown(request);
  uint64_t address = 0;
  uint32_t word = 0;
  for (size_t i = 0; i < 8; ++i) address |= uint64_t{data[i]} << (8 * i);
  for (size_t i = 0; i < 4; ++i) word |= uint32_t{data[8 + i]} << (8 * i);
  const auto type = static_cast<uint8_t>(value);
  const auto enables = static_cast<uint8_t>(value >> 8);
  completion_ = {0, 0, 0, 0, 0, 0, 0, 1};
  stream_ = 0;
  if (!power_ || link_state_ != 0x78 || (address & 3) != 0) return absl::OkStatus();
  if (index == 1 || index == 2) {
    if (type != (index == 1 ? 0x60 : 0x20)) return Unknown(request);
    stream_ = index;
    stream_address_ = address;
    stream_bytes_ = size_t{word} * 4;
    return absl::OkStatus();
  }
  if ((type & 0xbe) == 0x04) {
    Config(type, enables, address, word);
  } else if (type == 0x60) {
    Memory(true, enables, address, word);
  } else if (type == 0x20) {
    word = 0;
    const bool claimed = Memory(false, enables, address, word);
    Complete(claimed ? word : 0xffffffff, claimed ? 0 : kUnsupportedRequest);
  } else {
    return Unknown(request);
  }
  if (type != 0x60 && spoiled_ != 0) Complete(0, std::exchange(spoiled_, uint8_t{0}));
  if (type != 0x60 && lost_ > 0) {
    --lost_;
    completion_[7] = 1;
  }
  return absl::OkStatus();
}

// The number of slots has to go with the number of sectors: the controller takes buffers by slots.
absl::Status SimAsm24::AnnounceSram(uint16_t value, uint16_t index) {
  const size_t bytes = (value & 0x7fff) * kSector;
  const size_t slot = index & 0xff, slots = index >> 8;
  sram_transfer_ = {};
  if (bytes == 0 || slots != (bytes + kSlot - 1) / kSlot || slot * kSlot + bytes > kSramSize) {
    return Unknown(0xf2);
  }
  sram_transfer_ = absl::MakeSpan(sram_).subspan(slot * kSlot, bytes);
  sram_read_ = (value & 0x8000) != 0;
  return absl::OkStatus();
}

absl::Span<uint8_t> SimAsm24::Shared(uint64_t address, size_t bytes) {
  const auto within = [&](uint64_t base, size_t size) {
    return address >= base && address - base <= size && bytes <= size - (address - base);
  };
  if (within(kSramOnBus, kSramSize)) {
    return absl::MakeSpan(sram_).subspan(address - kSramOnBus, bytes);
  }
  if (within(kPageOnBus, kPage)) {
    return absl::MakeSpan(xdata_).subspan(kPageInXdata + (address - kPageOnBus), bytes);
  }
  return {};
}

absl::Status SimAsm24::DeviceRead(uint64_t address, absl::Span<uint8_t> bytes) {
  const absl::Span<uint8_t> from = Shared(address, bytes.size());
  if (from.empty()) return absl::OutOfRangeError(absl::StrFormat("no memory at 0x%x", address));
  std::copy(from.begin(), from.end(), bytes.begin());
  return absl::OkStatus();
}

absl::Status SimAsm24::DeviceWrite(uint64_t address, absl::Span<const uint8_t> bytes) {
  const absl::Span<uint8_t> to = Shared(address, bytes.size());
  if (to.empty()) return absl::OutOfRangeError(absl::StrFormat("no memory at 0x%x", address));
  std::copy(bytes.begin(), bytes.end(), to.begin());
  return absl::OkStatus();
}

absl::Status SimAsm24::ControlIn(uint8_t request, uint16_t value, uint16_t,
                                 absl::Span<uint8_t> data, absl::Duration) {
  if (unplugged_) return absl::UnavailableError("no such device");
  if (request == 0xf0 && data.size() == completion_.size()) {
    std::copy(completion_.begin(), completion_.end(), data.begin());
    return absl::OkStatus();
  }
  if (request != 0xe4 || data.size() > 0xff || value + data.size() > xdata_.size()) {
    return Unknown(request);
  }
  xdata_[0xb450] = power_ ? link_state_ : 0;
  std::copy_n(xdata_.begin() + value, data.size(), data.begin());
  return absl::OkStatus();
}

absl::Status SimAsm24::BulkOut(uint8_t endpoint, absl::Span<const uint8_t> data, absl::Duration) {
  if (unplugged_) return absl::UnavailableError("no such device");
  if (endpoint == 0x02 && !sram_read_ && !data.empty() && data.size() == sram_transfer_.size()) {
    std::copy(data.begin(), data.end(), sram_transfer_.begin());
    sram_transfer_ = {};
    return absl::OkStatus();
  }
  if (endpoint != 0x02 || stream_ != 1 || data.size() != stream_bytes_) {
    return absl::UnavailableError("stall: no such write was announced");
  }
  for (size_t i = 0; i < data.size(); i += 4) {
    uint32_t word = 0;
    for (size_t b = 0; b < 4; ++b) word |= uint32_t{data[i + b]} << (8 * b);
    Memory(true, 0xf, stream_address_ + i, word);
  }
  stream_ = 0;
  return absl::OkStatus();
}

absl::Status SimAsm24::BulkIn(uint8_t endpoint, absl::Span<uint8_t> data, absl::Duration) {
  if (unplugged_) return absl::UnavailableError("no such device");
  if (endpoint == 0x81 && sram_read_ && !data.empty() && data.size() == sram_transfer_.size()) {
    std::copy(sram_transfer_.begin(), sram_transfer_.end(), data.begin());
    sram_transfer_ = {};
    return absl::OkStatus();
  }
  if (endpoint != 0x81 || stream_ != 2 || data.size() != stream_bytes_) {
    return absl::UnavailableError("stall: no such read was announced");
  }
  for (size_t i = 0; i < data.size(); i += 4) {
    uint32_t word = 0;
    if (!Memory(false, 0xf, stream_address_ + i, word)) word = 0xffffffff;
    for (size_t b = 0; b < 4; ++b) data[i + b] = static_cast<uint8_t>(word >> (8 * b));
  }
  stream_ = 0;
  return absl::OkStatus();
}

}  // namespace tg::sim
