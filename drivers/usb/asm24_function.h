#ifndef TG_DRIVERS_USB_ASM24_FUNCTION_H_
#define TG_DRIVERS_USB_ASM24_FUNCTION_H_

// The PCI function behind an ASM2464PD bridge. No firmware or kernel has set it up, so opening it
// does what they do: numbers the buses down to the device, makes its resizable BAR 0 as large as it
// can be, gives BARs addresses, and opens the bridges' windows for them.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "drivers/pci/device_lock.h"
#include "drivers/pci/function.h"
#include "drivers/usb/transport.h"

namespace tg::usb {

// `name` is the bus name: "usb:1:4". `lock` is held until the function is closed. Unavailable: the
// link is down, or there is no device.
//
// One page of DMA memory can be had, in the bridge. Reset switches the device off and on. There are
// no interrupts.
absl::StatusOr<std::unique_ptr<pci::Function>> OpenAsm24Function(
    std::unique_ptr<Transport> transport, const std::string& name, pci::DeviceLock lock);

}  // namespace tg::usb

#endif  // TG_DRIVERS_USB_ASM24_FUNCTION_H_
