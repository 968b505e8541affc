// Products, convolutions, pooling, normalization and attention.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/impl.h"
#include "tg/tensor/tensor.h"

namespace tg {

using ir::Bounds2;
using ir::UOp;
using tensor_internal::Like;
using tensor_internal::ToFloat;

// --- Matrix product
// -------------------------------------------------------------------------------

Tensor Tensor::MatMul(const Tensor& o) const {
  if (ndim() == 0 || o.ndim() == 0) {
    throw ShapeError(absl::StrCat("matmul: expected one axis or more, got ", ir::ToString(shape()),
                                  " and ", ir::ToString(o.shape())));
  }
  // (..., m, 1, k) * (..., 1, n, k), summed over k; a vector has no m (n).
  bool matrix = ndim() > 1;
  bool o_matrix = o.ndim() > 1;
  const Sint& k = shape().back();
  const Sint& o_k = o.shape()[o_matrix ? o.ndim() - 2 : 0];
  if (k != o_k) {
    throw ShapeError(absl::StrCat("matmul: cannot multiply ", ir::ToString(shape()), " and ",
                                  ir::ToString(o.shape()), ": inner sizes ", k.ToString(), " and ",
                                  o_k.ToString()));
  }
  Tensor a = matrix && o_matrix ? Unsqueeze(-2) : Like(*this, uop());
  Tensor b = o_matrix ? o.Transpose(-1, -2) : o;
  if (o_matrix && matrix) b = b.Unsqueeze(-3);
  std::vector<Tensor> p = tensor_internal::Promote({a, b});
  Tensor r = (p[0] * p[1]).Sum(-1);
  // An integer product keeps the dtype of its operands.
  return r.Cast(p[0].dtype().IsBool() ? kBool : p[0].dtype());
}

Tensor Tensor::Linear(const Tensor& weight, const Tensor& bias) const {
  Tensor y = weight.ndim() == 1 ? *this * weight : MatMul(weight);
  return bias.defined() ? y + bias : y;
}

// --- Convolution
// ----------------------------------------------------------------------------------

namespace {

std::string ShapeText(const Tensor& t) { return ir::ToString(t.shape()); }

// The last axes of x, as windows: (..., o_1 .. o_n, k_1 .. k_n). Window o of an axis covers
// o * stride + j * dilation for j < kernel.
Tensor Windows(const char* op, const Tensor& x, const std::vector<int64_t>& kernel,
               const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation) {
  int n = static_cast<int>(kernel.size());
  int lead = x.ndim() - n;
  UOp u = x.uop();
  for (int i = 0; i < n; ++i) {
    int axis = lead + i;
    int64_t size = x.Dim(axis);
    int64_t span = dilation[i] * (kernel[i] - 1) + 1;
    if (kernel[i] <= 0 || stride[i] <= 0 || dilation[i] <= 0 || span > size) {
      throw ShapeError(absl::StrCat(op, ": kernel ", kernel[i], ", stride ", stride[i],
                                    ", dilation ", dilation[i], " on axis ", axis, " of ",
                                    ShapeText(x), " (padded)"));
    }
    int64_t out = (size - span) / stride[i] + 1;
    Shape shape = ir::ShapeOf(u);
    if (stride[i] == kernel[i] && dilation[i] == 1 && stride[i] > 1) {
      // Side by side: a reshape. The window's axis goes to the end.
      Bounds2 box;
      for (const Sint& s : shape) box.push_back({Sint(0), s});
      box[axis].second = out * kernel[i];
      shape[axis] = out;
      shape.insert(shape.begin() + axis + 1, Sint(kernel[i]));
      u = ir::Reshape(ir::Shrink(u, box), shape);
      std::vector<int64_t> order(shape.size());
      std::iota(order.begin(), order.end(), 0);
      std::rotate(order.begin() + axis + 1, order.begin() + axis + 2, order.end());
      u = ir::Permute(u, order);
      continue;
    }
    shape.push_back(1);
    u = ir::Reshape(u, shape);
    shape.back() = kernel[i];
    u = ir::Shear(ir::Expand(u, shape), axis, static_cast<int>(shape.size()) - 1, dilation[i], 0,
                  out * stride[i]);
    if (stride[i] > 1) {
      shape[axis] = out;
      Shape rows = shape;
      rows.insert(rows.begin() + axis + 1, Sint(stride[i]));
      Bounds2 box;
      for (const Sint& s : rows) box.push_back({Sint(0), s});
      box[axis + 1].second = 1;
      u = ir::Reshape(ir::Shrink(ir::Reshape(u, rows), box), shape);
    }
  }
  return Like(x, u);
}

Tensor PadLast(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& pads,
               double value = 0) {
  std::vector<std::pair<int64_t, int64_t>> all(x.ndim() - pads.size(), {0, 0});
  all.insert(all.end(), pads.begin(), pads.end());
  return x.Pad(all, value);
}

}  // namespace

Tensor Tensor::Conv2d(const Tensor& weight, const Tensor& bias,
                      const Conv2dOptions& options) const {
  int n = weight.ndim() - 2;
  int64_t groups = options.groups;
  bool fits = n >= 0 && ndim() == n + 2 && groups > 0;
  fits = fits && groups * weight.Dim(1) == Dim(1) && weight.Dim(0) % groups == 0;
  fits = fits && (!bias.defined() || (bias.ndim() == 1 && bias.Dim(0) == weight.Dim(0)));
  if (!fits) {
    throw ShapeError(
        absl::StrCat("conv2d: input ", ShapeText(*this), ", weight ", ShapeText(weight),
                     ", groups ", groups, bias.defined() ? ", bias " + ShapeText(bias) : "",
                     ": expected (batch, groups*cin, ...), (cout, cin, ...), (cout,)"));
  }
  std::vector<int64_t> kernel;
  for (int i = 0; i < n; ++i) kernel.push_back(weight.Dim(2 + i));
  int64_t cin = weight.Dim(1);
  int64_t cout = weight.Dim(0) / groups;
  Tensor x = Windows("conv2d", PadLast(*this, options.padding.ResolvePairs("conv2d", n)), kernel,
                     options.stride.Resolve("conv2d", "stride", n),
                     options.dilation.Resolve("conv2d", "dilation", n));
  // x: (batch, groups, cin, out..., kernel...) to (batch, out..., groups, 1, cin, kernel...).
  Shape split = {x.shape()[0], groups, cin};
  split.insert(split.end(), x.shape().begin() + 2, x.shape().end());
  std::vector<int> order = {0};
  for (int i = 0; i < n; ++i) order.push_back(3 + i);
  order.push_back(1);
  order.push_back(2);
  for (int i = 0; i < n; ++i) order.push_back(3 + n + i);
  x = x.Reshape(split).Permute(order).Unsqueeze(n + 2);
  Shape w_shape = {groups, cout, cin};
  w_shape.insert(w_shape.end(), kernel.begin(), kernel.end());
  std::vector<int> reduced;
  for (int i = 0; i <= n; ++i) reduced.push_back(-1 - i);
  std::vector<Tensor> p = tensor_internal::Promote({x, weight.Reshape(w_shape)});
  Tensor y = (p[0] * p[1]).Sum(Axes(reduced)).Cast(p[0].dtype());
  y = y.Flatten(n + 1, n + 2);
  if (bias.defined()) y = y + bias;
  std::vector<int> channels_second = {0, n + 1};
  for (int i = 0; i < n; ++i) channels_second.push_back(1 + i);
  return y.Permute(channels_second);
}

Tensor Tensor::ConvTranspose2d(const Tensor& weight, const Tensor& bias,
                               const ConvTranspose2dOptions& options) const {
  int n = weight.ndim() - 2;
  int64_t groups = options.groups;
  if (n < 0 || ndim() != n + 2 || groups <= 0 || weight.Dim(0) != Dim(1) || Dim(1) % groups != 0) {
    throw ShapeError(absl::StrCat("conv_transpose2d: input ", ShapeText(*this), ", weight ",
                                  ShapeText(weight), ", groups ", groups,
                                  ": expected (batch, groups*cin, ...), (groups*cin, cout, ...)"));
  }
  const char* op = "conv_transpose2d";
  std::vector<int64_t> stride = options.stride.Resolve(op, "stride", n);
  std::vector<int64_t> dilation = options.dilation.Resolve(op, "dilation", n);
  std::vector<int64_t> extra = options.output_padding.Resolve(op, "output_padding", n);
  std::vector<std::pair<int64_t, int64_t>> padding = options.padding.ResolvePairs(op, n);
  Tensor x = *this;
  std::vector<std::pair<int64_t, int64_t>> around;
  std::vector<int> spatial;
  for (int i = 0; i < n; ++i) {
    int axis = 2 + i;
    spatial.push_back(axis);
    if (stride[i] <= 0 || dilation[i] <= 0) {
      throw ShapeError(absl::StrCat(op, ": stride ", stride[i], ", dilation ", dilation[i]));
    }
    if (stride[i] > 1) {
      // stride - 1 zeros between elements.
      int64_t size = x.Dim(axis);
      Shape merged = x.shape();
      merged[axis] = size * stride[i];
      std::vector<std::pair<int64_t, int64_t>> gaps(x.ndim() + 1, {0, 0});
      gaps[axis + 1].second = stride[i] - 1;
      x = x.Unsqueeze(axis + 1).Pad(gaps).Reshape(merged);
      std::vector<std::pair<int64_t, int64_t>> cut(x.ndim(), {0, 0});
      if (size > 0) cut[axis].second = 1 - stride[i];
      x = x.Pad(cut);
    }
    int64_t reach = dilation[i] * (weight.Dim(axis) - 1);
    around.push_back({reach - padding[i].first, reach - padding[i].second + extra[i]});
  }
  // (groups, cin, cout, kernel...) to (groups*cout, cin, kernel reversed...).
  Shape split = {groups, weight.Dim(0) / groups, weight.Dim(1)};
  split.insert(split.end(), weight.shape().begin() + 2, weight.shape().end());
  Tensor w = weight.Reshape(split).Transpose(1, 2).Flatten(0, 1);
  if (n > 0) w = w.Flip(Axes(spatial));
  Conv2dOptions conv;
  conv.groups = groups;
  conv.dilation = options.dilation;
  return PadLast(x, around).Conv2d(w, bias, conv);
}

// --- Pooling
// --------------------------------------------------------------------------------------

namespace {

struct Pool {
  std::vector<int64_t> kernel, stride, dilation;
  // As given, and with what ceil_mode adds behind.
  std::vector<std::pair<int64_t, int64_t>> padding, extended;
  std::vector<int> window_axes;  // of the windows, from the end
};

Pool ResolvePool(const char* op, const Tensor& x, const Pool2dOptions& options) {
  // A kernel given per axis says how many axes there are.
  int n = 2;
  for (int axes : {1, 2, 3}) {
    try {
      options.kernel.Resolve(op, "kernel", axes);
      n = axes == 1 ? 2 : axes;
      if (axes > 1) break;
    } catch (const ShapeError&) {
    }
  }
  if (x.ndim() < n) {
    throw ShapeError(absl::StrCat(op, ": ", n, " axes to pool in shape ", ShapeText(x)));
  }
  Pool p;
  p.kernel = options.kernel.Resolve(op, "kernel", n);
  p.stride = options.stride ? options.stride->Resolve(op, "stride", n) : p.kernel;
  p.dilation = options.dilation.Resolve(op, "dilation", n);
  p.padding = options.padding.ResolvePairs(op, n);
  p.extended = p.padding;
  for (int i = 0; i < n; ++i) {
    p.window_axes.push_back(-1 - i);
    if (!options.ceil_mode || p.stride[i] <= 0) continue;
    int64_t size = x.Dim(x.ndim() - n + i);
    int64_t span = p.dilation[i] * (p.kernel[i] - 1) + 1;
    int64_t padded = size + p.padding[i].first + p.padding[i].second;
    int64_t out = (padded - span + p.stride[i] - 1) / p.stride[i] + 1;
    // The last window has to begin inside of the input or the padding before it.
    if ((out - 1) * p.stride[i] >= size + p.padding[i].first) --out;
    p.extended[i].second += std::max<int64_t>(0, (out - 1) * p.stride[i] + span - padded);
  }
  return p;
}

}  // namespace

Tensor Tensor::MaxPool2d(const Pool2dOptions& options) const {
  Pool p = ResolvePool("max_pool2d", *this, options);
  double least = dtype().IsFloat() ? -std::numeric_limits<double>::infinity()
                                   : static_cast<double>(dtype().MinInt());
  Tensor x = PadLast(*this, p.extended, least);
  return Windows("max_pool2d", x.Cast(dtype()), p.kernel, p.stride, p.dilation)
      .Max(Axes(p.window_axes));
}

Tensor Tensor::AvgPool2d(const Pool2dOptions& options) const {
  Pool p = ResolvePool("avg_pool2d", *this, options);
  Tensor x = ToFloat(*this);
  auto windows = [&](const Tensor& t) {
    return Windows("avg_pool2d", t, p.kernel, p.stride, p.dilation);
  };
  Axes axes(p.window_axes);
  bool padded = p.padding != p.extended;
  for (const auto& [before, after] : p.padding) {
    padded |= !options.count_include_pad && (before != 0 || after != 0);
  }
  if (!padded) return windows(PadLast(x, p.extended)).Mean(axes);
  // Divide by the number of elements that count.
  Tensor ones = OnesLike(x);
  if (options.count_include_pad) {
    ones = PadLast(ones, p.padding, 1);
    for (size_t i = 0; i < p.padding.size(); ++i) {
      p.padding[i] = {0, p.extended[i].second - p.padding[i].second};
    }
    ones = PadLast(ones, p.padding);
  } else {
    ones = PadLast(ones, p.extended);
  }
  return windows(PadLast(x, p.extended)).Sum(axes) / windows(ones).Sum(axes);
}

// --- Normalization and attention
// ------------------------------------------------------------------

Tensor Tensor::BatchNorm(const Tensor& weight, const Tensor& bias, const Tensor& mean,
                         const Tensor& invstd, int axis) const {
  axis = tensor_internal::ResolveAxis("batchnorm", axis, ndim());
  Shape line(ndim(), Sint(1));
  if (ndim() > 0) line[axis] = shape()[axis];
  auto along = [&](const Tensor& t) { return t.ndim() <= 1 ? t.Reshape(line) : t; };
  Tensor x = *this - along(mean);
  if (weight.defined()) x = x * along(weight);
  x = x * along(invstd);
  return bias.defined() ? x + along(bias) : x;
}

Tensor Tensor::LayerNorm(const Axes& axes, double eps) const {
  Tensor x = ToFloat(*this);
  Tensor y = x - x.Mean(axes, true);
  return y * (y.Square().Mean(axes, true) + eps).Rsqrt();
}

Tensor Tensor::ScaledDotProductAttention(const Tensor& key, const Tensor& value, const Tensor& mask,
                                         bool is_causal) const {
  if (is_causal && mask.defined()) {
    throw UsageError("attention: expected a mask or is_causal, got both");
  }
  Tensor q = ToFloat(*this);
  DType wide = ir::LeastUpperDType({q.dtype(), kFloat32});
  Tensor scores = q.Cast(wide).MatMul(key.Cast(wide).Transpose(-2, -1)) *
                  (1 / std::sqrt(static_cast<double>(Dim(-1))));
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (is_causal) {
    Tensor row = Arange(scores.Dim(-2), {kInt32, device()}).Unsqueeze(-1);
    Tensor column = Arange(scores.Dim(-1), {kInt32, device()});
    scores = (column <= row).Where(scores, -kInf);
  } else if (mask.defined()) {
    scores = mask.dtype().IsBool() ? mask.Where(scores, -kInf) : scores + mask;
  }
  return scores.Softmax(-1).Cast(q.dtype()).MatMul(value);
}

}  // namespace tg
