// Renderer: turns a LinearProgram into source text and into an object file for one target.
//
// CPU object files are ELF relocatables that define
//   extern "C" void NAME(void* const* buffers, const int64_t* vars, int64_t core_id)
// with buffers by parameter slot and vars in the order of LinearProgram::variables. They may call
// memcpy, memset, memmove and libm functions and nothing else.
//
// Renderers are immutable after construction: any number of threads may use one.
#ifndef TG_CODEGEN_RENDER_RENDERER_H_
#define TG_CODEGEN_RENDER_RENDERER_H_

#include <string>

#include "absl/status/statusor.h"
#include "codegen/ir/uop.h"
#include "codegen/lower/program.h"

namespace tg::render {

// What optimisation and lowering need to know of a target.
struct Target {
  std::string name;           // "CPU:LLVM:x86_64:znver5": part of cache keys
  int vector_bytes = 16;      // width of a vector register
  int vector_registers = 16;  // how many there are
  bool has_threads = true;    // kernels may be split with kThread
  // Whether values of the type can be loaded, stored and computed with. Types that are not are
  // computed in float32 by lowering.
  bool (*supports)(ir::DType) = nullptr;
  // Whether the operation on the type needs no decomposition (kExp2, kSin, kMulAcc, kThreefry...).
  bool (*native_op)(ir::Op, ir::DType) = nullptr;
};

class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual const Target& target() const = 0;
  // Source text for people (DEBUG=4) and, for C, for the compiler.
  virtual absl::StatusOr<std::string> Render(const lower::LinearProgram& program) const = 0;
  // The object file. Errors: an operation the target has no form for, a compiler that failed (its
  // message is included).
  virtual absl::StatusOr<std::string> Compile(const lower::LinearProgram& program) const = 0;
};

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_RENDERER_H_
