#include "codegen/isa/amd/table_gen_forms.h"

#include <algorithm>
#include <tuple>

#include "codegen/isa/amd/table_gen_maker.h"

namespace tg::amd::gen {

namespace {

bool SameBits(const Bits& a, const Bits& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](Range x, Range y) { return x.hi == y.hi && x.lo == y.lo; });
}

}  // namespace

std::vector<FormDraft> Maker::Run() {
  for (const Row& row : tables_.rows) {
    if (row.family == "vopdx") {
      x_.push_back(&row);
    } else if (row.family == "vopdy") {
      y_.push_back(&row);
    } else {
      Expand(row);
    }
  }
  for (const Row* x : x_) {
    for (const Row* y : y_) Pair(*x, *y);
  }
  return std::move(forms_);
}

void Maker::Expand(const Row& row) {
  row_start_ = forms_.size();
  if ((StartsWith(row.family, "vop") && row.family != "vop3px2") || row.family == "vinterp") {
    ExpandVop(row);
    return;
  }
  if (row.family == "flat" || row.family == "global" || row.family == "scratch")
    return ExpandFlat(row);
  if (row.family == "smem") return ExpandSmem(row);
  if (row.family == "mimg" || row.family == "vimage" || row.family == "vsample")
    return ExpandImage(row);
  if (row.family == "mubuf" || row.family == "mtbuf") return ExpandBuffer(row);
  Request r;
  r.layout = row.family;
  for (const std::string& text : row.operands) {
    Token t = ParseToken(text, row.where);
    if (t.letters == "c") r.literal = true;
    r.operands.push_back(t);
  }
  std::string layout = row.family;
  // "[flat]" and the like may name the layout's format as family; scalar sections are their own.
  const Layout* any = nullptr;
  for (int isa = 0; isa < kIsas && any == nullptr; ++isa) any = FindLayout(layout, isa);
  if (any == nullptr) Fail(row.where + ": no layout " + layout);
  r.family = any->format;
  r.mods = row.mods;
  Add(row, r, 31);
}

bool OperandDraft::operator==(const OperandDraft& o) const {
  return std::tie(name, cls, role, type, kind, dwords, neg, sext, half, hidden, neg_at, abs_at,
                  sext_at, high_at, acc_at) ==
             std::tie(o.name, o.cls, o.role, o.type, o.kind, o.dwords, o.neg, o.sext, o.half,
                      o.hidden, o.neg_at, o.abs_at, o.sext_at, o.high_at, o.acc_at) &&
         SameBits(field, o.field);
}

bool ModDraft::operator==(const ModDraft& o) const {
  return id == o.id && bias == o.bias && is_signed == o.is_signed && initial == o.initial &&
         SameBits(field, o.field);
}

bool FormDraft::SameBut(const FormDraft& o) const {
  return std::tie(name, mnemonic, format, family, extra, name_y, dwords, opcode, literal, operands,
                  mods, reads, writes, op_sel_count, op_sel_mask, hide_op_sel_hi, image, atomic) ==
             std::tie(o.name, o.mnemonic, o.format, o.family, o.extra, o.name_y, o.dwords, o.opcode,
                      o.literal, o.operands, o.mods, o.reads, o.writes, o.op_sel_count,
                      o.op_sel_mask, o.hide_op_sel_hi, o.image, o.atomic) &&
         mask[0] == o.mask[0] && mask[1] == o.mask[1] && value[0] == o.value[0] &&
         value[1] == o.value[1];
}

std::vector<FormDraft> MakeForms(const Tables& tables) { return Maker(tables).Run(); }

}  // namespace tg::amd::gen
