// Tensor: a lazy n-dimensional array.
//
//   Tensor x = Rand({64, 784});                       // creation.h, random.h
//   Tensor y = (x.MatMul(w) + b).Relu();              // nothing runs yet
//   y.SparseCategoricalCrossEntropy(labels).Backward();
//   std::vector<float> values = y.ToVector<float>();  // runs what y needs
//
// Handles and values. A Tensor is a handle on a value; copying the handle makes another handle on
// the same tensor. Operations are pure: they return new tensors. Only Assign, SetIndex and the
// in-place operators (+=) give a tensor another value, and then no other tensor changes: whatever
// was computed from it, lazily or not, keeps the value that it had (also views of it).
//
// Laziness. An operation makes graph nodes (codegen/ir). Realize, reading a value, or realizing a
// tensor that depends on it runs it. Errors in shapes, dtypes and devices throw at once, as
// subclasses of tg::Error with the operation and the shapes in the message; running throws
// DeviceError or UsageError.
//
// Shapes are ir::Shape: dimensions may be expressions over variables. Axes may be negative
// (counted from the end). Sizes of 0 are fine everywhere.
//
// Dtypes. Operands promote by the lattice of dtype.h. C++ numbers convert to weak scalars, which
// take the dtype of their partner: float16 * 2.0 is float16, int32 + 1 is int32; int32 * 0.5 has
// the default float. A weak scalar has no storage: realizing one throws. Operations that need
// floats (Exp, Mean, /, ...) turn integers to the default float first.
//
// Devices. Operands must be on one device (DeviceError); constants go with any.
//
// Gradients: Gradient(), or Backward() into grad() of tensors that want it (autograd below).
//
// Threads: the frontend belongs to one thread at a time; running itself uses many.
#ifndef TG_TENSOR_TENSOR_H_
#define TG_TENSOR_TENSOR_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/ir/dtype.h"
#include "codegen/ir/shape.h"
#include "codegen/ir/uop.h"

namespace tg {

using ir::DType;
using ir::kBFloat16;
using ir::kBool;
using ir::kFloat16;
using ir::kFloat32;
using ir::kFloat64;
using ir::kInt16;
using ir::kInt32;
using ir::kInt64;
using ir::kInt8;
using ir::kUInt16;
using ir::kUInt32;
using ir::kUInt64;
using ir::kUInt8;
using ir::Shape;
using ir::Sint;

class Tensor;
class Indexer;
namespace tensor_internal {
struct TensorImpl;
}  // namespace tensor_internal

// The DEFAULT_FLOAT and DEFAULT_INT settings.
DType DefaultFloat();
DType DefaultInt();

// Which axes an operation works on: all of them when default constructed.
class Axes {
 public:
  Axes() = default;
  Axes(int axis) : axes_(std::vector<int>{axis}) {}        // NOLINT
  Axes(std::initializer_list<int> axes) : axes_(axes) {}   // NOLINT
  Axes(std::vector<int> axes) : axes_(std::move(axes)) {}  // NOLINT
  static Axes None() { return Axes(std::vector<int>{}); }
  // Sorted, counted from 0. Throws ShapeError for axes that are out of range for `shape` or named
  // twice. A scalar has the axes 0 and -1 too, which name nothing.
  std::vector<int64_t> Resolve(const char* op, const Shape& shape) const;

 private:
  std::optional<std::vector<int>> axes_;
};

// An integer, or one per spatial axis.
class PerAxis {
 public:
  PerAxis(int64_t all) : values_({all}) {}                              // NOLINT
  PerAxis(std::initializer_list<int64_t> values) : values_(values) {}   // NOLINT
  PerAxis(std::vector<int64_t> values) : values_(std::move(values)) {}  // NOLINT
  // `n` values. Throws ShapeError unless there is one value, or n.
  std::vector<int64_t> Resolve(const char* op, const char* what, int n) const;
  // {before, after} per axis, outermost axis first. Takes one value, n, or 2n values; the last form
  // is (before, after) of the last axis, then of the one before it (torch's order).
  std::vector<std::pair<int64_t, int64_t>> ResolvePairs(const char* op, int n) const;

