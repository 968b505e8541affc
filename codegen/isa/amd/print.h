// Instructions to text, as LLVM 22's llvm-mc prints them (RDNA: with +real-true16).
#ifndef TG_CODEGEN_ISA_AMD_PRINT_H_
#define TG_CODEGEN_ISA_AMD_PRINT_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd {

// At least as long as any instruction's text.
inline constexpr int kMaxText = 512;

// Writes the text to `out`, which has room for kMaxText, without a final zero; returns its end.
// Neither allocates nor fails. White space is single: "v_add_f32_e32 v1, v2, v3".
char* PrintTo(const Inst& inst, Isa isa, char* out);

void AppendInst(const Inst& inst, Isa isa, std::string* out);
std::string ToString(const Inst& inst, Isa isa);

// An operand alone, "s[4:7]", "-|v3|", as in a message. Floats are printed as 32-bit ones.
std::string ToString(const Operand& operand, Isa isa);

// One line for the instruction at the start of `bytes`, and how many bytes it took; what is no
// instruction becomes ".long 0x12345678 // why" (".byte 0x12" lines at a ragged end).
int Disassemble(absl::Span<const uint8_t> bytes, Arch arch, std::string* out);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_PRINT_H_
