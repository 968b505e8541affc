// Reads AMD code objects: what compilers and assemblers write for one GPU (.o, linked or not).
//
//   absl::StatusOr<AmdCodeObject> object = AmdCodeObject::Read(bytes);
//   const AmdKernel* kernel = object->FindKernel("scale");
//   absl::StatusOr<std::string> image = object->Image(gpu_address);  // Copy it there, and run
//                                                                    // gpu_address +
//                                                                    kernel->entry.
//
// The bytes may be hostile; what ElfFile says about that holds here. Source: LLVM 22, User Guide
// for AMDGPU Backend, "ELF Code Object".
#ifndef TG_CODEGEN_OBJECT_AMD_CODE_OBJECT_H_
#define TG_CODEGEN_OBJECT_AMD_CODE_OBJECT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/object/amd_kernel_descriptor.h"
#include "codegen/object/amd_metadata.h"
#include "codegen/object/amd_processor.h"
#include "codegen/object/elf.h"

namespace tg::object {

// "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
std::string AmdTargetName(const AmdProcessor& processor, AmdFeature xnack, AmdFeature sramecc);

// Addresses count from the start of the image.
struct AmdSection {
  absl::string_view name;
  uint64_t address = 0;
  uint64_t size = 0;
  absl::string_view data;  // Shorter than `size` where the rest is zero.
  bool executable = false;
};

struct AmdSymbol {
  absl::string_view name;
  uint64_t address = 0;
  uint64_t size = 0;
  bool function = false;
  bool global = false;
};

struct AmdKernel {
  std::string name;
  uint64_t descriptor_address = 0;
  AmdKernelDescriptor descriptor;
  uint64_t entry = 0;      // Address of the first instruction.
  uint64_t code_size = 0;  // As its symbol says; 0 when nothing does.
  int metadata = -1;       // Index in metadata().kernels; -1 when there is none.
};

class AmdCodeObject {
 public:
  // `bytes` must outlive the result, which points into it. InvalidArgument says what is wrong, for
  // example a descriptor that reaches beyond its section or a kernel whose entry lies in no code;
  // Unimplemented for processors that have no name here and relocations that are not known.
  // ResourceExhausted for an image over 64 times the size of `bytes` plus 16 MiB.
  static absl::StatusOr<AmdCodeObject> Read(absl::string_view bytes);

  const AmdProcessor& processor() const { return *processor_; }
  AmdFeature xnack() const { return xnack_; }
  AmdFeature sramecc() const { return sramecc_; }
  int version() const { return version_; }  // Of the code object format: 3 to 6.
  ElfType type() const { return elf_.type(); }

  absl::Span<const AmdSection> sections() const { return sections_; }  // Those in the image.
  absl::Span<const AmdSymbol> symbols() const { return symbols_; }     // Those in the image.
  absl::Span<const AmdKernel> kernels() const { return kernels_; }
  const AmdKernel* FindKernel(absl::string_view name) const;

  const AmdMetadata& metadata() const { return metadata_; }
  absl::string_view metadata_bytes() const { return metadata_bytes_; }  // MessagePack, or empty.

  uint64_t image_size() const { return image_size_; }
  uint64_t image_align() const { return image_align_; }
  // The bytes to be placed at `base`, relocated. NotFound names symbols that are not defined;
  // OutOfRange where a value does not fit its field.
  absl::StatusOr<std::string> Image(uint64_t base) const;

 private:
  explicit AmdCodeObject(ElfFile elf) : elf_(std::move(elf)) {}

  absl::Status ReadTarget();
  absl::Status PlaceSections(uint64_t file_size);
  absl::Status ReadMetadata();
  absl::Status ReadKernels();
  absl::Status Relocate(uint64_t base, bool allow_undefined, std::string* image) const;
  absl::Status RelocateSection(uint32_t index, uint64_t base, bool allow_undefined,
                               std::string* image) const;

  ElfFile elf_;
  const AmdProcessor* processor_ = nullptr;
  AmdFeature xnack_ = AmdFeature::kUnsupported;
  AmdFeature sramecc_ = AmdFeature::kUnsupported;
  int version_ = 0;
  std::vector<uint64_t> addresses_;  // Of each section; kNowhere when it is not in the image.
  std::vector<AmdSection> sections_;
  std::vector<AmdSymbol> symbols_;
  std::vector<AmdKernel> kernels_;
  AmdMetadata metadata_;
  absl::string_view metadata_bytes_;
  uint64_t image_size_ = 0;
  uint64_t image_align_ = 1;
};

}  // namespace tg::object

#endif  // TG_CODEGEN_OBJECT_AMD_CODE_OBJECT_H_
