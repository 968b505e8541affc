// Division of linear forms by constants: the part of the simplifier that index arithmetic needs
// most. Internal to codegen/ir/simplify.
#ifndef TG_CODEGEN_IR_SIMPLIFY_DIVMOD_H_
#define TG_CODEGEN_IR_SIMPLIFY_DIVMOD_H_

#include "codegen/ir/simplify/linear.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

// A simpler expression for x // c or x % c (rounding down), c > 0, or null. `x` is canonical.
UOp SimplifyFloorDiv(const UOp& x, int64_t c);
UOp SimplifyFloorMod(const UOp& x, int64_t c);

// The same for an index divisor that is not constant; it must be positive by its bounds.
UOp SimplifyFloorDiv(const UOp& x, const UOp& divisor);
UOp SimplifyFloorMod(const UOp& x, const UOp& divisor);

// Joins quotient and remainder terms of a sum: (x//c)*c + x%c = x and its relatives. True if
// anything changed.
bool RecombineDivMod(LinearForm& form);

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_SIMPLIFY_DIVMOD_H_