 private:
  std::vector<int64_t> values_;
};

enum class PadMode { kConstant, kReflect, kReplicate, kCircular };
enum class Reduction { kMean, kSum, kNone };

struct Conv2dOptions {
  int64_t groups = 1;
  PerAxis stride = 1;
  PerAxis dilation = 1;
  PerAxis padding = 0;
};

struct ConvTranspose2dOptions {
  int64_t groups = 1;
  PerAxis stride = 1;
  PerAxis dilation = 1;
  PerAxis padding = 0;
  PerAxis output_padding = 0;
};

struct Pool2dOptions {
  PerAxis kernel = 2;
  std::optional<PerAxis> stride = std::nullopt;  // the kernel's size
  PerAxis dilation = 1;
  PerAxis padding = 0;
  bool ceil_mode = false;         // windows that only begin inside of the padded input count too
  bool count_include_pad = true;  // averages: padding counts in the divisor
};

struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  double label_smoothing = 0.0;
  std::optional<int64_t> ignore_index = std::nullopt;  // labels with this value do not count
};

class Tensor {
 public:
  // No tensor. Anything but assignment and defined() throws UsageError.
  Tensor() = default;
  // A weak scalar (bool: a bool scalar). Data: see creation.h.
  template <typename T>
  requires std::integral<T> || std::floating_point<T> Tensor(T value)
      : Tensor(ScalarTag(), Value(value)) {}  // NOLINT
  // A tensor-stage value of the graph on `device` (empty: none, a constant).
  static Tensor FromUOp(ir::UOp uop, std::string device);
  // The value of a variable in this run: `bound` is a kBind. A weak integer.
  static Tensor FromVariable(const ir::UOp& bound) { return FromUOp(bound, ""); }

  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  // Makes this handle name another tensor. Values are changed by Assign.
  Tensor& operator=(const Tensor&) = default;
  Tensor& operator=(Tensor&&) = default;
  ~Tensor() = default;

  // --- Properties
  // ---------------------------------------------------------------------------------
  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const;
  int ndim() const;
  // Size along `axis`, which must be no expression.
  int64_t Dim(int axis) const;
  // Throws ShapeError for symbolic shapes.
  int64_t NumElements() const;
  // The size of the first axis; throws for scalars.
  int64_t Length() const;
  DType dtype() const;
  // Empty for constants.
  const std::string& device() const;
  const ir::UOp& uop() const;
  // Whether both handles name the same tensor.
  bool IsSame(const Tensor& o) const { return impl_ == o.impl_; }
  // "Tensor(float32 (2, 3) on CPU)".
  std::string ToString() const;

  // --- Running and storage (realize.cc)
  // ------------------------------------------------------------- Computes the value into memory,
  // and this. All at once, with what they share computed once.
  const Tensor& Realize() const;
  static void Realize(absl::Span<const Tensor> tensors);
  bool IsRealized() const;
  // For what changes memory behind the frontend's back (a Jit that replays): runs every pending
  // Assign, and realizes each tensor whose value depends on a kBuffer for which `overwritten`
  // holds, but those whose own memory it is.
  static void Settle(const std::function<bool(const ir::UOp& buffer)>& overwritten);
  // Gives this tensor a new value, of the same shape (after broadcasting), dtype and device. A
  // tensor that owns memory (one that was realized, made from data, cloned, or a parameter) keeps
  // it: the value is stored in place when it is realized. Other tensors keep their values. Throws
  // ShapeError, DTypeError, DeviceError.
  Tensor& Assign(const Tensor& value);
  // The value with row-major memory of its own, decided when it is run; and a copy that owns its
  // memory from the start (and can be a parameter).
  Tensor Contiguous() const;
  Tensor ContiguousBackward() const;  // only the gradient
  Tensor Clone() const;
  // The same value; no gradient passes.
  Tensor Detach() const;
  Tensor To(absl::string_view device) const;

  // The elements in row-major order, converted to T (float, double, bool as uint8_t, or an
  // integer). Realizes. Throws UsageError while a Jit captures.
  template <typename T>
  std::vector<T> ToVector() const;
  // The only element. Throws ShapeError when there are others.
  template <typename T = double>
  T Item() const;
  // The bytes as they are in memory.
  std::vector<std::byte> ToBytes() const;

  // --- Autograd (autograd.cc)
  // ----------------------------------------------------------------------- Marks a leaf: Backward
  // fills its grad(). Turning it on gives the tensor memory of its own (lazily, as Clone). Floats
  // only (DTypeError).
  Tensor& SetRequiresGrad(bool on = true);
  bool requires_grad() const;
  // Not defined before Backward.
  Tensor grad() const;
  void SetGrad(Tensor grad);
  void ZeroGrad() { SetGrad(Tensor()); }
  // d(this)/d(target) for each target, times `grad`, which has this tensor's shape and may be left
  // out for scalars. Targets that this does not depend on get zeros. Throws DTypeError for targets
  // that are no floats, UsageError for operations without a gradient. Realizing a tensor cuts it
  // off from what it was computed from, unless that wants a gradient (SetRequiresGrad); where
  // nothing is left, this throws UsageError instead of giving zeros.
  std::vector<Tensor> Gradient(absl::Span<const Tensor> targets, Tensor grad = Tensor()) const;
  // Adds the gradient to grad() of every tensor that wants it and that this depends on. Throws
  // UsageError when there is none: a forgotten SetRequiresGrad shows here.
  void Backward(Tensor grad = Tensor()) const;

