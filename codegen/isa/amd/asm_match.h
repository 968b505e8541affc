// From operands and modifiers of the text to an instruction of one form.
#ifndef TG_CODEGEN_ISA_AMD_ASM_MATCH_H_
#define TG_CODEGEN_ISA_AMD_ASM_MATCH_H_

#include <cstdint>

#include "absl/types/span.h"
#include "codegen/isa/amd/asm_modifier.h"
#include "codegen/isa/amd/asm_operand.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd::asm_internal {

struct MatchResult {
  const char* reason = nullptr;  // Null: it fits.
  int operand = -1;              // Of the text; -1: the instruction as a whole.
  int progress = 0;              // The larger the nearer it came.
  Mod modifier = Mod::kOffset;
  bool about_modifier = false;
  // Operands that need a value later; -1: none.
  int label = -1;
  int literal = -1;

  bool ok() const { return reason == nullptr; }
};

// Fills `inst`, without encoding it. `here` is the instruction's offset in the text.
MatchResult MatchForm(const Form& form, bool wave64, absl::Span<const RawOperand> operands,
                      const RawModifiers& modifiers, int64_t here, Inst* inst);

}  // namespace tg::amd::asm_internal

#endif  // TG_CODEGEN_ISA_AMD_ASM_MATCH_H_
