// Gives index arithmetic a width.
//
// Index arithmetic (kWeakInt) is exact. It becomes int32 where the bounds of a value and of
// everything that it is computed from fit, else int64: a product that leaves int32 on its way to a
// small quotient is computed in 64 bits.
#ifndef TG_CODEGEN_LOWER_INDEX_DTYPE_H_
#define TG_CODEGEN_LOWER_INDEX_DTYPE_H_

#include "codegen/ir/uop.h"

namespace tg::lower {

// `root` without weak integers. Vectors (lanes) likewise.
ir::UOp LowerIndexDType(const ir::UOp& root);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_INDEX_DTYPE_H_
