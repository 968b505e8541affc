// Movement operations: reshape, permute, pad and what is composed of them.

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/impl.h"
#include "tg/tensor/index.h"
#include "tg/tensor/tensor.h"

namespace tg {

using ir::Bounds2;
using ir::UOp;
using tensor_internal::ConcreteShape;
using tensor_internal::Like;
using tensor_internal::ResolveAxis;

Tensor Tensor::Reshape(const Shape& shape) const {
  Shape resolved = shape;
  int inferred = -1;
  Sint known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].Is(-1)) {
      known = known * shape[i];
    } else if (inferred >= 0) {
      throw ShapeError(
          absl::StrCat("reshape: only one dimension may be -1, got ", ir::ToString(shape)));
    } else {
      inferred = static_cast<int>(i);
    }
  }
  if (inferred >= 0) {
    Sint all = ir::NumElements(this->shape());
    if (!known.is_const()) {
      Shape rest = shape;
      rest.erase(rest.begin() + inferred);
      if (ir::NumElements(rest) != all) {
        throw ShapeError("reshape: -1 beside symbolic dimensions in " + ir::ToString(shape));
      }
      resolved[inferred] = 1;
    } else if (known.Is(0) || (all.is_const() && all.value() % known.value() != 0)) {
      throw ShapeError(absl::StrCat("reshape: cannot view ", ir::ToString(this->shape()), " as ",
                                    ir::ToString(shape), ": ", all.ToString(),
                                    " elements are no multiple of ", known.ToString()));
    } else {
      resolved[inferred] = ir::FloorDiv(all, known.value());
    }
  }
  return Like(*this, ir::Reshape(uop(), resolved));
}

Tensor Tensor::Expand(const Shape& shape) const {
  const Shape& from = this->shape();
  Shape to = shape;
  if (from.size() > to.size()) {
    throw ShapeError(
        absl::StrCat("expand: cannot expand ", ir::ToString(from), " to ", ir::ToString(shape)));
  }
  size_t lead = to.size() - from.size();
  for (size_t i = 0; i < to.size(); ++i) {
    if (!to[i].Is(-1)) continue;
    if (i < lead) throw ShapeError("expand: -1 for a new axis in " + ir::ToString(shape));
    to[i] = from[i - lead];
  }
  return Like(*this, tensor_internal::BroadcastTo(uop(), to));
}

Tensor Tensor::Permute(const std::vector<int>& order) const {
  std::vector<int64_t> axes;
  for (int axis : order) axes.push_back(ResolveAxis("permute", axis, ndim()));
  return Like(*this, ir::Permute(uop(), axes));
}

Tensor Tensor::Transpose(int a, int b) const {
  std::vector<int> order(ndim());
  std::iota(order.begin(), order.end(), 0);
  if (order.empty()) return Permute(order);
  std::swap(order[ResolveAxis("transpose", a, ndim())], order[ResolveAxis("transpose", b, ndim())]);
  return Permute(order);
}

Tensor Tensor::T() const {
  std::vector<int> order(ndim());
  std::iota(order.rbegin(), order.rend(), 0);
  return Permute(order);
}

Tensor Tensor::Flip(const Axes& axes) const {
  return Like(*this, ir::Flip(uop(), axes.Resolve("flip", shape())));
}

Tensor Tensor::Shrink(const std::vector<std::optional<std::pair<Sint, Sint>>>& box) const {
  if (static_cast<int>(box.size()) != ndim()) {
    throw ShapeError(absl::StrCat("shrink: expected ", ndim(), " pairs for shape ",
                                  ir::ToString(shape()), ", got ", box.size()));
  }
  Bounds2 bounds;
  for (int i = 0; i < ndim(); ++i) {
    bounds.push_back(box[i] ? *box[i] : std::pair<Sint, Sint>(0, shape()[i]));
  }
  return Like(*this, ir::Shrink(uop(), bounds));
}

