#include "drivers/usb/asm24.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace tg::usb {
namespace {

constexpr uint8_t kReadXdata = 0xe4;
constexpr uint8_t kWriteXdata = 0xe5;
constexpr uint8_t kTlp = 0xf0;
constexpr uint8_t kSram = 0xf2;
constexpr uint8_t kPower = 0xf3;
constexpr uint8_t kBulkOut = 0x02;
constexpr uint8_t kBulkIn = 0x81;

// Format and type of TLPs (PCI Express Base Specification, table 2-3); memory requests are those
// with 64-bit addresses. The lowest bit of config requests: not for the bus behind the first port.
constexpr uint8_t kConfigRead = 0x04;
constexpr uint8_t kConfigWrite = 0x44;
constexpr uint8_t kMemoryRead = 0x20;
constexpr uint8_t kMemoryWrite = 0x60;

enum Mode : uint16_t { kSingle = 0, kStreamWrite = 1, kStreamRead = 2 };

constexpr int kTries = 11;
constexpr uint64_t kPage = 4096;
constexpr absl::Duration kTimeout = absl::Seconds(5);
constexpr absl::Duration kPowerTimeout = absl::Seconds(10);
constexpr absl::Duration kSramTimeout = absl::Seconds(10);
constexpr uint16_t kSramRead = 0x8000;

uint8_t Enables(uint64_t address, int bytes) {
  return static_cast<uint8_t>(((1 << bytes) - 1) << (address & 3));
}

uint64_t ConfigAddress(int bus, uint32_t offset) {
  return static_cast<uint64_t>(bus) << 24 | offset;
}

}  // namespace

absl::Status Asm24::ReadXdata(uint16_t address, absl::Span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const absl::Span<uint8_t> part = bytes.first(std::min<size_t>(bytes.size(), 0x80));
    if (absl::Status s = transport_.ControlIn(kReadXdata, address, 0, part, kTimeout); !s.ok()) {
      return s;
    }
    address = static_cast<uint16_t>(address + part.size());
    bytes.remove_prefix(part.size());
  }
  return absl::OkStatus();
}

absl::Status Asm24::WriteXdata(uint16_t address, absl::Span<const uint8_t> bytes) {
  for (uint8_t byte : bytes) {
    if (absl::Status s = transport_.ControlOut(kWriteXdata, address, byte, {}, kTimeout); !s.ok()) {
      return s;
    }
    ++address;
  }
  return absl::OkStatus();
}

absl::Status Asm24::AnnounceSram(uint32_t slot, size_t bytes, bool read) {
  if (bytes == 0 || bytes % kSramSector != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("SRAM: ", bytes, " bytes are no whole sectors of ", kSramSector));
  }
  if (slot >= kSramSize / kSramSlot || bytes > kSramSize - slot * kSramSlot) {
    return absl::OutOfRangeError(
        absl::StrCat("SRAM: ", bytes, " bytes from slot ", slot, " on leave its ", kSramSize));
  }
  const size_t slots = (bytes + kSramSlot - 1) / kSramSlot;
  return transport_.ControlOut(kSram,
                               static_cast<uint16_t>(bytes / kSramSector | (read ? kSramRead : 0)),
                               static_cast<uint16_t>(slot | slots << 8), {}, kTimeout);
}

absl::Status Asm24::ReadSram(uint32_t slot, absl::Span<uint8_t> bytes) {
  if (absl::Status s = AnnounceSram(slot, bytes.size(), /*read=*/true); !s.ok()) return s;
  return transport_.BulkIn(kBulkIn, bytes, kSramTimeout);
}

absl::Status Asm24::WriteSram(uint32_t slot, absl::Span<const uint8_t> bytes) {
  if (absl::Status s = AnnounceSram(slot, bytes.size(), /*read=*/false); !s.ok()) return s;
  return transport_.BulkOut(kBulkOut, bytes, kSramTimeout);
}

absl::Status Asm24::SetPower(bool on) {
  return transport_.ControlOut(kPower, on ? 1 : 0, 0, {}, kPowerTimeout);
}

absl::Status Asm24::BringLinkUp() {
  uint8_t state = 0;
  for (const bool first : {true, false}) {
    if (absl::Status s = ReadXdata(kLinkState, {&state, 1}); !s.ok()) return s;
    if (state == kLinkUp) return absl::OkStatus();
    if (!first) break;
    if (absl::Status s = SetPower(true); !s.ok()) return s;
  }
  return absl::UnavailableError(
      absl::StrFormat("PCIe link not up (LTSSM=0x%02X), custom firmware not ready", state));
}

