// From operands and modifiers of the text to an instruction of one form.
#ifndef TG_CODEGEN_ISA_AMD_ASM_MATCH_H_
#define TG_CODEGEN_ISA_AMD_ASM_MATCH_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"
#include "codegen/isa/amd/asm_modifier.h"
#include "codegen/isa/amd/asm_operand.h"
#include "codegen/isa/amd/encode.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd::asm_internal {

struct MatchResult {
  const char* reason = nullptr;  // Null: it fits.
  int operand = -1;              // Of the text; -1: the instruction as a whole.
  int progress = 0;              // The larger the nearer it came.
  EncodeError code = EncodeError::kOk;
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

// What an instruction is chosen from.
struct Choice {
  absl::Span<const Form* const> forms;  // Of one name, in the order in which they are tried.
  bool exact = false;                   // They are all of one encoding, which the name says.
  std::string_view second;              // Of a pair: the other mnemonic, and how many operands
  size_t first_count = 0;               // come before it.
};

struct Selected {
  enum class Outcome : uint8_t {
    kEncoded,
    kMismatch,       // `match` says why the form that came nearest does not fit.
    kNoSuchPair,     // The two instructions do not go together.
    kNeedsSecond,    // Only half of a pair.
    kIsNoPair,       // A second instruction where none can be.
    kNoSuchEncoding  // No form takes DPP or SDWA modifiers.
  };
  Outcome outcome = Outcome::kMismatch;
  MatchResult match;
  uint8_t size = 0;  // Bytes written.
};

// The first form that takes the operands, encoded to `bytes` (kMaxInstBytes).
Selected SelectForm(const Choice& choice, Isa isa, bool wave64,
                    absl::Span<const RawOperand> operands, const RawModifiers& modifiers,
                    int64_t here, Inst* inst, uint8_t* bytes);

}  // namespace tg::amd::asm_internal

#endif  // TG_CODEGEN_ISA_AMD_ASM_MATCH_H_
