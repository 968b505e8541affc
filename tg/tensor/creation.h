// Making tensors.
//
// Constants (Zeros, Full, Arange, ...) take no memory and fuse into what uses them; Clone them, or
// make them parameters, to give them memory. FromData copies at once.
// Dtypes default to DEFAULT_FLOAT, or DEFAULT_INT where all numbers given are integers; the device
// to the default device. Throw ShapeError for negative sizes, DeviceError for unknown devices.
#ifndef TG_TENSOR_CREATION_H_
#define TG_TENSOR_CREATION_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tg/tensor/tensor.h"

namespace tg {

struct TensorOptions {
  std::optional<DType> dtype = std::nullopt;
  std::string device = {};
};

// The elements in row-major order. T is float, double, bool or an integer; the dtype is T's own, or
// options.dtype, to which values are converted. Throws ShapeError when the count does not fit.
template <typename T>
Tensor FromData(absl::Span<const T> data, const Shape& shape, const TensorOptions& options = {});
template <typename T>
Tensor FromData(const std::vector<T>& data, const Shape& shape, const TensorOptions& options = {}) {
  return FromData(absl::MakeConstSpan(data), shape, options);
}
template <typename T>
Tensor FromData(std::initializer_list<T> data, const Shape& shape,
                const TensorOptions& options = {}) {
  return FromData(absl::MakeConstSpan(data.begin(), data.size()), shape, options);
}
// A vector.
template <typename T>
Tensor FromData(const std::vector<T>& data) {
  return FromData(absl::MakeConstSpan(data), {static_cast<int64_t>(data.size())});
}
template <typename T>
Tensor FromData(std::initializer_list<T> data) {
  return FromData(data, {static_cast<int64_t>(data.size())});
}
// Elements of `dtype` as they are in memory, little-endian.
Tensor FromBytes(absl::Span<const std::byte> bytes, DType dtype, const Shape& shape,
                 const std::string& device = "");
// Memory with whatever is in it.
Tensor Empty(const Shape& shape, const TensorOptions& options = {});

Tensor Full(const Shape& shape, double value, const TensorOptions& options = {});
Tensor Zeros(const Shape& shape, const TensorOptions& options = {});
Tensor Ones(const Shape& shape, const TensorOptions& options = {});
// Shape, dtype and device of `x` unless the options say otherwise.
Tensor FullLike(const Tensor& x, double value, const TensorOptions& options = {});
Tensor ZerosLike(const Tensor& x, const TensorOptions& options = {});
Tensor OnesLike(const Tensor& x, const TensorOptions& options = {});

// start, start+step, ... below (above, for negative steps) stop. Throws ShapeError for step 0 and
// DTypeError when the values do not fit the dtype.
Tensor Arange(int64_t stop, const TensorOptions& options = {});
Tensor Arange(int64_t start, int64_t stop, int64_t step = 1, const TensorOptions& options = {});
Tensor ArangeF(double start, double stop, double step, const TensorOptions& options = {});
// `steps` values from start to stop, both included. Not for bool.
Tensor Linspace(double start, double stop, int64_t steps, const TensorOptions& options = {});
// Ones on the diagonal of an n x m matrix (m < 0: n).
Tensor Eye(int64_t n, int64_t m = -1, const TensorOptions& options = {});

}  // namespace tg

#endif  // TG_TENSOR_CREATION_H_
