#include "codegen/isa/amd/table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "codegen/isa/amd/inst.h"
#include "codegen/isa/amd/table_data.h"

namespace tg::amd {

using internal::FormData;

std::string_view FormatName(Format format) {
  static constexpr std::string_view kNames[] = {
      "SOP1",   "SOP2",    "SOPC",  "SOPK",    "SOPP", "SMEM",    "VOP1",    "VOP2", "VOPC",
      "VOP3",   "VOP3SD",  "VOP3P", "VOP3PX2", "VOPD", "VINTERP", "LDSDIR",  "DS",   "FLAT",
      "GLOBAL", "SCRATCH", "MUBUF", "MTBUF",   "MIMG", "VIMAGE",  "VSAMPLE", "EXP"};
  return kNames[static_cast<int>(format)];
}

std::string_view ModName(Mod mod) {
  static constexpr std::string_view kNames[kNumMods] = {
      "offset",     "dpp8",     "dpp_ctrl",  "format",      "clamp",      "omod",      "op_sel",
      "op_sel_hi",  "neg_lo",   "neg_hi",    "bitop3",      "byte_sel",   "index_key", "cbsz",
      "abid",       "blgp",     "row_mask",  "bank_mask",   "bound_ctrl", "fi",        "dst_sel",
      "dst_unused", "src0_sel", "src1_sel",  "offset0",     "offset1",    "gds",       "glc",
      "slc",        "dlc",      "sc0",       "sc1",         "nt",         "th",        "scope",
      "nv",         "offen",    "idxen",     "tfe",         "lds",        "dmask",     "dim",
      "unorm",      "r128",     "a16",       "d16",         "lwe",        "en",        "done",
      "row_en",     "wait_exp", "wait_vdst", "wait_vm_vsrc"};
  return kNames[static_cast<int>(mod)];
}

std::string_view OperandNameText(OperandName name) {
  static constexpr std::string_view kNames[] = {
      "",        "vdst",   "sdst",       "src0",       "src1",   "src2",      "addr",
      "data0",   "data1",  "vaddr",      "vdata",      "saddr",  "srsrc",     "samp",
      "soffset", "sbase",  "sdata",      "offset",     "vsrc0",  "vsrc1",     "vsrc2",
      "vsrc3",   "simm",   "lit",        "vdstx",      "src0x",  "src1x",     "litx",
      "vdsty",   "src0y",  "src1y",      "lity",       "vaddr0", "vaddr1",    "vaddr2",
      "vaddr3",  "vaddr4", "scale_src0", "scale_src1", "attr",   "attr_chan", "target"};
  static_assert(std::size(kNames) == static_cast<size_t>(OperandName::kTarget) + 1);
  return kNames[static_cast<int>(name)];
}

std::string_view DataTypeName(DataType type) {
  static constexpr std::string_view kNames[] = {
      "b1",  "b8",  "b16",    "b32",     "b64",    "b96",    "b128",   "b256",   "b512", "b1024",
      "i8",  "i16", "i32",    "i64",     "u8",     "u16",    "u32",    "u64",    "f16",  "bf16",
      "f32", "f64", "pk_f16", "pk_bf16", "pk_i16", "pk_u16", "pk_f32", "pk_b32", "fp8",  "bf8",
      "fp6", "bf6", "fp4",    "i4",      "u4",     "iu8",    "iu4",    ""};
  static_assert(std::size(kNames) == static_cast<size_t>(DataType::kOther) + 1);
  return kNames[static_cast<int>(type)];
}

namespace {

struct Sorted {
  std::vector<const Form*> forms[kNumIsas];
  Sorted() {
    for (int isa = 0; isa < kNumIsas; ++isa) {
      forms[isa].reserve(static_cast<size_t>(internal::kSortedCount[isa]));
      for (int i = 0; i < internal::kSortedCount[isa]; ++i) {
        forms[isa].push_back(&internal::kForms[internal::kSorted[isa][i]].form);
      }
    }
  }
};

const Sorted& AllSorted() {
  static const Sorted* const kAll = new Sorted;
  return *kAll;
}

}  // namespace

absl::Span<const Form* const> FormsOf(Isa isa) { return AllSorted().forms[static_cast<int>(isa)]; }

absl::Span<const Form* const> FormsNamed(std::string_view mnemonic, Isa isa) {
  const std::vector<const Form*>& forms = AllSorted().forms[static_cast<int>(isa)];
  auto first = std::lower_bound(forms.begin(), forms.end(), mnemonic,
                                [](const Form* f, std::string_view m) { return f->mnemonic < m; });
  auto last = std::upper_bound(first, forms.end(), mnemonic,
                               [](std::string_view m, const Form* f) { return m < f->mnemonic; });
  return absl::MakeConstSpan(forms).subspan(static_cast<size_t>(first - forms.begin()),
                                            static_cast<size_t>(last - first));
}

std::string_view OpName(Op op) { return internal::kOpNames[static_cast<int>(op)]; }

Op SecondOp(const Form& form) { return internal::DataOf(&form).op_y; }
std::string_view SecondMnemonic(const Form& form) { return internal::DataOf(&form).mnemonic_y; }
int SecondOperand(const Form& form) { return internal::DataOf(&form).split; }
void OpcodeBits(const Form& form, uint64_t* mask, uint64_t* value) {
  *mask = internal::DataOf(&form).mask[0];
  *value = internal::DataOf(&form).value[0];
}
int OpSelCount(const Form& form) { return internal::DataOf(&form).op_sel_count; }

Inst::Inst(const Form& f) : form(&f), num_operands(f.num_operands) {
  const FormData& data = internal::DataOf(&f);
  for (int i = 0; i < data.num_mods; ++i) Set(data.mod_encs[i].mod, data.mod_encs[i].initial);
  for (int i = 0; i < f.num_operands; ++i)
    operands[static_cast<size_t>(i)].dwords = f.specs[i].dwords;
}

const Operand* Inst::Find(OperandName name) const {
  for (int i = 0; i < num_operands; ++i) {
    if (form->specs[i].name == name) return &operands[static_cast<size_t>(i)];
  }
  return nullptr;
}

Operand* Inst::Find(OperandName name) {
  return const_cast<Operand*>(static_cast<const Inst*>(this)->Find(name));
}

}  // namespace tg::amd
