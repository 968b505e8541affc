// Conversions between element types as LLVM instructions, on scalars and on vectors alike.
//
// Values are held as: bool i1, integers iN, half `half`, bfloat16 i16 and fp8 i8 (their bits: no
// target computes with them), float32 and float64 themselves. In memory a bool is an i8.
//
// Results agree with codegen/ir/dtype.h for every input, in every lane: no conversion traps or is
// undefined. All of it vectorises; nothing calls a library, except half on targets without
// conversion instructions.
#ifndef TG_CODEGEN_RENDER_LLVM_CONVERT_H_
#define TG_CODEGEN_RENDER_LLVM_CONVERT_H_

#include "codegen/ir/dtype.h"
#include "llvm/IR/IRBuilder.h"

namespace tg::render {

// The type of a value, and of its image in memory.
llvm::Type* ValueType(llvm::LLVMContext& context, ir::DType d);
llvm::Type* MemoryType(llvm::LLVMContext& context, ir::DType d);

// A constant of every lane. `value` is of the kind of `d`.
llvm::Constant* IntConstant(llvm::LLVMContext& context, ir::DType d, int64_t value);
llvm::Constant* FloatConstant(llvm::LLVMContext& context, ir::DType d, double value);

// Value to and from its image in memory.
llvm::Value* ToMemory(llvm::IRBuilder<>& b, llvm::Value* v, ir::DType d);
llvm::Value* FromMemory(llvm::IRBuilder<>& b, llvm::Value* v, ir::DType d);

// Neither type is void or weak; the lane counts are equal.
llvm::Value* EmitCast(llvm::IRBuilder<>& b, llvm::Value* v, ir::DType from, ir::DType to);
// Equal sizes in bytes; lane counts may differ.
llvm::Value* EmitBitcast(llvm::IRBuilder<>& b, llvm::Value* v, ir::DType from, ir::DType to);

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_LLVM_CONVERT_H_