namespace {

// `pads` without negative amounts, which are cut off of x.
Tensor Cut(const Tensor& x, std::vector<std::pair<int64_t, int64_t>>& pads) {
  Bounds2 box;
  for (int i = 0; i < x.ndim(); ++i) {
    auto& [before, after] = pads[i];
    box.push_back(
        {Sint(-std::min<int64_t>(before, 0)), x.shape()[i] + std::min<int64_t>(after, 0)});
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
  }
  return Like(x, ir::Shrink(x.uop(), box));
}

Tensor PadConstant(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& pads,
                   double value) {
  Bounds2 bounds;
  for (const auto& [before, after] : pads) bounds.push_back({Sint(before), Sint(after)});
  UOp zeros_around = ir::Pad(x.uop(), bounds);
  if (value == 0.0 || zeros_around == x.uop()) return Like(x, zeros_around);
  Tensor fill = tensor_internal::NumberFor(x.dtype(), value);
  Tensor inside =
      Like(x, ir::Pad(tensor_internal::Fill(ir::Const(kBool, true), x.shape()), bounds));
  return inside.Where(Like(x, zeros_around), fill);
}

// Borders of one axis, taken from x itself.
Tensor PadFromSelf(const Tensor& x, int axis, int64_t before, int64_t after, PadMode mode) {
  if (before == 0 && after == 0) return x;
  int64_t size = x.Dim(axis);
  int64_t most = mode == PadMode::kReflect ? size - 1 : mode == PadMode::kCircular ? size : -1;
  if ((most >= 0 && std::max(before, after) > most) || size == 0) {
    throw ShapeError(absl::StrCat("pad: (", before, ", ", after, ") on axis ", axis, " of ",
                                  ir::ToString(x.shape()), ": expected at most ",
                                  std::max<int64_t>(most, 0)));
  }
  auto part = [&](int64_t begin, int64_t end) {
    std::vector<std::optional<std::pair<Sint, Sint>>> box(x.ndim());
    box[axis] = {Sint(begin), Sint(end)};
    return x.Shrink(box);
  };
  auto repeated = [&](int64_t at, int64_t times) {
    Shape shape = x.shape();
    shape[axis] = times;
    return part(at, at + 1).Expand(shape);
  };
  std::vector<Tensor> parts;
  if (before > 0) {
    parts.push_back(mode == PadMode::kReflect    ? part(1, before + 1).Flip(axis)
                    : mode == PadMode::kCircular ? part(size - before, size)
                                                 : repeated(0, before));
  }
  parts.push_back(x);
  if (after > 0) {
    parts.push_back(mode == PadMode::kReflect    ? part(size - 1 - after, size - 1).Flip(axis)
                    : mode == PadMode::kCircular ? part(0, after)
                                                 : repeated(size - 1, after));
  }
  return Tensor::Cat(parts, axis);
}

}  // namespace

Tensor Tensor::Pad(const std::vector<std::pair<int64_t, int64_t>>& pads, double value,
                   PadMode mode) const {
  if (static_cast<int>(pads.size()) != ndim()) {
    throw ShapeError(absl::StrCat("pad: expected ", ndim(), " pairs for shape ",
                                  ir::ToString(shape()), ", got ", pads.size()));
  }
  std::vector<std::pair<int64_t, int64_t>> around = pads;
  if (mode == PadMode::kConstant || mode == PadMode::kCircular) {
    Tensor x = Cut(*this, around);
    if (mode == PadMode::kConstant) return PadConstant(x, around, value);
    for (int i = 0; i < ndim(); ++i) {
      x = PadFromSelf(x, i, around[i].first, around[i].second, mode);
    }
    return x;
  }
  // The border is that of the whole tensor; what is negative is cut afterwards.
  Tensor x = *this;
  std::vector<std::pair<int64_t, int64_t>> cuts = pads;
  for (int i = 0; i < ndim(); ++i) {
    int64_t before = std::max<int64_t>(pads[i].first, 0);
    int64_t after = std::max<int64_t>(pads[i].second, 0);
    x = PadFromSelf(x, i, before, after, mode);
    cuts[i] = {std::min<int64_t>(pads[i].first, 0), std::min<int64_t>(pads[i].second, 0)};
  }
  return Cut(x, cuts);
}

Tensor Tensor::Squeeze() const {
  Shape kept;
  for (const Sint& s : shape()) {
    if (!s.Is(1)) kept.push_back(s);
  }
  return Reshape(kept);
}

