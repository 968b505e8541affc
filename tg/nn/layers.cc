#include "tg/nn/layers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/settings.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/index.h"
#include "tg/tensor/random.h"

namespace tg::nn {
namespace {

void RequirePositive(const char* layer, std::initializer_list<int64_t> sizes) {
  for (int64_t size : sizes) {
    if (size <= 0) throw ShapeError(absl::StrCat(layer, ": sizes must be positive, got ", size));
  }
}

Tensor Parameter(Tensor value) {
  value.SetRequiresGrad();
  return value;
}

// Uniform in +-1/sqrt(fan_in).
Tensor UniformParameter(const Shape& shape, int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return Parameter(Uniform(shape, -bound, bound));
}

}  // namespace

// --- Linear -------------------------------------------------------------------------------------

Linear::Linear(int64_t in, int64_t out, bool bias) {
  RequirePositive("linear", {in, out});
  weight = UniformParameter({out, in}, in);
  if (bias) this->bias = UniformParameter({out}, in);
}

Tensor Linear::operator()(const Tensor& x) const { return x.Linear(weight.Transpose(), bias); }

void Linear::VisitState(const state::StateVisitor& visit) const {
  visit("weight", weight);
  visit("bias", bias);
}

// --- Conv2d -------------------------------------------------------------------------------------

PerAxis ConvPadding::Resolve(const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
                             const std::vector<int64_t>& dilation) const {
  if (const PerAxis* numbers = std::get_if<PerAxis>(&value_)) return *numbers;
  const std::string& name = std::get<std::string>(value_);
  if (absl::AsciiStrToLower(name) != "same") {
    throw UsageError(absl::StrCat("Invalid padding string '", name, "', only 'same' is supported"));
  }
  if (std::any_of(stride.begin(), stride.end(), [](int64_t s) { return s != 1; })) {
    throw UsageError("padding='same' is not supported for strided convolutions");
  }
  // An odd total pads one more behind.
  std::vector<int64_t> pads;
  for (size_t i = kernel.size(); i-- > 0;) {
    const int64_t total = dilation[i] * (kernel[i] - 1);
    pads.push_back(total / 2);
    pads.push_back(total - total / 2);
  }
  return PerAxis(std::move(pads));
}

Conv2d::Conv2d(int64_t in, int64_t out, int64_t kernel, const ConvOptions& options)
    : Conv2d(in, out, {kernel, kernel}, options) {}

Conv2d::Conv2d(int64_t in, int64_t out, const std::vector<int64_t>& kernel,
               const ConvOptions& options) {
  RequirePositive("conv2d", {in, out, options.groups});
  if (in % options.groups != 0 || out % options.groups != 0) {
    throw ShapeError(absl::StrCat("conv2d: ", in, " inputs and ", out,
                                  " outputs cannot be split in ", options.groups, " groups"));
  }
  const int n = static_cast<int>(kernel.size());
  this->options.groups = options.groups;
  this->options.stride = options.stride;
  this->options.dilation = options.dilation;
  this->options.padding =
      options.padding.Resolve(kernel, options.stride.Resolve("conv2d", "stride", n),
                              options.dilation.Resolve("conv2d", "dilation", n));
  Shape shape = {out, in / options.groups};
  int64_t fan_in = in / options.groups;
  for (int64_t k : kernel) {
    RequirePositive("conv2d", {k});
    shape.push_back(k);
    fan_in *= k;
  }
  weight = UniformParameter(shape, fan_in);
  if (options.bias) bias = UniformParameter({out}, fan_in);
}

Tensor Conv2d::operator()(const Tensor& x) const { return x.Conv2d(weight, bias, options); }

void Conv2d::VisitState(const state::StateVisitor& visit) const {
  visit("weight", weight);
  visit("bias", bias);
}

// --- BatchNorm ----------------------------------------------------------------------------------

BatchNorm::BatchNorm(int64_t channels, const BatchNormOptions& options) : options(options) {
  RequirePositive("batchnorm", {channels});
  if (options.affine) {
    weight = Parameter(Ones({channels}));
    bias = Parameter(Zeros({channels}));
  }
  if (options.track_running_stats) {
    // Clones, since constants have no memory to be updated in.
    running_mean = Zeros({channels}).Clone();
    running_var = Ones({channels}).Clone();
    num_batches_tracked = Zeros({}, {kInt64, ""}).Clone();
  }
}

Tensor BatchNorm::operator()(const Tensor& x) const {
  const Tensor& any = options.affine ? weight : running_mean;
  if (x.ndim() < 2 || (any.defined() && !x.shape()[1].Is(any.Dim(0)))) {
    throw ShapeError(absl::StrCat("batchnorm: expected shape (batch, ",
                                  any.defined() ? absl::StrCat(any.Dim(0)) : "channels",
                                  ", ...), got ", ir::ToString(x.shape())));
  }
  const bool training = base::Get(base::kTraining) != 0;
  if (options.track_running_stats && !training) {
    return x.BatchNorm(weight, bias, running_mean, (running_var + options.eps).Rsqrt());
  }
  std::vector<int> reduced;
  Shape line = x.shape();
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if (axis == 1) continue;
    reduced.push_back(axis);
    line[axis] = 1;
  }
  const Tensor mean = x.Mean(Axes(reduced));
  const Tensor center = mean.Detach();
  // The sum of deviations is 0, so the variance does not depend on the mean.
  const Tensor deviation = x - center.Reshape(line);
  const Tensor var = deviation.Square().Mean(Axes(reduced));
  if (options.track_running_stats) {
    const int64_t count = x.NumElements() / x.Dim(1);
    if (count == 1) {
      throw ShapeError(
          absl::StrCat("batchnorm: training needs more than one value per channel, got ",
                       ir::ToString(x.shape())));
    }
    const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
    const double m = options.momentum;
    Tensor running[] = {running_mean, running_var, num_batches_tracked};
    running[0].Assign(((1 - m) * running_mean + m * center).Cast(running_mean.dtype()));
    running[1].Assign(
        ((1 - m) * running_var + m * unbiased * var.Detach()).Cast(running_var.dtype()));
    running[2] += 1;
  }
  // (x - mean) * scale + bias, but the gradient of the mean goes through a term of the channel
  // alone, which is 0: so the backward pass sums over the batch twice, for scale and shift, and not
  // once more for the mean and for the weight.
  Tensor scale = (var + options.eps).Rsqrt();
  if (weight.defined()) scale = scale * weight;
  Tensor shift = (center - mean) * scale;
  if (bias.defined()) shift = shift + bias;
  return deviation * scale.Reshape(line) + shift.Reshape(line);
}

