// Instructions to machine code.
#ifndef TG_CODEGEN_ISA_AMD_ENCODE_H_
#define TG_CODEGEN_ISA_AMD_ENCODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd {

// The longest instruction: five dwords (image instructions with many addresses, gfx11).
inline constexpr int kMaxInstBytes = 20;

enum class EncodeError : uint8_t {
  kOk,
  kNoInstruction,    // form is null or belongs to another instruction set.
  kOperandCount,     // Too few operands or too many.
  kOperandKind,      // A register, constant or number where another is wanted.
  kOperandWidth,     // Spans a wrong number of registers.
  kOperandRange,     // Past the last register, or a number too large for its field.
  kOperandAlign,     // A tuple that must start at a multiple of two or four.
  kOperandModifier,  // neg, abs, sext or a half where the operand has none.
  kLiteral,          // A literal where none can follow, or two different ones.
  kConstantBus,      // More scalar operands than the instruction can read.
  kModifier,         // A modifier that the form does not have, or a value too large.
  kConstraint,       // A rule of the form: VOPD register banks, tied operands, reserved selections.
};
const char* EncodeErrorName(EncodeError code);

struct EncodeResult {
  EncodeError code = EncodeError::kOk;
  int8_t operand = -1;      // Position in operands, or -1: the instruction as a whole.
  const char* reason = "";  // A constant string: "must start at an even register".
  uint8_t size = 0;         // Bytes written.
  bool ok() const { return code == EncodeError::kOk; }
  // "v_add_f64: operand 1: must start at an even register".
  absl::Status ToStatus(const Inst& inst) const;
};

enum class EncodeChecks : uint8_t {
  kAll,
  // Not how many scalar values an instruction reads, which the words do not rule out: for what
  // Decode took from bytes that no assembler wrote.
  kLayout,
};

// Writes at most kMaxInstBytes to `out`. On error nothing is written. Thread safe.
EncodeResult Encode(const Inst& inst, Isa isa, uint8_t* out,
                    EncodeChecks checks = EncodeChecks::kAll);

// Appends to `out`, which stays as it was on error.
EncodeResult Encode(const Inst& inst, Arch arch, std::vector<uint8_t>* out);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_ENCODE_H_
