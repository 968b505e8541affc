#ifndef TG_DRIVERS_USB_LIBUSB_TRANSPORT_H_
#define TG_DRIVERS_USB_LIBUSB_TRANSPORT_H_

// USB devices of this machine, through libusb.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/function.h"
#include "drivers/usb/asm24.h"
#include "drivers/usb/transport.h"

namespace tg::usb {

struct UsbDevice {
  std::string name;  // "usb:1:4": bus and address
  uint8_t bus = 0;
  uint8_t address = 0;
};

// Devices with one of the ids, in the order of the ids, then of bus and address. Empty where there
// is no USB.
absl::StatusOr<std::vector<UsbDevice>> ListUsbDevices(absl::Span<const UsbId> ids);

// Opens a device and takes its first interface from the kernel's driver. NotFound: it is gone;
// PermissionDenied; FailedPrecondition: another program has it, or its product string does not
// start with one of `products`.
absl::StatusOr<std::unique_ptr<Transport>> OpenUsbDevice(
    const UsbDevice& device, absl::Span<const absl::string_view> products);

// The PCI function behind an ASM2464PD bridge, with its lock taken (am_usb:1:4.lock).
absl::StatusOr<std::unique_ptr<pci::Function>> OpenAsm24Device(
    const UsbDevice& device, const std::string& locks = pci::kLockFolder);

}  // namespace tg::usb

#endif  // TG_DRIVERS_USB_LIBUSB_TRANSPORT_H_
