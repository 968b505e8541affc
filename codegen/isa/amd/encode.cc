#include "codegen/isa/amd/encode.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "codegen/isa/amd/register_file.h"
#include "codegen/isa/amd/table_data.h"

namespace tg::amd {

using internal::DataOf;
using internal::Enc;
using internal::FormData;
using internal::Kind;
using internal::ModEnc;

namespace {

struct Writer {
  uint64_t w[3] = {0, 0, 0};
  void Put(int lo, int bits, uint32_t v) {
    w[lo >> 6] |= static_cast<uint64_t>(v & ((1ull << bits) - 1)) << (lo & 63);
  }
  void Set(int at) { w[at >> 6] |= 1ull << (at & 63); }
};

struct Problem {
  EncodeError code = EncodeError::kOk;
  const char* reason = "";
};

constexpr Problem kFine;

Problem WantVgpr(const Operand& o, int dwords, Isa isa) {
  if (o.kind != OperandKind::kVgpr) return {EncodeError::kOperandKind, "must be a VGPR"};
  if (o.dwords != dwords) return {EncodeError::kOperandWidth, "spans a wrong number of registers"};
  if (o.index() < 0 || o.index() + dwords > 256)
    return {EncodeError::kOperandRange, "there are 256 VGPRs"};
  if (!internal::VgprOk(o.index(), dwords, isa)) {
    return {EncodeError::kOperandAlign, "must start at an even register"};
  }
  return kFine;
}

Problem WantAcc(const Operand& o, int dwords, Isa isa) {
  if (o.kind != OperandKind::kAccVgpr) return {EncodeError::kOperandKind, "must be an AccVGPR"};
  if (o.dwords != dwords) return {EncodeError::kOperandWidth, "spans a wrong number of registers"};
  if (o.index() + dwords > 256) return {EncodeError::kOperandRange, "there are 256 AccVGPRs"};
  if (!internal::VgprOk(o.index(), dwords, isa)) {
    return {EncodeError::kOperandAlign, "must start at an even register"};
  }
  return kFine;
}

// Scalars and constants: codes below 256.
Problem WantScalar(const Operand& o, int dwords, bool constants, bool literal, Isa isa) {
  switch (o.kind) {
    case OperandKind::kSgpr:
    case OperandKind::kTtmp:
    case OperandKind::kSpecial: {
      if (o.code >= 256) return {EncodeError::kOperandKind, "must be a scalar register"};
      if (o.code >= 128) {
        if (!constants)
          return {EncodeError::kOperandKind, "must be a scalar register that can be written"};
        bool known = (o.code >= code::kSrcSharedBase && o.code <= code::kSrcPopsExitingWaveId) ||
                     (o.code >= code::kSrcVccz && o.code <= code::kSrcScc);
        return known ? kFine : Problem{EncodeError::kOperandKind, "no such register"};
      }
      bool any = o.code == internal::Null(isa);
      if (!any && o.dwords != dwords)
        return {EncodeError::kOperandWidth, "spans a wrong number of registers"};
      OperandKind kind = internal::ScalarKind(o.code, dwords, isa);
      if (kind == OperandKind::kNone) {
        int last = o.kind == OperandKind::kTtmp ? code::kTtmp0 + 16 : IsRdna(isa) ? 106 : 102;
        if (o.kind != OperandKind::kSpecial && o.code + dwords > last) {
          return {EncodeError::kOperandRange, "past the last register"};
        }
        return {EncodeError::kOperandAlign, dwords == 2
                                                ? "a pair must start at an even register"
                                                : "a tuple must start at a multiple of four"};
      }
      if (kind != o.kind) return {EncodeError::kOperandKind, "no such register"};
      return kFine;
    }
    case OperandKind::kInline:
      if (!constants) return {EncodeError::kOperandKind, "must be a register"};
      if (o.code < code::kInlineInt0 || o.code > code::kInlineInv2Pi ||
          (o.code > 208 && o.code < code::kInlineFloat0)) {
        return {EncodeError::kOperandRange, "not an inline constant"};
      }
      return kFine;
    case OperandKind::kLiteral:
      if (!constants) return {EncodeError::kOperandKind, "must be a register"};
      if (!literal) return {EncodeError::kLiteral, "this encoding has no room for a literal"};
      return kFine;
    default:
      return {EncodeError::kOperandKind,
              constants ? "must be a scalar register or a constant" : "must be a scalar register"};
  }
}

bool IsVectorAlu(Format format) {
  switch (format) {
    case Format::kVop1:
    case Format::kVop2:
    case Format::kVopc:
    case Format::kVop3:
    case Format::kVop3sd:
    case Format::kVop3p:
      return true;
    default:
      return false;
  }
}

// Vector instructions read few different scalar values ("constant bus"): one on CDNA, two on RDNA,
// where 64-bit shifts read one. Source: RDNA 3 ISA, "Scalar operands and literals"; CDNA 3 ISA,
// section 4.3. Returns the position of the first operand that is one too many, or -1.
int OverConstantBus(const Inst& inst, Isa isa) {
  const Form& form = *inst.form;
  if (!IsVectorAlu(form.format)) return -1;
  int limit = IsCdna(isa) ? 1 : 2;
  if (form.op == Op::kVLshlrevB64 || form.op == Op::kVLshrrevB64 || form.op == Op::kVAshrrevI64) {
    limit = 1;
  }
  uint16_t seen[3];
  int count = 0;
  if ((form.reads & kImplVcc) != 0) seen[count++] = code::kVccLo;
  for (int i = 0; i < inst.num_operands; ++i) {
    if (form.specs[i].role != Role::kSrc) continue;
    const Operand& o = inst.operands[static_cast<size_t>(i)];
    const bool scalar = o.kind == OperandKind::kSgpr || o.kind == OperandKind::kTtmp ||
                        o.kind == OperandKind::kLiteral ||
                        (o.kind == OperandKind::kSpecial && o.code != code::kNullRdna);
    if (!scalar || std::find(seen, seen + count, o.code) != seen + count) continue;
    if (count == limit) return i;
    seen[count++] = o.code;
  }
  return -1;
}

class Encoder {
 public:
  Encoder(const Inst& inst, Isa isa, EncodeChecks checks)
      : inst_(inst), f_(DataOf(inst.form)), isa_(isa), checks_(checks) {}

