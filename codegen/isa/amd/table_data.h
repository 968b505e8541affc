// The generated tables as decoder, encoder and printer read them. Private to this folder: table.h
// is the interface.
#ifndef TG_CODEGEN_ISA_AMD_TABLE_DATA_H_
#define TG_CODEGEN_ISA_AMD_TABLE_DATA_H_

#include <cstdint>

#include "codegen/isa/amd/table.h"

namespace tg::amd::internal {

// How an operand's field is read. Written by table_gen.cc.
enum class Kind : uint8_t {
  kVgpr,         // 8 bits, or 9 whose top bit must be set: a VGPR.
  kVgpr16Low,    // 8 bits: 7 of the index, and which half.
  kVgpr16,       // 8 or 9 bits, the half in `high`.
  kVgprAcc,      // 8 or 9 bits, `acc` says whether an AccVGPR.
  kAcc,          // 8 or 9 bits: an AccVGPR.
  kSrc,          // 9 bits.
  kSrc16Low,     // 9 bits; a VGPR has 7 of its index and the half in bit 7.
  kSrc16,        // 9 bits, a VGPR's half in `high`.
  kSrcAccConst,  // 9 bits: VGPR or AccVGPR by `acc`, or an inline constant.
  kSsrc,         // 8 bits: scalar, constant, literal.
  kSreg,         // 7 or 8 bits: a scalar register.
  kSbase,        // 6 bits, counting pairs.
  kSrsrc,        // 5 bits, counting fours.
  kSoffset,      // 7 or 8 bits: scalar register or constant, no literal.
  kSdwaSrc,      // 8 bits and a ninth above that says: scalar.
  kSdwaSdst,     // 7 bits and an eighth: 0 is VCC.
  kVdstY,        // 7 bits: the register's parity is not that of vdstx.
  kVcc,          // No field.
  kM0,
  kOff,
  kLit32,  // The literal.
  kLit16,
  kImm,         // A number.
  kSimm16,      // A number, signed where it is printed so.
  kBufAddr,     // 8 bits: none, one or two VGPRs by idxen and offen.
  kBufData,     // Plus one with tfe.
  kImgLast,     // As many as are left of them.
  kMatA,        // 9 bits and `acc`: elements of fp8, fp6 or fp4 by cbsz,
  kMatB,        // by blgp.
  kImgData,     // As many VGPRs as dmask, d16 and tfe say.
  kImgAddr,     // As many VGPRs as dim and a16 say.
  kSmemOffset,  // Signed.
  kUnused,      // Kept in an operand of kNone.
  kExpSrc,      // 8 bits: a VGPR, or nothing when its bit of en is clear.
};

struct Enc {
  Kind kind;
  uint8_t lo, bits;    // Field in the instruction's bits, counted from the first dword.
  uint8_t lo2, bits2;  // Above it; bits2 is 0 where there is none.
  uint8_t neg, abs, sext, high, acc;  // Positions of modifier bits, 255: none.
};

struct ModEnc {
  Mod mod;
  uint8_t lo, bits, lo2, bits2, lo3, bits3;  // Up to three ranges, each above the one before.
  uint8_t bias;                              // The field holds value + bias.
  bool is_signed;
  uint32_t initial;  // Of an instruction that does not say.
};

// Whether an atomic writes the value before to a register: glc, sc0 or the lowest bit of th.
enum Atomic : uint8_t { kNoAtomic, kAtomicWithoutResult, kAtomicWithResult };

struct FormData {
  Form form;
  const Enc* encs;
  const ModEnc* mod_encs;
  uint8_t num_mods;
  uint8_t op_sel_count;  // How many bits of op_sel the text shows. 0: none.
  uint8_t op_sel_mask;   // Bits that may be set.
  Op op_y;               // VOPD
  const char* mnemonic_y;
  uint8_t split;        // VOPD: operands of the first half.
  bool hide_op_sel_hi;  // Encoded, but no part of the text.
  // Images: bits 1:0 further arguments, 2 a level or clamp, 3 gradients, 4 of 16 bits, 5 no
  // coordinates, 6 a ray.
  uint8_t image;
  Atomic atomic;
  uint64_t mask[2];   // Bits that are the same in each such instruction,
  uint64_t value[2];  // and their values.
};

inline const FormData& DataOf(const Form* form) { return *reinterpret_cast<const FormData*>(form); }

extern const FormData kForms[];
extern const int kFormCount;

// Decoding: word >> 23 selects an Index, whose key the chain of candidates. Chains end with 0xffff.
struct Index {
  uint8_t shift;
  uint8_t bits;
  uint32_t base;  // In kChainStart.
};
extern const Index kIndex[kNumIsas][512];
extern const uint16_t kChainStart[];
extern const uint16_t kChains[];

extern const char* const kOpNames[];
// Forms of an instruction set in the order of their mnemonics.
extern const uint16_t* const kSorted[kNumIsas];
extern const int kSortedCount[kNumIsas];

}  // namespace tg::amd::internal

#endif  // TG_CODEGEN_ISA_AMD_TABLE_DATA_H_
