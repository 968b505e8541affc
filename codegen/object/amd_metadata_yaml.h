// YAML as LLVM prints metadata in it, to JSON. For amd_metadata.cc, which says what is taken.
#ifndef TG_CODEGEN_OBJECT_AMD_METADATA_YAML_H_
#define TG_CODEGEN_OBJECT_AMD_METADATA_YAML_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace tg::object {

absl::StatusOr<nlohmann::json> ParseYamlSubset(absl::string_view text, int max_depth);

}  // namespace tg::object

#endif  // TG_CODEGEN_OBJECT_AMD_METADATA_YAML_H_
