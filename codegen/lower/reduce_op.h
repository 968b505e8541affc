// The identity and the combining step of a reduction.
#ifndef TG_CODEGEN_LOWER_REDUCE_OP_H_
#define TG_CODEGEN_LOWER_REDUCE_OP_H_

#include "codegen/ir/uop.h"
#include "codegen/render/renderer.h"

namespace tg::lower {

// What `op` (kAdd, kMul, kMax) gives for nothing: 0, 1, the least value of `d` (minus infinity).
ir::UOp ReduceIdentity(ir::Op op, ir::DType d);

// `acc` combined with `v`, in operations that the target has: a product that is added is one
// kMulAcc where that is native; bools combine by kOr and kAnd.
ir::UOp Combine(ir::Op op, const ir::UOp& acc, const ir::UOp& v, const render::Target& target);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_REDUCE_OP_H_
