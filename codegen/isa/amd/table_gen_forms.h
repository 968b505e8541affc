// From rows to forms: every way to encode an instruction, with the place of each field.
#ifndef TG_CODEGEN_ISA_AMD_TABLE_GEN_FORMS_H_
#define TG_CODEGEN_ISA_AMD_TABLE_GEN_FORMS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "codegen/isa/amd/table_gen_text.h"

namespace tg::amd::gen {

// Members are C++ text where they end up in an initializer.
struct OperandDraft {
  std::string field_name;  // "src0"
  std::string name;        // "kSrc0"
  std::string cls = "kHex", role = "kSrc", type = "kOther", kind = "kImm";
  int dwords = 0;
  Bits field;
  bool neg = false, sext = false, half = false;
  bool hidden = false;  // Its sign is encoded but not shown.
  std::string neg_at = "255", abs_at = "255", sext_at = "255", high_at = "255", acc_at = "255";
  bool operator==(const OperandDraft&) const;
};

struct ModDraft {
  std::string id;  // "kClamp"
  Bits field;
  int bias = 0;
  bool is_signed = false;
  uint32_t initial = 0;
  bool operator==(const ModDraft&) const;
};

struct FormDraft {
  std::string name, mnemonic, format, family, extra = "kNone";
  std::string name_y, mnemonic_y;  // VOPD
  int dwords = 1, isas = 0, opcode = 0, split = 0;
  int image = 0;
  std::string atomic = "kNoAtomic";
  int op_sel_count = 0, op_sel_mask = 0;
  bool literal = false;
  bool hide_op_sel_hi = false;
  Range key{-1, 0};  // Of the opcode, as Layout::op: hi is -1 where there is none.
  std::vector<OperandDraft> operands;
  std::vector<ModDraft> mods;
  std::set<std::string> reads, writes;
  uint64_t mask[2] = {0, 0}, value[2] = {0, 0};
  bool SameBut(const FormDraft& other) const;  // Equal in all but isas.
};

std::vector<FormDraft> MakeForms(const Tables& tables);

}  // namespace tg::amd::gen

#endif  // TG_CODEGEN_ISA_AMD_TABLE_GEN_FORMS_H_
