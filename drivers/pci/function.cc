#include "drivers/pci/function.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tg::pci {
namespace {

absl::Status CheckAccess(absl::string_view space, uint64_t offset, uint64_t bytes, uint64_t size) {
  if (offset <= size && bytes <= size - offset) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrFormat("%s: %d bytes at 0x%x are not within its 0x%x", space, bytes, offset, size));
}

absl::Status CheckAligned(absl::string_view space, uint64_t offset, Width width) {
  if (offset % static_cast<uint64_t>(width) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s: an access of %d bytes at 0x%x is unaligned", space, static_cast<int>(width), offset));
}

absl::Status CheckRegister(absl::string_view space, uint64_t offset, Width width, uint64_t size) {
  if (absl::Status s = CheckAccess(space, offset, static_cast<uint64_t>(width), size); !s.ok()) {
    return s;
  }
  return CheckAligned(space, offset, width);
}

absl::Status CheckValue(absl::string_view space, Width width, uint64_t value) {
  if ((value & ~AllOnes(width)) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s: 0x%x has more than %d bytes", space, value, static_cast<int>(width)));
}

absl::Status CheckConfigWidth(Width width) {
  if (width != Width::k64) return absl::OkStatus();
  return absl::InvalidArgumentError("config space: no accesses of 64 bits");
}

absl::Status CheckBarIndex(int index) {
  if (index >= 0 && index < Function::kBars) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("BAR ", index, ": there are only 0 to 5"));
}

Width WidthAt(uint64_t offset, size_t left) {
  return offset % 4 == 0 && left >= 4 ? Width::k32 : Width::k8;
}

}  // namespace

absl::Status DoesNotAnswer(absl::string_view function, absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat(function, " does not answer: ", what,
                   " reads all ones; it has left the bus, sleeps, or needs power to be cycled"));
}

absl::StatusOr<uint64_t> Region::Read(uint64_t offset, Width width) {
  if (absl::Status s = CheckRegister("BAR", offset, width, size_); !s.ok()) return s;
  return DoRead(offset, width);
}

absl::Status Region::Write(uint64_t offset, Width width, uint64_t value) {
  if (absl::Status s = CheckRegister("BAR", offset, width, size_); !s.ok()) return s;
  if (absl::Status s = CheckValue("BAR", width, value); !s.ok()) return s;
  return DoWrite(offset, width, value);
}

absl::StatusOr<uint32_t> Region::Read32(uint64_t offset) {
  absl::StatusOr<uint64_t> value = Read(offset, Width::k32);
  if (!value.ok()) return value.status();
  return static_cast<uint32_t>(*value);
}

absl::Status Region::ReadBytes(uint64_t offset, absl::Span<uint8_t> bytes) {
  if (absl::Status s = CheckAccess("BAR", offset, bytes.size(), size_); !s.ok()) return s;
  return bytes.empty() ? absl::OkStatus() : DoReadBytes(offset, bytes);
}

absl::Status Region::WriteBytes(uint64_t offset, absl::Span<const uint8_t> bytes) {
  if (absl::Status s = CheckAccess("BAR", offset, bytes.size(), size_); !s.ok()) return s;
  return bytes.empty() ? absl::OkStatus() : DoWriteBytes(offset, bytes);
}

absl::Status Region::DoReadBytes(uint64_t offset, absl::Span<uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const Width width = WidthAt(offset + i, bytes.size() - i);
    absl::StatusOr<uint64_t> value = DoRead(offset + i, width);
    if (!value.ok()) return value.status();
    for (int b = 0; b < static_cast<int>(width); ++b) {
      bytes[i++] = static_cast<uint8_t>(*value >> (8 * b));
    }
  }
  return absl::OkStatus();
}

absl::Status Region::DoWriteBytes(uint64_t offset, absl::Span<const uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const Width width = WidthAt(offset + i, bytes.size() - i);
    uint64_t value = 0;
    const uint64_t at = offset + i;
    for (int b = 0; b < static_cast<int>(width); ++b) value |= uint64_t{bytes[i++]} << (8 * b);
    if (absl::Status s = DoWrite(at, width, value); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status DmaMemory::Read(uint64_t offset, absl::Span<uint8_t> bytes) {
  if (absl::Status s = CheckAccess("DMA memory", offset, bytes.size(), size_); !s.ok()) return s;
  return bytes.empty() ? absl::OkStatus() : DoRead(offset, bytes);
}

absl::Status DmaMemory::Write(uint64_t offset, absl::Span<const uint8_t> bytes) {
  if (absl::Status s = CheckAccess("DMA memory", offset, bytes.size(), size_); !s.ok()) return s;
  return bytes.empty() ? absl::OkStatus() : DoWrite(offset, bytes);
}

absl::StatusOr<uint32_t> Function::ReadConfig(uint32_t offset, Width width) {
  if (absl::Status s = CheckConfigWidth(width); !s.ok()) return s;
  if (absl::Status s = CheckRegister("config space", offset, width, kConfigSize); !s.ok()) return s;
  return DoReadConfig(offset, width);
}

absl::Status Function::WriteConfig(uint32_t offset, Width width, uint32_t value) {
  if (absl::Status s = CheckConfigWidth(width); !s.ok()) return s;
  if (absl::Status s = CheckRegister("config space", offset, width, kConfigSize); !s.ok()) return s;
  if (absl::Status s = CheckValue("config space", width, value); !s.ok()) return s;
  return DoWriteConfig(offset, width, value);
}

absl::StatusOr<Bar> Function::GetBar(int index) {
  if (absl::Status s = CheckBarIndex(index); !s.ok()) return s;
  return DoGetBar(index);
}

absl::StatusOr<std::unique_ptr<Region>> Function::MapBar(int index) {
  absl::StatusOr<Bar> bar = GetBar(index);
  if (!bar.ok()) return bar.status();
  if (bar->size == 0) return absl::NotFoundError(absl::StrCat(bus(), " has no BAR ", index));
  return DoMapBar(index, *bar);
}

absl::Status Function::ResizeBar(int index, uint64_t size) {
  if (absl::Status s = CheckBarIndex(index); !s.ok()) return s;
  if (size < (uint64_t{1} << 20) || !std::has_single_bit(size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("BAR ", index, ": ", size, " is not a power of two of at least 1 MiB"));
  }
  return DoResizeBar(index, size);
}

}  // namespace tg::pci
