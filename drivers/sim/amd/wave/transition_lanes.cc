#include "drivers/sim/amd/wave/transition_lanes.h"

#include <bit>
#include <cmath>

namespace tg::amd::sim {
namespace {

constexpr double kInline[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4};

bool Is16(DataType t) {
  return t == DataType::kB16 || t == DataType::kI16 || t == DataType::kU16 || t == DataType::kF16 ||
         t == DataType::kPkF16;
}

uint64_t Constant(const Operand& o, const OperandSpec& spec) {
  if (o.kind == OperandKind::kInline && o.code >= code::kInlineFloat0) {
    int i = o.code - code::kInlineFloat0;
    if (spec.type == DataType::kF64) {
      return i == 8 ? 0x3fc45f306dc9c882 : std::bit_cast<uint64_t>(kInline[i]);
    }
    if (Is16(spec.type)) return i == 8 ? 0x3118 : NearestHalf(kInline[i]);
    uint32_t f32 = i == 8 ? 0x3e22f983 : std::bit_cast<uint32_t>(static_cast<float>(kInline[i]));
    if (spec.type == DataType::kPkBf16 || spec.type == DataType::kBf16) return f32 >> 16;
    // Integers of 64 bits take the double.
    return spec.dwords == 2 ? std::bit_cast<uint64_t>(i == 8 ? 0.15915494309189532 : kInline[i])
                            : f32;
  }
  if (o.kind == OperandKind::kLiteral && spec.type == DataType::kF64) {
    return static_cast<uint64_t>(static_cast<uint32_t>(o.value)) << 32;
  }
  return static_cast<uint64_t>(static_cast<int64_t>(o.value));
}

uint32_t SdwaPart(uint32_t x, uint32_t select, bool sext) {
  if (select == 6) return x;
  bool byte = select < 4;
  uint32_t part = byte ? x >> (8 * select) & 0xff : x >> (16 * (select - 4)) & 0xffff;
  if (sext && part >> (byte ? 7 : 15)) part |= byte ? 0xffffff00 : 0xffff0000;
  return part;
}

}  // namespace

int DppSource(const Transition& t, int lane) {
  const uint32_t c = t.inst.Get(Mod::kDppCtrl);
  const int row = lane / 16 * 16, i = lane % 16, n = static_cast<int>(c % 16);
  int from = -1;
  if (c < 0x100) {
    from = lane / 4 * 4 + static_cast<int>(c >> (lane % 4 * 2) & 3);
  } else if (c < 0x110) {
    from = i + n < 16 ? lane + n : -1;
  } else if (c < 0x120) {
    from = i - n >= 0 ? lane - n : -1;
  } else if (c < 0x130) {
    from = row + (i + 16 - n) % 16;
  } else if (c == 0x130) {
    from = lane < 63 ? lane + 1 : -1;
  } else if (c == 0x134) {
    from = (lane + 1) % 64;
  } else if (c == 0x138) {
    from = lane - 1;
  } else if (c == 0x13c) {
    from = (lane + 63) % 64;
  } else if (c == 0x140) {
    from = row + 15 - i;
  } else if (c == 0x141) {
    from = row + i / 8 * 8 + 7 - i % 8;
  } else if (c == 0x142) {
    from = row - 1;
  } else if (c == 0x143) {
    from = lane < 32 ? -1 : 31;
  } else if (c < 0x160) {
    from = row + n;
  } else {
    from = row + (i ^ n);
  }
  if (from < 0 || from >= t.wave_size()) return -1;
  return t.inst.Get(Mod::kFi) || (t.exec() >> from & 1) ? from : -1;
}

bool DppEnabled(const Transition& t, int lane) {
  return (t.inst.Get(Mod::kRowMask) >> (lane / 16) & 1) &&
         (t.inst.Get(Mod::kBankMask) >> (lane / 4 % 4) & 1);
}

int SourcePosition(const Inst& inst, int n) {
  for (int i = 0; i < inst.num_operands; ++i) {
    Role r = inst.form->specs[i].role;
    if (r != Role::kDst && r != Role::kDstSrc && n-- == 0) return i;
  }
  return -1;
}

int DestPosition(const Inst& inst, int n) {
  for (int i = 0; i < inst.num_operands; ++i) {
    Role r = inst.form->specs[i].role;
    if ((r == Role::kDst || r == Role::kDstSrc) && n-- == 0) return i;
  }
  return -1;
}

uint64_t SourceBits(const Transition& t, int n, int lane) {
  int position = SourcePosition(t.inst, n);
  if (position < 0) return 0;
  const Operand& o = t.inst.operands[position];
  uint64_t x = 0;
  switch (o.kind) {
    case OperandKind::kVgpr:
    case OperandKind::kAccVgpr: {
      int row = o.code - code::kVgpr0;
      int from = lane;
      if (t.inst.form->extra == Extra::kDpp16 && n == 0) from = DppSource(t, lane);
      if (from < 0) return 0;
      x = t.in.lane(row, from);
      if (o.dwords >= 2) x |= static_cast<uint64_t>(t.in.lane(row + 1, from)) << 32;
      break;
    }
    case OperandKind::kInline:
    case OperandKind::kLiteral:
    case OperandKind::kImm:
      x = Constant(o, t.inst.form->specs[position]);
      break;
    case OperandKind::kNone:
      return 0;
    default:
      if (IsRdna(t.isa) && o.code == code::kNullRdna) return 0;
      if (o.code == code::kSrcScc) return t.in.scc;
      if (o.code >= 128) return 0;
      x = t.in.sgprs[o.code];
      if (o.dwords >= 2) x |= static_cast<uint64_t>(t.in.sgprs[o.code + 1]) << 32;
  }
  if (t.inst.form->extra == Extra::kSdwa && n < 2) {
    x = SdwaPart(static_cast<uint32_t>(x), t.inst.Get(n == 0 ? Mod::kSrc0Sel : Mod::kSrc1Sel),
                 o.mods & kSext);
  }
  return x;
}

float SourceF32(const Transition& t, int n, int lane) {
  float x = std::bit_cast<float>(static_cast<uint32_t>(SourceBits(t, n, lane)));
  const Operand& o = t.inst.operands[SourcePosition(t.inst, n)];
  if (!(t.mode >> 4 & 1) && std::fpclassify(x) == FP_SUBNORMAL) x = std::copysign(0.0f, x);
  if (o.mods & kAbs) x = std::fabs(x);
  return o.mods & kNeg ? -x : x;
}

double SourceF64(const Transition& t, int n, int lane) {
  double x = std::bit_cast<double>(SourceBits(t, n, lane));
  const Operand& o = t.inst.operands[SourcePosition(t.inst, n)];
  if (!(t.mode >> 6 & 1) && std::fpclassify(x) == FP_SUBNORMAL) x = std::copysign(0.0, x);
  if (o.mods & kAbs) x = std::fabs(x);
  return o.mods & kNeg ? -x : x;
}

uint16_t Source16(const Transition& t, int n, int lane) {
  const Operand& o = t.inst.operands[SourcePosition(t.inst, n)];
  bool high =
      (o.mods & kHigh) || (t.inst.form->Has(Mod::kOpSel) && (t.inst.Get(Mod::kOpSel) >> n & 1));
  uint16_t x = static_cast<uint16_t>(SourceBits(t, n, lane) >> (high ? 16 : 0));
  if (o.mods & kAbs) x &= 0x7fff;
  return o.mods & kNeg ? x ^ 0x8000 : x;
}

float SourceF16(const Transition& t, int n, int lane) {
  return static_cast<float>(HalfValue(Source16(t, n, lane)));
}

double HalfValue(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  double x = exponent == 31  ? (mantissa ? NAN : INFINITY)
             : exponent == 0 ? std::ldexp(mantissa, -24)
                             : std::ldexp(mantissa + 1024, exponent - 25);
  return bits >> 15 ? -x : x;
}

double Bf16Value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t NearestHalf(double x) {
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  if (x != x) return sign | 0x7e00;
  if (x >= 65520) return sign | 0x7c00;
  if (x == 0) return sign;
  int e;
  std::frexp(x, &e);
  if (e < -13) e = -13;  // Denormals have the quantum of the smallest normal numbers.
  double units = std::nearbyint(std::ldexp(x, 11 - e));  // In units of 2^(e - 11).
  uint16_t code = static_cast<uint16_t>((e + 13) * 1024 + static_cast<int>(units));
  return sign | code;
}

int DestRow(const Transition& t) {
  int p = DestPosition(t.inst, 0);
  if (p < 0) return -1;
  const Operand& o = t.inst.operands[p];
  return o.kind == OperandKind::kVgpr || o.kind == OperandKind::kAccVgpr ? o.code - code::kVgpr0
                                                                         : -1;
}

int DestDwords(const Transition& t) {
  int p = DestPosition(t.inst, 0);
  return p < 0 ? 0 : t.inst.operands[p].dwords;
}

}  // namespace tg::amd::sim
