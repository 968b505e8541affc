// What a Tensor handle points to, and the list of all that live. Internal to tg/tensor.
#ifndef TG_TENSOR_IMPL_H_
#define TG_TENSOR_IMPL_H_

#include <string>
#include <vector>

#include "codegen/ir/uop.h"
#include "tg/tensor/graph.h"
#include "tg/tensor/tensor.h"

namespace tg::tensor_internal {

// Entered in the list of live tensors for as long as it lives, since realizing replaces graph nodes
// by buffers in every tensor that uses them.
struct TensorImpl {
  TensorImpl(ir::UOp uop, std::string device);
  ~TensorImpl();
  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;

  static TensorImpl& Of(const Tensor& t);

  ir::UOp uop;
  std::string device;
  Tensor grad;
  bool requires_grad = false;
  // uop is a kBuffer, or kAfters on one, under reshapes, and no other tensor may store into it.
  bool owns_memory = false;

  TensorImpl* prev;
  TensorImpl* next;
};

// All live tensors, oldest first. Valid until a tensor is made or dies.
std::vector<TensorImpl*> LiveTensors();

// Gives the tensor memory of its own with its present value, to be stored when it is realized.
void TakeMemory(TensorImpl& t);

// --- Helpers of the operations
// -------------------------------------------------------------------- The one device of the
// operands. Throws DeviceError.
std::string CommonDevice(const char* op, absl::Span<const Tensor> operands);
// The operands converted to the dtype they promote to. Weak results of mixed operands become the
// default float (int).
std::vector<Tensor> Promote(absl::Span<const Tensor> operands);
// x, or x as default float if it is no float.
Tensor ToFloat(const Tensor& x);
// The number as a weak scalar: an integer where `dtype` is none of floats and `v` is a whole
// number.
Tensor NumberFor(DType dtype, double v);
// Elementwise with broadcasting, on operands of equal dtypes (kWhere: but for the condition).
Tensor ElementwiseOp(ir::Op op, const char* name, absl::Span<const Tensor> operands);
// The same tensor's device, another value.
inline Tensor Like(const Tensor& x, ir::UOp uop) {
  return Tensor::FromUOp(std::move(uop), x.device());
}
// `axis` counted from 0; a valid axis of `ndim` (an insertion point counts with ndim + 1). Throws
// ShapeError that names `op`.
int ResolveAxis(const char* op, int axis, int ndim);
// The integer value of every dimension. Throws ShapeError for symbolic ones.
std::vector<int64_t> ConcreteShape(const char* op, const Shape& shape);

}  // namespace tg::tensor_internal

#endif  // TG_TENSOR_IMPL_H_
