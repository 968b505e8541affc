// How models show their tensors, by name: what saving, loading, optimizers and counting stand on.
//
//   struct Block {
//     nn::Conv2d conv{3, 8, 3};
//     std::vector<nn::Linear> heads;
//     void VisitState(const state::StateVisitor& visit) const {
//       visit("conv", conv);
//       visit("heads", heads);
//     }
//   };
//
// shows conv.weight, conv.bias, heads.0.weight, ... A part is a tensor, anything with a VisitState
// of this form, or a container of parts. Tensors that are not defined (a layer without bias) are
// left out. What is passed on are handles: whoever visits may give the tensors other values by
// Assign, but not put other tensors in their place.
#ifndef TG_STATE_VISITOR_H_
#define TG_STATE_VISITOR_H_

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tg/tensor/tensor.h"

namespace tg::state {

class StateVisitor;

template <typename T>
concept HasState = requires(const T& part, const StateVisitor& visit) {
  part.VisitState(visit);
};

class StateVisitor {
 public:
  using Function = absl::FunctionRef<void(const std::string& name, const Tensor& tensor)>;

  // Calls `function`, which must outlive this, with names that start with `prefix`.
  explicit StateVisitor(Function function, std::string prefix = "")
      : function_(function), prefix_(std::move(prefix)) {}

  // The part called `name` of what is being visited.
  template <typename T>
  void operator()(absl::string_view name, const T& part) const {
    StateVisitor(function_, prefix_.empty() ? std::string(name) : absl::StrCat(prefix_, ".", name))
        .Visit(part);
  }

  // A part without a name of its own: its tensors follow the prefix directly.
  void Visit(const Tensor& tensor) const {
    if (tensor.defined()) function_(prefix_, tensor);
  }
  // A number is no state, although it converts to a tensor.
  template <typename T>
  requires std::is_arithmetic_v<T>
  void Visit(T number) const = delete;
  template <HasState T>
  void Visit(const T& part) const {
    part.VisitState(*this);
  }
  template <typename T>
  void Visit(const std::vector<T>& parts) const {
    VisitNumbered(parts);
  }
  template <typename T, size_t kSize>
  void Visit(const std::array<T, kSize>& parts) const {
    VisitNumbered(parts);
  }
  template <typename T>
  void Visit(const std::map<std::string, T>& parts) const {
    for (const auto& [name, part] : parts) (*this)(name, part);
  }
  template <typename A, typename B>
  void Visit(const std::pair<A, B>& parts) const {
    (*this)("0", parts.first);
    (*this)("1", parts.second);
  }
  template <typename T>
  void Visit(const std::optional<T>& part) const {
    if (part.has_value()) Visit(*part);
  }
  template <typename T>
  void Visit(const std::unique_ptr<T>& part) const {
    if (part != nullptr) Visit(*part);
  }
  template <typename T>
  void Visit(const std::shared_ptr<T>& part) const {
    if (part != nullptr) Visit(*part);
  }

 private:
  template <typename Parts>
  void VisitNumbered(const Parts& parts) const {
    size_t i = 0;
    for (const auto& part : parts) (*this)(absl::StrCat(i++), part);
  }

  Function function_;
  std::string prefix_;
};

}  // namespace tg::state

#endif  // TG_STATE_VISITOR_H_
