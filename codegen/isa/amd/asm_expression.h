// Integer expressions of the assembler, with symbols.
#ifndef TG_CODEGEN_ISA_AMD_ASM_EXPRESSION_H_
#define TG_CODEGEN_ISA_AMD_ASM_EXPRESSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/isa/amd/asm_cursor.h"

namespace tg::amd::asm_internal {

// A number, or a place in the text: the distance of two places is a number again.
struct Value {
  int64_t number = 0;
  int places = 0;  // 0: a number; 1: an offset in the text.
};

struct SymbolLookup {
  enum class Found : uint8_t { kYes, kLater, kNo };
  Found found = Found::kNo;
  Value value;
};

// What an expression needs to know about symbols.
class SymbolSource {
 public:
  virtual ~SymbolSource() = default;
  // kLater: it may still be defined.
  virtual SymbolLookup Lookup(std::string_view name) = 0;
  virtual Value Here() = 0;  // `.`
};

struct ExpressionResult {
  enum class State : uint8_t { kValue, kLater, kError };
  State state = State::kError;
  Value value;
  // Word relocations behind a symbol: @rel32@lo and @rel32@hi, the distance to the value from the
  // field.
  enum class Relative : uint8_t { kNo, kLow, kHigh };
  Relative relative = Relative::kNo;
  const char* error_at = nullptr;
  std::string error;
};

// Parses as far as an expression reaches and moves the cursor there, then skips blanks. kLater: a
// symbol in it is not defined yet; the cursor is behind the expression all the same.
ExpressionResult ParseExpression(Cursor* cursor, SymbolSource* symbols);

// A number in decimal, or with 0x, 0b or 0 before it. Empty when it does not fit 64 bits or is
// none.
std::optional<uint64_t> ParseNumber(Cursor* cursor);

}  // namespace tg::amd::asm_internal

#endif  // TG_CODEGEN_ISA_AMD_ASM_EXPRESSION_H_
