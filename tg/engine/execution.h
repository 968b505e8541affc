// Execution: runs a schedule's kernels and copies on real buffers, and reports what ran.
#ifndef TG_TG_ENGINE_EXECUTION_H_
#define TG_TG_ENGINE_EXECUTION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"
#include "drivers/runtime/buffer.h"
#include "tg/engine/compile.h"
#include "tg/schedule/schedule.h"

namespace tg::engine {

// A kernel, or a copy (kernel null; buffers are destination and source), on its buffers.
struct ExecItem {
  LoadedKernelRef kernel;
  std::vector<drivers::BufferRef> buffers;
};

// Values of variables by name.
using VariableValues = std::vector<std::pair<std::string, int64_t>>;

// The items of `schedule` on `inputs` (by input number of the normalised graph), with memory for
// what the schedule makes: internal buffers share one arena for each device (setting
// NO_MEMORY_PLANNER), which the items keep alive. Compiles what is not compiled yet.
absl::StatusOr<std::vector<ExecItem>> BindSchedule(const schedule::Schedule& schedule,
                                                   absl::Span<const drivers::BufferRef> inputs);

// Runs the items in order. Errors name the kernel.
absl::Status RunItems(absl::Span<const ExecItem> items, const VariableValues& variables,
                      bool in_jit);

}  // namespace tg::engine

#endif  // TG_TG_ENGINE_EXECUTION_H_
