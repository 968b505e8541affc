// The canonical order of nodes: which operand of a commutative operation stands first, and how the
// terms of a sum are sorted.
//
// It depends on structure only, so it is the same in every process: by operation (op.h's order, so
// leaves stand before what is computed), constants last; ranges by (axis type, id), which puts
// outer loops first; variables by name; then by sources a few levels deep; then by hash.
#ifndef TG_CODEGEN_IR_SIMPLIFY_ORDER_H_
#define TG_CODEGEN_IR_SIMPLIFY_ORDER_H_

#include "codegen/ir/uop.h"

namespace tg::ir {

// Negative, zero (the same node) or positive: a before, same as, after b.
int CompareOrder(const UOp& a, const UOp& b);

inline bool OrderLess(const UOp& a, const UOp& b) { return CompareOrder(a, b) < 0; }

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_SIMPLIFY_ORDER_H_