Tensor Tensor::Squeeze(int axis) const {
  axis = ResolveAxis("squeeze", axis, ndim());
  Shape kept = shape();
  if (ndim() > 0 && kept[axis].Is(1)) kept.erase(kept.begin() + axis);
  return Reshape(kept);
}

Tensor Tensor::Unsqueeze(int axis) const {
  axis = ResolveAxis("unsqueeze", axis, ndim() + 1);
  Shape to = shape();
  to.insert(to.begin() + axis, Sint(1));
  return Reshape(to);
}

Tensor Tensor::Flatten(int start, int end) const {
  start = ResolveAxis("flatten", start, ndim());
  end = ResolveAxis("flatten", end, ndim());
  if (ndim() == 0) return Reshape({1});
  Shape to(shape().begin(), shape().begin() + start);
  Shape middle(shape().begin() + start, shape().begin() + std::max(start, end + 1));
  to.push_back(ir::NumElements(middle));
  to.insert(to.end(), shape().begin() + std::max(start, end + 1), shape().end());
  return Like(*this, ir::Reshape(uop(), to));
}

Tensor Tensor::Unflatten(int axis, const Shape& sizes) const {
  axis = ResolveAxis("unflatten", axis, ndim());
  Shape to(shape().begin(), shape().begin() + axis);
  to.insert(to.end(), sizes.begin(), sizes.end());
  to.insert(to.end(), shape().begin() + axis + 1, shape().end());
  return Reshape(to);
}

std::vector<Tensor> Tensor::Split(const std::vector<int64_t>& sizes, int axis) const {
  axis = ResolveAxis("split", axis, ndim());
  int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (total != Dim(axis)) {
    throw ShapeError(absl::StrCat("split: sizes (", absl::StrJoin(sizes, ", "), ") add up to ",
                                  total, ", expected ", Dim(axis)));
  }
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    std::vector<std::optional<std::pair<Sint, Sint>>> box(ndim());
    box[axis] = {Sint(begin), Sint(begin + size)};
    parts.push_back(Shrink(box));
    begin += size;
  }
  return parts;
}

std::vector<Tensor> Tensor::Split(int64_t size, int axis) const {
  axis = ResolveAxis("split", axis, ndim());
  if (size <= 0) throw ShapeError(absl::StrCat("split: expected a size above 0, got ", size));
  std::vector<int64_t> sizes;
  for (int64_t left = Dim(axis); left > 0; left -= size) sizes.push_back(std::min(left, size));
  if (sizes.empty()) sizes.push_back(0);
  return Split(sizes, axis);
}

std::vector<Tensor> Tensor::Chunk(int64_t chunks, int axis) const {
  if (chunks <= 0) throw ShapeError(absl::StrCat("chunk: expected chunks above 0, got ", chunks));
  axis = ResolveAxis("chunk", axis, ndim());
  int64_t size = (Dim(axis) + chunks - 1) / chunks;
  if (size == 0) return Split(std::vector<int64_t>(chunks, 0), axis);
  return Split(size, axis);
}

Tensor Tensor::Stack(absl::Span<const Tensor> tensors, int axis) {
  if (tensors.empty()) throw ShapeError("stack: expected at least one tensor");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    if (t.shape() != tensors[0].shape()) {
      throw ShapeError(absl::StrCat("stack: shapes ", ir::ToString(tensors[0].shape()), " and ",
                                    ir::ToString(t.shape()), " differ"));
    }
    parts.push_back(t.Unsqueeze(axis));
  }
  return Cat(parts, axis);
}

