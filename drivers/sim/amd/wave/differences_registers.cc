// Registers that the recorder reads or writes otherwise.
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "drivers/sim/amd/wave/differences.h"
#include "drivers/sim/amd/wave/transition_lanes.h"

namespace tg::amd::sim {
namespace {

std::optional<Transition> Run(Transition t, const Inst& inst) {
  t.inst = inst;
  if (!RunTransition(t, inst, &t.got).empty()) return std::nullopt;
  return t;
}

// The SGPRs of a lane mask that is an instruction's destination `n`; -1 when it has none.
int MaskRegister(const Transition& t, int n) {
  int p = DestPosition(t.inst, n);
  if (p < 0) return -1;
  const Operand& o = t.inst.operands[p];
  bool scalar = o.kind == OperandKind::kSgpr || o.kind == OperandKind::kTtmp ||
                o.kind == OperandKind::kSpecial;
  return scalar && o.code < 127 ? o.code : -1;
}

// Carries, borrows and scale flags: bits of inactive lanes are 0; the recorder keeps them.
bool InactiveMaskBits(Transition* t) {
  int code = MaskRegister(*t, 1);
  if (code < 0) return false;
  WaveState expected = t->got;
  for (int i = 0; i < t->wave_size() / 32; ++i) {
    uint32_t active = t->in.sgprs[126 + i];
    if ((t->got.sgprs[code + i] & ~active) != 0) return false;
    expected.sgprs[code + i] |= t->want.sgprs[code + i] & ~active;
  }
  if (expected == t->got) return false;
  t->got = expected;
  return true;
}

// v_cmpx writes the comparison to its destination and to EXEC. The recorder clears EXEC first and
// then compares no lane: the destination stays, or, where it is encoded, becomes 0.
bool CompareToExec(Transition* t) {
  std::string_view name = t->inst.form->name;
  if (name.substr(0, 6) != "v_cmpx") return false;
  int code = MaskRegister(*t, 0);
  if (code < 0) return false;
  std::string plain = "v_cmp" + std::string(std::string_view(t->inst.form->mnemonic).substr(6));
  bool classes = name.find("class") != std::string_view::npos;
  int plain_opcode = t->inst.form->opcode - (classes ? 1 : 16);
  for (const Form* form : FormsNamed(plain, t->isa)) {
    if (form->num_operands != t->inst.form->num_operands || form->opcode != plain_opcode) {
      continue;
    }
    Inst inst = t->inst;
    inst.form = form;
    std::optional<Transition> compared = Run(*t, inst);
    if (!compared.has_value()) return false;
    WaveState ours = t->in, recorder = t->in;
    ours.pc = recorder.pc = t->got.pc;
    for (int i = 0; i < 2; ++i) {
      recorder.sgprs[126 + i] = 0;
      if (t->inst.form->format == Format::kVop3) recorder.sgprs[code + i] = 0;
      ours.sgprs[code + i] = ours.sgprs[126 + i] = compared->got.sgprs[code + i];
    }
    if (!(t->got == ours) || !(t->want == recorder)) return false;
    t->got = t->want;
    return true;
  }
  return false;
}

// DS with data in AccVGPRs: the recorder takes the VGPRs of those numbers.
bool AccumulatorData(Transition* t) {
  Inst vgprs = t->inst;
  Transition moved = *t;
  bool any = false;
  for (int i = 0; i < t->inst.num_operands; ++i) {
    const Operand& o = t->inst.operands[i];
    if (o.kind != OperandKind::kAccVgpr) continue;
    any = true;
    vgprs.operands[i] = Vgpr(o.index(), o.dwords);
    for (int d = 0; d < o.dwords; ++d) {
      for (int l = 0; l < 64; ++l) {
        moved.in.lane(o.index() + d, l) = t->in.lane(256 + o.index() + d, l);
      }
    }
  }
  if (!any) return false;
  // Ours: the same instruction on VGPRs that hold what the AccVGPRs do. The address must not be
  // among them.
  std::optional<Transition> ours = Run(moved, vgprs), recorder = Run(*t, vgprs);
  if (!ours.has_value() || !recorder.has_value()) return false;
  WaveState expected = t->in;
  expected.lds = ours->got.lds;
  expected.pc = ours->got.pc;
  for (int i = 0; i < t->inst.num_operands; ++i) {
    const Operand& o = t->inst.operands[i];
    if (o.kind != OperandKind::kAccVgpr) continue;
    for (int d = 0; d < o.dwords; ++d) {
      for (int l = 0; l < 64; ++l) {
        expected.lane(256 + o.index() + d, l) = ours->got.lane(o.index() + d, l);
      }
    }
  }
  if (!(expected == t->got)) return false;
  // The recorder reads VGPRs, and writes its results to the AccVGPRs.
  WaveState next = recorder->got;
  int dest = DestPosition(t->inst, 0);
  if (dest >= 0 && t->inst.operands[dest].kind == OperandKind::kAccVgpr) {
    const Operand& o = t->inst.operands[dest];
    for (int d = 0; d < o.dwords; ++d) {
      for (int l = 0; l < 64; ++l) {
        uint32_t& written = next.lane(o.index() + d, l);
        if (t->exec() >> l & 1) next.lane(256 + o.index() + d, l) = written;
        written = t->in.lane(o.index() + d, l);
      }
    }
  }
  t->got = next;
  t->inst = vgprs;
  return true;
}

// SDWA with an SGPR as source: the recorder takes the VGPR of that number.
bool SdwaScalar(Transition* t) {
  if (t->inst.form->extra != Extra::kSdwa) return false;
  for (int n = 0; n < 2; ++n) {
    int p = SourcePosition(t->inst, n);
    if (p < 0 || t->inst.operands[p].kind != OperandKind::kSgpr) continue;
    Operand o = t->inst.operands[p];
    Inst own = t->inst, recorder = t->inst;
    Transition filled = *t;
    for (int l = 0; l < 64; ++l) filled.in.lane(240, l) = t->in.sgprs[o.code];
    own.operands[p] = Vgpr(240);
    recorder.operands[p] = Vgpr(o.index());
    own.operands[p].mods = recorder.operands[p].mods = o.mods;
    std::optional<Transition> ours = Run(filled, own), next = Run(*t, recorder);
    if (!ours.has_value() || !next.has_value()) return false;
    for (int l = 0; l < 64; ++l) ours->got.lane(240, l) = t->in.lane(240, l);
    if (!(ours->got == t->got)) return false;
    *t = *next;
    return true;
  }
  return false;
}

// SDWA: sext() of a byte or half repeats its sign; the recorder pads with 0. Ours: the same
// instruction on registers that hold the extended numbers.
bool SdwaSourceSext(Transition* t) {
  if (t->inst.form->extra != Extra::kSdwa) return false;
  Transition extended = *t;
  Inst own = t->inst, recorder = t->inst;
  bool any = false;
  for (int n = 0; n < 2; ++n) {
    int p = SourcePosition(t->inst, n);
    if (p < 0 || !(t->inst.operands[p].mods & kSext)) continue;
    any = true;
    for (int l = 0; l < 64; ++l) {
      extended.in.lane(240 + n, l) = static_cast<uint32_t>(SourceBits(*t, n, l));
    }
    own.operands[p] = Vgpr(240 + n);
    own.Set(n == 0 ? Mod::kSrc0Sel : Mod::kSrc1Sel, 6);
    recorder.operands[p].mods &= ~kSext;
  }
  if (!any) return false;
  std::optional<Transition> ours = Run(extended, own), next = Run(*t, recorder);
  if (!ours.has_value() || !next.has_value()) return false;
  for (int n = 0; n < 2; ++n) {
    for (int l = 0; l < 64; ++l) ours->got.lane(240 + n, l) = t->in.lane(240 + n, l);
  }
  if (!(ours->got == t->got)) return false;
  *t = *next;
  return true;
}

// null reads as 0 in all of its dwords; the recorder has M0 in the second.
bool WideNull(Transition* t) {
  if (!IsRdna(t->isa)) return false;
  Transition other = *t;
  Inst zero = t->inst, pair = t->inst;
  bool any = false;
  for (int i = 0; i < t->inst.num_operands; ++i) {
    const Operand& o = t->inst.operands[i];
    if (o.kind != OperandKind::kSpecial || o.code != code::kNullRdna || o.dwords != 2) continue;
    any = true;
    zero.operands[i] = InlineInt(0);
    other.in.sgprs[122] = 0;
    other.in.sgprs[123] = t->in.sgprs[125];
    pair.operands[i] = Ttmp(14, 2);
  }
  if (!any) return false;
  std::optional<Transition> ours = Run(*t, zero), next = Run(other, pair);
  if (!ours.has_value() || !next.has_value() || !(ours->got == t->got)) return false;
  next->got.sgprs[122] = t->in.sgprs[122];
  next->got.sgprs[123] = t->in.sgprs[123];
  next->in = t->in;
  *t = *next;
  return true;
}

// Scalar destinations of 64 bits that are read, too: the recorder reads 32 bits.
bool WideScalarDest(Transition* t) {
  std::string_view name = t->inst.form->name;
  int p = DestPosition(t->inst, 0);
  if (p < 0 || t->inst.operands[p].code > 126) return false;
  int code = t->inst.operands[p].code;
  uint64_t old = t->in.sgprs[code] | static_cast<uint64_t>(t->in.sgprs[code + 1]) << 32;
  uint64_t source = SourceBits(*t, 0, 0), expected;
  if (name == "s_cmov_b64") {
    expected = t->in.scc ? source : old;
  } else if (name == "s_bitset0_b64") {
    expected = old & ~(uint64_t{1} << (source & 63));
  } else if (name == "s_bitset1_b64") {
    expected = old | uint64_t{1} << (source & 63);
  } else {
    return false;
  }
  WaveState ours = t->in, recorder = t->in;
  ours.pc = recorder.pc = t->got.pc;
  ours.sgprs[code] = static_cast<uint32_t>(expected);
  ours.sgprs[code + 1] = static_cast<uint32_t>(expected >> 32);
  if (!(ours == t->got)) return false;
  recorder.sgprs[code] = t->want.sgprs[code];
  recorder.sgprs[code + 1] = 0;
  if (!(recorder == t->want)) return false;
  t->got = t->want;
  return true;
}

// v_bitop3_b16: op_sel names halves of sources and of the destination, whose other half stays. The
// recorder takes lower halves and clears the rest.
bool BitOperationHalves(Transition* t) {
  if (std::string_view(t->inst.form->name) != "v_bitop3_b16") return false;
  uint32_t table = t->inst.Get(Mod::kBitop3);
  bool high = t->inst.Get(Mod::kOpSel) >> 3 & 1;
  return ExplainLanes(t, [&](int l, uint64_t got) {
    uint32_t a = Source16(*t, 0, l), b = Source16(*t, 1, l), c = Source16(*t, 2, l), r = 0;
    for (int bit = 0; bit < 16; ++bit) {
      uint32_t index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
      r |= (table >> index & 1) << bit;
    }
    uint32_t old = t->in.lane(DestRow(*t), l);
    return got == (high ? (old & 0xffff) | r << 16 : (old & 0xffff0000) | r);
  });
}

// DPP row_bcast:15 and row_bcast:31: lane 15 of a row goes to the next row, lane 31 to rows 2
// and 3. The recorder takes other lanes. Ours: the same instruction on a register that was filled
// so.
bool RowBroadcast(Transition* t) {
  uint32_t control = t->inst.Get(Mod::kDppCtrl);
  int p = SourcePosition(t->inst, 0);
  if (t->inst.form->extra != Extra::kDpp16 || (control != 0x142 && control != 0x143)) return false;
  Transition filled = *t;
  Inst identity = t->inst;
  identity.Set(Mod::kDppCtrl, 0xe4);
  identity.operands[p] = Vgpr(240);
  identity.operands[p].mods = t->inst.operands[p].mods;
  for (int l = 0; l < 64; ++l) {
    int from = DppSource(*t, l);
    filled.in.lane(240, l) =
        from < 0 ? 0 : t->in.lane(t->inst.operands[p].code - code::kVgpr0, from);
  }
  std::optional<Transition> ours = Run(filled, identity);
  if (!ours.has_value()) return false;
  for (int l = 0; l < 64; ++l) ours->got.lane(240, l) = t->in.lane(240, l);
  WaveState expected = ours->got;
  return ExplainLanes(t, [&](int l, uint64_t got) {
    return DppEnabled(*t, l) && DppSource(*t, l) >= 0 && got == expected.lane(DestRow(*t), l);
  });
}

// SDWA additions with carry: it is that of 32 bits. The recorder's is that of the selected part.
bool SdwaCarry(Transition* t) {
  std::string_view name = t->inst.form->name;
  int code = MaskRegister(*t, 1);
  bool add = name.find("v_add") == 0, reverse = name.find("subrev") != std::string_view::npos ||
                                                name.find("subbrev") != std::string_view::npos;
  if (t->inst.form->extra != Extra::kSdwa || code < 0 || (!add && name.find("v_sub") != 0)) {
    return false;
  }
  bool takes = SourcePosition(t->inst, 2) >= 0;
  for (int l = 0; l < 64; ++l) {
    if (!(t->exec() >> l & 1)) continue;
    uint64_t a = static_cast<uint32_t>(SourceBits(*t, 0, l));
    uint64_t b = static_cast<uint32_t>(SourceBits(*t, 1, l));
    uint64_t in = takes ? t->in.sgprs[106 + l / 32] >> (l % 32) & 1 : 0;
    if (reverse) std::swap(a, b);
    bool carry = add ? a + b + in > 0xffffffff : a < b + in;
    uint32_t& word = t->got.sgprs[code + l / 32];
    uint32_t bit = 1u << (l % 32);
    if (((word & bit) != 0) != carry) return false;
    word = (word & ~bit) | (t->want.sgprs[code + l / 32] & bit);
  }
  return true;
}

// SDWA comparisons: signs are applied to the selected part. The recorder ignores them.
bool SdwaCompareSigns(Transition* t) {
  if (t->inst.form->extra != Extra::kSdwa ||
      std::string_view(t->inst.form->name) != "v_cmp_ge_f32") {
    return false;
  }
  int code = MaskRegister(*t, 0);
  for (int l = 0; code >= 0 && l < 64; ++l) {
    if (!(t->exec() >> l & 1)) continue;
    uint32_t bit = 1u << (l % 32);
    uint32_t& word = t->got.sgprs[code + l / 32];
    if (((word & bit) != 0) != (SourceF32(*t, 0, l) >= SourceF32(*t, 1, l))) return false;
    word = (word & ~bit) | (t->want.sgprs[code + l / 32] & bit);
  }
  return code >= 0;
}

constexpr DifferenceRule kRules[] = {
    {"row-broadcast", RowBroadcast},
    {"sdwa-carry", SdwaCarry},
    {"sdwa-compare-signs", SdwaCompareSigns},
    {"inactive-mask-bits", InactiveMaskBits},
    {"compare-to-exec", CompareToExec},
    {"accumulator-data", AccumulatorData},
    {"sdwa-scalar", SdwaScalar},
    {"sdwa-source-sext", SdwaSourceSext},
    {"wide-null", WideNull},
    {"wide-scalar-dest", WideScalarDest},
    {"bitop3-halves", BitOperationHalves},
};

}  // namespace

absl::Span<const DifferenceRule> RegisterDifferences() { return kRules; }

}  // namespace tg::amd::sim