void BatchNorm::VisitState(const state::StateVisitor& visit) const {
  visit("weight", weight);
  visit("bias", bias);
  visit("running_mean", running_mean);
  visit("running_var", running_var);
  visit("num_batches_tracked", num_batches_tracked);
}

// --- LayerNorm ----------------------------------------------------------------------------------

LayerNorm::LayerNorm(const std::vector<int64_t>& shape, const LayerNormOptions& options)
    : normalized_shape(shape.begin(), shape.end()), eps(options.eps) {
  for (int64_t size : shape) RequirePositive("layernorm", {size});
  if (shape.empty()) throw ShapeError("layernorm: needs one axis or more");
  if (options.elementwise_affine) {
    weight = Parameter(Ones(normalized_shape));
    bias = Parameter(Zeros(normalized_shape));
  }
}

LayerNorm::LayerNorm(int64_t size, const LayerNormOptions& options)
    : LayerNorm(std::vector<int64_t>{size}, options) {}

Tensor LayerNorm::operator()(const Tensor& x) const {
  const int n = static_cast<int>(normalized_shape.size());
  if (x.ndim() < n ||
      !std::equal(normalized_shape.begin(), normalized_shape.end(), x.shape().end() - n)) {
    throw ShapeError(absl::StrCat("layernorm: last dimensions of ", ir::ToString(x.shape()),
                                  " must match ", ir::ToString(normalized_shape)));
  }
  std::vector<int> axes(n);
  std::iota(axes.begin(), axes.end(), -n);
  Tensor y = x.LayerNorm(Axes(axes), eps);
  return weight.defined() ? y * weight + bias : y;
}

void LayerNorm::VisitState(const state::StateVisitor& visit) const {
  visit("weight", weight);
  visit("bias", bias);
}

// --- Embedding ----------------------------------------------------------------------------------

Embedding::Embedding(int64_t vocabulary, int64_t size) {
  RequirePositive("embedding", {vocabulary, size});
  weight = Parameter(GlorotUniform({vocabulary, size}));
}

Tensor Embedding::operator()(const Tensor& index) const {
  if (!index.dtype().IsInt()) {
    throw DTypeError(absl::StrCat("Expected integer dtype for index in embedding, got ",
                                  index.dtype().ToString()));
  }
  return weight.Index({index});
}

void Embedding::VisitState(const state::StateVisitor& visit) const { visit("weight", weight); }

}  // namespace tg::nn
