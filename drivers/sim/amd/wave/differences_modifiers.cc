// Modifiers of operands and results that the recorder lacks.
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "drivers/sim/amd/wave/differences.h"
#include "drivers/sim/amd/wave/transition_lanes.h"

namespace tg::amd::sim {
namespace {

// `t` with another instruction, and what that gives.
std::optional<Transition> With(const Transition& t, const Inst& inst) {
  Transition other = t;
  other.inst = inst;
  if (!RunTransition(other, inst, &other.got).empty()) return std::nullopt;
  return other;
}

// Whether two results are the same but for the first destination, whose lanes `ok` compares.
template <class F>
bool SameButDest(const Transition& t, const WaveState& a, const WaveState& b, F ok) {
  WaveState rest = a;
  int row = DestRow(t);
  if (row < 0) return false;
  for (int l = 0; l < 64; ++l) {
    for (int d = 0; d < DestDwords(t); ++d) rest.lane(row + d, l) = b.lane(row + d, l);
    if ((t.exec() >> l & 1) && !ok(l)) return false;
  }
  return rest == b;
}

enum class Width { kF16, kPkF16, kF32, kF64 };
std::optional<Width> ResultWidth(const Transition& t) {
  int p = DestPosition(t.inst, 0);
  if (p < 0) return std::nullopt;
  switch (t.inst.form->specs[p].type) {
    case DataType::kF16:
      return Width::kF16;
    case DataType::kPkF16:
      return Width::kPkF16;
    case DataType::kF32:
      return Width::kF32;
    case DataType::kF64:
      return Width::kF64;
    default:
      return std::nullopt;
  }
}

uint64_t DestBits(const Transition& t, const WaveState& s, int lane) {
  int row = DestRow(t);
  uint64_t x = s.lane(row, lane);
  return DestDwords(t) == 2 ? x | static_cast<uint64_t>(s.lane(row + 1, lane)) << 32 : x;
}

double Clamped(double x) { return x > 0 ? std::fmin(x, 1) : 0; }

// Result bits for `plain`, which has neither scale nor clamp.
uint64_t Modified(Width width, uint64_t plain, double scale, bool clamp, bool flush) {
  auto change = [&](double x) {
    x *= scale;
    if (scale != 1 && x == 0) x = 0;
    return clamp ? Clamped(x) : x;
  };
  switch (width) {
    case Width::kF64:
      return std::bit_cast<uint64_t>(change(std::bit_cast<double>(plain)));
    case Width::kF32: {
      float x = static_cast<float>(change(std::bit_cast<float>(static_cast<uint32_t>(plain))));
      if (flush && std::fpclassify(x) == FP_SUBNORMAL) x = std::copysign(0.0f, x);
      return std::bit_cast<uint32_t>(x);
    }
    case Width::kF16:
      return (plain & 0xffff0000) | NearestHalf(change(HalfValue(static_cast<uint16_t>(plain))));
    case Width::kPkF16:
      return NearestHalf(change(HalfValue(static_cast<uint16_t>(plain)))) |
             static_cast<uint32_t>(
                 NearestHalf(change(HalfValue(static_cast<uint16_t>(plain >> 16)))))
                 << 16;
  }
  return plain;
}

bool IsNanOf(Width width, uint64_t bits) {
  switch (width) {
    case Width::kF64:
      return std::isnan(std::bit_cast<double>(bits));
    case Width::kF32:
      return std::isnan(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    default:
      return std::isnan(HalfValue(static_cast<uint16_t>(bits)));
  }
}

// mul:2, mul:4, div:2. They are ignored where results keep denormals.
bool OutputModifier(Transition* t) {
  const Inst& inst = t->inst;
  std::optional<Width> width = ResultWidth(*t);
  if (!inst.form->Has(Mod::kOmod) || inst.Get(Mod::kOmod) == 0 || !width.has_value()) return false;
  bool keeps = t->mode >> (*width == Width::kF32 ? 5 : 7) & 1;
  if (keeps) return false;
  static constexpr double kScales[] = {1, 2, 4, 0.5};
  double scale = kScales[inst.Get(Mod::kOmod)];
  bool clamp = inst.form->Has(Mod::kClamp) && inst.Get(Mod::kClamp);
  Inst plain = inst, unscaled = inst;
  plain.Set(Mod::kOmod, 0);
  if (clamp) plain.Set(Mod::kClamp, 0);
  unscaled.Set(Mod::kOmod, 0);
  std::optional<Transition> p = With(*t, plain), next = With(*t, unscaled);
  if (!p.has_value() || !next.has_value()) return false;
  if (DestRow(*t) < 0) {  // Scalar transcendental functions.
    int s = t->inst.operands[DestPosition(inst, 0)].code;
    if (s >= 128) return false;
    WaveState rest = t->got;
    rest.sgprs[s] = p->got.sgprs[s];
    if (!(rest == p->got) ||
        t->got.sgprs[s] != Modified(*width, p->got.sgprs[s], scale, clamp, true)) {
      return false;
    }
  } else if (!SameButDest(*t, t->got, p->got, [&](int l) {
               uint64_t before = DestBits(*t, p->got, l), after = DestBits(*t, t->got, l);
               if (IsNanOf(*width, before) && !clamp) return IsNanOf(*width, after);
               return after == Modified(*width, before, scale, clamp, true);
             })) {
    return false;
  }
  *t = *next;
  return true;
}

// Clamping of float results, which the recorder leaves out of some instructions.
bool FloatClamp(Transition* t) {
  const Inst& inst = t->inst;
  std::optional<Width> width = ResultWidth(*t);
  if (!inst.form->Has(Mod::kClamp) || !inst.Get(Mod::kClamp) || !width.has_value()) return false;
  Inst plain = inst;
  plain.Set(Mod::kClamp, 0);
  std::optional<Transition> next = With(*t, plain);
  if (!next.has_value()) return false;
  if (DestRow(*t) < 0) {
    int s = t->inst.operands[DestPosition(inst, 0)].code;
    if (s >= 128) return false;
    WaveState expected = next->got;
    expected.sgprs[s] = static_cast<uint32_t>(Modified(*width, next->got.sgprs[s], 1, true, false));
    if (!(expected == t->got)) return false;
  } else if (!SameButDest(*t, t->got, next->got, [&](int l) {
               return DestBits(*t, t->got, l) ==
                      Modified(*width, DestBits(*t, next->got, l), 1, true, false);
             })) {
    return false;
  }
  *t = *next;
  return true;
}

// -0 clamps to +0; the recorder keeps it.
bool ClampedZero(Transition* t) {
  if (!t->inst.form->Has(Mod::kClamp) || !t->inst.Get(Mod::kClamp)) return false;
  std::optional<Width> width = ResultWidth(*t);
  if (!width.has_value()) return false;
  uint64_t minus = *width == Width::kF64 ? uint64_t{1} << 63 : 0x80000000;
  WaveState want = t->want;
  return ExplainLanes(t, [&](int l, uint64_t got) {
    return got == 0 && DestBits(*t, want, l) == minus && *width != Width::kPkF16;
  });
}

// Halves of packed operands: which, and whether their signs are flipped.
struct Halves {
  uint32_t op_sel, op_sel_hi, neg_lo, neg_hi;
};

// What the recorder makes of integers: `plain`, on sources whose halves are selected and flipped by
// `h`, addends of dot products included.
std::optional<Transition> WithHalves(const Transition& t, const Inst& plain, const Halves& h) {
  Transition changed = t;
  changed.inst = plain;
  if (plain.form->Has(Mod::kOpSel)) changed.inst.Set(Mod::kOpSel, 0);
  if (plain.form->Has(Mod::kOpSelHi)) changed.inst.Set(Mod::kOpSelHi, 7);
  for (int n = 0; n < 3; ++n) {
    int position = SourcePosition(plain, n);
    if (position < 0 || plain.form->specs[position].dwords != 1) break;
    for (int l = 0; l < 64; ++l) {
      uint32_t x = static_cast<uint32_t>(SourceBits(t, n, l));
      uint32_t lo = (x >> (h.op_sel >> n & 1 ? 16 : 0) & 0xffff) ^ (h.neg_lo >> n & 1) << 15;
      uint32_t hi = (x >> (h.op_sel_hi >> n & 1 ? 16 : 0) & 0xffff) ^ (h.neg_hi >> n & 1) << 15;
      changed.in.lane(240 + n, l) = lo | hi << 16;
    }
    changed.inst.operands[position] = Vgpr(240 + n);
  }
  std::optional<Transition> r = With(changed, changed.inst);
  if (!r.has_value()) return std::nullopt;
  for (int n = 0; n < 3; ++n) {
    for (int l = 0; l < 64; ++l) r->got.lane(240 + n, l) = t.in.lane(240 + n, l);
  }
  r->in = t.in;
  return r;
}

// neg_lo and neg_hi of integers mean nothing; the recorder flips the signs of what the operands
// select.
bool IntegerNegation(Transition* t) {
  const Inst& inst = t->inst;
  if (!inst.form->Has(Mod::kNegLo) || (inst.Get(Mod::kNegLo) | inst.Get(Mod::kNegHi)) == 0) {
    return false;
  }
  Inst plain = inst;
  plain.Set(Mod::kNegLo, 0);
  plain.Set(Mod::kNegHi, 0);
  std::optional<Transition> p = With(*t, plain);
  if (!p.has_value() || !(p->got == t->got)) return false;
  uint32_t op_sel = inst.form->Has(Mod::kOpSel) ? inst.Get(Mod::kOpSel) : 0;
  uint32_t op_sel_hi = inst.form->Has(Mod::kOpSelHi) ? inst.Get(Mod::kOpSelHi) : 7;
  std::optional<Transition> f =
      WithHalves(*t, plain, {op_sel, op_sel_hi, inst.Get(Mod::kNegLo), inst.Get(Mod::kNegHi)});
  if (!f.has_value()) return false;
  *t = *f;
  return true;
}

// op_sel of dot products of nibbles is reserved, and decoding refuses it; the recorder selects
// halves by it.
bool ReservedBits(Transition* t) {
  if (!t->reserved.has_value() || !absl::StrContains(t->inst.form->name, "v_dot8")) return false;
  std::optional<Transition> without = With(*t, t->inst);
  if (!without.has_value() || !(without->got == t->got)) return false;
  std::optional<Transition> f =
      WithHalves(*t, t->inst, {t->reserved->op_sel, t->reserved->op_sel_hi, 0, 0});
  if (!f.has_value()) return false;
  *t = *f;
  t->reserved.reset();
  return true;
}

// Saturation of integer results, computed from the same instruction's operands.
bool IntegerClamp(Transition* t) {
  if (!t->inst.form->Has(Mod::kClamp) || !t->inst.Get(Mod::kClamp)) return false;
  std::string_view name = t->inst.form->name;
  Transition& x = *t;
  auto u = [&x](int n, int l) {
    return static_cast<int64_t>(static_cast<uint32_t>(SourceBits(x, n, l)));
  };
  auto i16 = [&x](int n, int l) {
    return static_cast<int64_t>(static_cast<int16_t>(Source16(x, n, l)));
  };
  auto cut = [](int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; };
  return ExplainLanes(t, [&](int l, uint64_t got) {
    if (name == "v_sad_u32") {
      int64_t d = std::abs(u(0, l) - u(1, l));
      return got == static_cast<uint64_t>(cut(d + u(2, l), 0, 0xffffffff));
    }
    if (name == "v_sub_i16") {
      return (got & 0xffff) == static_cast<uint16_t>(cut(i16(0, l) - i16(1, l), -32768, 32767));
    }
    if (name == "v_mad_i32_i24") {
      auto i24 = [&](int n) { return static_cast<int64_t>(u(n, l) << 40) >> 40; };
      int64_t v = i24(0) * i24(1) + static_cast<int32_t>(u(2, l));
      return got == static_cast<uint32_t>(cut(v, INT32_MIN, INT32_MAX));
    }
    if (name == "v_sub_u32" || name == "v_sub_nc_u32") {
      return got == static_cast<uint64_t>(cut(u(0, l) - u(1, l), 0, 0xffffffff));
    }
    return false;
  });
}

// DPP: lanes that row_mask and bank_mask exclude keep their value, and so do those without a source
// unless bound_ctrl gives them 0. The recorder writes them.
bool DppMasks(Transition* t) {
  const Inst& inst = t->inst;
  if (inst.form->extra != Extra::kDpp16 || DestRow(*t) < 0) return false;
  Inst open = inst;
  open.Set(Mod::kRowMask, 15);
  open.Set(Mod::kBankMask, 15);
  open.Set(Mod::kBoundCtrl, 1);
  std::optional<Transition> all = With(*t, open);
  if (!all.has_value()) return false;
  bool bound = inst.Get(Mod::kBoundCtrl);
  WaveState expected = all->got, next = t->got;
  int second = DestPosition(inst, 1);
  bool any = false;
  for (int l = 0; l < t->wave_size(); ++l) {
    if (DppEnabled(*t, l) && (bound || DppSource(*t, l) >= 0)) continue;
    any = true;
    for (int d = 0; d < DestDwords(*t); ++d) {
      expected.lane(DestRow(*t) + d, l) = t->in.lane(DestRow(*t) + d, l);
      next.lane(DestRow(*t) + d, l) = t->want.lane(DestRow(*t) + d, l);
    }
    // Lane masks: bits of lanes that are not written are 0.
    if (second >= 0 && inst.operands[second].code < 127) {
      size_t word = inst.operands[second].code + static_cast<size_t>(l / 32);
      uint32_t bit = 1u << (l % 32);
      expected.sgprs[word] &= ~bit;
      next.sgprs[word] = (next.sgprs[word] & ~bit) | (t->want.sgprs[word] & bit);
    }
  }
  if (!any || !(expected == t->got)) return false;
  t->got = next;
  return true;
}

// SDWA, UNUSED_SEXT: the bits above a selected byte or half repeat its sign.
bool SdwaSignExtension(Transition* t) {
  const Inst& inst = t->inst;
  if (inst.form->extra != Extra::kSdwa || inst.Get(Mod::kDstUnused) != 1) return false;
  Inst padded = inst;
  padded.Set(Mod::kDstUnused, 0);
  std::optional<Transition> next = With(*t, padded);
  if (!next.has_value()) return false;
  uint32_t select = inst.Get(Mod::kDstSel);
  if (select == 6) return false;
  int top =
      select < 4 ? static_cast<int>(8 * select + 7) : static_cast<int>(16 * (select - 4) + 15);
  if (!SameButDest(*t, t->got, next->got, [&](int l) {
        uint64_t x = DestBits(*t, next->got, l);
        if (x >> top & 1) x |= 0xffffffff & ~((uint64_t{2} << top) - 1);
        return DestBits(*t, t->got, l) == x;
      })) {
    return false;
  }
  *t = *next;
  return true;
}

// SDWA: the recorder does not extend the sign of a source; sext() of all 32 bits changes nothing.
bool SdwaClamp(Transition* t) {
  const Inst& inst = t->inst;
  if (inst.form->extra != Extra::kSdwa || !inst.Get(Mod::kClamp)) return false;
  std::string_view name = inst.form->name;
  Inst plain = inst;
  plain.Set(Mod::kClamp, 0);
  std::optional<Transition> next = With(*t, plain);
  if (!next.has_value()) return false;
  uint32_t select = inst.Get(Mod::kDstSel);
  int shift = select < 4   ? static_cast<int>(8 * select)
              : select < 6 ? static_cast<int>(16 * (select - 4))
                           : 0;
  uint32_t mask = select < 4 ? 0xff : select < 6 ? 0xffff : 0xffffffff;
  const Transition& x = *t;
  auto expected = [&](int l) -> uint64_t {
    uint64_t a = static_cast<uint32_t>(SourceBits(x, 0, l)),
             b = static_cast<uint32_t>(SourceBits(x, 1, l));
    uint64_t plain_bits = DestBits(x, next->got, l);
    uint32_t r;
    if (absl::StartsWith(name.data(), "v_add")) {
      r = a + b > 0xffffffff ? 0xffffffff : static_cast<uint32_t>(a + b);
    } else if (absl::StartsWith(name.data(), "v_sub_")) {
      r = a < b ? 0 : static_cast<uint32_t>(a - b);
    } else {  // Floats.
      std::optional<Width> width = ResultWidth(x);
      if (!width.has_value() || select != 6) return ~uint64_t{0};
      uint64_t r64 = Modified(*width, plain_bits & (*width == Width::kF16 ? 0xffff : ~uint64_t{0}),
                              1, true, false);
      return inst.Get(Mod::kDstUnused) == 2 && *width == Width::kF16
                 ? (plain_bits & 0xffff0000) | r64
                 : r64;
    }
    return static_cast<uint64_t>(r & mask) << shift;
  };
  if (!SameButDest(*t, t->got, next->got,
                   [&](int l) { return DestBits(x, t->got, l) == expected(l); })) {
    return false;
  }
  *t = *next;
  return true;
}

// Operands that are apertures: the recorder's are at 0.
bool Aperture(Transition* t) {
  Transition as_register = *t;
  Inst zero = t->inst;
  bool any = false;
  for (int i = 0; i < t->inst.num_operands; ++i) {
    Operand& o = as_register.inst.operands[i];
    uint64_t value;
    switch (o.code) {
      case code::kSrcSharedBase:
        value = uint64_t{0x00010000} << 32;
        break;
      case code::kSrcSharedLimit:
        value = uint64_t{0x00010000} << 32 | 0xffffffff;
        break;
      case code::kSrcPrivateBase:
        value = uint64_t{0x00020000} << 32;
        break;
      case code::kSrcPrivateLimit:
        value = uint64_t{0x00020000} << 32 | 0xffffffff;
        break;
      default:
        continue;
    }
    if (o.kind != OperandKind::kSpecial) continue;
    any = true;
    // ttmp14 and ttmp15 are in no recording.
    as_register.in.sgprs[122] = static_cast<uint32_t>(value);
    as_register.in.sgprs[123] = static_cast<uint32_t>(value >> 32);
    uint8_t mods = o.mods, dwords = o.dwords;
    o = Ttmp(14, dwords);
    o.mods = mods;
    zero.operands[i] = InlineInt(0);
    zero.operands[i].mods = mods;
    zero.operands[i].dwords = dwords;
  }
  if (!any) return false;
  std::optional<Transition> same = With(as_register, as_register.inst), next = With(*t, zero);
  if (!same.has_value() || !next.has_value()) return false;
  same->got.sgprs[122] = t->in.sgprs[122];
  same->got.sgprs[123] = t->in.sgprs[123];
  if (!(same->got == t->got)) return false;
  *t = *next;
  return true;
}

// NaNs have no defined sign and payload: ours is one where the recorder's is.
bool NanPayload(Transition* t) {
  std::optional<Width> width = ResultWidth(*t);
  if (!width.has_value()) return false;
  WaveState want = t->want;
  return ExplainLanes(t, [&](int l, uint64_t got) {
    uint64_t recorded = DestBits(*t, want, l);
    if (*width != Width::kPkF16) return IsNanOf(*width, got) && IsNanOf(*width, recorded);
    for (int i = 0; i < 32; i += 16) {
      uint16_t a = static_cast<uint16_t>(got >> i), b = static_cast<uint16_t>(recorded >> i);
      if (a != b && !(std::isnan(HalfValue(a)) && std::isnan(HalfValue(b)))) return false;
    }
    return true;
  });
}

// Where MODE flushes denormal operands, minimum, maximum and the like give zeros; the recorder
// passes denormals on.
bool FlushedDenormal(Transition* t) {
  // Of a VOPD pair, both names.
  std::string name = std::string(t->inst.form->name) + std::string(SecondMnemonic(*t->inst.form));
  bool f64 = name.find("f64") != std::string::npos;
  bool selects = name.find("_min") != std::string::npos || name.find("_max") != std::string::npos ||
                 name.find("_cube") != std::string_view::npos;
  if (!selects || (!f64 && name.find("f32") == std::string_view::npos)) return false;
  if (t->mode >> (f64 ? 6 : 4) & 1) return false;
  bool any = false;
  for (int n = 0, p; (p = DestPosition(t->inst, n)) >= 0; ++n) {
    const Operand& o = t->inst.operands[p];
    if (o.kind != OperandKind::kVgpr || o.dwords != (f64 ? 2 : 1)) continue;
    int row = o.code - code::kVgpr0;
    for (int l = 0; l < t->wave_size(); ++l) {
      auto bits = [&](const WaveState& s) {
        return f64 ? s.lane(row, l) | static_cast<uint64_t>(s.lane(row + 1, l)) << 32
                   : static_cast<uint64_t>(s.lane(row, l)) << 32;
      };
      uint64_t got = bits(t->got), want = bits(t->want);
      if (got == want) continue;
      // As doubles or floats in the upper half: no exponent, the same sign, and ours a zero.
      uint64_t exponent = f64 ? 0x7ff0000000000000 : 0x7f80000000000000;
      if ((want & exponent) != 0 || got << 1 != 0 || (got ^ want) >> 63 != 0) return false;
      any = true;
      for (int d = 0; d < o.dwords; ++d) t->got.lane(row + d, l) = t->want.lane(row + d, l);
    }
  }
  return any;
}

constexpr DifferenceRule kRules[] = {
    {"reserved-bits", ReservedBits},
    {"nan-payload", NanPayload},
    {"flushed-denormal", FlushedDenormal},
    {"output-modifier", OutputModifier},
    {"float-clamp", FloatClamp},
    {"clamped-zero", ClampedZero},
    {"integer-clamp", IntegerClamp},
    {"integer-neg", IntegerNegation},
    {"dpp-masks", DppMasks},
    {"sdwa-sext", SdwaSignExtension},
    {"sdwa-clamp", SdwaClamp},
    {"aperture", Aperture},
};

}  // namespace

absl::Span<const DifferenceRule> ModifierDifferences() { return kRules; }

}  // namespace tg::amd::sim
