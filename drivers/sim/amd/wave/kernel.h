// From a kernel of a code object to a dispatch: code, arguments and packet in simulated memory,
// registers as the command processor sets them.
//
// Source: LLVM 22, User Guide for AMDGPU Backend, "Kernel Dispatch", "Initial Kernel Execution
// State".
#ifndef TG_DRIVERS_SIM_AMD_WAVE_KERNEL_H_
#define TG_DRIVERS_SIM_AMD_WAVE_KERNEL_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/object/amd_code_object.h"
#include "drivers/sim/amd/wave/launch.h"
#include "drivers/sim/amd/wave/memory.h"

namespace tg::amd::sim {

// A code object's image in `memory`, read-only there. Free(address) gives it back.
struct LoadedImage {
  Arch arch = Arch::kGfx1100;
  uint64_t address = 0;
};
absl::StatusOr<LoadedImage> LoadImage(const object::AmdCodeObject& object, Memory* memory);

// What the user gives a kernel beside its code.
struct KernelArguments {
  std::string explicit_bytes;  // The explicit arguments as they lie in the kernarg segment.
  std::array<uint32_t, 3> grid = {1, 1, 1};  // Work-items.
  std::array<uint32_t, 3> block = {1, 1, 1};
  uint32_t dynamic_lds_bytes = 0;
};

// Writes the kernarg segment with its hidden arguments and an AQL packet to new memory, and fills
// the dispatch. NotFound when the object has no such kernel; InvalidArgument when the explicit
// arguments are longer than it takes.
absl::StatusOr<Dispatch> MakeDispatch(const object::AmdCodeObject& object, absl::string_view kernel,
                                      const LoadedImage& image, const KernelArguments& arguments,
                                      Memory* memory);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_KERNEL_H_
