// Jit: runs a function of tensors once for real, records the second run, and from the third on
// replays the recorded kernels on new inputs without building or scheduling anything.
//
//   Jit step([&](const std::vector<Tensor>& in) {
//     Tensor loss = model(in[0]).SparseCategoricalCrossEntropy(in[1]);
//     optimizer.ZeroGrad();
//     loss.Backward();
//     optimizer.Step();
//     return std::vector<Tensor>{loss};
//   });
//   for (...) step({x, y})[0].Item();
//
// What a function may do: anything that depends on its inputs through tensors alone. Its results
// are realized at the end. Tensors that it uses without being passed them (parameters) keep their
// memory; what it assigns to them happens in each replay. Reading values inside (Item, ToVector)
// would freeze them: it throws UsageError while recording.
//
// The results of a replay are in the same memory each time: the next call overwrites them. A result
// may be passed as an input to the next call: it is copied where a kernel would read it after it
// was overwritten.
//
// Inputs of one Jit must agree from call to call in number, shape, dtype and device (UsageError
// says which does not). Symbolic sizes and values: inputs may be Tensor::FromVariable of a kBind,
// and views of a realized tensor whose bounds are such; they may be bound to other values in each
// call.
//
// Setting JIT=0 runs the function each time. Not thread-safe; one Jit inside of another is an
// error.
#ifndef TG_TG_ENGINE_JIT_H_
#define TG_TG_ENGINE_JIT_H_

#include <functional>
#include <memory>
#include <vector>

#include "tg/tensor/tensor.h"

namespace tg {

class Jit {
 public:
  using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  explicit Jit(Function function);
  ~Jit();
  Jit(Jit&&) noexcept;
  Jit& operator=(Jit&&) noexcept;

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs);

  // Forgets the recording.
  void Reset();
  // Calls since the start or the last Reset.
  int calls() const;
  bool captured() const;
  // Kernels and copies of a replay.
  int items() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tg

#endif  // TG_TG_ENGINE_JIT_H_
