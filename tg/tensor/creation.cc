#include "tg/tensor/creation.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "tg/tensor/backend.h"
#include "tg/tensor/impl.h"

namespace tg {

using ir::UOp;

namespace {

std::string DeviceOrDefault(const std::string& device) {
  return device.empty() ? GetBackend().DefaultDevice() : GetBackend().CanonicalDevice(device);
}

void CheckShape(const char* op, const Shape& shape) {
  for (const Sint& s : shape) {
    if (s.max() < 0) {
      throw ShapeError(absl::StrCat(op, ": negative dimension in ", ir::ToString(shape)));
    }
  }
}

void CheckStorable(const char* op, DType dtype) {
  if (dtype.IsWeak() || dtype.IsVoid() || dtype.lanes() != 1) {
    throw DTypeError(absl::StrCat(op, ": cannot create storage for dtype ", dtype.ToString()));
  }
}

Tensor OwningTensor(UOp buffer, const Shape& shape, const std::string& device) {
  Tensor t = Tensor::FromUOp(ir::Reshape(buffer, shape), device);
  tensor_internal::TensorImpl::Of(t).owns_memory = true;
  return t;
}

template <typename T>
constexpr DType NativeDType() {
  if constexpr (std::is_same_v<T, bool>)
    return kBool;
  else if constexpr (std::is_same_v<T, float>)
    return kFloat32;
  else if constexpr (std::is_same_v<T, double>)
    return kFloat64;
  else if constexpr (sizeof(T) == 1)
    return std::is_signed_v<T> ? kInt8 : kUInt8;
  else if constexpr (sizeof(T) == 2)
    return std::is_signed_v<T> ? kInt16 : kUInt16;
  else if constexpr (sizeof(T) == 4)
    return std::is_signed_v<T> ? kInt32 : kUInt32;
  else
    return std::is_signed_v<T> ? kInt64 : kUInt64;
}

// Constants of integers are exact, so they do not go through a double.
Tensor FullOf(const Shape& shape, const UOp& value, const std::string& device) {
  CheckShape("full", shape);
  return Tensor::FromUOp(tensor_internal::Fill(value, shape), DeviceOrDefault(device));
}

}  // namespace

Tensor FromBytes(absl::Span<const std::byte> bytes, DType dtype, const Shape& shape,
                 const std::string& device) {
  CheckStorable("tensor", dtype);
  CheckShape("tensor", shape);
  tensor_internal::ConcreteShape("tensor", shape);
  // Checked without a product that could wrap.
  int64_t count = ir::NumElements(shape).value();
  auto have = static_cast<int64_t>(bytes.size());
  if (have % dtype.bytes() != 0 || have / dtype.bytes() != count) {
    throw ShapeError(absl::StrCat("tensor: ", have, " bytes for shape ", ir::ToString(shape),
                                  " of ", dtype.ToString()));
  }
  std::string where = DeviceOrDefault(device);
  UOp buffer = GetBackend().NewBuffer(dtype, count, where);
  if (count > 0) GetBackend().CopyIn(buffer, bytes);
  return OwningTensor(buffer, shape, where);
}

template <typename T>
Tensor FromData(absl::Span<const T> data, const Shape& shape, const TensorOptions& options) {
  constexpr DType native = NativeDType<T>();
  DType dtype = options.dtype.value_or(native);
  CheckStorable("tensor", dtype);
  tensor_internal::ConcreteShape("tensor", shape);
  if (static_cast<int64_t>(data.size()) != ir::NumElements(shape).value()) {
    throw ShapeError(
        absl::StrCat("tensor: ", data.size(), " elements for shape ", ir::ToString(shape)));
  }
  if (dtype == native) {
    return FromBytes({reinterpret_cast<const std::byte*>(data.data()), data.size() * sizeof(T)},
                     dtype, shape, options.device);
  }
  std::vector<std::byte> bytes(data.size() * dtype.bytes());
  for (size_t i = 0; i < data.size(); ++i) {
    uint64_t bits;
    if (dtype.IsFloat()) {
      double v = native.IsFloat() ? static_cast<double>(data[i])
                                  : ir::IntToDouble(static_cast<int64_t>(data[i]), native);
      bits = ir::EncodeFloat(v, dtype);
    } else if (native.IsFloat()) {
      bits = static_cast<uint64_t>(dtype.IsBool() ? int64_t{data[i] != T(0)}
                                                  : ir::FloatToInt(data[i], dtype));
    } else {
      bits = static_cast<uint64_t>(ir::WrapToInt(static_cast<int64_t>(data[i]), dtype));
    }
    std::memcpy(&bytes[i * dtype.bytes()], &bits, dtype.bytes());
  }
  return FromBytes(bytes, dtype, shape, options.device);
}

#define TG_INSTANTIATE(T) \
  template Tensor FromData<T>(absl::Span<const T>, const Shape&, const TensorOptions&);
TG_INSTANTIATE(bool)
TG_INSTANTIATE(float)
TG_INSTANTIATE(double)
TG_INSTANTIATE(int8_t)
TG_INSTANTIATE(uint8_t)
TG_INSTANTIATE(int16_t)
TG_INSTANTIATE(uint16_t)
TG_INSTANTIATE(int32_t)
TG_INSTANTIATE(uint32_t)
TG_INSTANTIATE(int64_t)
TG_INSTANTIATE(uint64_t)
#undef TG_INSTANTIATE

Tensor Empty(const Shape& shape, const TensorOptions& options) {
  DType dtype = options.dtype.value_or(DefaultFloat());
  CheckStorable("empty", dtype);
  CheckShape("empty", shape);
  tensor_internal::ConcreteShape("empty", shape);
  std::string device = DeviceOrDefault(options.device);
  UOp buffer = GetBackend().NewBuffer(dtype, ir::NumElements(shape).value(), device);
  return OwningTensor(buffer, shape, device);
}

Tensor Full(const Shape& shape, double value, const TensorOptions& options) {
  DType dtype = options.dtype.value_or(DefaultFloat());
  CheckStorable("full", dtype);
  return FullOf(shape, ir::Const(dtype, value), options.device);
}

Tensor Zeros(const Shape& shape, const TensorOptions& options) { return Full(shape, 0, options); }
Tensor Ones(const Shape& shape, const TensorOptions& options) { return Full(shape, 1, options); }

Tensor FullLike(const Tensor& x, double value, const TensorOptions& options) {
  DType dtype = options.dtype.value_or(x.dtype());
  UOp scalar = ir::Const(dtype, value);
  std::string device =
      options.device.empty() ? x.device() : GetBackend().CanonicalDevice(options.device);
  return Tensor::FromUOp(tensor_internal::Fill(scalar, x.shape()), device);
}
Tensor ZerosLike(const Tensor& x, const TensorOptions& options) { return FullLike(x, 0, options); }
Tensor OnesLike(const Tensor& x, const TensorOptions& options) { return FullLike(x, 1, options); }

namespace {

// 0, 1, ... n-1 as int32 where that is enough.
UOp Iota(int64_t n) {
  return ir::Iota(n, n <= std::numeric_limits<int32_t>::max() ? kInt32 : kInt64);
}

}  // namespace

Tensor Arange(int64_t start, int64_t stop, int64_t step, const TensorOptions& options) {
  if (step == 0) throw ShapeError("arange: step is 0");
  DType dtype = options.dtype.value_or(DefaultInt());
  CheckStorable("arange", dtype);
  // In 128 bits: the distance of two int64 does not fit one.
  __int128 distance = static_cast<__int128>(stop) - start;
  __int128 count = step > 0 ? (distance + step - 1) / step : (-distance + -step - 1) / -step;
  if (step > 0 ? distance <= 0 : distance >= 0) count = 0;
  if (count > std::numeric_limits<int64_t>::max()) {
    throw ShapeError(absl::StrCat("arange: too many values from ", start, " to ", stop));
  }
  auto n = static_cast<int64_t>(count);
  if (n == 0) return FullOf({0}, ir::Const(dtype, 0), options.device);
  int64_t last = start + (n - 1) * step;
  if (!dtype.IsFloat() &&
      (std::min(start, last) < dtype.MinInt() || std::max(start, last) > dtype.MaxInt())) {
    throw DTypeError(
        absl::StrCat("arange: ", start, " to ", last, " does not fit ", dtype.ToString()));
  }
  std::string device = DeviceOrDefault(options.device);
  if (n == 1) return FullOf({1}, ir::Const(dtype, start), device);
  bool wide = std::min(start, last) < kInt32.MinInt() || std::max(start, last) > kInt32.MaxInt() ||
              step < kInt32.MinInt() || step > kInt32.MaxInt();
  DType work = wide ? kInt64 : kInt32;
  Tensor index = Tensor::FromUOp(tensor_internal::CastTo(Iota(n), work), device);
  return (index * step + start).Cast(dtype);
}

Tensor Arange(int64_t stop, const TensorOptions& options) { return Arange(0, stop, 1, options); }

Tensor ArangeF(double start, double stop, double step, const TensorOptions& options) {
  if (step == 0 || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step)) {
    throw ShapeError(absl::StrCat("arange: from ", start, " to ", stop, " in steps of ", step));
  }
  DType dtype = options.dtype.value_or(DefaultFloat());
  CheckStorable("arange", dtype);
  double count = std::max(0.0, std::ceil((stop - start) / step));
  if (count > 9e15) throw ShapeError(absl::StrCat("arange: ", count, " values"));
  std::string device = DeviceOrDefault(options.device);
  Tensor index = Arange(0, static_cast<int64_t>(count), 1, {kInt64, device});
  // Whole steps first: a sum of steps would drift.
  DType work = dtype.IsFloat() ? ir::LeastUpperDType({dtype, kFloat32}) : kFloat64;
  return (index.Cast(work) * step + start).Cast(dtype);
}

