// Machine code to instructions.
#ifndef TG_CODEGEN_ISA_AMD_DECODE_H_
#define TG_CODEGEN_ISA_AMD_DECODE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd {

// Why bytes are no instruction.
enum class DecodeError : uint8_t {
  kOk,
  kTruncated,    // The bytes end inside the instruction.
  kUnknown,      // No instruction has this encoding.
  kReserved,     // Bits that must be zero are not, or a field holds a value without meaning.
  kBadRegister,  // An operand names a register that cannot stand there: odd tuple, past the last,
                 // no VGPR.
};
// A sentence's worth: "no instruction has this encoding".
const char* DecodeErrorText(DecodeError error);

// Decodes the instruction at the start of `bytes` (memory order, little endian). Never reads past
// their end, never allocates. Only what Encode gives back bit by bit is an instruction: words with
// bits set that hardware ignores are kReserved. Thread safe, as is all here.
DecodeError DecodeFast(absl::Span<const uint8_t> bytes, Isa isa, Inst* inst);

// The same with an error that says what the word is, and which family knows it when this one does
// not: "0xf4080500: no instruction of gfx942: no instruction has this encoding; decodes as
// s_load_b128 on gfx1100".
absl::StatusOr<Inst> Decode(absl::Span<const uint8_t> bytes, Arch arch);

// How many bytes a disassembler should skip where nothing decodes: 4, or less at the end.
int SkipBytes(absl::Span<const uint8_t> bytes);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_DECODE_H_
