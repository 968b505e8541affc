// Modifiers as the text has them: `clamp`, `offset:16`, `op_sel:[0,1]`.
#ifndef TG_CODEGEN_ISA_AMD_ASM_MODIFIER_H_
#define TG_CODEGEN_ISA_AMD_ASM_MODIFIER_H_

#include <cstdint>

#include "codegen/isa/amd/asm_operand.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd::asm_internal {

struct RawModifiers {
  uint64_t present = 0;         // Bit of each Mod.
  Inst values;                  // Their values; only Get and Set are used.
  const char* first = nullptr;  // Where the first one stands, for messages.
  uint8_t op_sel_count = 0;     // Numbers in op_sel:[...].

  bool Has(Mod m) const { return (present >> static_cast<int>(m) & 1) != 0; }
  void Set(Mod m, uint32_t value) {
    present |= uint64_t{1} << static_cast<int>(m);
    values.Set(m, value);
  }
  void Clear() {
    present = 0;
    first = nullptr;
    op_sel_count = 0;
  }
};

// Reads one modifier and the blanks behind it. False, without an error, when none starts here.
bool ParseModifier(Cursor* cursor, Isa isa, SymbolSource* symbols, RawModifiers* modifiers,
                   ParseError* error);

}  // namespace tg::amd::asm_internal

#endif  // TG_CODEGEN_ISA_AMD_ASM_MODIFIER_H_
