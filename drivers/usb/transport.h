#ifndef TG_DRIVERS_USB_TRANSPORT_H_
#define TG_DRIVERS_USB_TRANSPORT_H_

// A USB device as drivers use it: vendor requests on the control endpoint, and bulk transfers (USB
// 2.0 specification, 8.5.3 and 8.5.2). Not thread safe.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace tg::usb {

class Transport {
 public:
  virtual ~Transport() = default;

  // A vendor request to the device, with `data` to it or from it. Unavailable: the device is gone
  // or refuses; DeadlineExceeded: not done within `timeout`; DataLoss: fewer bytes than `data` has.
  virtual absl::Status ControlOut(uint8_t request, uint16_t value, uint16_t index,
                                  absl::Span<const uint8_t> data, absl::Duration timeout) = 0;
  virtual absl::Status ControlIn(uint8_t request, uint16_t value, uint16_t index,
                                 absl::Span<uint8_t> data, absl::Duration timeout) = 0;
  // Bulk transfers of exactly that many bytes.
  virtual absl::Status BulkOut(uint8_t endpoint, absl::Span<const uint8_t> data,
                               absl::Duration timeout) = 0;
  virtual absl::Status BulkIn(uint8_t endpoint, absl::Span<uint8_t> data,
                              absl::Duration timeout) = 0;
};

}  // namespace tg::usb

#endif  // TG_DRIVERS_USB_TRANSPORT_H_
