// Layers: parameters with the function that uses them.
//
//   nn::Conv2d conv(1, 32, 5);
//   nn::BatchNorm norm(32);
//   Tensor y = norm(conv(x).Relu());
//
// Parameters are public tensors of the default float on the default device, marked for gradients,
// drawn from the random streams (tg/tensor/random.h) in the order in which layers are made. A layer
// is a value; copies share their parameters. VisitState shows the parameters to optimizers and
// files under PyTorch's names.
#ifndef TG_NN_LAYERS_H_
#define TG_NN_LAYERS_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "tg/state/visitor.h"
#include "tg/tensor/tensor.h"

namespace tg::nn {

// y = x W^T + b. Weight is (out, in), bias (out), both uniform in +-1/sqrt(in). Input (..., in),
// output (..., out).
struct Linear {
  Linear(int64_t in, int64_t out, bool bias = true);
  Tensor operator()(const Tensor& x) const;
  void VisitState(const state::StateVisitor& visit) const;

  Tensor weight;
  Tensor bias;  // not defined without
};

// How much a convolution pads: an integer, one per axis, {before, after} pairs from the last axis
// on (PerAxis), or "same", which keeps the spatial sizes.
class ConvPadding {
 public:
  template <std::integral T>
  ConvPadding(T all) : value_(PerAxis(int64_t{all})) {}                            // NOLINT
  ConvPadding(std::initializer_list<int64_t> values) : value_(PerAxis(values)) {}  // NOLINT
  ConvPadding(PerAxis values) : value_(std::move(values)) {}                       // NOLINT
  ConvPadding(const char* name) : value_(std::string(name)) {}                     // NOLINT

  // The padding in numbers. Throws UsageError for an unknown name, or "same" with strides.
  PerAxis Resolve(const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
                  const std::vector<int64_t>& dilation) const;

 private:
  std::variant<PerAxis, std::string> value_;
};

struct ConvOptions {
  PerAxis stride = 1;
  ConvPadding padding = 0;
  PerAxis dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

// Weight is (out, in/groups, kernel...), bias (out), both uniform in +-1/sqrt(fan in), which is
// Kaiming's bound for a = sqrt(5). The fan in is the number of inputs of one output, in/groups
// times the kernel's size. Input (batch, in, spatial...), output (batch, out, spatial...).
struct Conv2d {
  // A square kernel.
  Conv2d(int64_t in, int64_t out, int64_t kernel, const ConvOptions& options = {});
  // As many spatial axes as `kernel` has sizes.
  Conv2d(int64_t in, int64_t out, const std::vector<int64_t>& kernel,
         const ConvOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  void VisitState(const state::StateVisitor& visit) const;

  Tensor weight;
  Tensor bias;  // not defined without
  Conv2dOptions options;
};

struct BatchNormOptions {
  double eps = 1e-5;
  bool affine = true;
  bool track_running_stats = true;
  double momentum = 0.1;
};

// Normalizes each channel (axis 1) over all other axes, then scales and shifts it (affine).
//
// With the TRAINING setting on, by the mean and (biased) variance of the batch; these go into the
// running statistics with weight `momentum`, the variance unbiased. With it off, by the running
// statistics, or the batch's where none are tracked.
// The running statistics are assigned lazily: give them to the optimizer along with the parameters
// (GetParameters does), and each Step stores them.
struct BatchNorm {
  explicit BatchNorm(int64_t channels, const BatchNormOptions& options = {});
  // Throws ShapeError for another number of channels, or a single value per channel in training.
  Tensor operator()(const Tensor& x) const;
  void VisitState(const state::StateVisitor& visit) const;

  BatchNormOptions options;
  Tensor weight;  // ones; not defined unless affine
  Tensor bias;    // zeros; not defined unless affine
  // Not defined unless tracked.
  Tensor running_mean;         // zeros
  Tensor running_var;          // ones
  Tensor num_batches_tracked;  // int64, ()
};

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
};

// Zero mean and unit variance over the last axes, whose sizes are `shape`, then weight * x + bias.
struct LayerNorm {
  explicit LayerNorm(const std::vector<int64_t>& shape, const LayerNormOptions& options = {});
  explicit LayerNorm(int64_t size, const LayerNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  void VisitState(const state::StateVisitor& visit) const;

  Shape normalized_shape;
  double eps;
  Tensor weight;  // ones; not defined unless affine
  Tensor bias;    // zeros; not defined unless affine
};

// Rows of a table. Weight is (vocabulary, size), Glorot uniform. Input: integers of any shape
// (...); output (..., size). Negative indices count from the end; indices out of range give zeros.
struct Embedding {
  Embedding(int64_t vocabulary, int64_t size);
  Tensor operator()(const Tensor& index) const;
  void VisitState(const state::StateVisitor& visit) const;

  Tensor weight;
};

}  // namespace tg::nn

#endif  // TG_NN_LAYERS_H_