Tensor Tensor::Cat(absl::Span<const Tensor> tensors, int axis) {
  if (tensors.empty()) throw ShapeError("cat: expected at least one tensor");
  const Tensor& first = tensors[0];
  axis = ResolveAxis("cat", axis, first.ndim());
  Sint total = 0;
  for (const Tensor& t : tensors) {
    Shape a = first.shape();
    Shape b = t.shape();
    bool same = a.size() == b.size() && !a.empty();
    if (same) {
      total = total + b[axis];
      a[axis] = b[axis] = 1;
    }
    if (!same || a != b) {
      throw ShapeError(absl::StrCat("cat: cannot join ", ir::ToString(first.shape()), " and ",
                                    ir::ToString(t.shape()), " along axis ", axis));
    }
  }
  std::vector<Tensor> parts = tensor_internal::Promote(tensors);
  std::string device = tensor_internal::CommonDevice("cat", parts);
  // From the last to the first, each part where its own mask is true, else what comes after it.
  Tensor result;
  Sint end = total;
  for (size_t i = parts.size(); i-- > 0;) {
    const Tensor& part = parts[i];
    Sint begin = end - part.shape()[axis];
    Bounds2 pads(part.ndim(), {Sint(0), Sint(0)});
    pads[axis] = {begin, total - end};
    end = begin;
    Tensor padded = Like(part, ir::Pad(part.uop(), pads));
    if (!result.defined()) {
      result = padded;
      continue;
    }
    Tensor mask =
        FromUOp(ir::Pad(tensor_internal::Fill(ir::Const(kBool, true), part.shape()), pads), "");
    result = mask.Where(padded, result);
  }
  return FromUOp(result.uop(), device);
}

Tensor Tensor::Repeat(const std::vector<int64_t>& times) const {
  size_t n = std::max<size_t>(times.size(), ndim());
  Shape base(n - ndim(), Sint(1));
  base.insert(base.end(), shape().begin(), shape().end());
  std::vector<int64_t> all(n - times.size(), 1);
  all.insert(all.end(), times.begin(), times.end());
  Shape ones, repeated, merged;
  for (size_t i = 0; i < n; ++i) {
    if (all[i] < 0) throw ShapeError("repeat: negative count");
    ones.push_back(1);
    ones.push_back(base[i]);
    repeated.push_back(all[i]);
    repeated.push_back(base[i]);
    merged.push_back(base[i] * Sint(all[i]));
  }
  return Reshape(ones).Expand(repeated).Reshape(merged);
}

Tensor Tensor::RepeatInterleave(int64_t times, int axis) const {
  axis = ResolveAxis("repeat_interleave", axis, ndim());
  Shape wide = shape();
  wide.insert(wide.begin() + axis + 1, Sint(times));
  Shape merged = shape();
  merged[axis] = merged[axis] * Sint(times);
  return Unsqueeze(axis + 1).Expand(wide).Reshape(merged);
}

Tensor Tensor::Roll(const std::vector<int64_t>& shifts, const std::vector<int>& axes) const {
  if (axes.empty()) {
    if (shifts.size() != 1) throw ShapeError("roll: expected one shift when no axis is given");
    return Reshape({-1}).Roll(shifts, {0}).Reshape(shape());
  }
  if (axes.size() != shifts.size()) {
    throw ShapeError(absl::StrCat("roll: ", shifts.size(), " shifts for ", axes.size(), " axes"));
  }
  Tensor x = Like(*this, uop());
  for (size_t i = 0; i < axes.size(); ++i) {
    int axis = ResolveAxis("roll", axes[i], ndim());
    int64_t size = Dim(axis);
    if (size == 0) continue;
    int64_t shift = ((shifts[i] % size) + size) % size;
    if (shift == 0) continue;
    std::vector<Tensor> parts = x.Split(std::vector<int64_t>{size - shift, shift}, axis);
    x = Cat({parts[1], parts[0]}, axis);
  }
  return x;
}

Tensor Tensor::Unfold(int axis, int64_t size, int64_t step) const {
  axis = ResolveAxis("unfold", axis, ndim());
  int64_t have = Dim(axis);
  if (size < 0 || step <= 0 || size > have) {
    throw ShapeError(absl::StrCat("unfold: windows of ", size, " every ", step, " of axis ", axis,
                                  " of ", ir::ToString(shape())));
  }
  int64_t count = (have - size) / step + 1;
  Shape wide = shape();
  wide.push_back(size);
  UOp x = tensor_internal::BroadcastTo(Unsqueeze(-1).uop(), wide);
  x = ir::Shear(x, axis, ndim(), 1, 0, count * step);
  if (step > 1) {
    Shape split = ir::ShapeOf(x);
    split[axis] = count;
    split.insert(split.begin() + axis + 1, Sint(step));
    x = ir::Reshape(x, split);
    Bounds2 box;
    for (const Sint& s : split) box.push_back({Sint(0), s});
    box[axis + 1] = {Sint(0), Sint(1)};
    x = ir::Shrink(x, box);
    split.erase(split.begin() + axis + 1);
    x = ir::Reshape(x, split);
  }
  return Like(*this, x);
}