  // --- Dtype
  // -----------------------------------------------------------------------------------------
  Tensor Cast(DType dtype) const;
  Tensor Float() const { return Cast(kFloat32); }
  // The same bytes. With another element size the last axis changes by the ratio.
  Tensor Bitcast(DType dtype) const;

  // --- Movement (movement.cc)
  // ------------------------------------------------------------------------- One dimension may be
  // -1: what is left.
  Tensor Reshape(const Shape& shape) const;
  // Repeats axes of size 1, new axes in front; -1 keeps an axis.
  Tensor Expand(const Shape& shape) const;
  Tensor Permute(const std::vector<int>& order) const;
  Tensor Transpose(int a = 1, int b = 0) const;
  Tensor T() const;  // axes reversed
  Tensor Flip(const Axes& axes) const;
  // [begin, end) per axis; nullopt keeps an axis.
  Tensor Shrink(const std::vector<std::optional<std::pair<Sint, Sint>>>& box) const;
  // {before, after} per axis, negative amounts cut; constant mode fills with `value`. Reflect and
  // replicate mirror and repeat the border, circular wraps once.
  Tensor Pad(const std::vector<std::pair<int64_t, int64_t>>& pads, double value = 0.0,
             PadMode mode = PadMode::kConstant) const;
  Tensor Squeeze() const;  // all axes of size 1
  Tensor Squeeze(int axis) const;
  Tensor Unsqueeze(int axis) const;
  Tensor Flatten(int start = 0, int end = -1) const;
  Tensor Unflatten(int axis, const Shape& sizes) const;
  std::vector<Tensor> Split(int64_t size, int axis = 0) const;
  std::vector<Tensor> Split(const std::vector<int64_t>& sizes, int axis = 0) const;
  std::vector<Tensor> Chunk(int64_t chunks, int axis = 0) const;
  static Tensor Stack(absl::Span<const Tensor> tensors, int axis = 0);
  static Tensor Cat(absl::Span<const Tensor> tensors, int axis = 0);
  Tensor Repeat(const std::vector<int64_t>& times) const;
  Tensor RepeatInterleave(int64_t times, int axis) const;
  // axes without axes: the flattened tensor.
  Tensor Roll(const std::vector<int64_t>& shifts, const std::vector<int>& axes) const;
  // Windows of `size` every `step` along `axis`, as a last axis.
  Tensor Unfold(int axis, int64_t size, int64_t step) const;
  Tensor Diag() const;  // vector to matrix
  Tensor Diagonal(int64_t offset = 0, int axis1 = 0, int axis2 = 1) const;
  Tensor Triu(int64_t diagonal = 0) const;
  Tensor Tril(int64_t diagonal = 0) const;
  static std::vector<Tensor> Meshgrid(absl::Span<const Tensor> vectors, bool xy = false);

  // --- Indexing (index.cc, index.h)
  // -------------------------------------------------------------------
  Tensor Index(std::initializer_list<Indexer> indices) const;
  Tensor Index(absl::Span<const Indexer> indices) const;
  Tensor& SetIndex(std::initializer_list<Indexer> indices, const Tensor& value);
  Tensor& SetIndex(absl::Span<const Indexer> indices, const Tensor& value);
  // Element (or sub-tensor) i of the first axis.
  Tensor operator[](int64_t i) const;
  // r[i][j].. = this[index[i][j]..][j]..: along `axis`, index picks; other axes may be shorter than
  // this tensor's. Out of range indices give 0.
  Tensor Gather(int axis, const Tensor& index) const;
  // A copy with src[i][j].. put at index[i][j].. of `axis`; of equal indices the last wins.
  Tensor Scatter(int axis, const Tensor& index, const Tensor& src) const;
  // Integers to a new last axis of `classes` (default int) with a 1 at the value.
  Tensor OneHot(int64_t classes) const;

