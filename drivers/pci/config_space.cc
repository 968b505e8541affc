#include "drivers/pci/config_space.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tg::pci {
namespace {

absl::Status BrokenList(Function& function, uint32_t at) {
  return absl::DataLossError(
      absl::StrFormat("%s: the list of capabilities is broken at 0x%x", function.bus(), at));
}

// The control register of a BAR's entry in the Resizable BAR capability (7.8.6): entries of a
// capability and a control register from offset 4 on; the first control register tells how many.
absl::StatusOr<uint32_t> ResizableControl(Function& function, int index) {
  absl::StatusOr<uint32_t> at = FindExtendedCapability(function, kExtendedResizableBar);
  if (!at.ok()) return at.status();
  uint32_t entries = 1;
  for (uint32_t i = 0; i < entries; ++i) {
    const uint32_t control_at = *at + 8 + 8 * i;
    if (control_at + 4 > Function::kConfigSize) return BrokenList(function, control_at);
    absl::StatusOr<uint32_t> control = function.ReadConfig(control_at, Width::k32);
    if (!control.ok()) return control.status();
    if (i == 0) entries = *control >> 5 & 7;
    if ((*control & 7) == static_cast<uint32_t>(index)) return control_at;
  }
  return absl::NotFoundError(absl::StrCat(function.bus(), ": BAR ", index, " is not resizable"));
}

}  // namespace

absl::StatusOr<Identity> ReadIdentity(Function& function) {
  absl::StatusOr<uint32_t> id = function.ReadConfig(kConfigVendor, Width::k32);
  if (!id.ok()) return id.status();
  if (*id == AllOnes(Width::k32)) return DoesNotAnswer(function.bus(), "its vendor id");
  absl::StatusOr<uint32_t> kind = function.ReadConfig(kConfigClass, Width::k32);
  if (!kind.ok()) return kind.status();
  absl::StatusOr<uint32_t> subsystem = function.ReadConfig(kConfigSubsystemVendor, Width::k32);
  if (!subsystem.ok()) return subsystem.status();
  Identity identity;
  identity.vendor = static_cast<uint16_t>(*id);
  identity.device = static_cast<uint16_t>(*id >> 16);
  identity.subsystem_vendor = static_cast<uint16_t>(*subsystem);
  identity.subsystem = static_cast<uint16_t>(*subsystem >> 16);
  identity.class_code = *kind >> 8;
  identity.revision = static_cast<uint8_t>(*kind);
  return identity;
}

absl::StatusOr<uint32_t> FindCapability(Function& function, uint8_t id) {
  absl::StatusOr<uint32_t> status = function.ReadConfig(kConfigStatus, Width::k16);
  if (!status.ok()) return status.status();
  if (*status == AllOnes(Width::k16)) return DoesNotAnswer(function.bus(), "its status register");
  if (*status & kStatusCapabilities) {
    absl::StatusOr<uint32_t> next = function.ReadConfig(kConfigCapabilities, Width::k8);
    if (!next.ok()) return next.status();
    // Each takes four bytes at least, from 0x40 on.
    for (int seen = 0; *next != 0; ++seen) {
      const uint32_t at = *next & ~uint32_t{3};
      if (at < 0x40 || seen >= (0x100 - 0x40) / 4) return BrokenList(function, at);
      absl::StatusOr<uint32_t> header = function.ReadConfig(at, Width::k16);
      if (!header.ok()) return header.status();
      if ((*header & 0xff) == id) return at;
      next = *header >> 8;
    }
  }
  return absl::NotFoundError(absl::StrFormat("%s has no capability 0x%02x", function.bus(), id));
}

absl::StatusOr<uint32_t> FindExtendedCapability(Function& function, uint16_t id) {
  uint32_t at = kConfigExtended;
  for (int seen = 0; at != 0; ++seen) {
    if (at < kConfigExtended || seen >= static_cast<int>(Function::kConfigSize - 0x100) / 4) {
      return BrokenList(function, at);
    }
    absl::StatusOr<uint32_t> header = function.ReadConfig(at, Width::k32);
    if (!header.ok()) return header.status();
    // Without extended capabilities the first header is zero, or all ones where config space ends
    // at 256 bytes.
    if (*header == 0 || *header == AllOnes(Width::k32)) break;
    if ((*header & 0xffff) == id) return at;
    at = *header >> 20 & ~uint32_t{3};
  }
  return absl::NotFoundError(
      absl::StrFormat("%s has no extended capability 0x%04x", function.bus(), id));
}

absl::Status EnableCommand(Function& function, uint32_t set) {
  absl::StatusOr<uint32_t> command = function.ReadConfig(kConfigCommand, Width::k16);
  if (!command.ok()) return command.status();
  if (*command == AllOnes(Width::k16)) return DoesNotAnswer(function.bus(), "its command register");
  if ((*command & set) == set) return absl::OkStatus();
  return function.WriteConfig(kConfigCommand, Width::k16, *command | set);
}

