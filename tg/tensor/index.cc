#include "tg/tensor/index.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/impl.h"
#include "tg/tensor/tensor.h"

namespace tg {

using ir::Bounds2;
using ir::Op;
using ir::UOp;
using tensor_internal::Like;
using tensor_internal::ResolveAxis;

namespace {

// What happens to one axis of the source, or (new_axis) an axis made here.
struct AxisIndex {
  Sint begin = 0;
  Sint end = 0;
  int64_t step = 1;  // negative: from the end of [begin, end) backwards
  bool drop = false;
  bool new_axis = false;
  Tensor tensor;
};

AxisIndex ParseInteger(const Sint& i, const Sint& size, int axis) {
  Sint at = i;
  if (i.is_const() && size.is_const()) {
    int64_t n = size.value();
    int64_t v = i.value();
    if (v < -n || v >= n) {
      throw ShapeError(
          absl::StrCat("index: ", v, " is out of bounds for axis ", axis, " of size ", n));
    }
    at = v < 0 ? v + n : v;
  } else if (i.max() < 0) {
    at = i + size;
  }
  AxisIndex r;
  r.begin = at;
  r.end = at + Sint(1);
  r.drop = true;
  return r;
}

AxisIndex ParseSlice(const Slice& slice, const Sint& size, int axis) {
  AxisIndex r;
  r.step = slice.step;
  if (slice.step == 0) throw ShapeError(absl::StrCat("index: step 0 on axis ", axis));
  auto is_symbolic = [](const std::optional<Sint>& s) { return s && !s->is_const(); };
  if (!size.is_const() || is_symbolic(slice.begin) || is_symbolic(slice.end)) {
    if (slice.step != 1 || (slice.begin && slice.begin->min() < 0) ||
        (slice.end && slice.end->min() < 0)) {
      throw ShapeError(absl::StrCat("index: a symbolic slice of axis ", axis,
                                    " needs step 1 and bounds that are not negative"));
    }
    r.begin = slice.begin.value_or(Sint(0));
    r.end = slice.end.value_or(size);
    return r;
  }
  int64_t n = size.value();
  bool back = slice.step < 0;
  auto clip = [&](const std::optional<Sint>& s, int64_t absent) {
    if (!s) return absent;
    int64_t v = s->value() < 0 ? s->value() + n : s->value();
    return std::clamp<int64_t>(v, back ? -1 : 0, back ? n - 1 : n);
  };
  int64_t begin = clip(slice.begin, back ? n - 1 : 0);
  int64_t end = clip(slice.end, back ? -1 : n);
  if (back ? end >= begin : end <= begin) {
    r.begin = r.end = 0;
    r.step = 1;
  } else if (back) {
    r.begin = end + 1;
    r.end = begin + 1;
  } else {
    r.begin = begin;
    r.end = end;
  }
  return r;
}

std::vector<AxisIndex> Parse(const Tensor& x, absl::Span<const Indexer> indices) {
  int used = 0;
  int ellipses = 0;
  for (const Indexer& i : indices) {
    ellipses += std::holds_alternative<EllipsisType>(i.value());
    used += !std::holds_alternative<EllipsisType>(i.value()) &&
            !std::holds_alternative<NewAxisType>(i.value());
  }
  if (ellipses > 1) throw ShapeError("index: only one ellipsis is allowed");
  if (used > x.ndim()) {
    throw ShapeError(absl::StrCat("index: ", used, " indices for shape ", ir::ToString(x.shape())));
  }
  std::vector<AxisIndex> parsed;
  int axis = 0;
  auto whole = [&] {
    AxisIndex r;
    r.end = x.shape()[axis++];
    parsed.push_back(r);
  };
  for (const Indexer& i : indices) {
    if (std::holds_alternative<EllipsisType>(i.value())) {
      for (int k = used; k < x.ndim(); ++k) whole();
    } else if (std::holds_alternative<NewAxisType>(i.value())) {
      AxisIndex r;
      r.new_axis = true;
      parsed.push_back(r);
    } else if (const Sint* integer = std::get_if<Sint>(&i.value())) {
      parsed.push_back(ParseInteger(*integer, x.shape()[axis], axis));
      ++axis;
    } else if (const Slice* slice = std::get_if<Slice>(&i.value())) {
      parsed.push_back(ParseSlice(*slice, x.shape()[axis], axis));
      ++axis;
    } else {
      Tensor t = std::get<Tensor>(i.value());
      if (!t.dtype().IsInt()) {
        throw DTypeError("index: expected integers, got a tensor of " + t.dtype().ToString());
      }
      whole();
      parsed.back().tensor = t;
    }
  }
  while (axis < x.ndim()) whole();
  return parsed;
}

// Every step-th element of `axis`, from the first.
UOp Stride(const UOp& x, int axis, int64_t step) {
  if (step == 1) return x;
  Shape shape = ir::ShapeOf(x);
  int64_t n = shape[axis].value();
  int64_t count = (n + step - 1) / step;
  Bounds2 pads(shape.size(), {Sint(0), Sint(0)});
  pads[axis].second = count * step - n;
  Shape split = shape;
  split[axis] = count;
  split.insert(split.begin() + axis + 1, Sint(step));
  UOp rows = ir::Reshape(ir::Pad(x, pads), split);
  Bounds2 box;
  for (const Sint& s : split) box.push_back({Sint(0), s});
  box[axis + 1].second = 1;
  shape[axis] = count;
  return ir::Reshape(ir::Shrink(rows, box), shape);
}

// The slices and integers applied, before axes are dropped or made.
UOp View(const UOp& x, const std::vector<AxisIndex>& parsed) {
  Bounds2 box;
  std::vector<int64_t> flips;
  for (const AxisIndex& p : parsed) {
    if (p.new_axis) continue;
    if (p.step < 0) flips.push_back(static_cast<int64_t>(box.size()));
    box.push_back({p.begin, p.end});
  }
  UOp view = ir::Flip(ir::Shrink(x, box), flips);
  int axis = 0;
  for (const AxisIndex& p : parsed) {
    if (p.new_axis) continue;
    view = Stride(view, axis++, std::abs(p.step));
  }
  return view;
}

// The inverse of View for something in its result's shape: zeros where View does not look.
UOp Unview(UOp v, const Shape& full, const std::vector<AxisIndex>& parsed) {
  int axis = 0;
  std::vector<int64_t> flips;
  Bounds2 pads;
  for (const AxisIndex& p : parsed) {
    if (p.new_axis) continue;
    int64_t step = std::abs(p.step);
    if (step != 1) {
      // Zeros behind each element, then cut to the slice.
      Shape shape = ir::ShapeOf(v);
      int64_t count = shape[axis].value();
      Shape split = shape;
      split.insert(split.begin() + axis + 1, Sint(1));
      Bounds2 gaps(split.size(), {Sint(0), Sint(0)});
      gaps[axis + 1].second = step - 1;
      shape[axis] = count * step;
      v = ir::Reshape(ir::Pad(ir::Reshape(v, split), gaps), shape);
      Bounds2 box;
      for (const Sint& s : shape) box.push_back({Sint(0), s});
      box[axis].second = p.end - p.begin;
      v = ir::Shrink(v, box);
    }
    if (p.step < 0) flips.push_back(axis);
    pads.push_back({p.begin, full[axis] - p.end});
    ++axis;
  }
  return ir::Pad(ir::Flip(v, flips), pads);
}

// Sum over axis `axis` of values of which at most one is not zero, in their own dtype.
Tensor SumOfOne(const Tensor& x, int axis) {
  DType d = x.dtype();
  Tensor y = d.IsBool() ? x.Cast(kInt32) : x;
  return Like(x, tensor_internal::ReduceAway(y.uop(), Op::kAdd, {axis})).Cast(d);
}

// x with axis `axis` replaced by the axes of `index`, which picks along it; 0 out of range.
Tensor Take(const Tensor& x, int axis, const Tensor& index) {
  int64_t n = x.Dim(axis);
  int extra = index.ndim();
  Shape source = x.shape();
  source.insert(source.begin() + axis, extra, Sint(1));
  Shape mask_shape(axis, Sint(1));
  mask_shape.insert(mask_shape.end(), index.shape().begin(), index.shape().end());
  mask_shape.push_back(1);
  mask_shape.resize(source.size(), Sint(1));
  Shape line(source.size(), Sint(1));
  line[axis + extra] = n;
  Tensor positions = Arange(n, {kInt32, x.device()}).Reshape(line);
  Tensor mask = index.Reshape(mask_shape) == positions;
  Tensor picked = mask.Where(x.Reshape(source), Tensor(0).Cast(x.dtype()));
  return SumOfOne(picked, axis + extra);
}

// The tensor indices applied to x, whose axes are those of `parsed` that are not dropped.
Tensor Advanced(Tensor x, const std::vector<AxisIndex>& parsed) {
  std::vector<int> axes;
  std::vector<Tensor> tensors{};
  std::vector<Shape> shapes;
  int axis = 0;
  for (const AxisIndex& p : parsed) {
    if (p.drop) continue;
    if (p.tensor.defined()) {
      axes.push_back(axis);
      tensors.push_back(p.tensor);
      shapes.push_back(p.tensor.shape());
    }
    ++axis;
  }
  if (axes.empty()) return x;
  std::vector<Tensor> all = tensors;
  all.push_back(x);
  tensor_internal::CommonDevice("index", all);
  Shape shape = BroadcastShapes("index", shapes);
  int first = axes[0];
  if (axes.back() - first + 1 != static_cast<int>(axes.size())) {
    std::vector<int> order = axes;
    for (int i = 0; i < x.ndim(); ++i) {
      if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
    }
    x = x.Permute(order);
    first = 0;
  }
  // One index into the flattened axes; -1 where any part is out of range.
  Tensor linear;
  Tensor valid;
  int64_t picked = 1;
  for (size_t i = 0; i < tensors.size(); ++i) {
    int64_t n = x.Dim(first + static_cast<int>(i));
    picked *= n;
    Tensor t = tensors[i];
    if (t.dtype().IsWeak() || ir::CanLosslessCast(t.dtype(), kInt32)) t = t.Cast(kInt32);
    if (!t.dtype().IsUnsigned()) t = (t < 0).Where(t + n, t);
    Tensor inside = t < n;
    if (!t.dtype().IsUnsigned()) inside = inside & (t >= 0);
    valid = valid.defined() ? valid & inside : inside;
    linear = linear.defined() ? linear * n + t : t;
  }
  linear = valid.Where(linear.Cast(picked > kInt32.MaxInt() ? kInt64 : kInt32), -1);
  Shape flat(x.shape().begin(), x.shape().begin() + first);
  flat.push_back(picked);
  flat.insert(flat.end(), x.shape().begin() + first + axes.size(), x.shape().end());
  return Take(x.Reshape(flat), first, linear.Expand(shape));
}

Shape ShapeOfIndexed(const UOp& view, const std::vector<AxisIndex>& parsed) {
  Shape shape;
  int axis = 0;
  for (const AxisIndex& p : parsed) {
    if (p.new_axis) {
      shape.push_back(1);
    } else {
      if (!p.drop) shape.push_back(ir::ShapeOf(view)[axis]);
      ++axis;
    }
  }
  return shape;
}

}  // namespace

Tensor Tensor::Index(absl::Span<const Indexer> indices) const {
  std::vector<AxisIndex> parsed = Parse(*this, indices);
  UOp view = View(uop(), parsed);
  return Advanced(Like(*this, ir::Reshape(view, ShapeOfIndexed(view, parsed))), parsed);
}

Tensor Tensor::Index(std::initializer_list<Indexer> indices) const {
  return Index(absl::MakeConstSpan(indices.begin(), indices.size()));
}

Tensor Tensor::operator[](int64_t i) const { return Index({i}); }

Tensor& Tensor::SetIndex(absl::Span<const Indexer> indices, const Tensor& value) {
  if (dtype().IsWeak()) throw DTypeError("setindex: a weak tensor has no storage");
  if (!value.dtype().IsWeak() && value.dtype() != dtype()) {
    throw DTypeError(absl::StrCat("setindex: dtype mismatch ", dtype().ToString(),
                                  " != ", value.dtype().ToString()));
  }
  tensor_internal::CommonDevice("setindex", {*this, value});
  std::vector<AxisIndex> parsed = Parse(*this, indices);
  bool advanced = std::any_of(parsed.begin(), parsed.end(),
                              [](const AxisIndex& p) { return p.tensor.defined(); });
  Tensor v = value.Cast(dtype());
  if (advanced) {
    // The flat positions that the index names, from 1; 0 are those out of range.
    Tensor positions = Arange(1, NumElements() + 1, 1, {{}, device()}).Reshape(shape());
    positions = positions.Index(indices);
    Tensor spread = v.Expand(positions.shape()).Flatten();
    return Assign(Reshape({-1}).Scatter(0, positions.Flatten() - 1, spread).Reshape(shape()));
  }
  UOp view = View(uop(), parsed);
  UOp spread = tensor_internal::BroadcastTo(v.uop(), ShapeOfIndexed(view, parsed));
  spread = ir::Reshape(spread, ir::ShapeOf(view));
  UOp mask = tensor_internal::Fill(ir::Const(kBool, true), ir::ShapeOf(view));
  Tensor inside = Like(*this, Unview(mask, shape(), parsed));
  return Assign(inside.Where(Like(*this, Unview(spread, shape(), parsed)), *this));
}

Tensor& Tensor::SetIndex(std::initializer_list<Indexer> indices, const Tensor& value) {
  return SetIndex(absl::MakeConstSpan(indices.begin(), indices.size()), value);
}

namespace {

// x cut to the sizes of `index` on all axes but `axis`.
Tensor CutToIndex(const char* op, const Tensor& x, int axis, const Tensor& index) {
  if (!index.dtype().IsInt()) {
    throw DTypeError(
        absl::StrCat(op, ": expected integer indices, got ", index.dtype().ToString()));
  }
  bool fits = x.ndim() == index.ndim();
  std::vector<std::optional<std::pair<Sint, Sint>>> box(x.ndim());
  for (int i = 0; i < x.ndim() && fits; ++i) {
    if (i == axis) continue;
    fits = index.Dim(i) <= x.Dim(i);
    box[i] = {Sint(0), Sint(index.Dim(i))};
  }
  if (!fits) {
    throw ShapeError(absl::StrCat(op, ": indices of shape ", ir::ToString(index.shape()),
                                  " for shape ", ir::ToString(x.shape()), " along axis ", axis));
  }
  return x.Shrink(box);
}

}  // namespace

Tensor Tensor::Gather(int axis, const Tensor& index) const {
  axis = ResolveAxis("gather", axis, ndim());
  Tensor x = CutToIndex("gather", *this, axis, index);
  if (ndim() == 0) return (index == 0).Where(x, Tensor(0).Cast(dtype()));
  // (..., m, ..., n) where index names one of n.
  x = x.Unsqueeze(-1).Transpose(axis, -1);
  Tensor mask = index.Unsqueeze(-1) == Arange(Dim(axis), {kInt32, device()});
  return SumOfOne(mask.Where(x, Tensor(0).Cast(dtype())), ndim());
}

Tensor Tensor::Scatter(int axis, const Tensor& index, const Tensor& src) const {
  axis = ResolveAxis("scatter", axis, ndim());
  CutToIndex("scatter", *this, axis, index);
  Tensor values = CutToIndex("scatter", src, axis, index);
  if (src.dtype() != dtype()) {
    throw DTypeError(absl::StrCat("scatter: dtype mismatch ", dtype().ToString(),
                                  " != ", src.dtype().ToString()));
  }
  int64_t m = index.Dim(axis);
  if (src.Dim(axis) < m) {
    throw ShapeError(absl::StrCat("scatter: source of shape ", ir::ToString(src.shape()),
                                  " for indices of shape ", ir::ToString(index.shape())));
  }
  std::vector<std::optional<std::pair<Sint, Sint>>> box(ndim());
  box[axis] = {Sint(0), Sint(m)};
  values = values.Shrink(box).Transpose(axis, -1);
  Tensor self = Transpose(axis, -1);
  // (..., m, n): whether index m names place n; from it the last m of each place, from 1.
  Tensor named = index.Transpose(axis, -1).Unsqueeze(-1) == Arange(Dim(axis), {kInt32, device()});
  Tensor order = Arange(1, m + 1, 1, {kInt32, device()}).Unsqueeze(-1);
  Tensor last = named.Where(order, 0).Max(-2).Contiguous();
  Tensor put = values.Gather(-1, last - 1);
  std::vector<std::pair<int64_t, int64_t>> pads;
  for (int i = 0; i < ndim(); ++i) pads.push_back({0, self.Dim(i) - last.Dim(i)});
  return (last.Pad(pads) > 0).Where(put.Pad(pads), self).Transpose(axis, -1);
}

Tensor Tensor::OneHot(int64_t classes) const {
  if (!dtype().IsInt()) {
    throw DTypeError("one_hot: expected integers, got " + dtype().ToString());
  }
  if (classes < 0) throw ShapeError(absl::StrCat("one_hot: ", classes, " classes"));
  Tensor mask = Unsqueeze(-1) == Arange(classes, {kInt32, device()});
  return mask.Cast(DefaultInt());
}

}  // namespace tg