Tensor Tensor::Diag() const {
  if (ndim() != 1) {
    throw ShapeError("diag: expected a vector, got shape " + ir::ToString(shape()));
  }
  // Rows with n zeros behind each element, read in rows of n.
  int64_t n = Dim(0);
  return Unsqueeze(-1)
      .Pad({{0, 0}, {0, n}})
      .Flatten()
      .Shrink({{{Sint(0), Sint(n * n)}}})
      .Reshape({n, n});
}

Tensor Tensor::Diagonal(int64_t offset, int axis1, int axis2) const {
  axis1 = ResolveAxis("diagonal", axis1, ndim());
  axis2 = ResolveAxis("diagonal", axis2, ndim());
  if (axis1 == axis2) throw ShapeError("diagonal: expected two different axes");
  std::vector<int> order;
  for (int i = 0; i < ndim(); ++i) {
    if (i != axis1 && i != axis2) order.push_back(i);
  }
  order.push_back(axis1);
  order.push_back(axis2);
  Tensor x = Permute(order);
  int64_t rows = x.Dim(-2);
  int64_t cols = x.Dim(-1);
  int64_t row = std::max<int64_t>(0, -offset);
  int64_t col = std::max<int64_t>(0, offset);
  int64_t n = std::max<int64_t>(0, std::min(rows - row, cols - col));
  // Column k of row k, by shearing row k left by k.
  Bounds2 box;
  for (int i = 0; i < ndim() - 2; ++i) box.push_back({Sint(0), x.shape()[i]});
  row = std::min(row, rows);
  col = std::min(col, cols);
  box.push_back({Sint(row), Sint(row + n)});
  box.push_back({Sint(col), Sint(col + n)});
  UOp square = ir::Shrink(x.uop(), box);
  UOp line = ir::Shear(square, ndim() - 1, ndim() - 2, 1, 0, std::min<int64_t>(n, 1));
  Shape to(x.shape().begin(), x.shape().end() - 2);
  to.push_back(n);
  return Like(*this, ir::Reshape(line, to));
}

namespace {
// Row index and column index of the last two axes.
std::pair<Tensor, Tensor> RowAndColumn(const char* op, const Tensor& x) {
  if (x.ndim() < 2) {
    throw ShapeError(
        absl::StrCat(op, ": expected two axes or more, got shape ", ir::ToString(x.shape())));
  }
  TensorOptions options = {kInt32, x.device()};
  return {Arange(x.Dim(-2), options).Unsqueeze(-1), Arange(x.Dim(-1), options)};
}
}  // namespace

Tensor Tensor::Triu(int64_t diagonal) const {
  auto [row, column] = RowAndColumn("triu", *this);
  return (row + diagonal <= column).Where(*this, Tensor(0).Cast(dtype()));
}

Tensor Tensor::Tril(int64_t diagonal) const {
  auto [row, column] = RowAndColumn("tril", *this);
  return (row + diagonal < column).Where(Tensor(0).Cast(dtype()), *this);
}

std::vector<Tensor> Tensor::Meshgrid(absl::Span<const Tensor> vectors, bool xy) {
  std::vector<Tensor> in(vectors.begin(), vectors.end());
  bool swap = xy && in.size() > 1;
  if (swap) std::swap(in[0], in[1]);
  Shape shape;
  for (const Tensor& v : in) {
    if (v.ndim() > 1) {
      throw ShapeError("meshgrid: expected vectors, got shape " + ir::ToString(v.shape()));
    }
    shape.push_back(ir::NumElements(v.shape()));
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < in.size(); ++i) {
    Shape line(in.size(), Sint(1));
    line[i] = shape[i];
    Tensor grid = in[i].Reshape(line).Expand(shape);
    out.push_back(swap ? grid.Transpose(0, 1) : grid);
  }
  if (swap) std::swap(out[0], out[1]);
  return out;
}

}  // namespace tg
