#include "tg/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/error.h"
#include "base/settings.h"
#include "tg/tensor/backend.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/impl.h"

namespace tg {

using ir::Op;
using ir::UOp;
using tensor_internal::TensorImpl;

DType DefaultFloat() { return *DType::Parse(base::Get(base::kDefaultFloat)); }
DType DefaultInt() { return *DType::Parse(base::Get(base::kDefaultInt)); }

// --- Live tensors
// ---------------------------------------------------------------------------------

namespace tensor_internal {
namespace {

struct LiveList {
  std::mutex mutex;
  TensorImpl* first = nullptr;
  TensorImpl* last = nullptr;
};

// Never destroyed: tensors in static variables may outlive it.
LiveList& Live() {
  static LiveList* list = new LiveList;
  return *list;
}

}  // namespace

TensorImpl::TensorImpl(UOp uop, std::string device)
    : uop(std::move(uop)), device(std::move(device)), next(nullptr) {
  LiveList& live = Live();
  std::lock_guard<std::mutex> lock(live.mutex);
  prev = live.last;
  (prev != nullptr ? prev->next : live.first) = this;
  live.last = this;
}

TensorImpl::~TensorImpl() {
  LiveList& live = Live();
  std::lock_guard<std::mutex> lock(live.mutex);
  (prev != nullptr ? prev->next : live.first) = next;
  (next != nullptr ? next->prev : live.last) = prev;
}

TensorImpl& TensorImpl::Of(const Tensor& t) {
  t.impl();
  return *t.impl_;
}

std::vector<TensorImpl*> LiveTensors() {
  LiveList& live = Live();
  std::lock_guard<std::mutex> lock(live.mutex);
  std::vector<TensorImpl*> all;
  for (TensorImpl* t = live.first; t != nullptr; t = t->next) all.push_back(t);
  return all;
}

// --- Helpers
// --------------------------------------------------------------------------------------

std::string CommonDevice(const char* op, absl::Span<const Tensor> operands) {
  std::string device;
  for (const Tensor& t : operands) {
    if (t.device().empty() || t.device() == device) continue;
    if (!device.empty()) {
      throw DeviceError(
          absl::StrCat(op, ": operands on ", device, " and ", t.device(), "; move one with To()"));
    }
    device = t.device();
  }
  return device;
}

std::vector<Tensor> Promote(absl::Span<const Tensor> operands) {
  std::vector<DType> dtypes;
  bool any_strong = false;
  for (const Tensor& t : operands) {
    dtypes.push_back(t.dtype());
    any_strong |= !t.dtype().IsWeak();
  }
  DType d = ir::LeastUpperDType(dtypes);
  if (any_strong && d.IsWeak()) d = d.IsFloat() ? DefaultFloat() : DefaultInt();
  std::vector<Tensor> result;
  for (const Tensor& t : operands) result.push_back(t.Cast(d));
  return result;
}

Tensor ToFloat(const Tensor& x) {
  return x.dtype().IsFloat() ? x : x.Cast(x.dtype().IsWeak() ? ir::kWeakFloat : DefaultFloat());
}

Tensor NumberFor(DType dtype, double v) {
  bool whole = v >= -0x1p63 && v < 0x1p63 && v == std::floor(v);
  return whole && !dtype.IsFloat() ? Tensor(static_cast<int64_t>(v)) : Tensor(v);
}

Tensor ElementwiseOp(Op op, const char* name, absl::Span<const Tensor> operands) {
  std::vector<Shape> shapes;
  for (const Tensor& t : operands) shapes.push_back(t.shape());
  Shape shape = BroadcastShapes(name, shapes);
  absl::InlinedVector<UOp, 3> src;
  for (const Tensor& t : operands) src.push_back(BroadcastTo(t.uop(), shape));
  return Tensor::FromUOp(Elementwise(op, src, shape), CommonDevice(name, operands));
}

int ResolveAxis(const char* op, int axis, int ndim) {
  int least = std::max(ndim, 1);
  if (axis < -least || axis >= least) {
    throw ShapeError(absl::StrCat(op, ": axis ", axis, " out of range for ", ndim,
                                  " dimensions, expected ", -least, " to ", least - 1));
  }
  return axis < 0 ? axis + least : axis;
}

std::vector<int64_t> ConcreteShape(const char* op, const Shape& shape) {
  std::vector<int64_t> result;
  for (const Sint& s : shape) {
    if (!s.is_const()) {
      throw ShapeError(
          absl::StrCat(op, ": does not support the symbolic shape ", ir::ToString(shape)));
    }
    result.push_back(s.value());
  }
  return result;
}

}  // namespace tensor_internal

// --- Axes and the like
// ----------------------------------------------------------------------------

std::vector<int64_t> Axes::Resolve(const char* op, const Shape& shape) const {
  int ndim = static_cast<int>(shape.size());
  std::vector<int64_t> result;
  if (!axes_) {
    result.resize(ndim);
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  for (int axis : *axes_) {
    int resolved = tensor_internal::ResolveAxis(op, axis, ndim);
    if (resolved < ndim) result.push_back(resolved);
  }
  std::sort(result.begin(), result.end());
  auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end()) {
    throw ShapeError(absl::StrCat(op, ": axis ", *twice, " appears more than once for shape ",
                                  ir::ToString(shape)));
  }
  return result;
}

std::vector<int64_t> PerAxis::Resolve(const char* op, const char* what, int n) const {
  if (values_.size() == 1) return std::vector<int64_t>(n, values_[0]);
  if (static_cast<int>(values_.size()) != n) {
    throw ShapeError(
        absl::StrCat(op, ": ", what, " has ", values_.size(), " values, expected 1 or ", n));
  }
  return values_;
}

std::vector<std::pair<int64_t, int64_t>> PerAxis::ResolvePairs(const char* op, int n) const {
  std::vector<std::pair<int64_t, int64_t>> result(n);
  if (values_.size() != 1 && static_cast<int>(values_.size()) == 2 * n) {
    for (int i = 0; i < n; ++i) result[n - 1 - i] = {values_[2 * i], values_[2 * i + 1]};
    return result;
  }
  std::vector<int64_t> both = Resolve(op, "padding", n);
  for (int i = 0; i < n; ++i) result[i] = {both[i], both[i]};
  return result;
}

Shape BroadcastShapes(const char* op, absl::Span<const Shape> shapes) {
  size_t ndim = 0;
  for (const Shape& s : shapes) ndim = std::max(ndim, s.size());
  Shape result(ndim, Sint(1));
  for (const Shape& s : shapes) {
    for (size_t i = 0; i < s.size(); ++i) {
      Sint& have = result[ndim - s.size() + i];
      if (s[i] == have || s[i].Is(1)) continue;
      if (!have.Is(1)) {
        throw ShapeError(absl::StrCat(
            op, ": cannot broadcast ",
            absl::StrJoin(shapes, " and ",
                          [](std::string* out, const Shape& x) { *out += ir::ToString(x); })));
      }
      have = s[i];
    }
  }
  return result;
}

// --- Handle
// ---------------------------------------------------------------------------------------

Tensor::Tensor(ScalarTag, Scalar value) {
  UOp uop;
  if (const bool* b = std::get_if<bool>(&value)) {
    uop = ir::Const(kBool, *b);
  } else if (const int64_t* i = std::get_if<int64_t>(&value)) {
    uop = ir::Const(ir::kWeakInt, *i);
  } else {
    uop = ir::Const(ir::kWeakFloat, std::get<double>(value));
  }
  impl_ = std::make_shared<TensorImpl>(std::move(uop), "");
}

Tensor Tensor::FromUOp(UOp uop, std::string device) {
  Tensor t;
  t.impl_ = std::make_shared<TensorImpl>(std::move(uop), std::move(device));
  return t;
}

const TensorImpl& Tensor::impl() const {
  if (impl_ == nullptr) throw UsageError("tensor: used before it was given a value");
  return *impl_;
}

const Shape& Tensor::shape() const { return ir::ShapeOf(impl().uop); }
int Tensor::ndim() const { return static_cast<int>(shape().size()); }
DType Tensor::dtype() const { return impl().uop.dtype(); }
const std::string& Tensor::device() const { return impl().device; }
const UOp& Tensor::uop() const { return impl().uop; }

int64_t Tensor::Dim(int axis) const {
  const Shape& s = shape();
  if (axis < -ndim() || axis >= ndim()) {
    throw ShapeError(absl::StrCat("size: axis ", axis, " out of range for ", ir::ToString(s)));
  }
  const Sint& size = s[axis < 0 ? axis + ndim() : axis];
  if (!size.is_const()) {
    throw ShapeError(absl::StrCat("size: axis ", axis, " of ", ir::ToString(s), " is symbolic"));
  }
  return size.value();
}

int64_t Tensor::NumElements() const {
  Sint n = ir::NumElements(shape());
  if (!n.is_const()) {
    throw ShapeError(absl::StrCat("size: ", ir::ToString(shape()), " is symbolic"));
  }
  return n.value();
}

int64_t Tensor::Length() const {
  if (ndim() == 0) throw ShapeError("length: a scalar has none");
  return Dim(0);
}

std::string Tensor::ToString() const {
  if (!defined()) return "Tensor(undefined)";
  return absl::StrCat("Tensor(", dtype().ToString(), " ", ir::ToString(shape()),
                      device().empty() ? "" : absl::StrCat(" on ", device()), ")");
}

Tensor Tensor::Cast(DType dtype) const {
  if (dtype.IsVoid() || dtype.lanes() != 1) {
    throw DTypeError("cast: no tensor has dtype " + dtype.ToString());
  }
  return tensor_internal::Like(*this, tensor_internal::CastTo(uop(), dtype));
}

Tensor Tensor::Bitcast(DType dtype) const {
  DType from = this->dtype();
  if (from == dtype) return tensor_internal::Like(*this, uop());
  if (from.IsWeak() || dtype.IsWeak() || from.IsBool() || dtype.IsBool() || dtype.lanes() != 1) {
    throw DTypeError(absl::StrCat("bitcast: expected concrete number dtypes, got ", from.ToString(),
                                  " to ", dtype.ToString()));
  }
  int have = from.bytes();
  int want = dtype.bytes();
  if (have == want) return tensor_internal::Like(*this, ir::Bitcast(uop(), dtype));
  if (ndim() == 0 || (Dim(-1) * have) % want != 0) {
    throw ShapeError(absl::StrCat("bitcast: ", from.ToString(), " ", ir::ToString(shape()), " to ",
                                  dtype.ToString(), ": the last axis is no multiple"));
  }
  auto bits = [](int bytes) {
    return bytes == 1 ? kUInt8 : bytes == 2 ? kUInt16 : bytes == 4 ? kUInt32 : kUInt64;
  };
  // Little-endian: part i of a larger element is its bits from i * (bits of a part) on.
  int ratio = std::max(have, want) / std::min(have, want);
  DType wide = bits(std::max(have, want));
  Tensor shift = Arange(0, ratio, 1, {wide, device()}) * (8 * std::min(have, want));
  Tensor raw = Bitcast(bits(have));
  if (want < have) {
    Tensor parts = (raw.Unsqueeze(-1) >> shift).Cast(bits(want));
    return parts.Flatten(-2, -1).Bitcast(dtype);
  }
  Tensor parts = raw.Unflatten(-1, {Dim(-1) / ratio, ratio}).Cast(wide) << shift;
  // The parts do not overlap, so their sum is their union.
  UOp joined = tensor_internal::ReduceAway(parts.uop(), Op::kAdd, {parts.ndim() - 1});
  return tensor_internal::Like(*this, joined).Bitcast(dtype);
}

Tensor Tensor::Contiguous() const {
  const UOp& below = tensor_internal::BelowReshapes(uop());
  bool stored = static_cast<bool>(tensor_internal::BufferOf(below));
  return tensor_internal::Like(*this, stored ? uop() : ir::Contiguous(uop()));
}

Tensor Tensor::ContiguousBackward() const {
  return tensor_internal::Like(*this, UOp::Make(Op::kContiguousBackward, dtype(), {uop()}));
}

Tensor Tensor::Detach() const { return tensor_internal::Like(*this, ir::Detach(uop())); }

Tensor Tensor::To(absl::string_view device) const {
  std::string name = GetBackend().CanonicalDevice(device);
  if (this->device().empty() || name == this->device()) return FromUOp(uop(), name);
  return FromUOp(ir::CopyTo(uop(), name), name);
}

}  // namespace tg
