#ifndef TG_DRIVERS_PCI_CONFIG_SPACE_H_
#define TG_DRIVERS_PCI_CONFIG_SPACE_H_

// What stands in config space (PCI Express Base Specification 5.0, 7.5 to 7.9).

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drivers/pci/function.h"

namespace tg::pci {

// Offsets of registers of a function that is not a bridge.
inline constexpr uint32_t kConfigVendor = 0x00;
inline constexpr uint32_t kConfigDevice = 0x02;
inline constexpr uint32_t kConfigCommand = 0x04;
inline constexpr uint32_t kConfigStatus = 0x06;
inline constexpr uint32_t kConfigRevision = 0x08;
inline constexpr uint32_t kConfigClass = 0x08;  // revision in the low byte
inline constexpr uint32_t kConfigHeaderType = 0x0e;
inline constexpr uint32_t kConfigBar0 = 0x10;  // 4 bytes each
inline constexpr uint32_t kConfigSubsystemVendor = 0x2c;
inline constexpr uint32_t kConfigSubsystem = 0x2e;
inline constexpr uint32_t kConfigCapabilities = 0x34;
inline constexpr uint32_t kConfigExtended = 0x100;

inline constexpr uint32_t kCommandIo = 1 << 0;
inline constexpr uint32_t kCommandMemory = 1 << 1;
inline constexpr uint32_t kCommandMaster = 1 << 2;
inline constexpr uint32_t kStatusCapabilities = 1 << 4;

inline constexpr uint32_t kBarIo = 1 << 0;
inline constexpr uint32_t kBar64 = 1 << 2;
inline constexpr uint32_t kBarPrefetchable = 1 << 3;
inline constexpr uint32_t kBarFlags = 0xf;

// Capabilities and extended capabilities.
inline constexpr uint8_t kCapabilityPowerManagement = 0x01;
inline constexpr uint8_t kCapabilityExpress = 0x10;
inline constexpr uint16_t kExtendedResizableBar = 0x15;

struct Identity {
  uint16_t vendor = 0;
  uint16_t device = 0;
  uint16_t subsystem_vendor = 0;
  uint16_t subsystem = 0;
  uint32_t class_code = 0;  // 24 bits: base class, subclass, programming interface
  uint8_t revision = 0;
};

// Unavailable when the function does not answer.
absl::StatusOr<Identity> ReadIdentity(Function& function);

// Offset of a capability's first byte; NotFound when there is none. Lists that form a circle or
// leave config space are DataLoss.
absl::StatusOr<uint32_t> FindCapability(Function& function, uint8_t id);
absl::StatusOr<uint32_t> FindExtendedCapability(Function& function, uint16_t id);

// Sets the bits of `set` in the command register and leaves the others.
absl::Status EnableCommand(Function& function, uint32_t set);

// A bit for each size that a BAR can take: bit n for 2^(n + 20) bytes. NotFound when the BAR
// cannot be resized.
absl::StatusOr<uint64_t> ResizableBarSizes(Function& function, int index);

// Chooses one of them in the capability. Addresses are to be assigned anew afterwards.
absl::Status SelectBarSize(Function& function, int index, uint64_t size);

// A BAR's size and kind by writing all ones to it (7.5.1.2.1), as firmware does. Turns memory
// decoding off meanwhile and puts everything back. For functions whose host has not done it.
absl::StatusOr<Bar> ProbeBar(Function& function, int index);

}  // namespace tg::pci

#endif  // TG_DRIVERS_PCI_CONFIG_SPACE_H_
