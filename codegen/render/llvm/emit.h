// From a linear program to an LLVM module with one function, for CPUs.
//
// What the code looks like, and why:
// * Pointers and variables are loaded in the entry block. Accesses through different parameters
//   carry alias scopes: distinct parameters are distinct memory.
// * A loop is one block and what is inside it, already rotated (tested at its end; tested before
//   its start only where it may run zero times), with a 64-bit counter. int32 values that are sums
//   and products of counters are also kept in 64 bits, so that addresses need no sign extensions.
// * A register buffer is one alloca for each distinct piece of it that is accessed, which SROA
//   turns into SSA values. Local buffers are allocas too.
// * A load with a scalar gate reads a dummy where the gate is false: no branch. Stores branch.
//   Gates with lanes use masked accesses.
#ifndef TG_CODEGEN_RENDER_LLVM_EMIT_H_
#define TG_CODEGEN_RENDER_LLVM_EMIT_H_

#include "absl/status/status.h"
#include "codegen/lower/program.h"
#include "llvm/IR/Module.h"

namespace tg::render {

// Local buffers of a program take at most this many bytes together: they live on the stack.
inline constexpr int64_t kMaxLocalBytes = 4 << 20;

// Adds the function `program.name` to `module`, whose triple and data layout are set. Errors:
// Unimplemented names the operation and dtype that have no form here; Internal tells how the
// program breaks its contract; ResourceExhausted: more than kMaxLocalBytes.
absl::Status EmitProgram(const lower::LinearProgram& program, llvm::Module& module);

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_LLVM_EMIT_H_
