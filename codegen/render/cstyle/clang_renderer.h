// The C renderer for CPUs (`DEV=CPU:CLANG`): C with clang's vector extensions, compiled by a clang
// that is run as a child process. For reading kernels and for cross-checking the LLVM renderer;
// compiling takes tens of milliseconds for each kernel.
#ifndef TG_CODEGEN_RENDER_CSTYLE_CLANG_RENDERER_H_
#define TG_CODEGEN_RENDER_CSTYLE_CLANG_RENDERER_H_

#include <memory>
#include <string>

#include "codegen/render/renderer.h"

namespace tg::render {

struct ClangOptions {
  // Program name or path, clang 18 or later. Empty: the setting CC, and `clang` where that is
  // "clang-22" and missing.
  std::string compiler;
};

// Never null. A missing compiler makes Compile fail with NotFound.
std::unique_ptr<Renderer> MakeClangRenderer(const ClangOptions& options = {});

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_CSTYLE_CLANG_RENDERER_H_
