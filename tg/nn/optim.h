// Optimizers: what turns gradients into new parameters.
//
//   nn::Adam optimizer(state::GetParameters(model), {.lr = 0.003});
//   base::Scoped<int> training(base::kTraining, 1);
//   for (...) optimizer.Minimize(loss(model));
//
// where Minimize(loss) is short for ZeroGrad(); loss.Backward(); Step().
//
// Of the tensors given, those that want gradients are trained; the others (running statistics) are
// kept as buffers. Step stores the new parameters, the optimizer's state and the buffers in place,
// all in one run, so that it can be recorded by a Jit.
//
// Arithmetic is in float32, or float64 for float64 parameters, and so is the state. What all
// parameters share (the learning rate) is float32.
//
// The learning rate is a float32 tensor: SetLr changes its value, also for steps that a Jit has
// recorded. A schedule calls it before each step.
//
// Constructors throw UsageError for no parameters, and for values out of range: a learning rate,
// weight decay or momentum below 0, a beta outside of [0, 1), NaN.
#ifndef TG_NN_OPTIM_H_
#define TG_NN_OPTIM_H_

#include <string>
#include <vector>

#include "tg/state/visitor.h"
#include "tg/tensor/tensor.h"

namespace tg::nn {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Forgets the gradients.
  void ZeroGrad();

  // Updates the parameters by their gradients and stores everything. Throws UsageError when the
  // TRAINING setting is off or a parameter has no gradient.
  void Step();
  // Forgets the gradients, computes those of `loss`, a scalar, and steps.
  void Minimize(const Tensor& loss);
  // Step without storing: gives all tensors that have new values, to be realized along with
  // others.
  std::vector<Tensor> ScheduleStep();

  // Shape (). Its value is changed by Assign, or by SetLr, which also stores it.
  const Tensor& lr() const { return lr_; }
  void SetLr(double lr);

  const std::vector<Tensor>& params() const { return params_; }
  const std::vector<Tensor>& buffers() const { return buffers_; }

  // The learning rate and the state, not the parameters: "lr", "m.0", ...
  virtual void VisitState(const state::StateVisitor& visit) const { visit("lr", lr_); }

 protected:
  // Duplicates are dropped.
  Optimizer(const std::vector<Tensor>& params, double lr);

  // What to subtract from each parameter. Assigns new values to the state.
  virtual std::vector<Tensor> Updates(const std::vector<Tensor>& grads) = 0;
  // The state that Updates assigns to.
  virtual std::vector<Tensor> State() const = 0;

  // Zeros in the shape of each parameter, in the dtype of the arithmetic.
  std::vector<Tensor> NewState() const;

 private:
  std::vector<Tensor> params_;
  std::vector<Tensor> buffers_;
  Tensor lr_;
};

struct SgdOptions {
  double lr = 0.001;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
  // Whether the learning rate scales what goes into the momentum (g * lr), as in the original
  // papers, rather than what comes out, as in PyTorch. They differ when the rate changes.
  bool classic = false;
};

// g += weight_decay * p; b = momentum * b + g; p -= lr * (nesterov ? g + momentum * b : b), and
// p -= lr * g without momentum. b starts at 0.
class Sgd : public Optimizer {
 public:
  explicit Sgd(const std::vector<Tensor>& params, const SgdOptions& options = {});
  // State: "b.N" when there is momentum.
  void VisitState(const state::StateVisitor& visit) const override;

 protected:
  std::vector<Tensor> Updates(const std::vector<Tensor>& grads) override;
  std::vector<Tensor> State() const override { return b_; }

 private:
  const SgdOptions options_;
  std::vector<Tensor> b_;
};

struct LambOptions {
  double lr = 0.001;
  double b1 = 0.9;
  double b2 = 0.999;
  double eps = 1e-6;
  double weight_decay = 0;
};

// You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes" (2020).
//   m = b1 m + (1 - b1) g              v = b2 v + (1 - b2) g^2
//   u = (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay * p
//   p -= lr * |p| / |u| * u            the ratio of the norms is 1 where one of them is 0
class Lamb : public Optimizer {
 public:
  explicit Lamb(const std::vector<Tensor>& params, const LambOptions& options = {})
      : Lamb(params, options, /*trust_ratio=*/true) {}
  // State: "c1" and "c2", which are 1 - b1^t and 1 - b2^t after t steps; "m.N", "v.N".
  void VisitState(const state::StateVisitor& visit) const override;

 protected:
  Lamb(const std::vector<Tensor>& params, const LambOptions& options, bool trust_ratio);
  std::vector<Tensor> Updates(const std::vector<Tensor>& grads) override;
  std::vector<Tensor> State() const override;

 private:
  const LambOptions options_;
  const bool trust_ratio_;
  Tensor c1_, c2_;
  std::vector<Tensor> m_, v_;
};

struct AdamOptions {
  double lr = 0.001;
  double b1 = 0.9;
  double b2 = 0.999;
  double eps = 1e-8;
};

// Kingma and Ba, "Adam" (2015): Lamb without the ratio of norms.
class Adam : public Lamb {
 public:
  explicit Adam(const std::vector<Tensor>& params, const AdamOptions& options = {});
};

struct AdamWOptions {
  double lr = 0.001;
  double b1 = 0.9;
  double b2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
};

// Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019): Adam with weight decay
// beside the gradient.
class AdamW : public Lamb {
 public:
  explicit AdamW(const std::vector<Tensor>& params, const AdamWOptions& options = {});
};

}  // namespace tg::nn

#endif  // TG_NN_OPTIM_H_
