// The instructions: one constant Form for each instruction, encoding and set of instruction sets.
//
// All of it is made at build time from the text in tables/, which names its sources. A row of the
// text is an instruction with its opcode in each instruction set; it gives a Form for each way to
// encode it: a VOP2 instruction gives 32 bits (_e32), VOP3 (_e64), and both with DPP or SDWA words.
#ifndef TG_CODEGEN_ISA_AMD_TABLE_H_
#define TG_CODEGEN_ISA_AMD_TABLE_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/op.h"  // Generated: enum class Op : uint16_t { kNone, kVAddF32, ... };

namespace tg::amd {

// Layouts of instruction words, as the manuals name them (chapter "Microcode formats"). RDNA 4
// spells some of them differently: VBUFFER, VFLAT, VGLOBAL, VSCRATCH, VDS, VDSDIR, VEXPORT.
enum class Format : uint8_t {
  kSop1,
  kSop2,
  kSopc,
  kSopk,
  kSopp,
  kSmem,
  kVop1,
  kVop2,
  kVopc,
  kVop3,
  kVop3sd,
  kVop3p,
  kVop3px2,  // CDNA 4: a pair of VOP3P, scale and matrix multiplication.
  kVopd,     // RDNA: two instructions in one. A Form is a pair.
  kVinterp,
  kLdsdir,
  kDs,
  kFlat,
  kGlobal,
  kScratch,
  kMubuf,
  kMtbuf,
  kMimg,     // RDNA 3.
  kVimage,   // RDNA 4.
  kVsample,  // RDNA 4.
  kExp,
};
inline constexpr int kNumFormats = 26;
std::string_view FormatName(Format format);  // "VOP3P"

// A word behind the instruction that src0 announces.
enum class Extra : uint8_t { kNone, kDpp8, kDpp16, kSdwa };

// Modifiers of a whole instruction, under the assembler's names. The first have more than 8 bits.
enum class Mod : uint8_t {
  kOffset,   // Bytes; signed in GLOBAL, SCRATCH, SMEM and on gfx12.
  kDpp8,     // Lane i takes lane bits 3i+2:3i.
  kDppCtrl,  // 9 bits: quad_perm, row_shl, ... as the manuals' DPP_CTRL enumeration.
  kFormat,   // MTBUF. gfx9: dfmt | nfmt << 4.
  kClamp,
  kOmod,     // 0 none, 1 *2, 2 *4, 3 /2.
  kOpSel,    // Bit i: operand i takes the high half; bit 3 the destination of VOP3.
  kOpSelHi,  // VOP3P: the half for the upper result. Default all ones.
  kNegLo,
  kNegHi,
  kBitop3,  // Truth table of v_bitop3.
  kByteSel,
  kIndexKey,  // SWMMAC: which half or quarter of the index register.
  kCbsz,
  kAbid,
  kBlgp,
  kRowMask,
  kBankMask,
  kBoundCtrl,
  kFi,
  kDstSel,  // SDWA: 0 to 3 bytes, 4 and 5 words, 6 dword.
  kDstUnused,
  kSrc0Sel,
  kSrc1Sel,
  kOffset0,  // DS with two offsets.
  kOffset1,
  kGds,
  kGlc,  // RDNA 3 cache policy.
  kSlc,
  kDlc,
  kSc0,  // CDNA cache policy.
  kSc1,
  kNt,
  kTh,  // RDNA 4 temporal hint and scope.
  kScope,
  kNv,
  kOffen,
  kIdxen,
  kTfe,
  kLds,
  kDmask,
  kDim,
  kUnorm,
  kR128,
  kA16,
  kD16,
  kLwe,
  kEn,  // EXP: one bit a component.
  kDone,
  kRow,
  kWaitExp,
  kWaitVdst,    // LDSDIR: wait_vdst, wait_va_vdst on gfx12.
  kWaitVmVsrc,  // gfx12.
};
inline constexpr Mod kFirstNarrowMod = Mod::kClamp;
inline constexpr int kNumWideMods = static_cast<int>(kFirstNarrowMod);
inline constexpr int kNumMods = static_cast<int>(Mod::kWaitVmVsrc) + 1;
inline constexpr int kNumNarrowMods = kNumMods - kNumWideMods;
std::string_view ModName(Mod mod);  // "op_sel_hi"

enum class OperandName : uint8_t {
  kNone,
  kVdst,
  kSdst,
  kSrc0,
  kSrc1,
  kSrc2,
  kAddr,  // DS
  kData0,
  kData1,
  kVaddr,
  kVdata,
  kSaddr,
  kSrsrc,
  kSamp,
  kSoffset,
  kSbase,
  kSdata,
  kOffset,  // SMEM, where it is a number.
  kVsrc0,   // EXP
  kVsrc1,
  kVsrc2,
  kVsrc3,
  kSimm,   // simm16 of SOPK and SOPP; what it means is in OperandClass.
  kLit,    // The literal that belongs to an instruction: v_fmaak_f32, s_setreg_imm32_b32.
  kVdstX,  // VOPD.
  kSrc0X,
  kSrc1X,
  kLitX,
  kVdstY,
  kSrc0Y,
  kSrc1Y,
  kLitY,
  kVaddr0,  // Addresses of images, each in a register of its own.
  kVaddr1,
  kVaddr2,
  kVaddr3,
  kVaddr4,
  kScaleSrc0,
  kScaleSrc1,
  kAttr,
  kAttrChan,
  kTarget,
};

std::string_view OperandNameText(OperandName name);  // "src0"; "" for kNone.

enum class Role : uint8_t { kDst, kSrc, kDstSrc, kImm };

// What may stand in an operand.
enum class OperandClass : uint8_t {
  kVgpr,
  kVgpr16,          // Half a VGPR (RDNA).
  kAcc,             // AccVGPR.
  kVgprOrAcc,       // Either; the instruction has one bit for it.
  kSgpr,            // SGPR, TTMP, VCC, EXEC, M0, null.
  kSrc,             // Any source of 9 bits: scalar, constant, literal, VGPR.
  kSrc16,           // The same with halves of VGPRs.
  kSrcVgprOrConst,  // VGPR, AccVGPR or an inline constant: addends of MFMA and WMMA.
  kSsrc,            // Scalar or constant, 8 bits.
  kVcc,             // vcc, vcc_lo by wave size: no field.
  kExecImplied,     // No field and not in the text.
  kM0,              // m0 in the text, no field.
  kScc,             // src_scc
  kLds,             // "lds", no field.
  kOff,             // "off", no field.
  kImm,             // A plain number, printed in decimal.
  kHex,             // A plain number, printed in hexadecimal.
  kAuto,            // Decimal to 64, hexadecimal above.
  kLabel,           // Words from the next instruction, signed 16 bits.
  kHwreg,
  kSendmsg,
  kWaitcnt,
  kDepctr,
  kDelayAlu,
  kEndpgm,  // A number that is not printed when 0.
  kAttr,
  kAttrChan,
  kExpTarget,
  kLit32,
  kLit16,
  kSmemOffset,
  kVersion,  // s_version
  kGprIdx,   // s_set_gpr_idx_on
  kBarrier,  // A named barrier or m0.
  kUnused,   // A field that means nothing here, not in the text: an operand of kNone with a value.
};

// Of elements; a tuple's width is OperandSpec::dwords.
enum class DataType : uint8_t {
  kB1,
  kB8,
  kB16,
  kB32,
  kB64,
  kB96,
  kB128,
  kB256,
  kB512,
  kB1024,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kBf16,
  kF32,
  kF64,
  kPkF16,
  kPkBf16,
  kPkI16,
  kPkU16,
  kPkF32,
  kPkB32,
  kFp8,
  kBf8,
  kFp6,
  kBf6,
  kFp4,
  kI4,
  kU4,
  kIu8,  // Signed or unsigned, as neg_lo says.
  kIu4,
  kOther,
};
std::string_view DataTypeName(DataType type);  // "pk_f16"; "" for kOther.

struct OperandSpec {
  OperandName name;
  OperandClass cls;
  Role role;
  uint8_t dwords;
  DataType type;
  uint8_t mods;  // OperandMods that it can have.
  bool hidden;   // Its sign is encoded but means nothing and is not in the text.
};

// Registers that an instruction touches without naming them.
enum Implicit : uint8_t { kImplScc = 1, kImplVcc = 2, kImplExec = 4, kImplM0 = 8, kImplPc = 16 };

struct Form {
  Op op;          // The instruction.
  Format format;  // How it is laid out: VOP3 for v_add_f32_e64.
  Format family;  // Whose opcodes: VOP2 for v_add_f32_e64.
  Extra extra;
  uint8_t dwords;        // Without a literal.
  uint8_t isas;          // Bit of each Isa it exists in.
  uint16_t opcode;       // In the field of `format`: 0x103 for v_add_f32_e64. VOPD: opx << 5 | opy.
  const char* name;      // "v_add_f32"
  const char* mnemonic;  // "v_add_f32_e64"; VOPD: of the first half.
  const OperandSpec* specs;
  uint8_t num_operands;
  uint8_t reads;   // Implicit.
  uint8_t writes;  // Implicit.
  bool literal;    // A source may be a literal.
  uint64_t mods;   // Bit of each Mod it has.

  absl::Span<const OperandSpec> operands() const { return {specs, num_operands}; }
  bool Has(Mod m) const { return mods >> static_cast<int>(m) & 1; }
  bool In(Isa isa) const { return isas >> static_cast<int>(isa) & 1; }
};

// All forms of an instruction set, ordered by mnemonic. Made at the first call.
absl::Span<const Form* const> FormsOf(Isa isa);

// Those with this mnemonic as the assembler spells it with its suffix ("v_add_f32_e64"); several
// where operands tell them apart. Empty when there are none.
absl::Span<const Form* const> FormsNamed(std::string_view mnemonic, Isa isa);

// Of a VOPD pair, the second half: kNone and "" for other forms.
Op SecondOp(const Form& form);
std::string_view SecondMnemonic(const Form& form);
int SecondOperand(const Form& form);  // Position of its first operand.

// The bits of the first two dwords that are the same in every instruction of this form, and their
// values.
void OpcodeBits(const Form& form, uint64_t* mask, uint64_t* value);

// How many elements the text of op_sel, op_sel_hi has: [0,1,0].
int OpSelCount(const Form& form);

// "v_add_f32".
std::string_view OpName(Op op);
inline constexpr int kNumOps = kOpCount;

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_TABLE_H_
