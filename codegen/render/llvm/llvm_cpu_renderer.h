// The LLVM renderer for CPUs (`DEV=CPU`, `DEV=CPU:LLVM`): linear program to LLVM IR through
// IRBuilder, and from there to an object file in memory with ORC's compile layer.
//
// Code is for the processor and features of this machine, or of another x86-64 or AArch64 one. It
// is vectorised and unrolled by our own optimizer: LLVM's loop optimisers stay off, which keeps a
// kernel's compile time at some milliseconds. Floats follow IEEE 754, except that a product and a
// sum may be contracted into one rounding; nothing is reassociated.
#ifndef TG_CODEGEN_RENDER_LLVM_LLVM_CPU_RENDERER_H_
#define TG_CODEGEN_RENDER_LLVM_LLVM_CPU_RENDERER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/render/renderer.h"

namespace tg::render {

struct LlvmCpuOptions {
  // LLVM's names ("znver4", "x86-64-v3"). Empty: this machine, with exactly its features.
  std::string cpu;
  // Checks each module with LLVM's verifier, for tests.
  bool verify = false;
};

// Never null. An unknown `cpu` makes Compile fail with InvalidArgument.
std::unique_ptr<Renderer> MakeLlvmCpuRenderer(const LlvmCpuOptions& options = {});

// The assembly that Compile makes machine code from, for people (DEBUG=7) and tests. `renderer`
// comes from MakeLlvmCpuRenderer.
absl::StatusOr<std::string> LlvmAssembly(const Renderer& renderer,
                                         const lower::LinearProgram& program);

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_LLVM_LLVM_CPU_RENDERER_H_
