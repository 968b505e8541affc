// What stands behind the operands. The order is LLVM's: its instruction printer writes modifiers in
// the order of each format's assembler string.
#include <cstdint>

#include "codegen/isa/amd/names.h"
#include "codegen/isa/amd/print_text.h"
#include "codegen/isa/amd/table_data.h"

namespace tg::amd::internal {
namespace {

void Flag(const Inst& inst, Mod m, const char* text, Text* t) {
  if (inst.Get(m) != 0) {
    *t += ' ';
    *t += text;
  }
}

void BitList(const char* name, uint32_t bits, int count, Text* t) {
  *t += ' ';
  *t += name;
  *t += ":[";
  for (int i = 0; i < count; ++i) {
    if (i != 0) *t += ',';
    *t += bits >> i & 1 ? '1' : '0';
  }
  *t += ']';
}

void PrintDpp(const Inst& inst, Isa isa, Text* t) {
  if (inst.form->extra == Extra::kDpp8) {
    uint32_t v = inst.Get(Mod::kDpp8);
    *t += " dpp8:[";
    for (int i = 0; i < 8; ++i) {
      if (i != 0) *t += ',';
      *t += static_cast<char>('0' + (v >> 3 * i & 7));
    }
    *t += ']';
    Flag(inst, Mod::kFi, "fi:1", t);
    return;
  }
  uint32_t c = inst.Get(Mod::kDppCtrl);
  // 64-bit operations of CDNA know row_newbcast alone; LLVM writes a remark in the place of others.
  bool wide = false;
  if (IsCdna(isa)) {
    for (const OperandSpec& spec : inst.form->operands()) {
      wide |= spec.dwords == 2 && spec.cls == OperandClass::kVgpr;
    }
  }
  if (!wide || c >= 0x150) *t += ' ';
  if (wide && c < 0x150) {
  } else if (c < 0x100) {
    *t += "quad_perm:[";
    for (int i = 0; i < 4; ++i) {
      if (i != 0) *t += ',';
      *t += static_cast<char>('0' + (c >> 2 * i & 3));
    }
    *t += ']';
  } else {
    static const char* const kShifts[] = {"row_shl:", "row_shr:", "row_ror:"};
    if (c < 0x130) {
      *t += kShifts[(c >> 4) & 3];
      t->Decimal(c & 15);
    } else if (c >= 0x150) {
      *t += c >= 0x160 ? "row_xmask:" : IsRdna(isa) ? "row_share:" : "row_newbcast:";
      t->Decimal(c & 15);
    } else {
      switch (c) {
        case 0x130:
          *t += "wave_shl:1";
          break;
        case 0x134:
          *t += "wave_rol:1";
          break;
        case 0x138:
          *t += "wave_shr:1";
          break;
        case 0x13c:
          *t += "wave_ror:1";
          break;
        case 0x140:
          *t += "row_mirror";
          break;
        case 0x141:
          *t += "row_half_mirror";
          break;
        case 0x142:
          *t += "row_bcast:15";
          break;
        case 0x143:
          *t += "row_bcast:31";
          break;
      }
    }
  }
  *t += " row_mask:";
  t->Hex(inst.Get(Mod::kRowMask));
  *t += " bank_mask:";
  t->Hex(inst.Get(Mod::kBankMask));
  Flag(inst, Mod::kBoundCtrl, "bound_ctrl:1", t);
  Flag(inst, Mod::kFi, "fi:1", t);
}

void PrintOmod(const Inst& inst, Text* t) {
  static const char* const kOmods[] = {"", " mul:2", " mul:4", " div:2"};
  *t += kOmods[inst.Get(Mod::kOmod) & 3];
}

void PrintSdwa(const Inst& inst, Text* t) {
  const Form& f = *inst.form;
  if (f.Has(Mod::kDstSel)) {
    *t += " dst_sel:";
    *t += NameOf(SdwaSelects(), inst.Get(Mod::kDstSel));
    *t += " dst_unused:";
    *t += NameOf(SdwaUnused(), inst.Get(Mod::kDstUnused));
  }
  *t += " src0_sel:";
  *t += NameOf(SdwaSelects(), inst.Get(Mod::kSrc0Sel));
  if (f.Has(Mod::kSrc1Sel)) {
    *t += " src1_sel:";
    *t += NameOf(SdwaSelects(), inst.Get(Mod::kSrc1Sel));
  }
}

// Broadcasts and formats of matrix operands.
void PrintMatrix(const Inst& inst, Text* t) {
  const Form& f = *inst.form;
  if (f.Has(Mod::kCbsz)) {
    if (uint32_t v = inst.Get(Mod::kCbsz); v != 0) {
      *t += " cbsz:";
      t->Decimal(v);
    }
    if (uint32_t v = inst.Get(Mod::kAbid); v != 0) {
      *t += " abid:";
      t->Decimal(v);
    }
    if (uint32_t v = inst.Get(Mod::kBlgp); v != 0) {
      if (f.specs[1].type == DataType::kF64) {
        BitList("neg", v, 3, t);
      } else {
        *t += " blgp:";
        t->Decimal(v);
      }
    }
  }
}

void PrintVop(const Inst& inst, Isa isa, Text* t) {
  const Form& f = *inst.form;
  const FormData& d = DataOf(&f);
  if (uint32_t v = inst.Get(Mod::kBitop3); v != 0) {
    *t += " bitop3:";
    if (v <= 10) {
      t->Decimal(v);
    } else {
      t->Hex(v);
    }
  }
  if (f.format == Format::kVinterp) Flag(inst, Mod::kClamp, "clamp", t);
  if (f.format != Format::kVop3px2) PrintMatrix(inst, t);
  if (uint32_t v = inst.Get(Mod::kIndexKey); v != 0) {
    *t += " index_key:";
    t->Decimal(v);
  }
  if (uint32_t v = inst.Get(Mod::kOpSel); v != 0 && d.op_sel_count != 0) {
    uint32_t shown = v;
    // The destination's bit comes right behind the sources'.
    if (d.op_sel_count < 4 && f.format != Format::kVop3p && (v & 8) != 0) {
      shown = (v & ((1u << (d.op_sel_count - 1)) - 1)) | 1u << (d.op_sel_count - 1);
    }
    BitList("op_sel", shown, d.op_sel_count, t);
  }
  if (f.Has(Mod::kOpSelHi) && !d.hide_op_sel_hi) {
    uint32_t v = inst.Get(Mod::kOpSelHi);
    uint32_t initial = 0;
    for (int i = 0; i < d.num_mods; ++i) {
      if (d.mod_encs[i].mod == Mod::kOpSelHi) initial = d.mod_encs[i].initial;
    }
    if (v != initial || f.format == Format::kVop3px2) BitList("op_sel_hi", v, d.op_sel_count, t);
  }
  if (f.format == Format::kVop3px2) PrintMatrix(inst, t);
  int sources = f.num_operands - 1;
  if (uint32_t v = inst.Get(Mod::kNegLo); v != 0) BitList("neg_lo", v, sources, t);
  if (uint32_t v = inst.Get(Mod::kNegHi); v != 0) BitList("neg_hi", v, sources, t);
  if (f.format != Format::kVinterp) Flag(inst, Mod::kClamp, "clamp", t);
  PrintOmod(inst, t);
  if (uint32_t v = inst.Get(Mod::kByteSel); v != 0) {
    *t += " byte_sel:";
    t->Decimal(v);
  }
  if (f.extra == Extra::kDpp8 || f.extra == Extra::kDpp16) PrintDpp(inst, isa, t);
  if (f.extra == Extra::kSdwa) PrintSdwa(inst, t);
  if (f.Has(Mod::kWaitExp)) {
    *t += " wait_exp:";
    t->Decimal(inst.Get(Mod::kWaitExp));
  }
}

}  // namespace

void PrintMods(const Inst& inst, Isa isa, Text* t) {
  if (inst.form->mods == 0) return;
  switch (inst.form->format) {
    case Format::kVop1:
    case Format::kVop2:
    case Format::kVopc:
    case Format::kVop3:
    case Format::kVop3sd:
    case Format::kVop3p:
    case Format::kVop3px2:
    case Format::kVinterp:
      PrintVop(inst, isa, t);
      break;
    default:
      PrintMemoryMods(inst, isa, t);
      break;
  }
}

}  // namespace tg::amd::internal