Tensor Linspace(double start, double stop, int64_t steps, const TensorOptions& options) {
  DType dtype = options.dtype.value_or(DefaultFloat());
  if (steps < 0) throw ShapeError(absl::StrCat("linspace: ", steps, " steps"));
  CheckStorable("linspace", dtype);
  if (dtype.IsBool()) throw DTypeError("linspace: not for bool");
  if (steps == 1) return FullOf({1}, ir::Const(dtype, start), options.device);
  DType work = dtype.IsFloat() ? ir::LeastUpperDType({dtype, kFloat32}) : kFloat64;
  Tensor index = Arange(0, steps, 1, {work, options.device});
  return (index * ((stop - start) / static_cast<double>(steps - 1)) + start).Cast(dtype);
}

Tensor Eye(int64_t n, int64_t m, const TensorOptions& options) {
  if (n < 0) throw ShapeError(absl::StrCat("eye: ", n, " rows"));
  if (m < 0) m = n;
  DType dtype = options.dtype.value_or(DefaultFloat());
  CheckStorable("eye", dtype);
  std::string device = DeviceOrDefault(options.device);
  DType index = std::max(n, m) > kInt32.MaxInt() ? kInt64 : kInt32;
  Tensor row = Arange(0, n, 1, {index, device}).Unsqueeze(-1);
  return (row == Arange(0, m, 1, {index, device})).Cast(dtype);
}

}  // namespace tg
