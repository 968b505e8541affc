// Operands as the text has them, before an instruction says what they may be.
#ifndef TG_CODEGEN_ISA_AMD_ASM_OPERAND_H_
#define TG_CODEGEN_ISA_AMD_ASM_OPERAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/asm_cursor.h"
#include "codegen/isa/amd/asm_expression.h"
#include "codegen/isa/amd/operand.h"
#include "codegen/isa/amd/table.h"

namespace tg::amd::asm_internal {

struct RawOperand {
  enum class Kind : uint8_t {
    kRegister,
    kInteger,
    kFloat,
    kPlace,  // An offset in the text: a label that is defined.
    kLater,  // An expression with symbols that are not defined yet.
    kWord,   // off, lds, attr0.x, mrt0: `word`.
  };
  Kind kind = Kind::kInteger;
  uint8_t mods = 0;            // OperandMods
  bool force_literal = false;  // lit(...)
  ExpressionResult::Relative relative = ExpressionResult::Relative::kNo;
  Operand reg;
  int64_t integer = 0;  // kInteger, kPlace
  double real = 0;
  const char* begin = nullptr;       // Where the operand starts, for messages.
  const char* expression = nullptr;  // Where its expression does.
  std::string_view word;
};

// What went wrong, and where. The text is "" while nothing has.
struct ParseError {
  const char* at = nullptr;
  std::string message;
};

// Reads one operand, into a new RawOperand, and the blanks behind it. `cls` is what the instruction
// expects here, which decides what words mean.
bool ParseOperand(Cursor* cursor, Isa isa, OperandClass cls, SymbolSource* symbols,
                  RawOperand* operand, ParseError* error);

// "v5", "s[4:7]", "vcc", "ttmp3", "v1.h"; moves the cursor only when there is a register. `*error`
// is set where one begins but makes no sense: "v300", "s[7:4]".
bool ParseRegister(Cursor* cursor, Isa isa, SymbolSource* symbols, Operand* reg, ParseError* error);

}  // namespace tg::amd::asm_internal

#endif  // TG_CODEGEN_ISA_AMD_ASM_OPERAND_H_
