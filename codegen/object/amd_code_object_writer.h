// Writes AMD code objects that the HSA loader takes as they are: linked, position independent, in
// version 5 of the format.
//
//   AmdCodeObjectSpec spec;
//   spec.processor = FindAmdProcessor("gfx1100");
//   spec.text = instructions;
//   spec.kernels.push_back({.name = "scale", .entry = 0, .size = instructions.size(),
//                           .description = {.kernarg_size = 24, .next_free_vgpr = 4, ...}});
//   absl::StatusOr<std::string> bytes = WriteAmdCodeObject(spec);
//
// The file has .note (metadata), .dynsym, .hash, .dynstr, .rodata (descriptors), .text and .dynamic
// in memory, each group on pages of its own, and .symtab for tools.
#ifndef TG_CODEGEN_OBJECT_AMD_CODE_OBJECT_WRITER_H_
#define TG_CODEGEN_OBJECT_AMD_CODE_OBJECT_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/object/amd_kernel_descriptor.h"
#include "codegen/object/amd_metadata.h"
#include "codegen/object/amd_processor.h"

namespace tg::object {

struct AmdKernelSpec {
  std::string name;
  uint64_t entry = 0;  // Offset in the text; a multiple of 256.
  uint64_t size = 0;   // Of its code; 0: not said.
  AmdKernelDescription description;
  // For the metadata. Nothing reads types or names; offsets and sizes are what counts.
  std::vector<AmdKernelArgument> args;
  uint32_t max_flat_workgroup_size = 1024;
  std::vector<uint32_t> reqd_workgroup_size;  // Empty, or three numbers.
};

// A symbol in the text besides the kernels' own.
struct AmdSymbolSpec {
  std::string name;
  uint64_t offset = 0;
  uint64_t size = 0;
  bool function = false;
  bool global = false;
};

struct AmdCodeObjectSpec {
  const AmdProcessor* processor = nullptr;  // Required.
  AmdFeature xnack = AmdFeature::kAny;      // Without effect where the processor lacks it.
  AmdFeature sramecc = AmdFeature::kAny;
  std::string text;
  std::vector<AmdKernelSpec> kernels;
  std::vector<AmdSymbolSpec> symbols;
  std::string metadata;  // MessagePack; empty: made from the kernels.
};

// InvalidArgument names the kernel or symbol and says what is wrong with it.
absl::StatusOr<std::string> WriteAmdCodeObject(const AmdCodeObjectSpec& spec);

}  // namespace tg::object

#endif  // TG_CODEGEN_OBJECT_AMD_CODE_OBJECT_WRITER_H_
