#include "drivers/runtime/registry.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace tg::drivers {

void DeviceRegistry::Add(DeviceKind kind) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const DeviceKind& known : kinds_) {
    TG_CHECK(known.name != kind.name) << "device " << kind.name << " is added twice";
  }
  kinds_.push_back(std::move(kind));
}

absl::StatusOr<std::shared_ptr<Device>> DeviceRegistry::Open(absl::string_view text) {
  const absl::StatusOr<Target> target = ParseTarget(text);
  if (!target.ok()) return target.status();
  return Open(*target);
}

absl::StatusOr<std::shared_ptr<Device>> DeviceRegistry::Open(const Target& target) {
  const std::string name = target.DeviceName();
  std::lock_guard<std::mutex> lock(mutex_);
  const auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                                 [&](const DeviceKind& k) { return k.name == target.device; });
  if (kind == kinds_.end()) {
    return absl::NotFoundError(
        absl::StrCat("no device '", target.device, "'; there are ",
                     absl::StrJoin(kinds_, ", ", [](std::string* out, const DeviceKind& k) {
                       absl::StrAppend(out, k.name, " (", k.description, ")");
                     })));
  }
  if (!target.interface.empty() && std::find(kind->interfaces.begin(), kind->interfaces.end(),
                                             target.interface) == kind->interfaces.end()) {
    return absl::NotFoundError(
        absl::StrCat("device ", kind->name, " has no interface '", target.interface, "'; it has ",
                     kind->interfaces.empty() ? "none" : absl::StrJoin(kind->interfaces, ", ")));
  }

  const auto strong = open_.find(name);
  if (strong != open_.end()) return strong->second;
  const auto weak = open_paths_.find(name);
  if (weak != open_paths_.end()) {
    if (std::shared_ptr<Device> device = weak->second.lock()) return device;
  }
  absl::StatusOr<std::shared_ptr<Device>> device = kind->open(target);
  if (!device.ok()) {
    return absl::Status(device.status().code(),
                        absl::StrCat("opening ", name, ": ", device.status().message()));
  }
  if (target.path.empty()) {
    open_[name] = *device;
  } else {
    for (auto it = open_paths_.begin(); it != open_paths_.end();) {
      it = it->second.expired() ? open_paths_.erase(it) : std::next(it);
    }
    open_paths_[name] = *device;
  }
  return device;
}

std::vector<DeviceKind> DeviceRegistry::Kinds() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return kinds_;
}

std::vector<std::shared_ptr<Device>> DeviceRegistry::OpenDevices() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Device>> devices;
  for (const auto& [name, device] : open_) devices.push_back(device);
  for (const auto& [name, weak] : open_paths_) {
    if (std::shared_ptr<Device> device = weak.lock()) devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace tg::drivers
