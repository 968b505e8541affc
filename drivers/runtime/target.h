// Device names as users write them: `CPU`, `CPU:1`, `CPU:LLVM`, `MOCKKFD+AMD:LLVM:gfx1100`,
// `PCI:0,2+AMD:1`, `DISK:/data/weights.bin`.
//
//   [INTERFACE[:INDICES]+]DEVICE[:INDEX][:RENDERER[:ARCH]]        and        DISK:PATH
//
// Letters of the interface, device and renderer are upper-cased; the architecture and the path are
// kept as they are; a renderer's name begins with a letter. INDEX is a decimal number and says
// which of several equal devices; 0 is the same as none. Everything after `DISK:` is a path,
// whatever it holds.
//
// This file only splits the text. Which devices exist is the registry's business (registry.h),
// which renderers a device can be compiled for is the engine's.
#ifndef TG_DRIVERS_RUNTIME_TARGET_H_
#define TG_DRIVERS_RUNTIME_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tg::drivers {

struct Target {
  std::string interface;  // "MOCKKFD", "PCI"; empty: the device chooses.
  std::string indices;    // "0,2" or "0-3": which hardware the interface may use; empty: all.
  std::string device;     // "CPU"
  int index = 0;          // Of the devices that are visible.
  std::string renderer;   // "LLVM"; empty: the device's usual one.
  std::string arch;       // "gfx1100"; empty: found out from the device.
  std::string path;       // Of DISK only.

  // Names one device: "CPU", "CPU:1", "PCI:0,2+AMD:1", "DISK:/tmp/x". Says nothing of renderer and
  // architecture, so that `CPU:LLVM` and `CPU:CLANG` are one device with one memory.
  std::string DeviceName() const;

  // Round trip: ParseTarget(t.ToString()) == t.
  std::string ToString() const;

  friend bool operator==(const Target&, const Target&) = default;
};

// Errors (InvalidArgument) quote `text` and say what is wrong with it.
absl::StatusOr<Target> ParseTarget(absl::string_view text);

}  // namespace tg::drivers

#endif  // TG_DRIVERS_RUNTIME_TARGET_H_
