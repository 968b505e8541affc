// Interval and congruence arithmetic: what can be said of an integer node from its direct sources.
#ifndef TG_CODEGEN_IR_FACTS_H_
#define TG_CODEGEN_IR_FACTS_H_

#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::ir::internal {

// Bounds of a node with these parts. Sound: the interval contains every value that the node can
// take, at its dtype (arithmetic that may leave a fixed-width type gives the type's interval).
Bounds ComputeBounds(Op op, DType dtype, absl::Span<const UOp> src, const Arg& arg);

// Congruence of a node with these parts. Only exact (weak) integers have more than modulus 1 for
// operations that could wrap.
Congruence ComputeCongruence(Op op, DType dtype, absl::Span<const UOp> src, const Arg& arg,
                             const Bounds& bounds);

}  // namespace tg::ir::internal

#endif  // TG_CODEGEN_IR_FACTS_H_
