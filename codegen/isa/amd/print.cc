#include "codegen/isa/amd/print.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/str_format.h"
#include "codegen/isa/amd/asm_constant.h"
#include "codegen/isa/amd/decode.h"
#include "codegen/isa/amd/print_text.h"
#include "codegen/isa/amd/register_file.h"
#include "codegen/isa/amd/table_data.h"

namespace tg::amd {
namespace internal {
namespace {

void PrintTuple(const char* name, int index, int dwords, Text* t) {
  *t += name;
  if (dwords <= 1) {
    t->Decimal(index);
    return;
  }
  *t += '[';
  t->Decimal(index);
  *t += ':';
  t->Decimal(index + dwords - 1);
  *t += ']';
}

const char* SpecialName(int value, int dwords, Isa isa) {
  bool pair = dwords >= 2;
  switch (value) {
    case code::kFlatScratchLo:
      return pair ? "flat_scratch" : "flat_scratch_lo";
    case code::kFlatScratchLo + 1:
      return "flat_scratch_hi";
    case code::kXnackMaskLo:
      return pair ? "xnack_mask" : "xnack_mask_lo";
    case code::kXnackMaskLo + 1:
      return "xnack_mask_hi";
    case code::kVccLo:
      return pair ? "vcc" : "vcc_lo";
    case code::kVccHi:
      return "vcc_hi";
    case 124:
      return IsRdna(isa) ? "null" : "m0";
    case 125:
      return IsRdna(isa) ? "m0" : "null";
    case code::kExecLo:
      return pair ? "exec" : "exec_lo";
    case code::kExecHi:
      return "exec_hi";
    case code::kSrcSharedBase:
      return "src_shared_base";
    case code::kSrcSharedLimit:
      return "src_shared_limit";
    case code::kSrcPrivateBase:
      return "src_private_base";
    case code::kSrcPrivateLimit:
      return "src_private_limit";
    case code::kSrcPopsExitingWaveId:
      return "src_pops_exiting_wave_id";
    case code::kSrcVccz:
      return "src_vccz";
    case code::kSrcExecz:
      return "src_execz";
    case code::kSrcScc:
      return "src_scc";
    case code::kSrcLdsDirect:
      return "src_lds_direct";
    default:
      return "?";
  }
}

bool Is64(DataType type) {
  return type == DataType::kB64 || type == DataType::kI64 || type == DataType::kU64 ||
         type == DataType::kF64;
}

bool Is16(DataType type) {
  return type == DataType::kF16 || type == DataType::kBf16 || type == DataType::kB16 ||
         type == DataType::kI16 || type == DataType::kU16;
}

void PrintInline(const Operand& o, DataType type, Text* t) {
  static const char* const kFloats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};
  if (o.code < code::kInlineFloat0) {
    t->Decimal(o.code <= 192 ? o.code - 128 : 192 - o.code);
  } else if (o.code < code::kInlineInv2Pi) {
    *t += kFloats[o.code - code::kInlineFloat0];
  } else {
    *t += Is64(type) ? "0.15915494309189532" : "0.15915494";
  }
}

}  // namespace

void PrintOperand(const Operand& o, DataType type, Isa isa, Text* t) {
  bool constant = o.kind == OperandKind::kInline || o.kind == OperandKind::kLiteral;
  bool call = constant && (o.mods & (kNeg | kAbs)) == kNeg;  // neg(1) is not -1.
  if (o.mods & kNeg) {
    if (call) {
      *t += "neg(";
    } else {
      *t += '-';
    }
  }
  if (o.mods & kAbs) *t += '|';
  if (o.mods & kSext) *t += "sext(";
  switch (o.kind) {
    case OperandKind::kNone:
      *t += "off";
      break;
    case OperandKind::kSgpr:
      PrintTuple("s", o.code, o.dwords, t);
      break;
    case OperandKind::kTtmp:
      PrintTuple("ttmp", o.code - code::kTtmp0, o.dwords, t);
      break;
    case OperandKind::kVgpr:
      PrintTuple("v", o.code - code::kVgpr0, o.dwords, t);
      if (o.mods & kHalf) *t += o.mods & kHigh ? ".h" : ".l";
      break;
    case OperandKind::kAccVgpr:
      PrintTuple("a", o.code - code::kAccVgpr0, o.dwords, t);
      break;
    case OperandKind::kSpecial:
      *t += SpecialName(o.code, o.dwords, isa);
      break;
    case OperandKind::kInline:
      PrintInline(o, type, t);
      break;
    case OperandKind::kLiteral: {
      // The upper half of a literal of 16 bits is not read.
      const uint32_t bits = static_cast<uint32_t>(o.value);
      t->Hex(Is16(type) ? bits & 0xffff : bits);
      break;
    }
    case OperandKind::kImm:
      t->Decimal(o.value);
      break;
  }
  if (o.mods & kSext) *t += ')';
  if (o.mods & kAbs) *t += '|';
  if (call) *t += ')';
}

}  // namespace internal

