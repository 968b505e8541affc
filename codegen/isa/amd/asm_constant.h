// Numbers of the text as sources of instructions: constants in the operand's code, or literals.
#ifndef TG_CODEGEN_ISA_AMD_ASM_CONSTANT_H_
#define TG_CODEGEN_ISA_AMD_ASM_CONSTANT_H_

#include <cstdint>

#include "codegen/isa/amd/operand.h"
#include "codegen/isa/amd/table.h"

namespace tg::amd {

// What an integer or a float means to a source of elements `type`: a constant in the code where
// there is one with these bits, else a literal. Null, or why it fits neither.
const char* IntegerSource(int64_t value, DataType type, Operand* operand);
const char* FloatSource(double value, DataType type, Operand* operand);

// The same, always as a literal.
const char* IntegerLiteral(int64_t value, DataType type, Operand* operand);
const char* FloatLiteral(double value, DataType type, Operand* operand);

// Whether a literal of these bits, written as a number, would be taken for an inline constant.
bool LiteralReadsAsInline(uint32_t value, DataType type);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_ASM_CONSTANT_H_
