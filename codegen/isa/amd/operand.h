// What an instruction's operand names: a register, a constant or a number.
//
// The codes are those of the vendor's manuals (RDNA 3, RDNA 4 and CDNA 3 ISA documents, "Scalar and
// vector source operands"): one space of 9 bits in which the same number means the same thing in
// every field that can hold it. Accumulation registers, which hardware tells from VGPRs by a bit
// elsewhere, follow at 512.
#ifndef TG_CODEGEN_ISA_AMD_OPERAND_H_
#define TG_CODEGEN_ISA_AMD_OPERAND_H_

#include <cstdint>

namespace tg::amd {

enum class OperandKind : uint8_t {
  kNone,     // Not there: "off" where an address may be left out.
  kSgpr,     // s<index>
  kTtmp,     // ttmp<index>, registers of the trap handler.
  kSpecial,  // A register with a name: vcc, exec, m0, null, src_scc, ... `code` says which.
  kVgpr,     // v<index>
  kAccVgpr,  // a<index>, CDNA.
  kInline,   // A constant in the operand code: an integer from -16 to 64 or a float.
  kLiteral,  // 32 bits that follow the instruction: `value`.
  kImm,      // A number that is not a source: counter, offset, message: `value`.
};

// Codes of operands.
namespace code {
inline constexpr uint16_t kSgpr0 = 0;
inline constexpr uint16_t kFlatScratchLo = 102;  // CDNA; on RDNA 102 to 105 are SGPRs.
inline constexpr uint16_t kXnackMaskLo = 104;    // CDNA.
inline constexpr uint16_t kVccLo = 106;
inline constexpr uint16_t kVccHi = 107;
inline constexpr uint16_t kTtmp0 = 108;
inline constexpr uint16_t kNullRdna = 124;
inline constexpr uint16_t kM0Rdna = 125;
inline constexpr uint16_t kM0Cdna = 124;
inline constexpr uint16_t kExecLo = 126;
inline constexpr uint16_t kExecHi = 127;
inline constexpr uint16_t kInlineInt0 = 128;       // 128 + n: n from 0 to 64.
inline constexpr uint16_t kInlineIntMinus1 = 193;  // 192 + n: -n from 1 to 16.
inline constexpr uint16_t kSrcSharedBase = 235;
inline constexpr uint16_t kSrcSharedLimit = 236;
inline constexpr uint16_t kSrcPrivateBase = 237;
inline constexpr uint16_t kSrcPrivateLimit = 238;
inline constexpr uint16_t kSrcPopsExitingWaveId = 239;
inline constexpr uint16_t kInlineFloat0 = 240;  // 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi).
inline constexpr uint16_t kInlineInv2Pi = 248;
inline constexpr uint16_t kSrcVccz = 251;
inline constexpr uint16_t kSrcExecz = 252;
inline constexpr uint16_t kSrcScc = 253;
inline constexpr uint16_t kSrcLdsDirect = 254;
inline constexpr uint16_t kLiteral = 255;
inline constexpr uint16_t kVgpr0 = 256;
inline constexpr uint16_t kAccVgpr0 = 512;
}  // namespace code

// Modifiers of one operand; a bit each.
enum OperandMods : uint8_t {
  kNeg = 1,   // -x
  kAbs = 2,   // |x|, before the sign changes.
  kSext = 4,  // sext(x), SDWA on integers.
  kHalf = 8,  // Half a VGPR (RDNA): v1.l, or with kHigh v1.h.
  kHigh = 16,
};

struct Operand {
  OperandKind kind = OperandKind::kNone;
  uint8_t dwords = 1;  // Registers it spans. 0: a number.
  uint8_t mods = 0;    // OperandMods.
  uint16_t code = 0;   // Meaningless for kNone and kImm.
  int32_t value = 0;   // kLiteral, kImm; for kInline integers the integer.

  // s5 is 5, v5 is 5, ttmp5 is 5.
  constexpr int index() const {
    return code >= code::kAccVgpr0      ? code - code::kAccVgpr0
           : code >= code::kVgpr0       ? code - code::kVgpr0
           : kind == OperandKind::kTtmp ? code - code::kTtmp0
                                        : code;
  }
  friend bool operator==(const Operand&, const Operand&) = default;
};

constexpr Operand Sgpr(int index, int dwords = 1) {
  return {OperandKind::kSgpr, static_cast<uint8_t>(dwords), 0, static_cast<uint16_t>(index), 0};
}
constexpr Operand Ttmp(int index, int dwords = 1) {
  return {OperandKind::kTtmp, static_cast<uint8_t>(dwords), 0,
          static_cast<uint16_t>(code::kTtmp0 + index), 0};
}
constexpr Operand Vgpr(int index, int dwords = 1) {
  return {OperandKind::kVgpr, static_cast<uint8_t>(dwords), 0,
          static_cast<uint16_t>(code::kVgpr0 + index), 0};
}
// Half of a VGPR.
constexpr Operand VgprHalf(int index, bool high) {
  return {OperandKind::kVgpr, 1, static_cast<uint8_t>(high ? kHalf | kHigh : kHalf),
          static_cast<uint16_t>(code::kVgpr0 + index), 0};
}
constexpr Operand AccVgpr(int index, int dwords = 1) {
  return {OperandKind::kAccVgpr, static_cast<uint8_t>(dwords), 0,
          static_cast<uint16_t>(code::kAccVgpr0 + index), 0};
}
// A register with a name, by its code: Special(code::kVccLo, 2) is vcc.
constexpr Operand Special(uint16_t operand_code, int dwords = 1) {
  return {OperandKind::kSpecial, static_cast<uint8_t>(dwords), 0, operand_code, 0};
}
// `value` must be from -16 to 64.
constexpr Operand InlineInt(int value) {
  return {OperandKind::kInline, 1, 0,
          static_cast<uint16_t>(value >= 0 ? code::kInlineInt0 + value : 192 - value), value};
}
// Inline floats by code: 240 to 248.
constexpr Operand InlineFloat(uint16_t operand_code) {
  return {OperandKind::kInline, 1, 0, operand_code, 0};
}
constexpr Operand Literal(uint32_t bits) {
  return {OperandKind::kLiteral, 1, 0, code::kLiteral, static_cast<int32_t>(bits)};
}
constexpr Operand Imm(int32_t value) { return {OperandKind::kImm, 0, 0, 0, value}; }
constexpr Operand Off() { return {}; }

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_OPERAND_H_