  EncodeResult Run(uint8_t* out);

 private:
  Problem Place(int i);
  Problem PutHalf(const Operand& o, const Enc& e);
  void PutField(const Enc& e, uint32_t v) {
    writer_.Put(e.lo, e.bits, v);
    if (e.bits2 != 0) writer_.Put(e.lo2, e.bits2, v >> e.bits);
  }
  Problem UseLiteral(uint32_t value) {
    if (has_literal_ && literal_ != value) return {EncodeError::kLiteral, "two different literals"};
    has_literal_ = true;
    literal_ = value;
    return kFine;
  }
  Problem PlaceMods();

  const Inst& inst_;
  const FormData& f_;
  Isa isa_;
  EncodeChecks checks_;
  Writer writer_;
  bool has_literal_ = false;
  uint32_t literal_ = 0;
};

// The scalar or constant of a source field, literal included.
Problem Encoder::Place(int i) {
  const OperandSpec& spec = f_.form.specs[i];
  const Enc& e = f_.encs[i];
  const Operand& o = inst_.operands[static_cast<size_t>(i)];
  uint8_t allowed = 0;
  if (e.neg != 255) allowed |= kNeg;
  if (e.abs != 255) allowed |= kAbs;
  if (e.sext != 255) allowed |= kSext;
  bool half_class = spec.cls == OperandClass::kVgpr16 || spec.cls == OperandClass::kSrc16;
  if (half_class && o.kind == OperandKind::kVgpr) allowed |= kHalf | kHigh;
  if ((o.mods & ~allowed) != 0) {
    return {EncodeError::kOperandModifier, o.mods & ~allowed & (kHalf | kHigh)
                                               ? "takes a whole register, not a half"
                                               : "takes no such modifier"};
  }
  if (o.mods & kNeg) writer_.Set(e.neg);
  if (o.mods & kAbs) writer_.Set(e.abs);
  if (o.mods & kSext) writer_.Set(e.sext);
  int dwords = spec.dwords;
  Problem p;
  auto scalar = [&](bool constants) {
    p = WantScalar(o, dwords, constants, f_.form.literal, isa_);
    if (p.code == EncodeError::kOk && o.kind == OperandKind::kLiteral) {
      p = UseLiteral(static_cast<uint32_t>(o.value));
    }
    return p.code == EncodeError::kOk;
  };
  switch (e.kind) {
    case Kind::kVgpr:
      p = WantVgpr(o, dwords, isa_);
      if (p.code == EncodeError::kOk)
        PutField(e, static_cast<uint32_t>(o.index()) | (e.bits == 9 ? 256 : 0));
      return p;
    case Kind::kVgpr16Low:
    case Kind::kSrc16Low:
    case Kind::kVgpr16:
    case Kind::kSrc16: {
      bool source = e.kind == Kind::kSrc16Low || e.kind == Kind::kSrc16;
      bool low = e.kind == Kind::kSrc16Low || e.kind == Kind::kVgpr16Low;
      if (source && o.kind != OperandKind::kVgpr) {
        if (scalar(true)) PutField(e, o.code);
        return p;
      }
      p = WantVgpr(o, 1, isa_);
      if (p.code != EncodeError::kOk) return p;
      uint32_t v = static_cast<uint32_t>(o.index());
      bool high = (o.mods & kHigh) != 0;
      if (low) {
        if (v > 127)
          return {EncodeError::kOperandRange, "this encoding names halves of v0 to v127 only"};
        v |= high ? 128 : 0;
      } else if (high) {
        if (e.high == 255) return {EncodeError::kOperandModifier, "takes the low half"};
        writer_.Set(e.high);
      }
      PutField(e, v | (e.bits == 9 ? 256 : 0));
      return kFine;
    }
    case Kind::kSrc:
      if (o.kind == OperandKind::kVgpr) {
        p = WantVgpr(o, dwords, isa_);
        if (p.code == EncodeError::kOk) PutField(e, o.code);
      } else if (scalar(true)) {
        PutField(e, o.code);
      }
      return p;
    case Kind::kVgprAcc:
    case Kind::kAcc:
    case Kind::kSrcAccConst:
      if (o.kind == OperandKind::kAccVgpr) {
        if (e.acc == 255 && e.kind != Kind::kAcc)
          return {EncodeError::kOperandKind, "must be a VGPR"};
        p = WantAcc(o, dwords, isa_);
        if (p.code != EncodeError::kOk) return p;
        if (e.acc != 255) writer_.Set(e.acc);
        PutField(e, static_cast<uint32_t>(o.index()) | (e.bits == 9 ? 256 : 0));
        return kFine;
      }
      if (e.kind == Kind::kAcc) return {EncodeError::kOperandKind, "must be an AccVGPR"};
      if (o.kind == OperandKind::kVgpr) {
        p = WantVgpr(o, dwords, isa_);
        if (p.code == EncodeError::kOk) {
          PutField(e, static_cast<uint32_t>(o.index()) | (e.bits == 9 ? 256 : 0));
        }
        return p;
      }
      if (e.kind == Kind::kVgprAcc)
        return {EncodeError::kOperandKind, "must be a VGPR or an AccVGPR"};
      if (o.kind != OperandKind::kInline && !(o.kind == OperandKind::kLiteral && f_.form.literal)) {
        return {EncodeError::kOperandKind, "must be a VGPR, an AccVGPR or an inline constant"};
      }
      if (scalar(true)) PutField(e, o.code);
      return p;
    case Kind::kSsrc:
      if (scalar(true)) PutField(e, o.code);
      return p;
    case Kind::kSoffset:
      if (o.kind == OperandKind::kLiteral) return {EncodeError::kLiteral, "takes no literal"};
      if (scalar(e.bits == 8)) PutField(e, o.code);
      return p;
    case Kind::kSreg:
      if (scalar(false)) PutField(e, o.code);
      return p;
    case Kind::kSbase:
    case Kind::kSrsrc:
      if (scalar(false)) {
        int shift = e.kind == Kind::kSbase ? 1 : 2;
        if (o.code & ((1 << shift) - 1))
          return {EncodeError::kOperandAlign, "tuple is not aligned"};
        PutField(e, static_cast<uint32_t>(o.code >> shift));
      }
      return p;
    case Kind::kSdwaSrc:
      if (o.kind == OperandKind::kVgpr) {
        p = WantVgpr(o, dwords, isa_);
        if (p.code == EncodeError::kOk) PutField(e, static_cast<uint32_t>(o.index()));
      } else if (scalar(true)) {
        PutField(e, 256u | o.code);
      }
      return p;
    case Kind::kSdwaSdst:
      if (!scalar(false)) return p;
      PutField(e, o.code == code::kVccLo ? 0 : 128u | o.code);
      return kFine;
    case Kind::kVdstY: {
      p = WantVgpr(o, dwords, isa_);
      if (p.code != EncodeError::kOk) return p;
      const Operand* x = inst_.Find(OperandName::kVdstX);
      if (((x->index() ^ o.index()) & 1) == 0) {
        return {EncodeError::kConstraint, "one destination must be an even, the other an odd VGPR"};
      }
      PutField(e, static_cast<uint32_t>(o.index()) >> 1);
      return kFine;
    }
    case Kind::kVcc:
      if (o.kind != OperandKind::kSpecial || o.code != code::kVccLo) {
        return {EncodeError::kOperandKind, "must be vcc"};
      }
      return o.dwords == dwords ? kFine
                                : Problem{EncodeError::kOperandWidth, "vcc has the wave's width"};
    case Kind::kM0:
      return o.kind == OperandKind::kSpecial && o.code == internal::M0(isa_)
                 ? kFine
                 : Problem{EncodeError::kOperandKind, "must be m0"};
    case Kind::kOff:
      return o.kind == OperandKind::kNone ? kFine
                                          : Problem{EncodeError::kOperandKind, "must be off"};
    case Kind::kLit32:
    case Kind::kLit16:
      if (o.kind != OperandKind::kLiteral) return {EncodeError::kOperandKind, "must be a literal"};
      return UseLiteral(static_cast<uint32_t>(o.value));
    case Kind::kMatA:
    case Kind::kMatB: {
      dwords = internal::MatrixDwords(inst_.Get(e.kind == Kind::kMatA ? Mod::kCbsz : Mod::kBlgp));
      if (dwords == 0) return {EncodeError::kModifier, "reserved matrix format"};
      bool acc = o.kind == OperandKind::kAccVgpr;
      p = acc ? WantAcc(o, dwords, isa_) : WantVgpr(o, dwords, isa_);
      if (p.code != EncodeError::kOk) return p;
      if (acc) writer_.Set(e.acc);
      PutField(e, static_cast<uint32_t>(o.index()) | 256);
      return kFine;
    }
    case Kind::kImgLast:
    case Kind::kBufAddr:
    case Kind::kImgAddr:
    case Kind::kImgData:
    case Kind::kBufData: {
      int n = e.kind == Kind::kBufAddr
                  ? static_cast<int>(inst_.Get(Mod::kOffen) + inst_.Get(Mod::kIdxen))
              : e.kind == Kind::kBufData ? dwords + static_cast<int>(inst_.Get(Mod::kTfe))
              : e.kind == Kind::kImgData ? internal::ImageDataDwords(inst_, dwords)
                                         : internal::ImageAddressDwords(inst_, dwords);
      if (e.kind == Kind::kImgLast && n > 1 && !internal::IsLastAddress(inst_, spec.name)) {
        return {EncodeError::kOperandCount, "the address needs more registers"};
      }
      if (n < 0) return {EncodeError::kOperandCount, "the address needs fewer registers"};
      if (n > 12) n = 16;
      if (n == 0) {
        return o.kind == OperandKind::kNone ? kFine
                                            : Problem{EncodeError::kOperandKind, "must be off"};
      }
      if (o.kind == OperandKind::kAccVgpr && e.acc != 255) {
        p = WantAcc(o, n, isa_);
        if (p.code == EncodeError::kOk) writer_.Set(e.acc);
      } else {
        p = WantVgpr(o, n, isa_);
      }
      if (p.code == EncodeError::kOk) PutField(e, static_cast<uint32_t>(o.index()));
      return p;
    }
    case Kind::kSmemOffset:
      if (o.kind != OperandKind::kImm) return {EncodeError::kOperandKind, "must be a number"};
      if (o.value < -(1 << (e.bits - 1)) || o.value >= 1 << (e.bits - 1)) {
        return {EncodeError::kOperandRange, "does not fit its field"};
      }
      PutField(e, static_cast<uint32_t>(o.value));
      return kFine;
    case Kind::kUnused:
      if (o.kind != OperandKind::kNone) {
        return {EncodeError::kOperandCount, "the instruction has fewer operands"};
      }
      PutField(e, static_cast<uint32_t>(o.value));
      return kFine;
    case Kind::kExpSrc:
      if ((inst_.Get(Mod::kEn) >> ((e.lo - 32) / 8) & 1) == 0) {
        if (o.kind != OperandKind::kNone)
          return {EncodeError::kOperandKind, "must be off, as en says"};
        PutField(e, o.code & 255u);
        return kFine;
      }
      p = WantVgpr(o, 1, isa_);
      if (p.code == EncodeError::kOk) PutField(e, static_cast<uint32_t>(o.index()));
      return p;
    case Kind::kImm:
    case Kind::kSimm16: {
      if (o.kind != OperandKind::kImm) return {EncodeError::kOperandKind, "must be a number"};
      int bits = e.bits + e.bits2;
      if (o.value >= 0 ? static_cast<int64_t>(o.value) >> bits != 0 : true) {
        return {EncodeError::kOperandRange, "does not fit its field"};
      }
      PutField(e, static_cast<uint32_t>(o.value));
      return kFine;
    }
  }
  return {EncodeError::kOperandKind, "unknown operand"};
}

Problem Encoder::PlaceMods() {
  uint64_t has = f_.form.mods;
  for (int i = 0; i < f_.num_mods; ++i) {
    const ModEnc& m = f_.mod_encs[i];
    uint32_t v = inst_.Get(m.mod) + m.bias;
    int bits = m.bits + m.bits2 + m.bits3;
    bool fits = m.is_signed ? static_cast<int32_t>(v) >= -(1 << (bits - 1)) &&
                                  static_cast<int32_t>(v) < 1 << (bits - 1)
                            : bits == 32 || v >> bits == 0;
    if (!fits || (m.bias != 0 && inst_.Get(m.mod) > 1))
      return {EncodeError::kModifier, "a modifier does not fit its field"};
    if (m.mod == Mod::kOpSel && f_.op_sel_mask != 0 &&
        (v & ~static_cast<uint32_t>(f_.op_sel_mask)) != 0) {
      return {EncodeError::kModifier, "op_sel of an operand that has no halves"};
    }
    writer_.Put(m.lo, m.bits, v);
    if (m.bits2 != 0) writer_.Put(m.lo2, m.bits2, v >> m.bits);
    if (m.bits3 != 0) writer_.Put(m.lo3, m.bits3, v >> (m.bits + m.bits2));
  }
  // Modifiers that the form lacks must be zero. Most of all modifiers are: eight are looked at at
  // once.
  uint64_t set = 0;
  for (int i = 0; i < kNumWideMods; ++i) {
    set |= uint64_t{inst_.wide[static_cast<size_t>(i)] != 0} << i;
  }
  for (size_t at = 0; at < inst_.narrow.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, inst_.narrow.data() + at, std::min<size_t>(8, inst_.narrow.size() - at));
    while (word != 0) {
      const int byte = std::countr_zero(word) / 8;
      set |= uint64_t{1} << (kNumWideMods + static_cast<int>(at) + byte);
      word &= ~(uint64_t{0xff} << (8 * byte));
    }
  }
  if ((set & ~has) != 0) return {EncodeError::kModifier, "the form has no such modifier"};
  // Some modifiers are part of what a form is.
  if ((writer_.w[0] & f_.mask[0]) != f_.value[0] || (writer_.w[1] & f_.mask[1]) != f_.value[1]) {
    return {EncodeError::kModifier, f_.atomic == internal::kAtomicWithoutResult
                                        ? "the form without a result takes no glc, sc0 or "
                                          "returning th"
                                        : "a modifier has a value that this form does not take"};
  }
  return kFine;
}

EncodeResult Encoder::Run(uint8_t* out) {
  const Form& form = f_.form;
  if (!form.In(isa_)) return {EncodeError::kNoInstruction, -1, "not in this instruction set", 0};
  if (inst_.num_operands != form.num_operands) {
    return {EncodeError::kOperandCount, -1, "wrong number of operands", 0};
  }
  writer_.w[0] = f_.value[0];
  writer_.w[1] = f_.value[1];
  for (int i = 0; i < form.num_operands; ++i) {
    Problem p = Place(i);
    if (p.code != EncodeError::kOk) return {p.code, static_cast<int8_t>(i), p.reason, 0};
  }
  // Operands that share the bit which tells AccVGPRs must agree.
  for (int i = 0; i < form.num_operands; ++i) {
    uint8_t at = f_.encs[i].acc;
    const Operand& o = inst_.operands[static_cast<size_t>(i)];
    if (at == 255 || (o.kind != OperandKind::kVgpr && o.kind != OperandKind::kAccVgpr)) continue;
    if ((writer_.w[at >> 6] >> (at & 63) & 1) != (o.kind == OperandKind::kAccVgpr)) {
      return {EncodeError::kConstraint, static_cast<int8_t>(i),
              "VGPR and AccVGPR in one instruction that has one bit for both", 0};
    }
  }
  Problem p = PlaceMods();
  if (p.code != EncodeError::kOk) return {p.code, -1, p.reason, 0};
  if (const char* wrong = internal::CheckForm(inst_, isa_); wrong != nullptr) {
    return {EncodeError::kConstraint, -1, wrong, 0};
  }
  if (checks_ == EncodeChecks::kAll) {
    if (const int over = OverConstantBus(inst_, isa_); over >= 0) {
      return {EncodeError::kConstantBus, static_cast<int8_t>(over),
              "more scalar registers and literals than the instruction can read", 0};
    }
  }
  int bytes = form.dwords * 4;
  if (has_literal_) {
    writer_.Put(form.dwords * 32, 32, literal_);
    bytes += 4;
  }
  std::memcpy(out, writer_.w, static_cast<size_t>(bytes));
  EncodeResult result;
  result.size = static_cast<uint8_t>(bytes);
  return result;
}

}  // namespace