  // --- Elementwise (elementwise.cc)
  // --------------------------------------------------------------------
  Tensor operator-() const;
  Tensor operator~() const;  // bitwise, and logical for bool
  Tensor LogicalNot() const;
  Tensor Maximum(const Tensor& o) const;
  Tensor Minimum(const Tensor& o) const;
  // Quotients: / is the true one (floats). FloorDiv and Mod go together, as do TruncDiv and Fmod.
  Tensor FloorDiv(const Tensor& o) const;
  Tensor Mod(const Tensor& o) const;
  Tensor TruncDiv(const Tensor& o) const;
  Tensor Fmod(const Tensor& o) const;
  Tensor Pow(const Tensor& o) const;
  // this (a bool) ? a : b.
  Tensor Where(const Tensor& a, const Tensor& b) const;
  Tensor MaskedFill(const Tensor& mask, const Tensor& value) const;
  Tensor Clamp(std::optional<double> low, std::optional<double> high) const;
  Tensor Reciprocal() const;
  Tensor Square() const;
  Tensor Sqrt() const;
  Tensor Rsqrt() const;
  Tensor Exp() const;
  Tensor Exp2() const;
  Tensor Log() const;
  Tensor Log2() const;
  Tensor Log10() const;
  Tensor Sin() const;
  Tensor Cos() const;
  Tensor Tan() const;
  Tensor Asin() const;
  Tensor Acos() const;
  Tensor Atan() const;
  Tensor Sinh() const;
  Tensor Cosh() const;
  Tensor Tanh() const;
  Tensor Asinh() const;
  Tensor Acosh() const;
  Tensor Atanh() const;
  Tensor Erf() const;
  Tensor Abs() const;
  Tensor Sign() const;  // 0 at 0, NaN at NaN
  Tensor Trunc() const;
  Tensor Floor() const;
  Tensor Ceil() const;
  Tensor Round() const;  // half to even
  Tensor IsNan() const;
  Tensor IsInf() const;
  Tensor IsFinite() const;
  Tensor IsClose(const Tensor& o, double rtol = 1e-5, double atol = 1e-8,
                 bool equal_nan = false) const;
  Tensor CopySign(const Tensor& o) const;
  Tensor LogAddExp(const Tensor& o) const;
  Tensor Lerp(const Tensor& end, const Tensor& weight) const;
  // Activations.
  Tensor Relu() const;
  Tensor Relu6() const;
  Tensor LeakyRelu(double slope = 0.01) const;
  Tensor Elu(double alpha = 1.0) const;
  Tensor Celu(double alpha = 1.0) const;
  Tensor Selu() const;
  Tensor Sigmoid() const;
  Tensor LogSigmoid() const;
  Tensor Hardsigmoid(double alpha = 1.0 / 6, double beta = 0.5) const;
  Tensor Hardswish() const;
  Tensor Hardtanh(double low = -1, double high = 1) const;
  Tensor Gelu(bool tanh_approximation = true) const;
  Tensor QuickGelu() const;
  Tensor Silu() const;
  Tensor Mish() const;
  Tensor Softplus(double beta = 1) const;
  Tensor Softsign() const;

  Tensor& operator+=(const Tensor& o);
  Tensor& operator-=(const Tensor& o);
  Tensor& operator*=(const Tensor& o);
  Tensor& operator/=(const Tensor& o);

  // --- Reductions (reduce.cc)
  // ---------------------------------------------------------------------------- Integer and bool
  // sums and products have at least 32 bits; small floats accumulate in SUM_DTYPE and come back in
  // their own dtype.
  Tensor Sum(const Axes& axes = {}, bool keepdim = false) const;
  Tensor Prod(const Axes& axes = {}, bool keepdim = false) const;
  // Of an empty axis: the least (greatest) value of the dtype.
  Tensor Max(const Axes& axes = {}, bool keepdim = false) const;
  Tensor Min(const Axes& axes = {}, bool keepdim = false) const;
  Tensor Any(const Axes& axes = {}, bool keepdim = false) const;
  Tensor All(const Axes& axes = {}, bool keepdim = false) const;
  Tensor Mean(const Axes& axes = {}, bool keepdim = false) const;
  // Divided by max(0, count - correction).
  Tensor Var(const Axes& axes = {}, bool keepdim = false, int64_t correction = 1) const;
  Tensor Std(const Axes& axes = {}, bool keepdim = false, int64_t correction = 1) const;
  Tensor LogSumExp(const Axes& axes = {}, bool keepdim = false) const;
  // Index (default int) of the first greatest (least) element; without axis of the flattened
  // tensor.
  Tensor ArgMax(std::optional<int> axis = {}, bool keepdim = false) const;
  Tensor ArgMin(std::optional<int> axis = {}, bool keepdim = false) const;
  Tensor CumSum(int axis) const;
  Tensor CumProd(int axis) const;
  Tensor CumMax(int axis) const;
  Tensor Softmax(int axis = -1) const;
  Tensor LogSoftmax(int axis = -1) const;
  // this / max(p-norm along axis, eps).
  Tensor Normalize(double p = 2, int axis = 1, double eps = 1e-12) const;
  // Values and indices (default int) along `axis`; equal elements stay in order.
  std::pair<Tensor, Tensor> Sort(int axis = -1, bool descending = false) const;
  std::pair<Tensor, Tensor> TopK(int64_t k, int axis = -1, bool largest = true) const;

