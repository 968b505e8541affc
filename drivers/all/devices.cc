#include "drivers/all/devices.h"

#include <memory>

#include "absl/status/status.h"
#include "base/settings.h"
#include "drivers/cpu/cpu_device.h"
#include "drivers/disk/disk_device.h"
#include "drivers/interp/interp_device.h"
#include "drivers/null/null_device.h"

namespace tg::drivers {
namespace {

using OpenedDevice = absl::StatusOr<std::shared_ptr<Device>>;

int HostThreads() {
  return base::Get(base::kThreads) != 0 ? static_cast<int>(base::Get(base::kCpuCount)) : 1;
}

OpenedDevice OpenCpu(const Target& target) {
  CpuOptions options;
  options.name = target.DeviceName();
  options.threads = HostThreads();
  options.pool = base::Get(base::kLru) != 0;
  return MakeCpuDevice(options);
}

OpenedDevice OpenInterp(const Target& target) {
  InterpOptions options;
  options.name = target.DeviceName();
  options.threads = HostThreads();
  return MakeInterpDevice(options);
}

OpenedDevice OpenNull(const Target& target) {
  NullOptions options;
  options.name = target.DeviceName();
  options.allow_copyout = base::Get(base::kNullAllowCopyout) != 0;
  return MakeNullDevice(options);
}

}  // namespace

void AddAllDevices(DeviceRegistry& registry) {
  registry.Add({"CPU", "the host's processor", {}, OpenCpu});
  registry.Add({"INTERP", "an interpreter of micro-ops, slow and exact", {}, OpenInterp});
  registry.Add({"NULL", "everything but memory and running", {}, OpenNull});
  registry.Add({"DISK", "a file, as DISK:/path", {}, [](const Target& target) {
                  return MakeDiskDevice(target.path);
                }});
}

DeviceRegistry& Devices() {
  static DeviceRegistry* const registry = [] {
    auto* fresh = new DeviceRegistry;
    AddAllDevices(*fresh);
    return fresh;
  }();
  return *registry;
}

}  // namespace tg::drivers
