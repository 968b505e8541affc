#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "nlohmann/json.hpp"
#include "tg/state/safetensors.h"

namespace tg::state {
namespace {

constexpr absl::string_view kMetadataKey = "__metadata__";

// A JSON string, or an error when `s` is not UTF-8.
absl::StatusOr<std::string> JsonString(const std::string& s, absl::string_view field) {
  try {
    return nlohmann::json(s).dump();
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is not UTF-8"));
  }
}

struct Plan {
  std::string header;         // the length and the padded JSON
  std::vector<size_t> order;  // tensors in the order of the data
};

absl::StatusOr<Plan> MakePlan(absl::Span<const SafetensorsTensor> tensors,
                              const SafetensorsMetadata& metadata) {
  Plan plan;
  absl::flat_hash_set<absl::string_view> names;
  for (const SafetensorsTensor& t : tensors) {
    auto fail = [&](auto... why) {
      return absl::InvalidArgumentError(absl::StrCat("tensor '", t.name, "': ", why...));
    };
    if (t.name == kMetadataKey) return fail("the name is reserved");
    if (!names.insert(t.name).second) return fail("the name occurs twice");
    if (SafetensorsName(t.dtype).empty()) {
      return fail("dtype ", t.dtype.ToString(), " has no name in the format");
    }
    const std::optional<uint64_t> size = SafetensorsSize(t.dtype, t.shape);
    if (!size) return fail("shape [", absl::StrJoin(t.shape, ", "), "] has no valid size");
    if (t.bytes.size() != *size) {
      return fail(t.bytes.size(), " bytes given, shape [", absl::StrJoin(t.shape, ", "), "] of ",
                  t.dtype.ToString(), " needs ", *size);
    }
  }

  plan.order.resize(tensors.size());
  std::iota(plan.order.begin(), plan.order.end(), 0);
  std::sort(plan.order.begin(), plan.order.end(), [&](size_t a, size_t b) {
    const int bytes_a = tensors[a].dtype.bytes();
    const int bytes_b = tensors[b].dtype.bytes();
    return bytes_a != bytes_b ? bytes_a > bytes_b : a < b;
  });
  std::vector<uint64_t> offsets(tensors.size());
  uint64_t end = 0;
  for (size_t i : plan.order) {
    offsets[i] = end;
    end += tensors[i].bytes.size();
  }

  std::string json = "{";
  const char* comma = "";
  if (!metadata.empty()) {
    absl::flat_hash_set<absl::string_view> keys;
    absl::StrAppend(&json, "\"", kMetadataKey, "\":{");
    for (const auto& [key, value] : metadata) {
      if (!keys.insert(key).second) {
        return absl::InvalidArgumentError(absl::StrCat("metadata key '", key, "' occurs twice"));
      }
      absl::StatusOr<std::string> k = JsonString(key, "a metadata key");
      if (!k.ok()) return k.status();
      absl::StatusOr<std::string> v =
          JsonString(value, absl::StrCat("the value of metadata key '", key, "'"));
      if (!v.ok()) return v.status();
      absl::StrAppend(&json, comma, *k, ":", *v);
      comma = ",";
    }
    json += "}";
    comma = ",";
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    absl::StatusOr<std::string> name = JsonString(tensors[i].name, "a tensor's name");
    if (!name.ok()) return name.status();
    absl::StrAppend(&json, comma, *name, ":{\"dtype\":\"", SafetensorsName(tensors[i].dtype),
                    "\",\"shape\":[", absl::StrJoin(tensors[i].shape, ","), "],\"data_offsets\":[",
                    offsets[i], ",", offsets[i] + tensors[i].bytes.size(), "]}");
    comma = ",";
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > kSafetensorsMaxHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the header has ", json.size(), " bytes, the format allows ", kSafetensorsMaxHeaderBytes));
  }
  for (int i = 0; i < 8; ++i) {
    plan.header.push_back(static_cast<char>(static_cast<uint64_t>(json.size()) >> (8 * i)));
  }
  plan.header += json;
  return plan;
}

}  // namespace

absl::Status WriteSafetensors(const std::string& path, absl::Span<const SafetensorsTensor> tensors,
                              const SafetensorsMetadata& metadata) {
  const absl::StatusOr<Plan> plan = MakePlan(tensors, metadata);
  if (!plan.ok()) {
    return absl::Status(plan.status().code(), absl::StrCat(path, ": ", plan.status().message()));
  }
  std::vector<absl::string_view> pieces = {plan->header};
  for (size_t i : plan->order) pieces.push_back(base::AsText(tensors[i].bytes));
  return base::WriteFileAtomically(path, pieces);
}

}  // namespace tg::state
