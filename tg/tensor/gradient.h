// Reverse-mode differentiation of tensor-stage graphs: a function from a graph to a graph.
#ifndef TG_TENSOR_GRADIENT_H_
#define TG_TENSOR_GRADIENT_H_

#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::tensor_internal {

// d(root)/d(target) times `root_grad` for every target that root depends on (others are absent).
// Gradients have the shape and dtype of their target; root_grad has those of root.
//
// No gradient passes through kDetach, comparisons, conditions of kWhere, kBitcast, or non-float
// values. Where a maximum is attained several times, kMax splits the gradient in halves and a kMax
// reduction in equal parts. A product reduction is exact also where factors are 0. A kAfter passes
// its gradient to the value that was stored last.
//
// Visits each node once and without recursion. Throws UsageError for an operation that has no rule
// on a way to a target.
ir::UOpMap ComputeGradient(const ir::UOp& root, const ir::UOp& root_grad,
                           absl::Span<const ir::UOp> targets);

}  // namespace tg::tensor_internal

#endif  // TG_TENSOR_GRADIENT_H_
