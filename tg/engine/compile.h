// From a kernel of a schedule to a loaded program: optimise, lower, render, compile, load, with a
// cache in memory for each step's result and one on disk for machine code.
#ifndef TG_TG_ENGINE_COMPILE_H_
#define TG_TG_ENGINE_COMPILE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"
#include "codegen/lower/program.h"
#include "drivers/runtime/device.h"

namespace tg::engine {

// A kernel that is ready to run.
struct LoadedKernel {
  std::string name;
  std::vector<lower::ProgramParam> params;
  std::vector<ir::UOp> variables;  // in the order in which the program takes their values
  lower::Estimates estimates;
  std::unique_ptr<drivers::Program> program;
  std::shared_ptr<drivers::Device> device;  // outlives the program
};
using LoadedKernelRef = std::shared_ptr<const LoadedKernel>;

// The kernel for `ast` (a kSink, see tg/schedule) on the device that `device_name` names, compiled
// by the renderer that it or the setting DEV names. Thread-safe; two threads that want the same
// kernel compile it once.
//
// The disk cache is keyed by the text of the kernel, the target and the settings that change code.
absl::StatusOr<LoadedKernelRef> GetKernel(const ir::UOp& ast, const std::string& device_name);

// GetKernel for all of them, on PARALLEL threads.
absl::StatusOr<std::vector<LoadedKernelRef>> GetKernels(
    absl::Span<const std::pair<ir::UOp, std::string>> kernels);

// Drops every kernel from the cache in memory: for measuring cold starts.
void ClearKernelCache();

}  // namespace tg::engine

#endif  // TG_TG_ENGINE_COMPILE_H_