const char* EncodeErrorName(EncodeError code) {
  static const char* const kNames[] = {"ok",
                                       "no instruction",
                                       "operand count",
                                       "operand kind",
                                       "operand width",
                                       "operand range",
                                       "operand alignment",
                                       "operand modifier",
                                       "literal",
                                       "constant bus",
                                       "modifier",
                                       "constraint"};
  return kNames[static_cast<int>(code)];
}

absl::Status EncodeResult::ToStatus(const Inst& inst) const {
  if (ok()) return absl::OkStatus();
  std::string text = inst.form == nullptr ? "instruction" : inst.form->mnemonic;
  if (operand >= 0) absl::StrAppend(&text, ": operand ", static_cast<int>(operand));
  return absl::InvalidArgumentError(absl::StrCat(text, ": ", reason));
}

EncodeResult Encode(const Inst& inst, Isa isa, uint8_t* out, EncodeChecks checks) {
  if (inst.form == nullptr) return {EncodeError::kNoInstruction, -1, "no instruction", 0};
  return Encoder(inst, isa, checks).Run(out);
}

EncodeResult Encode(const Inst& inst, Arch arch, std::vector<uint8_t>* out) {
  uint8_t bytes[kMaxInstBytes + 4];
  EncodeResult result = Encode(inst, IsaOf(arch), bytes);
  if (result.ok()) out->insert(out->end(), bytes, bytes + result.size);
  return result;
}

}  // namespace tg::amd
