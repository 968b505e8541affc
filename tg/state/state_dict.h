// Names and tensors of models: listing, loading into a model, and safetensors files.
//
//   Status s = state::SafeSave("net.safetensors", state::GetStateDict(net));
//   StatusOr<state::StateDict> loaded = state::SafeLoad("net.safetensors");
//   state::LoadStateDict(net, *loaded);
//
// A model is anything that a StateVisitor takes (visitor.h). Names are those that PyTorch would
// give: "bn1.running_mean", "layers.0.weight".
#ifndef TG_STATE_STATE_DICT_H_
#define TG_STATE_STATE_DICT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tg/state/safetensors.h"
#include "tg/state/visitor.h"
#include "tg/tensor/tensor.h"

namespace tg::state {

// In the order in which the model shows them; names are unique. The tensors are the model's own.
using StateDict = std::vector<std::pair<std::string, Tensor>>;

// The tensor of that name, or null. Linear in the number of entries.
const Tensor* Find(const StateDict& dict, absl::string_view name);

// What `show` shows a visitor. Throws UsageError when two tensors have the same name.
StateDict CollectState(absl::FunctionRef<void(const StateVisitor&)> show,
                       absl::string_view prefix = "");

// All tensors of a model, under names that start with `prefix` and a dot unless it is empty.
template <typename Model>
StateDict GetStateDict(const Model& model, absl::string_view prefix = "") {
  return CollectState([&](const StateVisitor& visit) { visit.Visit(model); }, prefix);
}

// The same tensors without names: what to give to an optimizer, which trains those that want
// gradients and keeps the others (running statistics) up to date.
template <typename Model>
std::vector<Tensor> GetParameters(const Model& model) {
  std::vector<Tensor> parameters;
  for (auto& [name, tensor] : GetStateDict(model)) parameters.push_back(std::move(tensor));
  return parameters;
}

struct LoadOptions {
  // Whether it is an error when the dict lacks a tensor of the model.
  bool strict = true;
  // Whether the values are computed and stored now, rather than when they are first needed.
  bool realize = true;
};

struct LoadReport {
  std::vector<std::string> unused;      // in the dict, but not in the model
  std::vector<std::string> not_loaded;  // in the model, but not in the dict (not strict)

  // One line for each kind, for people: "WARNING: unused weights in state_dict ['a', 'b']".
  std::vector<std::string> Warnings() const;
};

// Assigns to each tensor of `targets` the one of that name, converted to the target's dtype and
// moved to its device. Shapes must agree, but for () and (1,), which stand for each other.
// Throws DataError that names the tensor; then nothing was assigned.
LoadReport LoadInto(const StateDict& targets, const StateDict& values,
                    const LoadOptions& options = {});

template <typename Model>
LoadReport LoadStateDict(const Model& model, const StateDict& values,
                         const LoadOptions& options = {}) {
  return LoadInto(GetStateDict(model), values, options);
}

// Realizes the tensors and writes them, in order, as a safetensors file, which appears whole or not
// at all. InvalidArgument: dtypes or names that the format does not have; other codes are the file
// system's. Throws DTypeError for weak dtypes.
absl::Status SafeSave(const std::string& path, const StateDict& dict,
                      const SafetensorsMetadata& metadata = {});

// Reads a safetensors file into tensors of `device` (empty: the default device), in the header's
// order. The file is checked as ParseSafetensors says.
absl::StatusOr<StateDict> SafeLoad(const std::string& path, const std::string& device = "");

}  // namespace tg::state

#endif  // TG_STATE_STATE_DICT_H_