absl::Status Asm24::Send(uint8_t type, uint8_t enables, uint16_t mode, uint64_t address,
                         uint32_t value) {
  std::array<uint8_t, 12> data;
  for (size_t i = 0; i < 8; ++i) data[i] = static_cast<uint8_t>(address >> (8 * i));
  for (size_t i = 0; i < 4; ++i) data[8 + i] = static_cast<uint8_t>(value >> (8 * i));
  return transport_.ControlOut(kTlp, static_cast<uint16_t>(type | enables << 8), mode, data,
                               kTimeout);
}

absl::StatusOr<uint32_t> Asm24::Complete(uint8_t type, uint64_t address, int bytes,
                                         uint32_t value) {
  const int shift = 8 * static_cast<int>(address & 3);
  std::array<uint8_t, 8> data = {};
  for (int i = 0; i < kTries; ++i) {
    if (absl::Status s =
            Send(type, Enables(address, bytes), kSingle, address & ~uint64_t{3}, value << shift);
        !s.ok()) {
      return s;
    }
    if (absl::Status s = transport_.ControlIn(kTlp, 0, 0, absl::MakeSpan(data), kTimeout);
        !s.ok()) {
      return s;
    }
    if (data[7] == 0) break;
    absl::SleepFor(absl::Milliseconds(1));
  }
  if (data[7] != 0) {
    return absl::UnavailableError(
        absl::StrFormat("TLP error after retries: ret_status=%d, address=0x%x", data[7], address));
  }
  switch (data[4] >> 5) {
    case 0:
      break;
    case 1:
      return absl::NotFoundError(
          absl::StrFormat("TLP completion status: Unsupported Request: 0x%x", address));
    case 2:
      return absl::UnavailableError("TLP completion status: Config Retry");
    case 4:
      return absl::AbortedError("TLP completion status: Completer Abort");
    default:
      return absl::DataLossError(absl::StrCat("TLP completion status: Reserved (0b", data[4] >> 7,
                                              data[4] >> 6 & 1, data[4] >> 5 & 1, ")"));
  }
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word |= uint32_t{data[i]} << (8 * i);
  const uint32_t mask = bytes == 4 ? 0xffffffff : (uint32_t{1} << (8 * bytes)) - 1;
  return word >> shift & mask;
}

absl::StatusOr<uint32_t> Asm24::ReadConfig(int bus, uint32_t offset, int bytes) {
  return Complete(kConfigRead | (bus > 0 ? 1 : 0), ConfigAddress(bus, offset), bytes, 0);
}

absl::Status Asm24::WriteConfig(int bus, uint32_t offset, int bytes, uint32_t value) {
  return Complete(kConfigWrite | (bus > 0 ? 1 : 0), ConfigAddress(bus, offset), bytes, value)
      .status();
}

absl::StatusOr<uint32_t> Asm24::ReadMemory(uint64_t address, int bytes) {
  return Complete(kMemoryRead, address, bytes, 0);
}

absl::Status Asm24::WriteMemory(uint64_t address, int bytes, uint32_t value) {
  // Memory writes are posted: there is no completion to wait for.
  return Send(kMemoryWrite, Enables(address, bytes), kSingle, address & ~uint64_t{3},
              value << (8 * (address & 3)));
}

absl::Status Asm24::ReadStream(uint64_t address, absl::Span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min<size_t>(bytes.size(), kPage - address % kPage));
    if (absl::Status s =
            Send(kMemoryRead, 0xf, kStreamRead, address, static_cast<uint32_t>(part.size() / 4));
        !s.ok()) {
      return s;
    }
    if (absl::Status s = transport_.BulkIn(kBulkIn, part, kTimeout); !s.ok()) return s;
    address += part.size();
    bytes.remove_prefix(part.size());
  }
  return absl::OkStatus();
}

absl::Status Asm24::WriteStream(uint64_t address, absl::Span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min<size_t>(bytes.size(), kPage - address % kPage));
    if (absl::Status s =
            Send(kMemoryWrite, 0xf, kStreamWrite, address, static_cast<uint32_t>(part.size() / 4));
        !s.ok()) {
      return s;
    }
    if (absl::Status s = transport_.BulkOut(kBulkOut, part, kTimeout); !s.ok()) return s;
    address += part.size();
    bytes.remove_prefix(part.size());
  }
  return absl::OkStatus();
}

}  // namespace tg::usb
