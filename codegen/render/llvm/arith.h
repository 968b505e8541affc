// Elementwise operations as LLVM instructions, on scalars and on vectors of any lane count.
//
// Nothing here traps: division by zero gives quotient 0 and remainder the dividend, and the least
// integer divided by -1 wraps, so that lanes whose result nobody uses need no care.
#ifndef TG_CODEGEN_RENDER_LLVM_ARITH_H_
#define TG_CODEGEN_RENDER_LLVM_ARITH_H_

#include "absl/types/span.h"
#include "codegen/ir/uop.h"
#include "llvm/IR/IRBuilder.h"

namespace tg::render {

// Whether EmitAlu takes the operation on values of the type of `u` (that of its sources, for a
// comparison).
bool CanEmitAlu(const ir::UOp& u);

// `src` are the values of u's sources. Bounds of the sources (ir facts) choose cheaper forms and
// the no-wrap flags.
llvm::Value* EmitAlu(llvm::IRBuilder<>& b, const ir::UOp& u, absl::Span<llvm::Value* const> src);

// Whether signed int32/int64 addition, subtraction or multiplication `u` cannot leave its type, by
// the bounds of its sources.
bool CannotWrap(const ir::UOp& u);

// Combines two values of the type `d` by kAdd, kMul or kMax.
llvm::Value* EmitCombine(llvm::IRBuilder<>& b, ir::Op op, ir::DType d, llvm::Value* x,
                         llvm::Value* y);

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_LLVM_ARITH_H_
