#include "codegen/isa/amd/decode.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/isa/amd/print.h"
#include "codegen/isa/amd/register_file.h"
#include "codegen/isa/amd/table_data.h"

namespace tg::amd {

using internal::Enc;
using internal::FormData;
using internal::Kind;
using internal::ModEnc;

namespace {

// An instruction's bits, with zeros behind the end of the bytes.
struct Words {
  uint64_t w[3] = {0, 0, 0};
  uint32_t Get(int lo, int bits) const {
    return static_cast<uint32_t>(w[lo >> 6] >> (lo & 63)) & ((1u << bits) - 1);
  }
  uint32_t Dword(int n) const { return static_cast<uint32_t>(w[n >> 1] >> (n & 1) * 32); }
  bool Bit(int at) const { return w[at >> 6] >> (at & 63) & 1; }
};

inline uint32_t Field(const Words& words, const Enc& e) {
  uint32_t v = words.Get(e.lo, e.bits);
  if (e.bits2 != 0) v |= words.Get(e.lo2, e.bits2) << e.bits;
  return v;
}

// What one operand needs from the whole instruction.
struct Context {
  const Words& words;
  const FormData& form;
  Isa isa;
  uint32_t literal;
  bool* has_literal;
};

DecodeError DecodeVgpr(uint32_t index, int dwords, const Context& c, Operand* o) {
  if (!internal::VgprOk(static_cast<int>(index), dwords, c.isa)) return DecodeError::kBadRegister;
  o->kind = OperandKind::kVgpr;
  o->code = static_cast<uint16_t>(code::kVgpr0 + index);
  return DecodeError::kOk;
}

DecodeError DecodeAcc(uint32_t index, int dwords, const Context& c, Operand* o) {
  if (!internal::VgprOk(static_cast<int>(index), dwords, c.isa)) return DecodeError::kBadRegister;
  o->kind = OperandKind::kAccVgpr;
  o->code = static_cast<uint16_t>(code::kAccVgpr0 + index);
  return DecodeError::kOk;
}

// `value` below 256.
DecodeError DecodeScalar(uint32_t value, int dwords, bool constants, const Context& c, Operand* o) {
  o->code = static_cast<uint16_t>(value);
  if (value < code::kInlineInt0) {
    o->kind = internal::ScalarKind(static_cast<int>(value), dwords, c.isa);
    return o->kind == OperandKind::kNone ? DecodeError::kBadRegister : DecodeError::kOk;
  }
  if (!constants) return DecodeError::kBadRegister;
  if (value == code::kLiteral) {
    if (!c.form.form.literal) return DecodeError::kBadRegister;
    o->kind = OperandKind::kLiteral;
    o->value = static_cast<int32_t>(c.literal);
    *c.has_literal = true;
    return DecodeError::kOk;
  }
  if (value <= 208) {
    o->kind = OperandKind::kInline;
    o->value = value <= 192 ? static_cast<int32_t>(value) - 128 : 192 - static_cast<int32_t>(value);
    return DecodeError::kOk;
  }
  if (value >= code::kInlineFloat0 && value <= code::kInlineInv2Pi) {
    o->kind = OperandKind::kInline;
    return DecodeError::kOk;
  }
  if ((value >= code::kSrcSharedBase && value <= code::kSrcPopsExitingWaveId) ||
      (value >= code::kSrcVccz && value <= code::kSrcScc)) {
    o->kind = OperandKind::kSpecial;
    return DecodeError::kOk;
  }
  return DecodeError::kBadRegister;
}

DecodeError DecodeOperand(const OperandSpec& spec, const Enc& e, const Context& c, Inst* inst,
                          Operand* o) {
  const Words& words = c.words;
  uint32_t v = Field(words, e);
  int dwords = spec.dwords;
  o->dwords = spec.dwords;
  o->mods = 0;
  o->value = 0;
  if (e.neg != 255 && words.Bit(e.neg)) o->mods |= kNeg;
  if (e.abs != 255 && words.Bit(e.abs)) o->mods |= kAbs;
  if (e.sext != 255 && words.Bit(e.sext)) o->mods |= kSext;
  switch (e.kind) {
    case Kind::kVgpr:
      if (e.bits == 9) {
        if (v < 256) return DecodeError::kBadRegister;
        v -= 256;
      }
      return DecodeVgpr(v, dwords, c, o);
    case Kind::kVgpr16Low:
      if (e.bits == 9 && v < 256) return DecodeError::kBadRegister;
      o->mods |= kHalf | (v >> 7 & 1 ? kHigh : 0);
      return DecodeVgpr(v & 127, 1, c, o);
    case Kind::kVgpr16:
      if (e.bits == 9) {
        if (v < 256) return DecodeError::kBadRegister;
        v -= 256;
      }
      o->mods |= kHalf | (e.high != 255 && words.Bit(e.high) ? kHigh : 0);
      return DecodeVgpr(v, 1, c, o);
    case Kind::kSrc16Low:
      if (v < 256) return DecodeScalar(v, 1, true, c, o);
      o->mods |= kHalf | (v >> 7 & 1 ? kHigh : 0);
      return DecodeVgpr(v & 127, 1, c, o);
    case Kind::kSrc16:
      if (v < 256) return DecodeScalar(v, 1, true, c, o);
      o->mods |= kHalf | (words.Bit(e.high) ? kHigh : 0);
      return DecodeVgpr(v - 256, 1, c, o);
    case Kind::kSrc:
      if (v >= 256) return DecodeVgpr(v - 256, dwords, c, o);
      return DecodeScalar(v, dwords, true, c, o);
    case Kind::kVgprAcc:
    case Kind::kAcc:
      if (e.bits == 9) {
        if (v < 256) return DecodeError::kBadRegister;
        v -= 256;
      }
      if (e.kind == Kind::kAcc || words.Bit(e.acc)) return DecodeAcc(v, dwords, c, o);
      return DecodeVgpr(v, dwords, c, o);
    case Kind::kSrcAccConst:
      if (v >= 256) {
        if (e.acc != 255 && words.Bit(e.acc)) return DecodeAcc(v - 256, dwords, c, o);
        return DecodeVgpr(v - 256, dwords, c, o);
      }
      if (v == code::kLiteral) return DecodeScalar(v, dwords, true, c, o);
      if (v < code::kInlineInt0 || v > code::kInlineInv2Pi ||
          (v > 208 && v < code::kInlineFloat0)) {
        return DecodeError::kBadRegister;
      }
      return DecodeScalar(v, dwords, true, c, o);
    case Kind::kSsrc:
      if (v >= 256) return DecodeError::kBadRegister;
      return DecodeScalar(v, dwords, true, c, o);
    case Kind::kSoffset:
      if (v == code::kLiteral) return DecodeError::kBadRegister;
      return DecodeScalar(v, dwords, e.bits == 8, c, o);
    case Kind::kSreg:
      if (v >= 128) return DecodeError::kBadRegister;
      return DecodeScalar(v, dwords, false, c, o);
    case Kind::kSbase:
      return DecodeScalar(v << 1, dwords, false, c, o);
    case Kind::kSrsrc:
      return DecodeScalar(v << 2, dwords, false, c, o);
    case Kind::kSdwaSrc:
      if (v < 256) return DecodeVgpr(v, dwords, c, o);
      return DecodeScalar(v - 256, dwords, true, c, o);
    case Kind::kSdwaSdst:
      if (v >> 7 == 0) {
        if (v != 0) return DecodeError::kReserved;
        o->kind = OperandKind::kSpecial;
        o->code = code::kVccLo;
        return DecodeError::kOk;
      }
      if ((v & 127) == code::kVccLo) return DecodeError::kReserved;  // VCC has one encoding.
      return DecodeScalar(v & 127, dwords, false, c, o);
    case Kind::kVdstY: {
      uint32_t x = words.Get(56, 8);
      return DecodeVgpr(v << 1 | ((x & 1) ^ 1), dwords, c, o);
    }
    case Kind::kVcc:
      o->kind = OperandKind::kSpecial;
      o->code = code::kVccLo;
      return DecodeError::kOk;
    case Kind::kM0:
      o->kind = OperandKind::kSpecial;
      o->code = internal::M0(c.isa);
      return DecodeError::kOk;
    case Kind::kOff:
      o->kind = OperandKind::kNone;
      o->code = 0;
      return DecodeError::kOk;
    case Kind::kLit32:
    case Kind::kLit16:
      o->kind = OperandKind::kLiteral;
      o->code = code::kLiteral;
      o->value = static_cast<int32_t>(c.literal);
      *c.has_literal = true;
      return DecodeError::kOk;
    case Kind::kBufAddr: {
      o->dwords = static_cast<uint8_t>(inst->Get(Mod::kOffen) + inst->Get(Mod::kIdxen));
      if (o->dwords == 0) {
        o->kind = OperandKind::kNone;
        o->code = 0;
        return v == 0 ? DecodeError::kOk : DecodeError::kReserved;
      }
      return DecodeVgpr(v, o->dwords, c, o);
    }
    case Kind::kBufData:
      o->dwords = static_cast<uint8_t>(dwords + inst->Get(Mod::kTfe));
      if (e.acc != 255 && words.Bit(e.acc)) return DecodeAcc(v, o->dwords, c, o);
      return DecodeVgpr(v, o->dwords, c, o);
    case Kind::kImgData:
      o->dwords = static_cast<uint8_t>(internal::ImageDataDwords(*inst, dwords));
      return DecodeVgpr(v, o->dwords, c, o);
    case Kind::kImgAddr:
    case Kind::kImgLast: {
      int left = internal::ImageAddressDwords(*inst, dwords);
      int most = e.kind == Kind::kImgAddr || internal::IsLastAddress(*inst, spec.name) ? 16 : 1;
      if (left < 1 || left > most) return DecodeError::kReserved;
      if (left > 12) left = 16;
      o->dwords = static_cast<uint8_t>(left);
      return DecodeVgpr(v, left, c, o);
    }
    case Kind::kMatA:
    case Kind::kMatB: {
      dwords = internal::MatrixDwords(inst->Get(e.kind == Kind::kMatA ? Mod::kCbsz : Mod::kBlgp));
      if (dwords == 0) return DecodeError::kReserved;
      if (v < 256) return DecodeError::kBadRegister;
      o->dwords = static_cast<uint8_t>(dwords);
      if (words.Bit(e.acc)) return DecodeAcc(v - 256, dwords, c, o);
      return DecodeVgpr(v - 256, dwords, c, o);
    }
    case Kind::kSmemOffset:
      o->kind = OperandKind::kImm;
      o->code = 0;
      o->value = static_cast<int32_t>(v << (32 - e.bits)) >> (32 - e.bits);
      return DecodeError::kOk;
    case Kind::kUnused:
      o->kind = OperandKind::kNone;
      o->code = 0;
      o->value = static_cast<int32_t>(v);
      return DecodeError::kOk;
    case Kind::kExpSrc:
      if ((inst->Get(Mod::kEn) >> ((e.lo - 32) / 8) & 1) == 0) {
        o->kind = OperandKind::kNone;
        o->code = static_cast<uint16_t>(v);  // Kept for the encoder, though nothing reads it.
        return DecodeError::kOk;
      }
      return DecodeVgpr(v, 1, c, o);
    case Kind::kImm:
    case Kind::kSimm16:
      o->kind = OperandKind::kImm;
      o->code = 0;
      o->value = static_cast<int32_t>(v);
      return DecodeError::kOk;
  }
  return DecodeError::kUnknown;
}

DecodeError DecodeMods(const Words& words, const FormData& f, Inst* inst) {
  for (int i = 0; i < f.num_mods; ++i) {
    const ModEnc& m = f.mod_encs[i];
    uint32_t v = words.Get(m.lo, m.bits);
    int bits = m.bits;
    if (m.bits2 != 0) {
      v |= words.Get(m.lo2, m.bits2) << bits;
      bits += m.bits2;
      if (m.bits3 != 0) {
        v |= words.Get(m.lo3, m.bits3) << bits;
        bits += m.bits3;
      }
    }
    if (m.bias != 0) {
      v -= m.bias;
      if (v > 1) return DecodeError::kReserved;
    }
    if (m.is_signed)
      v = static_cast<uint32_t>(static_cast<int32_t>(v << (32 - bits)) >> (32 - bits));
    inst->Set(m.mod, v);
  }
  return DecodeError::kOk;
}

DecodeError DecodeForm(const FormData& f, const Words& words, size_t size, Isa isa, Inst* inst) {
  const Form& form = f.form;
  int bytes = form.dwords * 4;
  if (size < static_cast<size_t>(bytes)) return DecodeError::kTruncated;
  inst->form = &form;
  inst->num_operands = form.num_operands;
  inst->has_literal = false;
  inst->literal = 0;
  inst->wide = {};
  inst->narrow = {};
  DecodeError error = DecodeMods(words, f, inst);
  if (error != DecodeError::kOk) return error;
  uint32_t literal = words.Dword(form.dwords);
  bool has_literal = false;
  Context context{words, f, isa, literal, &has_literal};
  for (int i = 0; i < form.num_operands; ++i) {
    error = DecodeOperand(form.specs[i], f.encs[i], context, inst, &inst->operands[i]);
    if (error != DecodeError::kOk) return error;
  }
  if (has_literal) {
    bytes += 4;
    if (size < static_cast<size_t>(bytes)) return DecodeError::kTruncated;
    inst->has_literal = true;
    inst->literal = literal;
  }
  inst->size = static_cast<uint8_t>(bytes);
  return internal::CheckForm(*inst, isa) == nullptr ? DecodeError::kOk : DecodeError::kReserved;
}

}  // namespace

const char* DecodeErrorText(DecodeError error) {
  switch (error) {
    case DecodeError::kOk:
      return "no error";
    case DecodeError::kTruncated:
      return "the bytes end inside the instruction";
    case DecodeError::kUnknown:
      return "no instruction has this encoding";
    case DecodeError::kReserved:
      return "reserved bits are set or a field has a value without meaning";
    case DecodeError::kBadRegister:
      return "an operand names a register that cannot stand there";
  }
  return "";
}

DecodeError DecodeFast(absl::Span<const uint8_t> bytes, Isa isa, Inst* inst) {
  size_t size = bytes.size();
  if (size < 4) return DecodeError::kTruncated;
  Words words;
  std::memcpy(words.w, bytes.data(), size < sizeof(words.w) ? size : sizeof(words.w));
  uint32_t first = static_cast<uint32_t>(words.w[0]);
  const internal::Index& index = internal::kIndex[static_cast<int>(isa)][first >> 23];
  uint32_t key = (first >> index.shift) & ((1u << index.bits) - 1);
  const uint16_t* chain = internal::kChains + internal::kChainStart[index.base + key];
  DecodeError best = DecodeError::kUnknown;
  for (; *chain != 0xffff; ++chain) {
    const FormData& f = internal::kForms[*chain];
    if ((words.w[0] & f.mask[0]) != f.value[0] || (words.w[1] & f.mask[1]) != f.value[1]) {
      if (best == DecodeError::kUnknown) best = DecodeError::kReserved;
      continue;
    }
    DecodeError error = DecodeForm(f, words, size, isa, inst);
    if (error == DecodeError::kOk) return error;
    best = error;
  }
  return best;
}

absl::StatusOr<Inst> Decode(absl::Span<const uint8_t> bytes, Arch arch) {
  Inst inst;
  DecodeError error = DecodeFast(bytes, IsaOf(arch), &inst);
  if (error == DecodeError::kOk) return inst;
  if (bytes.size() < 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("an instruction needs at least 4 bytes, got ", bytes.size()));
  }
  uint32_t word = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
  std::string message = absl::StrFormat("0x%08x: no instruction of %s: %s", word,
                                        std::string(ArchName(arch)), DecodeErrorText(error));
  for (Arch other : {Arch::kGfx1100, Arch::kGfx1201, Arch::kGfx950}) {
    Isa isa = IsaOf(other);
    if (IsRdna(isa) == IsRdna(IsaOf(arch)) &&
        !(isa == Isa::kGfx12) == !(IsaOf(arch) == Isa::kGfx12)) {
      continue;
    }
    if (DecodeFast(bytes, isa, &inst) != DecodeError::kOk) continue;
    absl::StrAppend(&message, "; decodes as ", inst.form->mnemonic, " on ",
                    std::string(ArchName(other)));
    break;
  }
  return absl::InvalidArgumentError(message);
}

int SkipBytes(absl::Span<const uint8_t> bytes) {
  return static_cast<int>(bytes.size() < 4 ? bytes.size() : 4);
}

}  // namespace tg::amd
