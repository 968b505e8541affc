// What the assembler made, as a code object that a loader takes.
#ifndef TG_CODEGEN_ISA_AMD_ASM_OBJECT_H_
#define TG_CODEGEN_ISA_AMD_ASM_OBJECT_H_

#include <string>

#include "absl/status/statusor.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/asm.h"

namespace tg::amd {

// An ELF file (codegen/object/amd_code_object_writer.h). Every .amdhsa_kernel needs a label of its
// name, at a multiple of 256 bytes. InvalidArgument names the kernel that has none, or what the
// writer does not take.
absl::StatusOr<std::string> MakeCodeObject(const Assembly& assembly, Arch arch);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_ASM_OBJECT_H_
