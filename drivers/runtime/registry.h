// Which devices exist, and the open ones by name.
//
// Kinds are added by explicit calls (`//drivers/all` adds those of tg), never by static
// initialisers. Thread-safe.
#ifndef TG_DRIVERS_RUNTIME_REGISTRY_H_
#define TG_DRIVERS_RUNTIME_REGISTRY_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drivers/runtime/device.h"
#include "drivers/runtime/target.h"

namespace tg::drivers {

struct DeviceKind {
  std::string name;         // Upper case: "CPU".
  std::string description;  // One line for `tg devices` and error messages.
  // Interfaces that a target may name before `+`; empty: none may be named.
  std::vector<std::string> interfaces;
  // Makes the device, when no device of that Target::DeviceName() is open. The registry is locked.
  std::function<absl::StatusOr<std::shared_ptr<Device>>(const Target&)> open;
};

class DeviceRegistry {
 public:
  DeviceRegistry() = default;
  DeviceRegistry(const DeviceRegistry&) = delete;
  DeviceRegistry& operator=(const DeviceRegistry&) = delete;

  // A name may be added once.
  void Add(DeviceKind kind);

  // The device that `text` names (target.h); the same instance as long as it is open, whatever
  // renderer and architecture `text` asks for. Devices stay open, those named by a path as long
  // as somebody holds them. Errors: InvalidArgument for text that does not parse; NotFound
  // for a device or interface that does not exist, listing those that do; what the driver says
  // when it cannot be opened, with the device's name before it.
  absl::StatusOr<std::shared_ptr<Device>> Open(absl::string_view text);
  absl::StatusOr<std::shared_ptr<Device>> Open(const Target& target);

  // In the order in which they were added.
  std::vector<DeviceKind> Kinds() const;
  // Those open now, by name; those named by paths last.
  std::vector<std::shared_ptr<Device>> OpenDevices() const;

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<DeviceKind> kinds_;
  std::map<std::string, std::shared_ptr<Device>> open_;
  // Paths are many: a device that is named by one goes when nobody uses it.
  std::map<std::string, std::weak_ptr<Device>> open_paths_;
};

}  // namespace tg::drivers

#endif  // TG_DRIVERS_RUNTIME_REGISTRY_H_
