// The interpreter as a device: programs are checked and computed exactly, and slowly, by
// codegen/interp. Its memory is the host's.
//
// A program's binary is the text of its linear program (codegen/interp/serialize.h). Every access
// is checked against the parameter's size and against the allocation that the pointer lies in; what
// a program does wrong comes back from Run as an error that names the instruction. New memory that
// was not asked to be zero holds 0xA5 bytes, so that a use of it is noticed.
#ifndef TG_DRIVERS_INTERP_INTERP_DEVICE_H_
#define TG_DRIVERS_INTERP_INTERP_DEVICE_H_

#include <memory>
#include <string>

#include "drivers/runtime/device.h"

namespace tg::drivers {

struct InterpOptions {
  // Canonical name: "INTERP", "INTERP:1".
  std::string name = "INTERP";
  // What Capabilities::max_threads says: into how many parts kernels may be split. The parts run
  // one after the other.
  int threads = 1;
};

std::shared_ptr<Device> MakeInterpDevice(const InterpOptions& options);

}  // namespace tg::drivers

#endif  // TG_DRIVERS_INTERP_INTERP_DEVICE_H_
