// Shapes of tensor-stage values, and the builders of movement operations and reductions.
//
// A dimension is a `Sint`: an integer, or an index expression over variables (its value is known
// when a kernel runs). `ShapeOf` gives the shape of any tensor-stage node; it is computed once,
// iteratively, and kept in the node.
//
// Shapes follow from the sources: elementwise operations have the shape of their first source of
// rank > 0 (sources have equal shapes; broadcasting is an explicit kExpand, except that a value of
// shape (), such as a kConst, goes with every shape). kBuffer and kParam are flat. kAfter,
// kContiguous, kCopy, kDetach and their like pass on the shape of their first source.
//
// The builders check that the operation is legal, throw tg::ShapeError (base/error.h) with the
// operation, the shapes and what was expected, and return the operand itself where the operation
// would change nothing. Axes are counted from 0 here; negative axes belong to the frontend.
#ifndef TG_CODEGEN_IR_SHAPE_H_
#define TG_CODEGEN_IR_SHAPE_H_

#include <concepts>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

// A symbolic integer. Arithmetic folds constants and (x + c) + d, no more; two symbolic values are
// equal when they are the same expression.
class Sint {
 public:
  Sint() = default;
  template <std::integral T>
  Sint(T v) : value_(static_cast<int64_t>(v)) {}  // NOLINT: an integer is a symbolic integer
  // A kConst gives the integer. Otherwise `expr` has dtype kIndex.
  Sint(UOp expr);  // NOLINT

  bool is_const() const { return !expr_; }
  bool Is(int64_t v) const { return is_const() && value_ == v; }
  // The integer; the value must be constant.
  int64_t value() const;
  // The expression (a kConst for an integer).
  UOp uop() const { return expr_ ? expr_ : IndexConst(value_); }
  // Bounds: the value itself, or what is known of the expression.
  int64_t min() const { return expr_ ? expr_.vmin() : value_; }
  int64_t max() const { return expr_ ? expr_.vmax() : value_; }

  bool operator==(const Sint& o) const { return value_ == o.value_ && expr_ == o.expr_; }
  friend Sint operator+(const Sint& a, const Sint& b);
  friend Sint operator-(const Sint& a, const Sint& b);
  friend Sint operator*(const Sint& a, const Sint& b);
  friend Sint FloorDiv(const Sint& a, int64_t b);

  // "5", or the expression's printed form in short ("n", "(n+1)").
  std::string ToString() const;

  template <typename H>
  friend H AbslHashValue(H h, const Sint& s) {
    return H::combine(std::move(h), s.value_, s.expr_);
  }

 private:
  int64_t value_ = 0;  // 0 where expr_ is set
  UOp expr_;
};

std::ostream& operator<<(std::ostream& os, const Sint& s);
// Floor division; `b` > 0.
Sint FloorDiv(const Sint& a, int64_t b);

using Shape = absl::InlinedVector<Sint, 6>;
// Begin and end per axis, of a pad or a shrink.
using Bounds2 = absl::InlinedVector<std::pair<Sint, Sint>, 6>;

// The shape of a tensor-stage value; () for nodes without one (kStore, kSink). The reference lives
// as long as the node.
const Shape& ShapeOf(const UOp& x);
// Whether every dimension is an integer.
bool IsConst(const Shape& shape);
// Product of the dimensions.
Sint NumElements(const Shape& shape);
// "(2, 3)", "(4,)", "()".
std::string ToString(const Shape& shape);

// --- Movement -----------------------------------------------------------------------------------
// The same elements in row-major order in another shape; products must be equal. Chains collapse.
UOp Reshape(const UOp& x, const Shape& shape);
// Axes of size 1 repeated; `shape` has the rank of x.
UOp Expand(const UOp& x, const Shape& shape);
// Result axis i is axis order[i] of x; `order` is a permutation. Chains collapse.
UOp Permute(const UOp& x, absl::Span<const int64_t> order);
// Reverses the axes (each named once).
UOp Flip(const UOp& x, absl::Span<const int64_t> axes);
// Zeros around: {before, after} per axis, neither negative.
UOp Pad(const UOp& x, const Bounds2& pads);
// The box [begin, end) per axis; 0 <= begin <= end <= size.
UOp Shrink(const UOp& x, const Bounds2& box);
// r[..i..k..] = x[..i + coef*k + offset..k..], zero where that lies outside of x; i runs over
// `size` along `axis`, k along axis `by` (op.h).
UOp Shear(const UOp& x, int axis, int by, int64_t coef, const Sint& offset, const Sint& size);

// --- Other
// ----------------------------------------------------------------------------------------
// Reduction with kAdd, kMul or kMax; the axes become size 1. Axes of size 1 are dropped. An empty
// axis gives the identity element (for kMax the least value of the dtype, -infinity for floats).
UOp Reduce(const UOp& x, Op op, absl::Span<const int64_t> axes);

// The vector 0, 1, .. size-1 of an integer dtype.
UOp Iota(const Sint& size, DType dtype);
UOp Contiguous(const UOp& x);
UOp Detach(const UOp& x);
UOp CopyTo(const UOp& x, const std::string& device);

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_SHAPE_H_
