// Tensor's side of differentiation: which tensors get a gradient, and where it goes.

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "tg/tensor/gradient.h"
#include "tg/tensor/impl.h"
#include "tg/tensor/tensor.h"

namespace tg {

using ir::UOp;
using tensor_internal::TensorImpl;

namespace {

// The gradient of `root` itself: `grad`, or 1 for a scalar.
UOp RootGradient(const char* op, const Tensor& root, const Tensor& grad) {
  if (!root.dtype().IsFloat()) {
    throw DTypeError(
        absl::StrCat(op, ": only floats have gradients, this is ", root.dtype().ToString()));
  }
  if (grad.defined()) {
    if (grad.shape() != root.shape()) {
      throw ShapeError(absl::StrCat(op, ": the gradient has shape ", ir::ToString(grad.shape()),
                                    ", expected ", ir::ToString(root.shape())));
    }
    return tensor_internal::CastTo(grad.uop(), root.dtype());
  }
  if (!ir::NumElements(root.shape()).Is(1)) {
    throw ShapeError(absl::StrCat(op, ": expected a scalar, or a gradient beside the shape ",
                                  ir::ToString(root.shape())));
  }
  return tensor_internal::Fill(ir::Const(root.dtype(), 1), root.shape());
}

}  // namespace

Tensor& Tensor::SetRequiresGrad(bool on) {
  TensorImpl& self = TensorImpl::Of(*this);
  if (on && (!dtype().IsFloat() || dtype().IsWeak())) {
    throw DTypeError("requires_grad: only concrete floats have gradients, this is " +
                     dtype().ToString());
  }
  if (on && !self.owns_memory) tensor_internal::TakeMemory(self);
  self.requires_grad = on;
  return *this;
}

bool Tensor::requires_grad() const { return impl().requires_grad; }
Tensor Tensor::grad() const { return impl().grad; }

void Tensor::SetGrad(Tensor grad) {
  if (grad.defined() && grad.shape() != shape()) {
    throw ShapeError(absl::StrCat("grad: shape ", ir::ToString(grad.shape()), " for a tensor of ",
                                  ir::ToString(shape())));
  }
  TensorImpl::Of(*this).grad = std::move(grad);
}

std::vector<Tensor> Tensor::Gradient(absl::Span<const Tensor> targets, Tensor grad) const {
  UOp root_grad = RootGradient("gradient", *this, grad);
  std::vector<UOp> uops;
  for (const Tensor& t : targets) {
    if (!t.dtype().IsFloat() || t.dtype().IsWeak()) {
      throw DTypeError("gradient: cannot take the gradient with respect to a tensor of " +
                       t.dtype().ToString());
    }
    uops.push_back(t.uop());
  }
  ir::UOpMap grads = tensor_internal::ComputeGradient(uop(), root_grad, uops);
  if (grads.empty() && tensor_internal::BelowReshapes(uop()).Is(ir::Op::kBuffer)) {
    throw UsageError(
        "gradient: this tensor is plain data; it may have been realized, and what it was computed "
        "from is only remembered where a tensor wants a gradient: take gradients before reading "
        "values, or mark the inputs with SetRequiresGrad()");
  }
  std::vector<Tensor> result;
  for (const Tensor& t : targets) {
    auto it = grads.find(t.uop());
    UOp g =
        it != grads.end() ? it->second : tensor_internal::Fill(ir::Const(t.dtype(), 0), t.shape());
    result.push_back(FromUOp(g, t.device()));
  }
  return result;
}

void Tensor::Backward(Tensor grad) const {
  UOp root_grad = RootGradient("backward", *this, grad);
  std::vector<TensorImpl*> leaves;
  std::vector<UOp> uops;
  for (TensorImpl* t : tensor_internal::LiveTensors()) {
    if (!t->requires_grad) continue;
    leaves.push_back(t);
    uops.push_back(t->uop);
  }
  ir::UOpMap grads = tensor_internal::ComputeGradient(uop(), root_grad, uops);
  if (grads.empty()) {
    throw UsageError(absl::StrCat(
        "backward: this depends on none of the ", leaves.size(),
        " tensors that want a gradient; mark parameters with SetRequiresGrad() before they are "
        "used, and call Backward() before the parameters are assigned to"));
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    auto it = grads.find(uops[i]);
    if (it == grads.end()) continue;
    TensorImpl& t = *leaves[i];
    Tensor g = FromUOp(it->second, t.device);
    t.grad = t.grad.defined() ? t.grad + g : g;
  }
}

}  // namespace tg
