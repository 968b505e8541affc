#include "codegen/object/amd_metadata.h"

#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "codegen/object/amd_metadata_yaml.h"
#include "nlohmann/json.hpp"

namespace tg::object {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 16;

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("metadata: ", what));
}

// Builds a document of limited depth: the library's own builder would recurse as deep as the bytes
// say.
class Builder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Value(nullptr); }
  bool boolean(bool value) override { return Value(value); }
  bool number_integer(number_integer_t value) override { return Value(value); }
  bool number_unsigned(number_unsigned_t value) override { return Value(value); }
  bool number_float(number_float_t value, const string_t&) override { return Value(value); }
  bool string(string_t& value) override { return Value(std::move(value)); }
  bool binary(binary_t&) override { return Fail("binary data"); }
  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(absl::StrCat("byte ", position, " is no MessagePack"));
  }

  Json& root() { return root_; }
  const std::string& error() const { return error_; }

 private:
  bool Fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    return false;
  }
  Json* Place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }
  bool Value(Json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(Json value) {
    if (open_.size() == kMaxDepth) {
      return Fail(absl::StrCat("more than ", kMaxDepth, " levels"));
    }
    open_.push_back(Place(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  std::string error_;
};

absl::StatusOr<Json> Parse(absl::string_view bytes) {
  Builder builder;
  // Not strict: notes are padded.
  if (!Json::sax_parse(bytes.begin(), bytes.end(), &builder, Json::input_format_t::msgpack,
                       /*strict=*/false)) {
    return Bad(builder.error());
  }
  return std::move(builder.root());
}

// Reads members of one map; the first error stays.
class Members {
 public:
  Members(const Json& map, std::string where) : map_(map), where_(std::move(where)) {
    if (!map.is_object()) status_ = Bad(absl::StrCat(where_, " is no map"));
  }

  void Number(const char* key, uint32_t* value, bool required = false) {
    const Json* member = Find(key, required);
    if (member == nullptr) return;
    if (!member->is_number_unsigned() ||
        member->get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
      return Wrong(key, "a number of 32 bits");
    }
    *value = member->get<uint32_t>();
  }
  void Number(const char* key, std::optional<uint32_t>* value) {
    if (Find(key, false) == nullptr) return;
    Number(key, &value->emplace());
  }
  void Text(const char* key, std::string* value, bool required = false) {
    const Json* member = Find(key, required);
    if (member == nullptr) return;
    if (!member->is_string()) return Wrong(key, "a string");
    *value = member->get<std::string>();
  }
  void Numbers(const char* key, std::vector<uint32_t>* values) {
    const Json* member = Array(key);
    if (member == nullptr) return;
    for (const Json& element : *member) {
      if (!element.is_number_unsigned() ||
          element.get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
        return Wrong(key, "an array of numbers of 32 bits");
      }
      values->push_back(element.get<uint32_t>());
    }
  }
  const Json* Array(const char* key) {
    const Json* member = Find(key, false);
    if (member == nullptr) return nullptr;
    if (member->is_array()) return member;
    Wrong(key, "an array");
    return nullptr;
  }

  const absl::Status& status() const { return status_; }

 private:
  const Json* Find(const char* key, bool required) {
    if (!status_.ok()) return nullptr;
    const auto found = map_.find(key);
    if (found != map_.end()) return &*found;
    if (required) status_ = Bad(absl::StrCat(where_, " has no ", key));
    return nullptr;
  }
  void Wrong(const char* key, const char* expected) {
    if (status_.ok()) status_ = Bad(absl::StrCat(where_, ": ", key, " must be ", expected));
  }

  const Json& map_;
  const std::string where_;
  absl::Status status_;
};

absl::StatusOr<AmdKernelArgument> ReadArgument(const Json& json, const std::string& where) {
  AmdKernelArgument argument;
  Members members(json, where);
  members.Text(".name", &argument.name);
  members.Text(".type_name", &argument.type_name);
  members.Number(".offset", &argument.offset, /*required=*/true);
  members.Number(".size", &argument.size, /*required=*/true);
  members.Text(".value_kind", &argument.value_kind, /*required=*/true);
  members.Text(".address_space", &argument.address_space);
  if (!members.status().ok()) return members.status();
  return argument;
}

absl::StatusOr<AmdKernelMetadata> ReadKernel(const Json& json, const std::string& where) {
  AmdKernelMetadata kernel;
  Members members(json, where);
  members.Text(".name", &kernel.name, /*required=*/true);
  members.Text(".symbol", &kernel.symbol, /*required=*/true);
  members.Number(".kernarg_segment_size", &kernel.kernarg_segment_size, /*required=*/true);
  members.Number(".kernarg_segment_align", &kernel.kernarg_segment_align, /*required=*/true);
  members.Number(".group_segment_fixed_size", &kernel.group_segment_fixed_size, /*required=*/true);
  members.Number(".private_segment_fixed_size", &kernel.private_segment_fixed_size,
                 /*required=*/true);
  members.Number(".wavefront_size", &kernel.wavefront_size, /*required=*/true);
  members.Number(".sgpr_count", &kernel.sgpr_count, /*required=*/true);
  members.Number(".vgpr_count", &kernel.vgpr_count, /*required=*/true);
  members.Number(".agpr_count", &kernel.agpr_count);
  members.Number(".max_flat_workgroup_size", &kernel.max_flat_workgroup_size, /*required=*/true);
  members.Numbers(".reqd_workgroup_size", &kernel.reqd_workgroup_size);
  if (const Json* args = members.Array(".args")) {
    for (const Json& arg : *args) {
      absl::StatusOr<AmdKernelArgument> argument =
          ReadArgument(arg, absl::StrCat(where, ": argument ", kernel.args.size()));
      if (!argument.ok()) return argument.status();
      kernel.args.push_back(*std::move(argument));
    }
  }
  if (!members.status().ok()) return members.status();
  return kernel;
}

absl::StatusOr<AmdMetadata> FromJson(const Json& json) {
  AmdMetadata metadata;
  Members members(json, "the document");
  members.Text("amdhsa.target", &metadata.target);
  std::vector<uint32_t> version;
  members.Numbers("amdhsa.version", &version);
  if (members.status().ok() && (version.size() != 2 || version[0] != 1)) {
    return Bad("amdhsa.version is not 1 and a second number");
  }
  if (const Json* kernels = members.Array("amdhsa.kernels")) {
    for (const Json& kernel : *kernels) {
      absl::StatusOr<AmdKernelMetadata> read =
          ReadKernel(kernel, absl::StrCat("kernel ", metadata.kernels.size()));
      if (!read.ok()) return read.status();
      metadata.kernels.push_back(*std::move(read));
    }
  }
  if (!members.status().ok()) return members.status();
  return metadata;
}

std::string ToMessagePack(const Json& json) {
  std::string bytes;
  Json::to_msgpack(json, bytes);
  return bytes;
}

}  // namespace

absl::StatusOr<AmdMetadata> ReadAmdMetadata(absl::string_view message_pack) {
  absl::StatusOr<Json> json = Parse(message_pack);
  if (!json.ok()) return json.status();
  return FromJson(*json);
}

absl::StatusOr<std::string> AmdMetadataJson(absl::string_view message_pack) {
  absl::StatusOr<Json> json = Parse(message_pack);
  if (!json.ok()) return json.status();
  return json->dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string WriteAmdMetadata(const AmdMetadata& metadata) {
  Json kernels = Json::array();
  for (const AmdKernelMetadata& kernel : metadata.kernels) {
    Json args = Json::array();
    for (const AmdKernelArgument& argument : kernel.args) {
      Json arg = {{".offset", argument.offset},
                  {".size", argument.size},
                  {".value_kind", argument.value_kind}};
      if (!argument.name.empty()) arg[".name"] = argument.name;
      if (!argument.type_name.empty()) arg[".type_name"] = argument.type_name;
      if (!argument.address_space.empty()) arg[".address_space"] = argument.address_space;
      args.push_back(std::move(arg));
    }
    Json k = {{".name", kernel.name},
              {".symbol", kernel.symbol},
              {".kernarg_segment_size", kernel.kernarg_segment_size},
              {".kernarg_segment_align", kernel.kernarg_segment_align},
              {".group_segment_fixed_size", kernel.group_segment_fixed_size},
              {".private_segment_fixed_size", kernel.private_segment_fixed_size},
              {".wavefront_size", kernel.wavefront_size},
              {".sgpr_count", kernel.sgpr_count},
              {".vgpr_count", kernel.vgpr_count},
              {".max_flat_workgroup_size", kernel.max_flat_workgroup_size}};
    if (kernel.agpr_count.has_value()) k[".agpr_count"] = *kernel.agpr_count;
    if (!args.empty()) k[".args"] = std::move(args);
    if (!kernel.reqd_workgroup_size.empty()) {
      k[".reqd_workgroup_size"] = kernel.reqd_workgroup_size;
    }
    kernels.push_back(std::move(k));
  }
  Json document = {{"amdhsa.version", {1, 2}}, {"amdhsa.kernels", std::move(kernels)}};
  if (!metadata.target.empty()) document["amdhsa.target"] = metadata.target;
  return ToMessagePack(document);
}

absl::StatusOr<std::string> AmdMetadataFromYaml(absl::string_view yaml) {
  absl::StatusOr<Json> json = ParseYamlSubset(yaml, kMaxDepth);
  if (!json.ok()) return json.status();
  absl::StatusOr<AmdMetadata> metadata = FromJson(*json);
  if (!metadata.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("1: ", metadata.status().message()));
  }
  return ToMessagePack(*json);
}

}  // namespace tg::object
