// A decoded instruction: a value without a pointer to anything but the constant tables.
#ifndef TG_CODEGEN_ISA_AMD_INST_H_
#define TG_CODEGEN_ISA_AMD_INST_H_

#include <array>
#include <cstdint>

#include "codegen/isa/amd/operand.h"
#include "codegen/isa/amd/table.h"

namespace tg::amd {

inline constexpr int kMaxOperands = 10;

// A plain value. Inst(form) is the instruction with every operand missing and every modifier at its
// default; fill `operands` in the order of form->operands and set modifiers, then Encode.
struct Inst {
  Inst() = default;
  explicit Inst(const Form& f);

  const Form* form = nullptr;  // Instruction and encoding. In the static tables, never freed.
  uint8_t size = 0;            // Bytes, literal and DPP words included. Decode sets it.
  uint8_t num_operands = 0;
  bool has_literal =
      false;  // A literal follows the instruction. Decode sets it; Encode looks at operands.
  uint32_t literal = 0;

  // In the order of form->operands, which is the order of the assembler's text.
  std::array<Operand, kMaxOperands> operands;

  // Modifiers of the whole instruction. Those that form->mods does not have are 0.
  uint32_t Get(Mod m) const {
    return m < kFirstNarrowMod ? static_cast<uint32_t>(wide[static_cast<int>(m)])
                               : narrow[static_cast<int>(m) - static_cast<int>(kFirstNarrowMod)];
  }
  void Set(Mod m, uint32_t value) {
    if (m < kFirstNarrowMod) {
      wide[static_cast<int>(m)] = static_cast<int32_t>(value);
    } else {
      narrow[static_cast<int>(m) - static_cast<int>(kFirstNarrowMod)] = static_cast<uint8_t>(value);
    }
  }
  // Signed where the field is.
  int32_t offset() const { return wide[static_cast<int>(Mod::kOffset)]; }

  // The operand called `name`, or null. Hot loops should rather keep its position.
  const Operand* Find(OperandName name) const;
  Operand* Find(OperandName name);

  std::array<int32_t, kNumWideMods> wide{};
  std::array<uint8_t, kNumNarrowMods> narrow{};

  friend bool operator==(const Inst&, const Inst&) = default;
};

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_INST_H_
