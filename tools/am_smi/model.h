// What is known of the AMD GPUs of a machine at one moment.
//
// Sources: the kernel's sysfs files as its documentation describes them ("AMDGPU driver: GPU power,
// thermal controls and monitoring", "hwmon sysfs interface", "DRM client usage stats"), the lock
// files of programs that drive a card from user space, and for such cards what they measure
// themselves (drivers/amd/am_observer.h). A value that cannot be had is absent, with the reason.
#ifndef TG_TOOLS_AM_SMI_MODEL_H_
#define TG_TOOLS_AM_SMI_MODEL_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tg::am_smi {

struct Value {
  std::optional<double> value;
  std::string absent;  // Why there is none; empty when there is one.

  static Value Of(double v) { return {v, ""}; }
  static Value None(std::string reason) { return {std::nullopt, std::move(reason)}; }
};

// A value with what it measures. The unit is part of the name: "temperature_edge_c".
struct Reading {
  const char* name;
  const char* unit;  // "C", "W", "MHz", "mV", "%", "B", "rpm"
  Value value;
};

struct Process {
  pid_t pid = 0;
  std::string command;
  std::optional<double> vram_bytes;
};

struct Gpu {
  std::string bus;          // "0000:03:00.0"
  std::string name;         // "1002:744c", and the product's name where the kernel knows it; or "".
  std::string driver;       // Kernel driver bound to it; "" when none.
  bool locked = false;      // A program drives it from user space.
  std::string power_state;  // "D0"; "" when not known.
  std::string link;         // "16.0 GT/s PCIe x16"; "" when not known.
  std::string blocks;       // "GC 11.0.0, SMU 13.0.0"; "" when not known.
  std::vector<Reading> readings;
  std::vector<Process> processes;
  std::string note;  // What limits what is known; may be empty.
};

// All AMD display controllers and accelerators, by bus; those alone whose bus is `bus` where that
// is not empty. `root` stands for /: /sys, /tmp are read below it; processes always come from
// /proc.
absl::StatusOr<std::vector<Gpu>> ReadGpus(const std::string& root, absl::string_view bus);

// The readings that every GPU has, none of which is known.
std::vector<Reading> NoReadings(absl::string_view reason);

// The value with this name; null when there is no such reading.
const Value* Find(const Gpu& gpu, absl::string_view name);

}  // namespace tg::am_smi

#endif  // TG_TOOLS_AM_SMI_MODEL_H_
