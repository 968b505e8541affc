// Operands with a syntax of their own: hwreg(...), sendmsg(...), counters, dependencies.
#ifndef TG_CODEGEN_ISA_AMD_ASM_IMMEDIATE_H_
#define TG_CODEGEN_ISA_AMD_ASM_IMMEDIATE_H_

#include "codegen/isa/amd/asm_operand.h"

namespace tg::amd::asm_internal {

// True when such an operand stands here; `*operand` is then a number, or `*error` says why not.
bool ParseImmediate(Cursor* cursor, Isa isa, OperandClass cls, SymbolSource* symbols,
                    RawOperand* operand, ParseError* error);

// "swizzle(QUAD_PERM,0,1,2,3)", as the offset of ds_swizzle_b32.
bool ParseSwizzle(Cursor* cursor, SymbolSource* symbols, uint32_t* offset, ParseError* error);

// A number that is known now, in [low, high].
bool ParseKnownNumber(Cursor* cursor, SymbolSource* symbols, int64_t low, int64_t high,
                      const char* what, int64_t* value, ParseError* error);

}  // namespace tg::amd::asm_internal

#endif  // TG_CODEGEN_ISA_AMD_ASM_IMMEDIATE_H_
