// Computes one elementwise operation on constants, exactly as every target must.
#ifndef TG_CODEGEN_IR_FOLD_H_
#define TG_CODEGEN_IR_FOLD_H_

#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

// The constant that `op` with result type `dtype` gives for constant sources (kConst, none
// Invalid), or null: division by zero, an operation that is not elementwise.
UOp FoldAlu(Op op, DType dtype, absl::Span<const UOp> src);

// Threefry2x32-20 of the 64-bit counter `x` with the 64-bit `key` (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC'11). The low word is the first.
uint64_t Threefry2x32(uint64_t x, uint64_t key);

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_FOLD_H_
