#include "codegen/isa/amd/hazard_effects.h"

#include <string_view>

namespace tg::amd {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsVector(Format format) {
  switch (format) {
    case Format::kVop1:
    case Format::kVop2:
    case Format::kVopc:
    case Format::kVop3:
    case Format::kVop3sd:
    case Format::kVop3p:
    case Format::kVop3px2:
    case Format::kVopd:
    case Format::kVinterp:
      return true;
    default:
      return false;
  }
}

bool IsTranscendental(std::string_view name) {
  for (const std::string_view prefix :
       {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"}) {
    if (StartsWith(name, prefix)) return true;
  }
  return false;
}

bool IsMatrix(std::string_view name) {
  for (const std::string_view prefix : {"v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_"}) {
    if (StartsWith(name, prefix)) return true;
  }
  return false;
}

// Results that do not fill their register stay behind the forwarding network for one wait state.
bool WritesPart(const Inst& inst, std::string_view name) {
  const Form& form = *inst.form;
  if (form.extra == Extra::kSdwa) {
    constexpr uint32_t kDword = 6;
    return form.Has(Mod::kDstSel) && inst.Get(Mod::kDstSel) != kDword;
  }
  if (form.format != Format::kVop3 || !form.Has(Mod::kOpSel)) return false;
  const uint32_t op_sel = inst.Get(Mod::kOpSel);
  // Conversions to 8-bit floats choose a byte with two bits.
  const bool byte = StartsWith(name, "v_cvt_sr_fp8") || StartsWith(name, "v_cvt_sr_bf8");
  return (op_sel & (byte ? 12 : 8)) != 0;
}

// Some lanes or bits of the result's register stay as they were: an operand that has no name.
bool KeepsResult(const Inst& inst, Isa isa, std::string_view name) {
  const Form& form = *inst.form;
  constexpr uint32_t kPreserve = 2;
  if (form.extra == Extra::kSdwa) {
    return form.Has(Mod::kDstUnused) && inst.Get(Mod::kDstUnused) == kPreserve;
  }
  // Conversions into a half or a quarter of the register.
  if (IsCdna(isa) && form.format == Format::kVop3 && form.Has(Mod::kOpSel) &&
      StartsWith(name, "v_cvt_")) {
    return true;
  }
  return form.extra != Extra::kNone || StartsWith(name, "v_permlane16_") ||
         StartsWith(name, "v_permlanex16_");
}

struct Matrix {
  Actor kind;
  uint8_t passes;  // Index of 2, 4, 8, 16.
};

// CDNA 3 ISA, 7.1 and 7.6, CDNA 4 ISA, same: passes follow from shape, blocks and types.
Matrix MatrixOf(const Inst& inst, std::string_view name) {
  if (EndsWith(name, "_f64")) {
    return {Has(name, "_4x4x4_") ? Actor::kDgemm4x4 : Actor::kDgemm16x16, 0};
  }
  const bool f32 = EndsWith(name, "_f32") && StartsWith(name, "v_mfma_");
  const Actor kind = f32 ? Actor::kSgemm : Actor::kXdl;
  if (Has(name, "_4x4x")) return {kind, 0};
  int passes = Has(name, "_32x32x") ? 2 : 1;
  // Formats 0 and 1 of cbsz and blgp are those with 8 bits; the others take half the time.
  const bool wide = Has(name, "f8f6f4") && (inst.Get(Mod::kCbsz) < 2 || inst.Get(Mod::kBlgp) < 2);
  if (f32 || wide || Has(name, "_2b_") || Has(name, "_4b_")) ++passes;
  return {kind, static_cast<uint8_t>(passes)};
}

void SetVectorActors(const Inst& inst, Isa isa, Effects* e) {
  const Form& form = *inst.form;
  const std::string_view name = form.name;
  const auto is = [&](Actor actor) { e->actors |= ActorBit(actor); };
  is(Actor::kValu);
  // A pair's second half counts as well.
  const bool trans = IsTranscendental(name);
  is(trans ? Actor::kTrans : Actor::kNotTrans);
  const bool dot = StartsWith(name, "v_dot");
  if (IsMatrix(name)) {
    is(Actor::kMatrix);
    if (IsCdna(isa)) {
      const Matrix matrix = MatrixOf(inst, name);
      is(matrix.kind);
      if (matrix.kind == Actor::kDgemm4x4 || matrix.kind == Actor::kDgemm16x16) is(Actor::kDgemm);
      e->passes = matrix.passes;
    }
  } else {
    is(Actor::kPlain);
    is(dot ? Actor::kDot : Actor::kPlainNotDot);
  }
  if (form.extra == Extra::kDpp8 || form.extra == Extra::kDpp16) is(Actor::kDpp);
  if (WritesPart(inst, name)) is(Actor::kPartialWrite);
  if (name == "v_fma_f64" || name == "v_fmac_f64") is(Actor::kFmaF64);
  if (name == "v_readlane_b32" || name == "v_writelane_b32") is(Actor::kLaneSelect);
  if (name == "v_readlane_b32" || name == "v_readfirstlane_b32") is(Actor::kLaneRead);
  if (e->Is(Actor::kLaneRead) || e->Is(Actor::kLaneSelect)) is(Actor::kLane);
  if (StartsWith(name, "v_permlane")) {
    is(Has(name, "_swap_") ? Actor::kPermlaneSwap : Actor::kPermlane);
  }
  if (StartsWith(name, "v_cmpx_")) is(Actor::kCmpx);
  if (StartsWith(name, "v_div_fmas")) is(Actor::kDivFmas);
}

void SetMemoryActors(const Inst& inst, Effects* e) {
  const Form& form = *inst.form;
  const std::string_view name = form.name;
  const auto is = [&](Actor actor) { e->actors |= ActorBit(actor); };
  if (form.format == Format::kSmem || form.format == Format::kLdsdir) {
    e->load = !e->writes.empty();
    return;
  }
  is(Actor::kMemory);
  if (form.format == Format::kExp) return;
  e->load = !e->writes.empty();
  if (form.format == Format::kDs) {
    if (Has(name, "_addtid_") || inst.Get(Mod::kGds) != 0) is(Actor::kM0Reader);
    return;
  }
  is(Actor::kVmem);
  if (Has(name, "_lds_") || inst.Get(Mod::kLds) != 0) is(Actor::kM0Reader);
  // Buffer stores with an offset in a register take another way.
  const Operand* offset = inst.Find(OperandName::kSoffset);
  const bool register_offset = offset != nullptr && (offset->kind == OperandKind::kSgpr ||
                                                     offset->kind == OperandKind::kSpecial);
  if (!e->stored.empty() && !register_offset && form.format != Format::kMimg) {
    is(Actor::kWideStore);
  }
}

void SetScalarActors(const Inst& inst, Effects* e) {
  const Form& form = *inst.form;
  const std::string_view name = form.name;
  const auto is = [&](Actor actor) { e->actors |= ActorBit(actor); };
  if (StartsWith(name, "s_setreg") || name == "s_getreg_b32") {
    is(name == "s_getreg_b32" ? Actor::kGetreg : Actor::kSetreg);
    for (int i = 0; i < inst.num_operands; ++i) {
      if (form.specs[i].cls != OperandClass::kHwreg) continue;
      constexpr int kIdMask = 63;  // Above it: offset and size.
      e->hwreg = static_cast<int16_t>(inst.operands[i].value & kIdMask);
    }
  }
  if (name == "s_sendmsg" || name == "s_sendmsghalt" || name == "s_ttracedata" ||
      StartsWith(name, "s_movrel")) {
    is(Actor::kM0Reader);
  }
  if (StartsWith(name, "s_rfe")) is(Actor::kRfe);
  if (StartsWith(name, "s_sendmsg_rtn")) e->load = true;
  is(Actor::kSalu);
}

}  // namespace

bool IsVectorMemory(Format format) {
  switch (format) {
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch:
    case Format::kMubuf:
    case Format::kMtbuf:
    case Format::kMimg:
    case Format::kVimage:
    case Format::kVsample:
      return true;
    default:
      return false;
  }
}

Effects EffectsOf(const Inst& inst, Isa isa, bool wave64) {
  const Form& form = *inst.form;
  const std::string_view name = form.name;
  const bool vector = IsVector(form.format);
  const bool multiplies = vector && (IsMatrix(name) || StartsWith(name, "v_dot"));
  const bool sparse = StartsWith(name, "v_smfmac") || StartsWith(name, "v_swmmac");
  Effects e;
  e.form = inst.form;
  for (int i = 0; i < inst.num_operands; ++i) {
    const OperandSpec& spec = form.specs[i];
    const Operand& o = inst.operands[i];
    const bool is_register = o.kind == OperandKind::kSgpr || o.kind == OperandKind::kTtmp ||
                             o.kind == OperandKind::kSpecial || o.kind == OperandKind::kVgpr ||
                             o.kind == OperandKind::kAccVgpr;
    if (!is_register) continue;
    Registers r{o.code, o.dwords};
    const Role role = spec.role;
    const bool reads = role == Role::kSrc || role == Role::kDstSrc;
    // Tables have the masks of waves of 32.
    const bool mask = vector && spec.name != OperandName::kVdst && role != Role::kDstSrc &&
                      (spec.cls == OperandClass::kSgpr || spec.cls == OperandClass::kVcc);
    if (mask && wave64 && r.count == 1) r.count = 2;
    if (mask && reads) e.masks.push_back(r);
    if (reads) e.reads.push_back(r);
    if (role == Role::kDst || role == Role::kDstSrc) e.writes.push_back(r);
    if (spec.name == OperandName::kVdata && reads && o.dwords > 2) e.stored.push_back(r);
    if (multiplies && reads) {
      const bool addend =
          sparse || role == Role::kDstSrc ? role == Role::kDstSrc : spec.name == OperandName::kSrc2;
      (addend ? e.addends : e.multiplicands).push_back(r);
    }
  }
  const uint16_t m0 = IsRdna(isa) ? code::kM0Rdna : code::kM0Cdna;
  const auto implied = [&](uint8_t which, RegisterList* list) {
    if ((which & kImplVcc) != 0) list->push_back({code::kVccLo, 2});
    if ((which & kImplExec) != 0) list->push_back({code::kExecLo, 2});
    if ((which & kImplM0) != 0) list->push_back({m0, 1});
  };
  implied(form.reads, &e.reads);
  implied(form.writes, &e.writes);
  if (vector) {
    SetVectorActors(inst, isa, &e);
    if (KeepsResult(inst, isa, name)) {
      for (const Registers& r : e.writes) {
        if (r.IsVector()) e.kept.push_back(r);
      }
    }
    if (e.Is(Actor::kDivFmas)) e.masks.push_back({code::kVccLo, 2});
  } else if (IsVectorMemory(form.format) || form.format == Format::kDs ||
             form.format == Format::kExp || form.format == Format::kSmem ||
             form.format == Format::kLdsdir) {
    SetMemoryActors(inst, &e);
  } else {
    SetScalarActors(inst, &e);
  }
  return e;
}

}  // namespace tg::amd
