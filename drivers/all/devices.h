// Every device that tg has, in one registry.
#ifndef TG_DRIVERS_ALL_DEVICES_H_
#define TG_DRIVERS_ALL_DEVICES_H_

#include "drivers/runtime/registry.h"

namespace tg::drivers {

// CPU, INTERP, NULL, DISK, set up by the settings (CPU_COUNT, LRU, NULL_ALLOW_COPYOUT).
void AddAllDevices(DeviceRegistry& registry);

// The process's registry, with AddAllDevices done on first use. Never destroyed, so that buffers
// that outlive main() still find their device.
DeviceRegistry& Devices();

}  // namespace tg::drivers

#endif  // TG_DRIVERS_ALL_DEVICES_H_
