#include "tg/nn/optim.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/settings.h"
#include "tg/tensor/creation.h"

namespace tg::nn {
namespace {

void RequireNotNegative(const char* what, double value) {
  if (!(value >= 0) || std::isinf(value)) {
    throw UsageError(absl::StrCat("Invalid ", what, ": ", value));
  }
}

void RequireBeta(const char* name, double value) {
  if (!(value >= 0 && value < 1)) {
    throw UsageError(absl::StrCat("Invalid beta parameter ", name, ": ", value));
  }
}

void AddUnlessThere(std::vector<Tensor>& tensors, const Tensor& t) {
  for (const Tensor& known : tensors) {
    if (known.IsSame(t)) return;
  }
  tensors.push_back(t);
}

// The dtype that a parameter's update is computed in.
DType ArithmeticDType(const Tensor& param) {
  return ir::LeastUpperDType({param.dtype(), kFloat32});
}

Tensor ScalarInMemory(double value, const std::string& device) {
  return FromData(std::vector<float>{static_cast<float>(value)}, {}, {kFloat32, device});
}

Tensor Norm(const Tensor& x) { return x.Square().Sum().Sqrt(); }

}  // namespace

Optimizer::Optimizer(const std::vector<Tensor>& params, double lr) {
  RequireNotNegative("learning rate", lr);
  for (const Tensor& t : params) AddUnlessThere(t.requires_grad() ? params_ : buffers_, t);
  if (params_.empty()) {
    throw UsageError("optimizer must have at least one param; mark tensors with SetRequiresGrad()");
  }
  lr_ = ScalarInMemory(lr, params_[0].device());
}

void Optimizer::ZeroGrad() {
  for (Tensor& t : params_) t.ZeroGrad();
}

void Optimizer::SetLr(double lr) {
  RequireNotNegative("learning rate", lr);
  // From memory, not as a constant: a constant would be compiled into a kernel for each value.
  lr_.Assign(ScalarInMemory(lr, lr_.device())).Realize();
}

std::vector<Tensor> Optimizer::ScheduleStep() {
  if (const int training = base::Get(base::kTraining); training == 0) {
    throw UsageError(absl::StrCat(
        "TRAINING=", training,
        ", TRAINING must be enabled to use the optimizer.\n"
        "- help: Consider base::Scoped<int> training(base::kTraining, 1) before calling "
        "Optimizer::Step()."));
  }
  std::vector<Tensor> grads;
  for (size_t i = 0; i < params_.size(); ++i) {
    const Tensor grad = params_[i].grad();
    if (!grad.defined()) {
      throw UsageError(absl::StrCat("optimizer: parameter ", i, ", ", params_[i].ToString(),
                                    ", has no gradient; call Backward() on a loss that depends on "
                                    "it before Step()"));
    }
    grads.push_back(grad.Cast(ArithmeticDType(params_[i])));
  }
  const std::vector<Tensor> updates = Updates(grads);
  for (size_t i = 0; i < params_.size(); ++i) {
    params_[i].Assign((params_[i].Detach() - updates[i]).Cast(params_[i].dtype()));
  }
  std::vector<Tensor> changed = State();
  changed.insert(changed.end(), params_.begin(), params_.end());
  changed.insert(changed.end(), buffers_.begin(), buffers_.end());
  return changed;
}

void Optimizer::Step() { Tensor::Realize(ScheduleStep()); }

void Optimizer::Minimize(const Tensor& loss) {
  ZeroGrad();
  loss.Backward();
  Step();
}

std::vector<Tensor> Optimizer::NewState() const {
  std::vector<Tensor> state;
  for (const Tensor& t : params_) {
    // A clone: memory that is updated in place from the first step on.
    state.push_back(Zeros(t.shape(), {ArithmeticDType(t), t.device()}).Clone());
  }
  return state;
}

// --- Sgd ----------------------------------------------------------------------------------------

Sgd::Sgd(const std::vector<Tensor>& params, const SgdOptions& options)
    : Optimizer(params, options.lr), options_(options) {
  RequireNotNegative("momentum value", options.momentum);
  RequireNotNegative("weight_decay value", options.weight_decay);
  if (options.nesterov && options.momentum == 0) {
    throw UsageError("Nesterov momentum requires a momentum");
  }
  if (options.momentum > 0) b_ = NewState();
}

std::vector<Tensor> Sgd::Updates(const std::vector<Tensor>& grads) {
  std::vector<Tensor> updates;
  for (size_t i = 0; i < grads.size(); ++i) {
    Tensor g = grads[i];
    if (options_.weight_decay > 0) {
      g = g + options_.weight_decay * params()[i].Detach().Cast(g.dtype());
    }
    if (options_.classic) g = g * lr();
    if (options_.momentum > 0) {
      b_[i].Assign(options_.momentum * b_[i] + g);
      g = options_.nesterov ? g + options_.momentum * b_[i] : b_[i];
    }
    updates.push_back(options_.classic ? g : g * lr());
  }
  return updates;
}

void Sgd::VisitState(const state::StateVisitor& visit) const {
  Optimizer::VisitState(visit);
  visit("b", b_);
}

// --- Lamb, Adam, AdamW --------------------------------------------------------------------------

Lamb::Lamb(const std::vector<Tensor>& params, const LambOptions& options, bool trust_ratio)
    : Optimizer(params, options.lr), options_(options), trust_ratio_(trust_ratio) {
  RequireBeta("b1", options.b1);
  RequireBeta("b2", options.b2);
  RequireNotNegative("epsilon value", options.eps);
  RequireNotNegative("weight_decay value", options.weight_decay);
  const TensorOptions on_device = {kFloat32, lr().device()};
  c1_ = Zeros({}, on_device).Clone();
  c2_ = Zeros({}, on_device).Clone();
  m_ = NewState();
  v_ = NewState();
}

std::vector<Tensor> Lamb::Updates(const std::vector<Tensor>& grads) {
  // 1 - b^t, without the cancellation.
  c1_.Assign(c1_ * options_.b1 + (1 - options_.b1));
  c2_.Assign(c2_ * options_.b2 + (1 - options_.b2));
  std::vector<Tensor> updates;
  for (size_t i = 0; i < grads.size(); ++i) {
    const Tensor& g = grads[i];
    m_[i].Assign(options_.b1 * m_[i] + (1 - options_.b1) * g);
    v_[i].Assign(options_.b2 * v_[i] + (1 - options_.b2) * g.Square());
    Tensor up = (m_[i] / c1_) / ((v_[i] / c2_).Sqrt() + options_.eps);
    const Tensor p = params()[i].Detach().Cast(g.dtype());
    if (options_.weight_decay > 0) up = up + options_.weight_decay * p;
    Tensor rate = lr();
    if (trust_ratio_) {
      const Tensor r1 = Norm(p), r2 = Norm(up);
      rate = rate * ((r1 > 0) & (r2 > 0)).Where(r1 / r2, 1.0);
    }
    updates.push_back(rate * up);
  }
  return updates;
}

std::vector<Tensor> Lamb::State() const {
  std::vector<Tensor> state = {c1_, c2_};
  state.insert(state.end(), m_.begin(), m_.end());
  state.insert(state.end(), v_.begin(), v_.end());
  return state;
}

void Lamb::VisitState(const state::StateVisitor& visit) const {
  Optimizer::VisitState(visit);
  visit("c1", c1_);
  visit("c2", c2_);
  visit("m", m_);
  visit("v", v_);
}

Adam::Adam(const std::vector<Tensor>& params, const AdamOptions& options)
    : Lamb(params, {options.lr, options.b1, options.b2, options.eps, 0}, /*trust_ratio=*/false) {}

AdamW::AdamW(const std::vector<Tensor>& params, const AdamWOptions& options)
    : Lamb(params, {options.lr, options.b1, options.b2, options.eps, options.weight_decay},
           /*trust_ratio=*/false) {}

}  // namespace tg::nn