  // --- Neural networks (nn_ops.cc, loss.cc)
  // ---------------------------------------------------------------- The matrix product of the last
  // two axes, broadcast over those before; vectors as usual.
  Tensor MatMul(const Tensor& o) const;
  // this.MatMul(weight) + bias; weight is (in, out).
  Tensor Linear(const Tensor& weight, const Tensor& bias = Tensor()) const;
  // "ij,jk->ik", with "..." for any axes and repeated letters for diagonals.
  static Tensor Einsum(absl::string_view formula, absl::Span<const Tensor> operands);
  // this is (batch, groups*cin, spatial...), weight (cout, cin, kernel...), bias (cout).
  Tensor Conv2d(const Tensor& weight, const Tensor& bias = Tensor(),
                const Conv2dOptions& options = {}) const;
  // weight is (groups*cin, cout/groups, kernel...): the adjoint of Conv2d.
  Tensor ConvTranspose2d(const Tensor& weight, const Tensor& bias = Tensor(),
                         const ConvTranspose2dOptions& options = {}) const;
  // Over the last axes, as many as the kernel has (a kernel given as one integer: two).
  Tensor AvgPool2d(const Pool2dOptions& options = {}) const;
  Tensor MaxPool2d(const Pool2dOptions& options = {}) const;
  // (this - mean) * invstd * weight + bias along the channel axis; weight and bias may be
  // undefined.
  Tensor BatchNorm(const Tensor& weight, const Tensor& bias, const Tensor& mean,
                   const Tensor& invstd, int axis = 1) const;
  // Zero mean and unit variance over `axes`.
  Tensor LayerNorm(const Axes& axes = -1, double eps = 1e-5) const;
  // Softmax attention of queries (..., L, E) to keys (..., S, E) and values (..., S, V). A bool
  // mask keeps where true, another is added.
  Tensor ScaledDotProductAttention(const Tensor& key, const Tensor& value,
                                   const Tensor& mask = Tensor(), bool is_causal = false) const;
  // Zeroes elements with probability p and divides the others by 1-p when the TRAINING setting is
  // on.
  Tensor Dropout(double p = 0.5) const;

  // Losses. Logits are (batch, classes, ...); labels are integers (batch, ...), or probabilities in
  // the shape of the logits for CrossEntropy.
  Tensor SparseCategoricalCrossEntropy(const Tensor& labels,
                                       const CrossEntropyOptions& options = {}) const;
  Tensor CrossEntropy(const Tensor& target, const CrossEntropyOptions& options = {}) const;
  // this are log probabilities; weight is per class and may be undefined.
  Tensor NllLoss(const Tensor& labels, const Tensor& weight = Tensor(),
                 const CrossEntropyOptions& options = {}) const;
  // this are probabilities in (0, 1), or logits.
  Tensor BinaryCrossEntropy(const Tensor& target, Reduction reduction = Reduction::kMean) const;
  Tensor BinaryCrossEntropyWithLogits(const Tensor& target,
                                      Reduction reduction = Reduction::kMean) const;

 private:
  friend struct tensor_internal::TensorImpl;
  struct ScalarTag {};
  using Scalar = std::variant<bool, int64_t, double>;
  template <typename T>
  static Scalar Value(T value) {
    if constexpr (std::same_as<T, bool>)
      return value;
    else if constexpr (std::integral<T>)
      return static_cast<int64_t>(value);
    else
      return static_cast<double>(value);
  }
  Tensor(ScalarTag, Scalar value);
  const tensor_internal::TensorImpl& impl() const;

  std::shared_ptr<tensor_internal::TensorImpl> impl_;
};

// Arithmetic. / is the true quotient; on integers << and >> shift (arithmetically when signed).
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator^(const Tensor& a, const Tensor& b);
Tensor operator<<(const Tensor& a, const Tensor& b);
Tensor operator>>(const Tensor& a, const Tensor& b);
// Comparisons give bool tensors, element by element (NaN: all false but !=).
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);

// The shape that shapes broadcast to, numpy's rule. Throws ShapeError that names `op`.
Shape BroadcastShapes(const char* op, absl::Span<const Shape> shapes);

}  // namespace tg

#endif  // TG_TENSOR_TENSOR_H_
