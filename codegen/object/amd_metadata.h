// What an AMD code object says about its kernels in its note: arguments, sizes, register counts.
// Format: MessagePack; keys: LLVM 22, User Guide for AMDGPU Backend, "Code Object V5 Metadata".
#ifndef TG_CODEGEN_OBJECT_AMD_METADATA_H_
#define TG_CODEGEN_OBJECT_AMD_METADATA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tg::object {

struct AmdKernelArgument {
  std::string name;           // May be empty.
  std::string type_name;      // In the source language; may be empty.
  uint32_t offset = 0;        // In the kernarg segment; bytes.
  uint32_t size = 0;          // Bytes.
  std::string value_kind;     // "by_value", "global_buffer", "hidden_block_count_x" and so on.
  std::string address_space;  // "global", "local" and so on; may be empty.
};

struct AmdKernelMetadata {
  std::string name;    // In the source.
  std::string symbol;  // Of the descriptor: the name with ".kd".
  std::vector<AmdKernelArgument> args;
  uint32_t kernarg_segment_size = 0;   // Bytes, as all sizes.
  uint32_t kernarg_segment_align = 8;  // At least 4, as loaders demand.
  uint32_t group_segment_fixed_size = 0;
  uint32_t private_segment_fixed_size = 0;
  uint32_t wavefront_size = 0;
  uint32_t sgpr_count = 0;
  uint32_t vgpr_count = 0;
  std::optional<uint32_t> agpr_count;         // CDNA.
  uint32_t max_flat_workgroup_size = 1024;    // Work-items.
  std::vector<uint32_t> reqd_workgroup_size;  // Empty, or three numbers.
};

struct AmdMetadata {
  std::string target;  // "amdgcn-amd-amdhsa--gfx1100"; may be empty.
  std::vector<AmdKernelMetadata> kernels;
};

// Parses a note's MessagePack. InvalidArgument says what is wrong: bytes that are no MessagePack,
// keys that are missing or have the wrong type, more than 16 levels of maps and arrays. Keys that
// are not known are skipped. Takes memory in proportion to the bytes.
absl::StatusOr<AmdMetadata> ReadAmdMetadata(absl::string_view message_pack);

// The whole note as indented JSON text, keys that are not known included.
absl::StatusOr<std::string> AmdMetadataJson(absl::string_view message_pack);

std::string WriteAmdMetadata(const AmdMetadata& metadata);

// MessagePack from YAML, as assembler sources have it between `.amdgpu_metadata` and
// `.end_amdgpu_metadata`. Takes block maps and sequences, sequences in brackets, plain and quoted
// scalars and comments: what LLVM prints. InvalidArgument starts with the line's number ("3: ...")
// and says what is wrong, also where the document lacks what ReadAmdMetadata needs.
absl::StatusOr<std::string> AmdMetadataFromYaml(absl::string_view yaml);

}  // namespace tg::object

#endif  // TG_CODEGEN_OBJECT_AMD_METADATA_H_
