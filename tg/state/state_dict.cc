#include "tg/state/state_dict.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/error.h"
#include "tg/tensor/creation.h"

namespace tg::state {
namespace {

std::string Quoted(const std::vector<std::string>& names) {
  auto quote = [](std::string* out, const std::string& name) {
    absl::StrAppend(out, "'", name, "'");
  };
  return absl::StrCat("[", absl::StrJoin(names, ", ", quote), "]");
}

bool IsScalarLike(const Shape& shape) {
  return shape.empty() || (shape.size() == 1 && shape[0].Is(1));
}

}  // namespace

const Tensor* Find(const StateDict& dict, absl::string_view name) {
  for (const auto& [n, tensor] : dict) {
    if (n == name) return &tensor;
  }
  return nullptr;
}

StateDict CollectState(absl::FunctionRef<void(const StateVisitor&)> show,
                       absl::string_view prefix) {
  StateDict dict;
  absl::flat_hash_set<std::string> names;
  auto add = [&](const std::string& name, const Tensor& tensor) {
    if (!names.insert(name).second) {
      throw UsageError(absl::StrCat("state_dict: two tensors are called '", name, "'"));
    }
    dict.emplace_back(name, tensor);
  };
  show(StateVisitor(add, std::string(prefix)));
  return dict;
}

std::vector<std::string> LoadReport::Warnings() const {
  std::vector<std::string> lines;
  if (!unused.empty()) {
    lines.push_back(absl::StrCat("WARNING: unused weights in state_dict ", Quoted(unused)));
  }
  for (const std::string& name : not_loaded) {
    lines.push_back(absl::StrCat("WARNING: not loading ", name));
  }
  return lines;
}

LoadReport LoadInto(const StateDict& targets, const StateDict& values, const LoadOptions& options) {
  absl::flat_hash_map<std::string, const Tensor*> by_name;
  for (const auto& [name, value] : values) by_name.emplace(name, &value);
  LoadReport report;
  std::vector<std::pair<Tensor, Tensor>> pairs;
  std::vector<std::string> missing;
  absl::flat_hash_set<std::string> used;
  for (const auto& [name, target] : targets) {
    auto it = by_name.find(name);
    if (it == by_name.end()) {
      (options.strict ? missing : report.not_loaded).push_back(name);
      continue;
    }
    used.insert(name);
    const Tensor& value = *it->second;
    if (value.shape() != target.shape() &&
        !(IsScalarLike(value.shape()) && IsScalarLike(target.shape()))) {
      throw DataError(absl::StrCat("Shape mismatch in layer `", name, "`: Expected shape ",
                                   ir::ToString(target.shape()), ", but found ",
                                   ir::ToString(value.shape()), " in state dict."));
    }
    pairs.emplace_back(target, value);
  }
  for (const auto& [name, value] : values) {
    if (!used.contains(name)) report.unused.push_back(name);
  }
  if (!missing.empty()) {
    throw DataError(absl::StrCat(
        "load_state_dict: the state dict lacks ", Quoted(missing),
        report.unused.empty() ? std::string() : absl::StrCat("; it has ", Quoted(report.unused)),
        "; LoadOptions{.strict = false} keeps the values that are there"));
  }
  std::vector<Tensor> assigned;
  for (auto& [target, value] : pairs) {
    Tensor v = value.Cast(target.dtype()).Reshape(target.shape());
    target.Assign(v.device() == target.device() ? v : v.To(target.device()));
    assigned.push_back(target);
  }
  if (options.realize) Tensor::Realize(assigned);
  return report;
}

absl::Status SafeSave(const std::string& path, const StateDict& dict,
                      const SafetensorsMetadata& metadata) {
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : dict) {
    if (tensor.dtype().IsWeak()) {
      throw DTypeError(absl::StrCat("safe_save requires concrete dtypes; '", name, "' is ",
                                    tensor.dtype().ToString(), ": cast it"));
    }
    tensors.push_back(tensor);
  }
  Tensor::Realize(tensors);
  std::vector<std::vector<std::byte>> bytes;
  std::vector<SafetensorsTensor> entries;
  for (size_t i = 0; i < dict.size(); ++i) {
    bytes.push_back(tensors[i].ToBytes());
    SafetensorsTensor entry;
    entry.name = dict[i].first;
    entry.dtype = tensors[i].dtype();
    for (int axis = 0; axis < tensors[i].ndim(); ++axis)
      entry.shape.push_back(tensors[i].Dim(axis));
    entry.bytes = {reinterpret_cast<const uint8_t*>(bytes.back().data()), bytes.back().size()};
    entries.push_back(std::move(entry));
  }
  return WriteSafetensors(path, entries, metadata);
}

absl::StatusOr<StateDict> SafeLoad(const std::string& path, const std::string& device) {
  absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  if (!file.ok()) return file.status();
  StateDict dict;
  for (const SafetensorsEntry& entry : file->header().tensors) {
    const absl::Span<const uint8_t> bytes = file->Bytes(entry);
    Shape shape;
    for (int64_t d : entry.shape) shape.push_back(d);
    dict.emplace_back(entry.name,
                      FromBytes({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()},
                                entry.dtype, shape, device));
  }
  return dict;
}

}  // namespace tg::state
