// Building tensor-stage graphs above ir/shape.h: broadcasting, constants and the folds that keep
// graphs (of gradients above all) small. Everything on UOps; devices are the caller's matter.
#ifndef TG_TENSOR_GRAPH_H_
#define TG_TENSOR_GRAPH_H_

#include <string>

#include "absl/types/span.h"
#include "codegen/ir/shape.h"
#include "codegen/ir/uop.h"

namespace tg::tensor_internal {

// The kConst that `x` consists of, seen through reshapes, expands, permutes, flips and shrinks.
// Null for anything else.
ir::UOp UniformConst(const ir::UOp& x);
// Whether x is the constant v everywhere.
bool IsUniform(const ir::UOp& x, double v);
// `scalar`, of shape (), repeated to `shape`.
ir::UOp Fill(const ir::UOp& scalar, const ir::Shape& shape);
// Adds axes in front and repeats axes of size 1. Throws ShapeError.
ir::UOp BroadcastTo(const ir::UOp& x, const ir::Shape& shape);

// Conversion; constants convert at once.
ir::UOp CastTo(const ir::UOp& x, ir::DType dtype);
// An elementwise operation on sources of equal dtypes (but for kWhere's condition), each of the
// shape `shape` or constant. Folds x + 0, x * 1, and sums and products of constants.
ir::UOp Elementwise(ir::Op op, absl::Span<const ir::UOp> src, const ir::Shape& shape);

// Reduction without axes of size 1 left.
ir::UOp ReduceAway(const ir::UOp& x, ir::Op op, absl::Span<const int64_t> axes);
// Sum in at least 32 bits, back in the dtype of x for floats. Axes become size 1.
ir::UOp SumOver(const ir::UOp& x, absl::Span<const int64_t> axes);

// The node below reshapes.
const ir::UOp& BelowReshapes(const ir::UOp& x);
// The kBuffer below a chain of kAfter (and nothing else); null for anything else.
ir::UOp BufferOf(const ir::UOp& x);
// The device of the first buffer or copy that x depends on; empty if there is none.
std::string DeviceOf(const ir::UOp& x);

}  // namespace tg::tensor_internal

#endif  // TG_TENSOR_GRAPH_H_
