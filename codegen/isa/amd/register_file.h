// Which registers exist and may form tuples, and rules that join several fields. For decoder and
// encoder.
#ifndef TG_CODEGEN_ISA_AMD_REGISTER_FILE_H_
#define TG_CODEGEN_ISA_AMD_REGISTER_FILE_H_

#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd::internal {

constexpr uint16_t M0(Isa isa) { return IsRdna(isa) ? code::kM0Rdna : code::kM0Cdna; }
// CDNA has no null register by its manual; LLVM gives code 125 that name.
constexpr uint16_t Null(Isa isa) { return IsRdna(isa) ? code::kNullRdna : 125; }

// Tuples of VGPRs start at even registers on CDNA (CDNA3 ISA, "VGPR alignment").
constexpr bool VgprOk(int index, int dwords, Isa isa) {
  return index + dwords <= 256 && (dwords == 1 || IsRdna(isa) || index % 2 == 0);
}

// What the scalar register with this code below 128 is, as a tuple of so many; kNone: there is
// none.
inline OperandKind ScalarKind(int value, int dwords, Isa isa) {
  int align = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
  int sgprs = IsRdna(isa) ? 106 : 102;
  if (value < sgprs) {
    return value % align == 0 && value + dwords <= sgprs ? OperandKind::kSgpr : OperandKind::kNone;
  }
  if (value >= code::kTtmp0 && value < code::kTtmp0 + 16) {
    return (value - code::kTtmp0) % align == 0 && value + dwords <= code::kTtmp0 + 16
               ? OperandKind::kTtmp
               : OperandKind::kNone;
  }
  if (value == Null(isa)) return OperandKind::kSpecial;
  if (value == M0(isa)) return dwords == 1 ? OperandKind::kSpecial : OperandKind::kNone;
  // Pairs: flat_scratch, xnack_mask, vcc, exec.
  if (dwords <= 2 && value % dwords == 0) return OperandKind::kSpecial;
  return OperandKind::kNone;
}

// Registers of an image instruction's data for modifiers dmask, d16 and tfe; `fixed` other than 0:
// that many before d16 and tfe.
int ImageDataDwords(const Inst& inst, int fixed);
// Registers of its address that are left when `before` have been named.
int ImageAddressDwords(const Inst& inst, int before);
// Whether the address operand may be a tuple: the fifth of MIMG, the fourth of VSAMPLE.
inline bool IsLastAddress(const Inst& inst, OperandName name) {
  return (inst.form->format == Format::kMimg && name == OperandName::kVaddr4) ||
         (inst.form->format == Format::kVsample && name == OperandName::kVaddr3);
}
// Registers of a matrix whose elements have the format that cbsz or blgp names; 0: reserved.
int MatrixDwords(uint32_t format);

// Rules of single forms (VOPD, matrix sizes): null, or which is broken.
const char* CheckForm(const Inst& inst, Isa isa);

}  // namespace tg::amd::internal

#endif  // TG_CODEGEN_ISA_AMD_REGISTER_FILE_H_