namespace {

using internal::DataOf;
using internal::Text;

// A literal where the number alone would be read as an inline constant: lit(0x1).
bool PrintForcedLiteral(const Operand& o, DataType type, Text* t) {
  const uint32_t bits = static_cast<uint32_t>(o.value);
  const bool half = internal::Is16(type);
  bool forced = LiteralReadsAsInline(half ? bits & 0xffff : bits, type);
  // LLVM 22 looks at all bits of 16-bit integers.
  if (half && type != DataType::kF16 && type != DataType::kBf16) {
    forced = forced || LiteralReadsAsInline(bits, DataType::kB32);
  }
  if (!forced) return false;
  const bool call = (o.mods & (kNeg | kAbs)) == kNeg;
  if (o.mods & kNeg) *t += call ? "neg(" : "-";
  if (o.mods & kAbs) *t += '|';
  *t += "lit(";
  t->Hex(bits);
  *t += ')';
  if (o.mods & kAbs) *t += '|';
  if (call) *t += ')';
  return true;
}

void PrintSpec(const Inst& inst, int i, Isa isa, Text* t) {
  const OperandSpec& spec = inst.form->specs[i];
  const Operand& o = inst.operands[i];
  if (o.kind == OperandKind::kImm) {
    internal::PrintImm(spec.cls, o.value, inst, isa, t);
  } else {
    Operand shown = o;
    if (spec.hidden) shown.mods &= static_cast<uint8_t>(~(kNeg | kAbs));
    // Scalar instructions read a literal's upper half or not; their text has all of it.
    bool scalar = inst.form->format <= Format::kSopp && o.kind == OperandKind::kLiteral;
    if (o.kind == OperandKind::kLiteral && spec.cls != OperandClass::kLit32 &&
        spec.cls != OperandClass::kLit16 && PrintForcedLiteral(shown, spec.type, t)) {
      return;
    }
    // LLVM 22 gives 1/(2 pi) as RDNA 3's WMMA addend the digits of a double, whatever it adds to.
    bool digits = o.code == code::kInlineInv2Pi && spec.cls == OperandClass::kSrcVgprOrConst &&
                  IsRdna(isa) && isa != Isa::kGfx12;
    DataType type = scalar ? DataType::kB32 : digits ? DataType::kF64 : spec.type;
    internal::PrintOperand(shown, type, isa, t);
  }
}

}  // namespace

char* PrintTo(const Inst& inst, Isa isa, char* out) {
  Text t(out);
  const Form& form = *inst.form;
  const internal::FormData& data = DataOf(&form);
  t += std::string_view(form.mnemonic);
  for (int i = 0; i < form.num_operands; ++i) {
    const OperandSpec& spec = form.specs[i];
    if (spec.cls == OperandClass::kUnused) continue;
    if (spec.cls == OperandClass::kEndpgm && inst.operands[i].value == 0) continue;
    if (i == 0) {
      t += ' ';
    } else if (i == data.split && data.split != 0) {
      t += " :: ";
      t += std::string_view(data.mnemonic_y);
      t += ' ';
    } else if (form.format == Format::kExp && i == 1) {
      t += ' ';
    } else if (spec.cls == OperandClass::kAttrChan) {
      t += '.';
    } else {
      t += ", ";
    }
    bool address = spec.name >= OperandName::kVaddr0 && spec.name <= OperandName::kVaddr4;
    bool more = i + 1 < form.num_operands && form.specs[i + 1].name >= OperandName::kVaddr1 &&
                form.specs[i + 1].name <= OperandName::kVaddr4;
    if (spec.name == OperandName::kVaddr0 && more) t += '[';
    PrintSpec(inst, i, isa, &t);
    if (address && spec.name != OperandName::kVaddr0 && !more) t += ']';
  }
  internal::PrintMods(inst, isa, &t);
  return t.end();
}

void AppendInst(const Inst& inst, Isa isa, std::string* out) {
  char buffer[kMaxText];
  out->append(buffer, static_cast<size_t>(PrintTo(inst, isa, buffer) - buffer));
}

std::string ToString(const Inst& inst, Isa isa) {
  std::string text;
  AppendInst(inst, isa, &text);
  return text;
}

std::string ToString(const Operand& operand, Isa isa) {
  char buffer[kMaxText];
  Text t(buffer);
  internal::PrintOperand(operand, DataType::kB32, isa, &t);
  return std::string(buffer, t.end());
}

int Disassemble(absl::Span<const uint8_t> bytes, Arch arch, std::string* out) {
  Inst inst;
  DecodeError error = DecodeFast(bytes, IsaOf(arch), &inst);
  if (error == DecodeError::kOk) {
    AppendInst(inst, IsaOf(arch), out);
    return inst.size;
  }
  int skip = SkipBytes(bytes);
  if (skip < 4) {
    for (int i = 0; i < skip; ++i) {
      absl::StrAppendFormat(out, "%s.byte 0x%02x", i == 0 ? "" : "\n",
                            bytes[static_cast<size_t>(i)]);
    }
    return skip;
  }
  uint32_t word = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
  absl::StrAppendFormat(out, ".long 0x%08x // ", word);
  absl::Status status = Decode(bytes, arch).status();
  out->append(status.message().data(), status.message().size());
  return 4;
}

}  // namespace tg::amd
