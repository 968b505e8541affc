#include "codegen/isa/amd/asm_match.h"

#include <bit>
#include <cstring>
#include <memory>

#include "codegen/isa/amd/asm_constant.h"
#include "codegen/isa/amd/names.h"
#include "codegen/isa/amd/table_data.h"

namespace tg::amd::asm_internal {
namespace {

using Kind = RawOperand::Kind;

// A placeholder for a literal that is known later: no constant has these bits.
constexpr uint32_t kLaterLiteral = 0x7fff1234;

// Which bit of op_sel belongs to an operand; -1: none.
int OpSelBit(OperandName name) {
  switch (name) {
    case OperandName::kSrc0:
      return 0;
    case OperandName::kSrc1:
      return 1;
    case OperandName::kSrc2:
      return 2;
    case OperandName::kVdst:
      return 3;
    default:
      return -1;
  }
}

// The text's op_sel lists sources, then the destination, whose bit is the fourth.
uint32_t OpSelOf(const internal::FormData& data, const RawModifiers& modifiers) {
  const uint32_t listed = modifiers.values.Get(Mod::kOpSel);
  const int count = modifiers.op_sel_count;
  const bool packed = data.form.format == Format::kVop3p || data.form.format == Format::kVop3px2;
  if (packed || count != data.op_sel_count || (data.op_sel_mask & 8) == 0 || count == 0)
    return listed;
  const uint32_t last = listed >> (count - 1) & 1;
  return (listed & ((1u << (count - 1)) - 1)) | last << 3;
}

bool IsSource(OperandClass cls) {
  switch (cls) {
    case OperandClass::kSrc:
    case OperandClass::kSrc16:
    case OperandClass::kSrcVgprOrConst:
    case OperandClass::kSsrc:
    case OperandClass::kSgpr:
    case OperandClass::kVgpr:
    case OperandClass::kVgpr16:
    case OperandClass::kVgprOrAcc:
    case OperandClass::kAcc:
      return true;
    default:
      return false;
  }
}

const char* RegisterWanted(OperandClass cls) {
  switch (cls) {
    case OperandClass::kVgpr:
    case OperandClass::kVgpr16:
      return "expected a vector register";
    case OperandClass::kAcc:
      return "expected an accumulation register";
    case OperandClass::kVgprOrAcc:
      return "expected a vector or accumulation register";
    case OperandClass::kSgpr:
      return "expected a scalar register";
    case OperandClass::kVcc:
      return "expected vcc";
    case OperandClass::kM0:
      return "expected m0";
    case OperandClass::kOff:
      return "expected 'off'";
    case OperandClass::kLds:
      return "expected 'lds'";
    default:
      return "expected a register or a constant";
  }
}

const char* MatchRegister(const RawOperand& raw, const OperandSpec& spec, bool wave64,
                          Operand* out) {
  *out = raw.reg;
  out->mods = raw.mods;
  switch (spec.cls) {
    case OperandClass::kVcc:
      if (raw.reg.kind != OperandKind::kSpecial || raw.reg.code != code::kVccLo)
        return "expected vcc";
      if (raw.reg.dwords != (wave64 ? 2 : 1)) return wave64 ? "expected vcc" : "expected vcc_lo";
      // Without a field, the tables have it in one width.
      out->dwords = spec.dwords;
      return nullptr;
    case OperandClass::kVgpr16:
    case OperandClass::kSrc16:
      if (raw.reg.kind == OperandKind::kVgpr) out->mods |= kHalf;
      break;
    case OperandClass::kImm:
    case OperandClass::kHex:
    case OperandClass::kLabel:
    case OperandClass::kLit32:
    case OperandClass::kLit16:
      return "expected a number";
    default:
      break;
  }
  // Names like src_shared_base and null have the width that the instruction reads.
  if (raw.reg.kind == OperandKind::kSpecial && raw.reg.dwords == 1 &&
      (raw.reg.code >= code::kSrcSharedBase || raw.reg.code == code::kNullRdna)) {
    if (raw.reg.code != code::kNullRdna || spec.cls != OperandClass::kM0) out->dwords = spec.dwords;
  }
  return nullptr;
}

const char* MatchNumber(const RawOperand& raw, const OperandSpec& spec, const internal::Enc& enc,
                        Operand* out) {
  if (raw.kind == Kind::kFloat && !IsSource(spec.cls) && spec.cls != OperandClass::kLit32 &&
      spec.cls != OperandClass::kLit16) {
    return "expected an integer";
  }
  if (spec.cls == OperandClass::kLit32 || spec.cls == OperandClass::kLit16 || raw.force_literal) {
    return raw.kind == Kind::kFloat ? FloatLiteral(raw.real, spec.type, out)
                                    : IntegerLiteral(raw.integer, spec.type, out);
  }
  if (IsSource(spec.cls)) {
    const char* reason = raw.kind == Kind::kFloat ? FloatSource(raw.real, spec.type, out)
                                                  : IntegerSource(raw.integer, spec.type, out);
    out->mods = raw.mods;
    out->dwords = 1;
    return reason;
  }
  switch (spec.cls) {
    case OperandClass::kVcc:
    case OperandClass::kM0:
    case OperandClass::kScc:
    case OperandClass::kLds:
    case OperandClass::kOff:
    case OperandClass::kExecImplied:
      return RegisterWanted(spec.cls);
    default:
      break;
  }
  if (spec.cls == OperandClass::kAttr) {
    *out = Imm(static_cast<int32_t>(raw.integer));  // With the channel; MatchForm takes it apart.
    return nullptr;
  }
  const int bits = enc.bits + enc.bits2;
  const int64_t low = -(int64_t{1} << (bits - 1));
  if (enc.kind == internal::Kind::kSmemOffset) {
    if (raw.integer < low || raw.integer >= -low) return "the number does not fit its field";
    *out = Imm(static_cast<int32_t>(raw.integer));
    return nullptr;
  }
  if (raw.integer < low || raw.integer >= int64_t{1} << bits)
    return "the number does not fit its field";
  *out = Imm(static_cast<int32_t>(raw.integer & ((int64_t{1} << bits) - 1)));
  return nullptr;
}

// Without measuring `a`, which mostly differs early.
bool SameText(const char* a, std::string_view b) {
  return std::strncmp(a, b.data(), b.size()) == 0 && a[b.size()] == '\0';
}

// Of an atomic: the modifier one bit of which asks for a result.
Mod ResultMod(const Form& form) {
  return form.Has(Mod::kTh) ? Mod::kTh : form.Has(Mod::kSc0) ? Mod::kSc0 : Mod::kGlc;
}

// An atomic has a form with a result and one without, and the modifier must agree.
bool ResultAgrees(const internal::FormData& data, const RawModifiers& modifiers) {
  if (data.atomic == internal::kNoAtomic) return true;
  const Mod m = ResultMod(data.form);
  const bool asked = modifiers.Has(m) && (modifiers.values.Get(m) & 1) != 0;
  return asked == (data.atomic == internal::kAtomicWithResult);
}

// DPP and SDWA are chosen by their modifiers.
Extra ExtraOf(const RawModifiers& modifiers) {
  if (modifiers.present == 0) return Extra::kNone;
  if (modifiers.Has(Mod::kDpp8)) return Extra::kDpp8;
  for (const Mod m : {Mod::kDppCtrl, Mod::kRowMask, Mod::kBankMask}) {
    if (modifiers.Has(m)) return Extra::kDpp16;
  }
  for (const Mod m : {Mod::kDstSel, Mod::kDstUnused, Mod::kSrc0Sel, Mod::kSrc1Sel}) {
    if (modifiers.Has(m)) return Extra::kSdwa;
  }
  return Extra::kNone;
}

}  // namespace

MatchResult MatchForm(const Form& form, bool wave64, absl::Span<const RawOperand> operands,
                      const RawModifiers& modifiers, int64_t here, Inst* inst) {
  MatchResult result;
  const internal::FormData& data = internal::DataOf(&form);
  const uint64_t unknown = modifiers.present & ~form.mods;
  if (unknown != 0) {
    result.reason = "this modifier does not go with the instruction";
    result.code = EncodeError::kModifier;
    result.modifier = static_cast<Mod>(std::countr_zero(unknown));
    result.about_modifier = true;
    result.progress = form.num_operands == operands.size() ? 1 : 0;
    return result;
  }
  if (!ResultAgrees(data, modifiers)) {
    const bool wanted = data.atomic == internal::kAtomicWithResult;
    result.modifier = ResultMod(form);
    result.reason = result.modifier == Mod::kTh
                        ? (wanted ? "an atomic with a result needs th:TH_ATOMIC_RETURN"
                                  : "an atomic without a result takes no th:TH_ATOMIC_RETURN")
                    : wanted ? "an atomic with a result needs glc or sc0"
                             : "an atomic without a result takes no glc or sc0";
    result.code = EncodeError::kModifier;
    result.about_modifier = !wanted;
    // FLAT tells the two by a register, the others by the modifier alone.
    const bool flat = form.format >= Format::kFlat && form.format <= Format::kScratch;
    result.progress = flat && form.num_operands == operands.size() ? 2 * kMaxOperands : 0;
    return result;
  }
  // In place: an instruction is a few hundred bytes.
  std::construct_at(inst, form);
  for (uint64_t bits = modifiers.present; bits != 0; bits &= bits - 1) {
    const Mod m = static_cast<Mod>(std::countr_zero(bits));
    inst->Set(m, modifiers.values.Get(m));
  }
  if (form.Has(Mod::kFormat) && !modifiers.Has(Mod::kFormat)) {
    inst->Set(Mod::kFormat, kDefaultBufferFormat);
  }
  uint32_t op_sel = 0;
  if (modifiers.Has(Mod::kOpSel)) {
    op_sel = OpSelOf(data, modifiers);
    inst->Set(Mod::kOpSel, op_sel);
  }
  size_t next = 0;
  for (int i = 0; i < form.num_operands; ++i) {
    const OperandSpec& spec = form.specs[i];
    Operand* out = &inst->operands[i];
    if (spec.cls == OperandClass::kExecImplied || spec.cls == OperandClass::kUnused) continue;
    if (next == operands.size()) {
      if (spec.cls == OperandClass::kEndpgm) {
        *out = Imm(0);
        continue;
      }
      result.reason = "too few operands";
      result.operand = -1;
      result.code = EncodeError::kOperandCount;
      return result;
    }
    const RawOperand& raw = operands[next];
    result.operand = static_cast<int>(next++);
    result.progress = 2 * (i + 2);
    switch (raw.kind) {
      case Kind::kRegister:
        result.reason = MatchRegister(raw, spec, wave64, out);
        break;
      case Kind::kInteger:
      case Kind::kFloat:
        result.reason = MatchNumber(raw, spec, data.encs[i], out);
        break;
      case Kind::kPlace:
        if (spec.cls == OperandClass::kLabel) {
          const int64_t distance = raw.integer - here - 4;
          if (distance % 4 != 0 || distance / 4 < -32768 || distance / 4 > 32767) {
            result.reason = "the label is too far away";
          }
          *out = Imm(static_cast<int32_t>(distance / 4 & 0xffff));
          break;
        }
        [[fallthrough]];
      case Kind::kLater:
        if (spec.cls == OperandClass::kLabel) {
          *out = Imm(0);
          result.label = result.operand;
        } else if ((IsSource(spec.cls) && form.literal) || spec.cls == OperandClass::kLit32) {
          *out = Literal(kLaterLiteral);
          result.literal = result.operand;
        } else {
          result.reason = "a number that is known here is needed";
        }
        break;
      case Kind::kWord: {
        const bool off = raw.word == "off";
        const bool lds = raw.word == "lds";
        if (off ? IsSource(spec.cls) || spec.cls == OperandClass::kOff
                : lds && spec.cls == OperandClass::kLds) {
          *out = Off();
        } else {
          result.reason = RegisterWanted(spec.cls);
        }
        break;
      }
    }
    if (result.reason != nullptr) {
      result.code = EncodeError::kOperandKind;
      return result;
    }
    if (spec.hidden && (out->mods & kSext) != 0) {
      // An integer's sign bit in VOP3, which older versions of LLVM show so.
      out->mods = static_cast<uint8_t>((out->mods & ~kSext) | kNeg);
    }
    if (spec.cls == OperandClass::kAttr && i + 1 < form.num_operands &&
        form.specs[i + 1].cls == OperandClass::kAttrChan) {
      // "attr3.y" is one word and two fields.
      inst->operands[i + 1] = Imm(static_cast<int32_t>(raw.integer >> 8));
      *out = Imm(static_cast<int32_t>(raw.integer & 0xff));
      ++i;
    }
    // op_sel and the half of a register are two spellings of one thing.
    if (spec.cls == OperandClass::kVgpr16 || spec.cls == OperandClass::kSrc16) {
      const int bit = OpSelBit(spec.name);
      if (bit >= 0 && form.Has(Mod::kOpSel)) {
        if ((out->mods & kHigh) != 0) op_sel |= 1u << bit;
        if ((op_sel >> bit & 1) != 0 && out->kind == OperandKind::kVgpr) out->mods |= kHigh;
        inst->Set(Mod::kOpSel, op_sel);
      }
    }
  }
  if (form.Has(Mod::kEn)) {
    // An export writes the components that are not off.
    uint32_t enabled = 0;
    for (int i = 1; i < form.num_operands; ++i) {
      enabled |= static_cast<uint32_t>(inst->operands[i].kind != OperandKind::kNone) << (i - 1);
    }
    inst->Set(Mod::kEn, enabled);
  }
  if (next != operands.size()) {
    result.reason = "too many operands";
    result.code = EncodeError::kOperandCount;
    result.operand = static_cast<int>(next);
    return result;
  }
  result.operand = -1;
  return result;
}

Selected SelectForm(const Choice& choice, Isa isa, bool wave64,
                    absl::Span<const RawOperand> operands, const RawModifiers& modifiers,
                    int64_t here, Inst* inst, uint8_t* bytes) {
  using Outcome = Selected::Outcome;
  const Extra extra = ExtraOf(modifiers);
  Selected best;
  bool any = false;
  bool pair_found = choice.second.empty();
  bool extra_found = false;
  for (const Form* form : choice.forms) {
    if (!choice.exact && form->extra != extra) continue;
    extra_found = true;
    if (form->format == Format::kVopd) {
      const internal::FormData& data = internal::DataOf(form);
      if (!SameText(data.mnemonic_y, choice.second)) continue;
      pair_found = true;
      if (choice.first_count != data.split && operands.size() == form->num_operands) continue;
    } else if (!choice.second.empty()) {
      continue;
    }
    MatchResult match = MatchForm(*form, wave64, operands, modifiers, here, inst);
    if (match.ok()) {
      const EncodeResult encoded = Encode(*inst, isa, bytes);
      if (encoded.ok()) {
        best.outcome = Outcome::kEncoded;
        best.match = match;
        best.size = encoded.size;
        return best;
      }
      match.reason = encoded.reason;
      match.operand = encoded.operand;
      match.code = encoded.code;
      // A form that wants another kind of operand says less about the mistake than one whose field
      // is too small.
      match.progress =
          encoded.code == EncodeError::kConstantBus ? 2 * kMaxOperands + 1
          : encoded.operand < 0
              ? 2 * kMaxOperands
              : 2 * (encoded.operand + 2) + (encoded.code == EncodeError::kOperandKind ? -1 : 1);
    }
    if (!any || match.progress > best.match.progress) best.match = match;
    any = true;
  }
  if (!pair_found) {
    best.outcome = Outcome::kNoSuchPair;
  } else if (!extra_found) {
    best.outcome = Outcome::kNoSuchEncoding;
  } else if (!any) {
    best.outcome =
        choice.forms[0]->format == Format::kVopd ? Outcome::kNeedsSecond : Outcome::kIsNoPair;
  }
  return best;
}

}  // namespace tg::amd::asm_internal
