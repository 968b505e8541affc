// Assembler: text as LLVM's assembler takes it, to machine code.
//
//   Assembly assembly = Assemble(source, Arch::kGfx1100);
//   if (!assembly.ok()) fputs(FormatErrors(assembly, source, "kernel.s").c_str(), stderr);
//
// One pass over the text, no memory but the code, labels and what refers to later labels. What it
// takes:
// * every instruction of the tables, by its name alone or with _e32, _e64, _dpp, _e64_dpp or _sdwa;
// a name
//   alone means the shortest encoding that holds the operands; pairs with `::`;
// * 16-bit operands of RDNA as v1.l and v1.h, or as v1 and op_sel;
// * labels, `name = expression`, comments (;, //, /* */, and # at a line's start); expressions of
// integers,
//   symbols and `.` with C's operators, @rel32@lo and @rel32@hi;
// * .text .globl .global .weak .local .hidden .protected .type .size .set .equ .p2align .balign
// .align .fill
//   .skip .zero .byte .short .long .quad .ascii .asciz .amdgcn_target .amdhsa_code_object_version
//   .amdhsa_kernel .amdgpu_metadata; .section for .text and .rodata, where only kernel descriptors
//   may stand.
// * .amdgcn.next_free_vgpr and .amdgcn.next_free_sgpr: one more than the highest register used so
// far.
#ifndef TG_CODEGEN_ISA_AMD_ASM_H_
#define TG_CODEGEN_ISA_AMD_ASM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/isa/amd/arch.h"
#include "codegen/object/amd_kernel_descriptor.h"

namespace tg::amd {

struct AsmOptions {
  bool wave64 = false;   // RDNA: vcc and exec are pairs. CDNA's always are.
  int max_errors = 100;  // Assembling stops there.
};

struct AsmError {
  uint32_t line = 0;    // From 1.
  uint32_t column = 0;  // From 1, in bytes.
  std::string message;
};

struct AsmSymbol {
  std::string name;
  uint64_t offset = 0;  // In the text.
  uint64_t size = 0;    // As .size says.
  bool function = false;
  bool global = false;
};

struct AsmKernel {
  std::string name;
  uint32_t line = 0;  // Of .amdhsa_kernel.
  object::AmdKernelDescription description;
};

struct Assembly {
  std::vector<uint8_t> text;  // Of all instructions that have no error.
  uint64_t text_align = 4;    // The largest alignment asked for.
  uint64_t instructions = 0;
  std::vector<AsmSymbol> symbols;  // Labels, in their order.
  std::vector<AsmKernel> kernels;
  std::string metadata;          // MessagePack, from .amdgpu_metadata.
  std::vector<AsmError> errors;  // In the order of lines, but for labels that are never defined.

  bool ok() const { return errors.empty(); }
};

// Never fails but through `errors`. Time and memory are linear in the source; .fill and its like
// may make up to 256 MiB. Thread safe.
Assembly Assemble(std::string_view source, Arch arch, const AsmOptions& options = {});

// As compilers print them:
//   kernel.s:3:15: error: v_add_f32 takes no literal in operand 2
//     v_add_f32 v0, v1, 0x1234
//                       ^
std::string FormatErrors(const Assembly& assembly, std::string_view source, std::string_view file);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_ASM_H_