absl::StatusOr<uint64_t> ResizableBarSizes(Function& function, int index) {
  absl::StatusOr<uint32_t> at = ResizableControl(function, index);
  if (!at.ok()) return at.status();
  absl::StatusOr<uint32_t> capability = function.ReadConfig(*at - 4, Width::k32);
  if (!capability.ok()) return capability.status();
  absl::StatusOr<uint32_t> control = function.ReadConfig(*at, Width::k32);
  if (!control.ok()) return control.status();
  // Bits 31:4 are 1 MiB to 128 GiB; bits 31:16 of the control register go on from there.
  return uint64_t{*capability >> 4} | uint64_t{*control >> 16} << 28;
}

absl::Status SelectBarSize(Function& function, int index, uint64_t size) {
  absl::StatusOr<uint64_t> sizes = ResizableBarSizes(function, index);
  if (!sizes.ok()) return sizes.status();
  const int n = std::countr_zero(size) - 20;
  if (!std::has_single_bit(size) || n < 0 || n > 43 || (*sizes >> n & 1) == 0) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: BAR %d cannot take 0x%x bytes", function.bus(), index, size));
  }
  absl::StatusOr<uint32_t> at = ResizableControl(function, index);
  if (!at.ok()) return at.status();
  absl::StatusOr<uint32_t> control = function.ReadConfig(*at, Width::k32);
  if (!control.ok()) return control.status();
  const uint32_t chosen = (*control & ~uint32_t{0x3f00}) | static_cast<uint32_t>(n) << 8;
  return function.WriteConfig(*at, Width::k32, chosen);
}

absl::StatusOr<Bar> ProbeBar(Function& function, int index) {
  if (index < 0 || index >= Function::kBars) {
    return absl::OutOfRangeError(absl::StrCat("BAR ", index, ": there are only 0 to 5"));
  }
  const uint32_t at = kConfigBar0 + 4 * static_cast<uint32_t>(index);
  absl::StatusOr<uint32_t> command = function.ReadConfig(kConfigCommand, Width::k16);
  if (!command.ok()) return command.status();
  if (*command == AllOnes(Width::k16)) return DoesNotAnswer(function.bus(), "its command register");
  absl::StatusOr<uint32_t> low = function.ReadConfig(at, Width::k32);
  if (!low.ok()) return low.status();
  // The upper half of a 64-bit BAR is none of its own.
  for (int i = 0; i < index; ++i) {
    absl::StatusOr<uint32_t> before =
        function.ReadConfig(kConfigBar0 + 4 * static_cast<uint32_t>(i), Width::k32);
    if (!before.ok()) return before.status();
    if ((*before & (kBarIo | kBar64)) == kBar64 && ++i == index) return Bar{};
  }
  const bool wide = (*low & (kBarIo | kBar64)) == kBar64 && index + 1 < Function::kBars;
  absl::StatusOr<uint32_t> high = uint32_t{0};
  if (wide) high = function.ReadConfig(at + 4, Width::k32);
  if (!high.ok()) return high.status();
  const uint32_t off = *command & ~(kCommandMemory | kCommandIo);
  if (absl::Status s = function.WriteConfig(kConfigCommand, Width::k16, off); !s.ok()) return s;

  absl::Status status;
  auto probe = [&](uint32_t offset, uint32_t old) -> uint32_t {
    if (status.ok()) status = function.WriteConfig(offset, Width::k32, 0xffffffff);
    absl::StatusOr<uint32_t> mask = function.ReadConfig(offset, Width::k32);
    if (status.ok()) status = mask.status();
    const absl::Status back = function.WriteConfig(offset, Width::k32, old);
    if (status.ok()) status = back;
    return mask.ok() ? *mask : 0;
  };
  uint64_t mask = probe(at, *low);
  const bool io = (mask & kBarIo) != 0;
  mask &= ~uint64_t{kBarFlags};
  mask |= wide ? uint64_t{probe(at + 4, *high)} << 32 : mask == 0 ? 0 : 0xffffffff00000000;
  const absl::Status back = function.WriteConfig(kConfigCommand, Width::k16, *command);
  if (!status.ok()) return status;
  if (!back.ok()) return back;

  Bar bar;
  if (io || mask == 0) return bar;
  bar.size = ~mask + 1;
  if (!std::has_single_bit(bar.size)) {
    return absl::DataLossError(
        absl::StrFormat("%s: BAR %d has the mask 0x%x", function.bus(), index, mask));
  }
  bar.address = uint64_t{*high} << 32 | (*low & ~kBarFlags);
  bar.prefetchable = (*low & kBarPrefetchable) != 0;
  bar.is_64bit = wide;
  return bar;
}

}  // namespace tg::pci
