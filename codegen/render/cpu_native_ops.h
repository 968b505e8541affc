// What processors compute without help: the operations that renderers for CPUs leave to them.
#ifndef TG_CODEGEN_RENDER_CPU_NATIVE_OPS_H_
#define TG_CODEGEN_RENDER_CPU_NATIVE_OPS_H_

#include "codegen/ir/uop.h"

namespace tg::render {

// Values of Target::native_op for processors with and without a fused multiply-add. Elementary
// functions are library calls, one lane at a time, and so left to lowering.
bool CpuNativeWithFma(ir::Op op, ir::DType dtype);
bool CpuNativeWithoutFma(ir::Op op, ir::DType dtype);

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_CPU_NATIVE_OPS_H_
