// A device that is not there: schedules, compiles and loads like any other, but allocates nothing
// and runs nothing. For measuring everything above the device, and for compiling for hardware that
// the machine does not have.
#ifndef TG_DRIVERS_NULL_NULL_DEVICE_H_
#define TG_DRIVERS_NULL_NULL_DEVICE_H_

#include <memory>
#include <string>

#include "drivers/runtime/device.h"

namespace tg::drivers {

struct NullOptions {
  std::string name = "NULL";
  // CopyOut gives zeros. Otherwise it is FailedPrecondition, so that nobody takes them for a
  // result.
  bool allow_copyout = false;
};

// Programs may be any bytes; Run checks nothing and reports 1 ms. arch() is empty: what to compile
// for is the caller's choice, and does not change the device.
std::shared_ptr<Device> MakeNullDevice(const NullOptions& options);

}  // namespace tg::drivers

#endif  // TG_DRIVERS_NULL_NULL_DEVICE_H_
