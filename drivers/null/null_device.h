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
  // What Device::arch() says; empty: the engine's choice.
  std::string arch;
  // Let CopyOut succeed; it then leaves the host's bytes as they were, as there is nothing to copy.
  // Otherwise CopyOut is FailedPrecondition, so that no test takes garbage for a result.
  bool allow_copyout = false;
};

// Programs may be any bytes; Run checks nothing and reports 1 ms.
std::shared_ptr<Device> MakeNullDevice(const NullOptions& options);

}  // namespace tg::drivers

#endif  // TG_DRIVERS_NULL_NULL_DEVICE_H_
