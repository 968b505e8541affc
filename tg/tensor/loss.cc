// Losses.

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/impl.h"
#include "tg/tensor/tensor.h"

namespace tg {

namespace {

Tensor Reduce(const Tensor& x, Reduction reduction) {
  switch (reduction) {
    case Reduction::kMean:
      return x.Mean();
    case Reduction::kSum:
      return x.Sum();
    case Reduction::kNone:
      return x;
  }
  throw UsageError("loss: unknown reduction");
}

int ClassAxis(const Tensor& logits) { return logits.ndim() == 1 ? 0 : 1; }

void CheckLabels(const char* op, const Tensor& x, const Tensor& labels) {
  if (!labels.dtype().IsInt()) {
    throw DTypeError(
        absl::StrCat(op, ": expected integer labels, got ", labels.dtype().ToString()));
  }
  Shape expected = x.shape();
  if (!expected.empty()) expected.erase(expected.begin() + ClassAxis(x));
  if (x.ndim() == 0 || labels.shape() != expected) {
    throw ShapeError(absl::StrCat(op, ": labels of shape ", ir::ToString(labels.shape()),
                                  " for shape ", ir::ToString(x.shape()), ", expected ",
                                  ir::ToString(expected)));
  }
}

void CheckSmoothing(const char* op, double smoothing) {
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw UsageError(absl::StrCat(op, ": label smoothing ", smoothing, " is not in [0, 1]"));
  }
}

// One-hot along the class axis, as bool.
Tensor LabelMask(const Tensor& x, const Tensor& labels) {
  int axis = ClassAxis(x);
  Shape line(x.ndim(), Sint(1));
  line[axis] = x.shape()[axis];
  Tensor classes = Arange(x.Dim(axis), {kInt32, labels.device()}).Reshape(line);
  return labels.Unsqueeze(axis) == classes;
}

}  // namespace

Tensor Tensor::SparseCategoricalCrossEntropy(const Tensor& labels,
                                             const CrossEntropyOptions& options) const {
  const char* op = "sparse_categorical_crossentropy";
  CheckLabels(op, *this, labels);
  CheckSmoothing(op, options.label_smoothing);
  int axis = ClassAxis(*this);
  Tensor log_probs = LogSoftmax(axis);
  double smoothing = options.label_smoothing;
  Tensor loss = -LabelMask(*this, labels).Where(log_probs, 0).Sum(axis);
  if (smoothing > 0) loss = loss * (1 - smoothing) - log_probs.Mean(axis) * smoothing;
  if (!options.ignore_index) return Reduce(loss, options.reduction);
  Tensor counts = labels != *options.ignore_index;
  loss = counts.Where(loss, 0);
  if (options.reduction != Reduction::kMean) return Reduce(loss, options.reduction);
  return loss.Sum() / counts.Sum().Cast(loss.dtype());
}

Tensor Tensor::CrossEntropy(const Tensor& target, const CrossEntropyOptions& options) const {
  if (target.dtype().IsInt()) return SparseCategoricalCrossEntropy(target, options);
  CheckSmoothing("cross_entropy", options.label_smoothing);
  if (target.shape() != shape() || ndim() == 0) {
    throw ShapeError(absl::StrCat("cross_entropy: target of shape ", ir::ToString(target.shape()),
                                  " for shape ", ir::ToString(shape())));
  }
  int axis = ClassAxis(*this);
  double smoothing = options.label_smoothing;
  Tensor y = target;
  if (smoothing > 0) {
    y = y * (1 - smoothing) + smoothing / static_cast<double>(Dim(axis));
  }
  return Reduce(-(LogSoftmax(axis) * y).Sum(axis), options.reduction);
}

Tensor Tensor::NllLoss(const Tensor& labels, const Tensor& weight,
                       const CrossEntropyOptions& options) const {
  CheckLabels("nll_loss", *this, labels);
  int axis = ClassAxis(*this);
  Tensor mask = LabelMask(*this, labels);
  Tensor loss = -mask.Where(*this, 0).Sum(axis);
  Tensor w = OnesLike(loss);
  if (weight.defined()) {
    Shape line(ndim(), Sint(1));
    line[axis] = shape()[axis];
    w = mask.Where(weight.Reshape(line), 0).Sum(axis);
  }
  if (options.ignore_index) w = (labels != *options.ignore_index).Where(w, 0);
  loss = loss * w;
  if (options.reduction != Reduction::kMean) return Reduce(loss, options.reduction);
  return loss.Sum() / w.Sum();
}

Tensor Tensor::BinaryCrossEntropy(const Tensor& target, Reduction reduction) const {
  return Reduce(-(target * Log() + (1.0 - target) * (1.0 - *this).Log()), reduction);
}

Tensor Tensor::BinaryCrossEntropyWithLogits(const Tensor& target, Reduction reduction) const {
  // log(1 + e^-|x|) does not overflow.
  Tensor x = tensor_internal::ToFloat(*this);
  return Reduce(x.Maximum(0) - x * target + ((-x.Abs()).Exp() + 1.0).Log(), reduction);
}

}  // namespace tg
