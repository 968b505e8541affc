// What is known of one compiled kernel, and of lists of them.
#ifndef TG_TOOLS_KERNEL_STATS_H_
#define TG_TOOLS_KERNEL_STATS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"
#include "codegen/lower/program.h"
#include "codegen/render/renderer.h"
#include "codegen/search/timer.h"

namespace tg::kernel_tool {

struct KernelStats {
  std::string name;  // of the kernel in its file
  std::string opts;  // the steps, as opt::ToString prints them
  int64_t instructions = 0;
  int64_t spills = 0;      // instructions that read or write the stack
  int64_t code_bytes = 0;  // of the object file
  int threads = 1;
  double flops = 0;       // arithmetic of one run; a multiply-add counts two
  double bytes = 0;       // of memory that one run touches
  double compile_ms = 0;  // from the kernel with its steps to the object file
  double seconds = std::numeric_limits<double>::quiet_NaN();  // of one run; NaN: not measured

  bool operator==(const KernelStats&) const = default;
};

struct CompiledKernel {
  KernelStats stats;
  ir::UOp ast;  // with the steps
  lower::LinearProgram program;
  std::string assembly;
  std::string object;
};

// `ast`: a kernel with its steps applied. `renderer` comes from MakeLlvmCpuRenderer. Errors: what
// lowering and the compiler refuse.
absl::StatusOr<CompiledKernel> CompileKernel(const std::string& name, const ir::UOp& ast,
                                             const render::Renderer& renderer);

// Measures `kernel` and sets its seconds. Errors: the timer's.
absl::Status TimeKernel(CompiledKernel& kernel, search::Timer& timer);

// Instructions of an assembler's text (x86-64 in AT&T syntax, AArch64), and those of them that use
// the stack for other things than calls.
struct AssemblyCounts {
  int64_t instructions = 0;
  int64_t spills = 0;
};
AssemblyCounts CountAssembly(absl::string_view assembly);

// A JSON list, and back. Errors: InvalidArgument for what is no such list.
std::string ToJson(absl::Span<const KernelStats> stats);
absl::StatusOr<std::vector<KernelStats>> FromJson(absl::string_view text);

}  // namespace tg::kernel_tool

#endif  // TG_TOOLS_KERNEL_STATS_H_
