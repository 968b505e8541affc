// Hazards and waits of AMD GPUs as data, a checker for code that somebody wrote by hand, and a pass
// that puts in what is missing.
//
// Hardware does not always wait for what it needs: results of memory instructions must be waited
// for with counters, and some pairs of instructions need other instructions between them (Hazard
// rows below). The checker follows the code in its order: it sees what an instruction needs of
// those before it, but not what arrives by a jump from further down.
//
// Not here: hazards of exports, of LDSDIR (the wait is a field of the instruction itself) and, on
// gfx11 with waves of 64, partial forwarding around a write of EXEC.
#ifndef TG_CODEGEN_ISA_AMD_HAZARD_H_
#define TG_CODEGEN_ISA_AMD_HAZARD_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd {

// What an instruction is, for hazards. One instruction is several of these.
enum class Actor : uint8_t {
  kValu,          // Vector arithmetic, matrix instructions included.
  kTrans,         // Of those: transcendental functions.
  kNotTrans,      // Of those: the others.
  kPlain,         // Of those: without matrix instructions.
  kPlainNotDot,   // Of those: without dot products, too.
  kDot,           // Dot products.
  kPartialWrite,  // Results in a part of the register: SDWA, or op_sel of the destination.
  kFmaF64,        // v_fma_f64, v_fmac_f64
  kDpp,           // With DPP.
  kLaneSelect,    // v_readlane, v_writelane: by their lane select.
  kLaneRead,      // v_readlane, v_readfirstlane
  kLane,          // Both.
  kPermlane,      // v_permlane16, v_permlanex16, v_permlane64 and their kin of RDNA.
  kPermlaneSwap,  // v_permlane16_swap, v_permlane32_swap
  kCmpx,          // Comparisons that write EXEC.
  kDivFmas,       // v_div_fmas
  kMatrix,        // MFMA, SMFMAC, WMMA, SWMMAC.
  kXdl,           // Of CDNA's: all but those that multiply f32 or f64.
  kSgemm,         // Those that multiply f32.
  kDgemm,         // Those that multiply f64.
  kDgemm4x4,      // Of those: 4x4x4.
  kDgemm16x16,    // Of those: 16x16x4.
  kSalu,          // Scalar arithmetic.
  kSetreg,        // s_setreg
  kGetreg,        // s_getreg
  kRfe,           // s_rfe
  kM0Reader,      // s_sendmsg, s_ttracedata, s_movrel, ds_*_addtid, GDS, loads into LDS.
  kVmem,          // Vector memory: buffer, global, flat, scratch, image.
  kMemory,        // The same, LDS and exports.
  kWideStore,     // Stores of more than 64 bits.
};
inline constexpr int kNumActors = static_cast<int>(Actor::kWideStore) + 1;

// How producer and consumer meet.
enum class Link : uint8_t {
  kSgpr,             // The consumer reads a scalar register that the producer writes.
  kVcc,              // The producer writes VCC.
  kExec,             // The producer writes EXEC.
  kM0,               // The producer writes M0.
  kHwreg,            // Both are about the same hardware register.
  kTrapsts,          // The producer writes hardware register TRAPSTS.
  kVgpr,             // The consumer reads a VGPR that the producer writes.
  kVgprOverwritten,  // The consumer writes a VGPR that the producer writes.
  kVgprEither,       // One of the two.
  kStoreData,        // The consumer writes a VGPR that the producer stores.
  kAddendWritten,    // The consumer writes a VGPR that the producer adds.
  kMultiplicand,  // The consumer multiplies (or takes as index or scale) what the producer writes.
  kAddendSame,    // The consumer adds exactly the registers that the producer writes.
  kAddendOverlaps,  // The consumer adds some of the registers that the producer writes.
  kDotRead,         // kVgpr, but the same instruction may take the producer's result as addend.
  kDotOverwritten,  // kVgprOverwritten, but by another instruction.
  kSgprReused,      // An SGPR that vector instructions read (gfx11: as a mask) is written by the
                    // producer and read by the consumer.
  kOrder,           // By coming one after the other.
};

enum class Cure : uint8_t {
  kNop,      // s_nop: wait states between the two.
  kVNop,     // v_nop: vector instructions between the two.
  kVMov,     // v_mov_b32 of a register to itself, because v_nop is no instruction to hardware.
  kVaVdst0,  // s_waitcnt_depctr depctr_va_vdst(0), before the consumer.
  kSdst0,    // s_waitcnt_depctr (gfx12: s_wait_alu) for sa_sdst, va_sdst or va_vcc of 0.
};

struct Hazard {
  const char* name;
  uint8_t isas;  // Bit of each Isa.
  Actor producer;
  Actor consumer;
  Link link;
  // What must lie between them: wait states for kNop (an instruction is one, s_nop N is N + 1),
  // vector instructions for the others. By the producer's passes, which only matrix instructions
  // have more than one number of: 2, 4, 8, 16.
  std::array<int8_t, 4> distance;
  Cure cure;
  const char* source;
};

absl::Span<const Hazard> Hazards();

// Counters that count what is under way.
enum class Counter : uint8_t {
  kVm,      // Vector memory loads; on CDNA stores, too. gfx12: loadcnt.
  kVs,      // Vector memory stores: RDNA's vscnt and storecnt.
  kLgkm,    // LDS, scalar memory, messages: gfx11, CDNA.
  kDs,      // LDS: gfx12.
  kKm,      // Scalar memory and messages: gfx12.
  kSample,  // gfx12.
  kBvh,     // gfx12.
  kExp,
};
inline constexpr int kNumCounters = 8;

// Something that is missing before an instruction.
struct HazardFinding {
  uint64_t offset = 0;             // Of the instruction that needs it.
  const Hazard* hazard = nullptr;  // Null: a counter must be waited for.
  int nops = 0;                    // What is missing, for kNop and kVNop.
  uint16_t wait = 0;               // What to wait for, for kVaVdst0 and kSdst0: 16 bits of the
                                   // instruction.
  uint8_t vgpr = 0;                // What to move, for kVMov.
  Counter counter = Counter::kVm;
  uint32_t count = 0;   // Largest value at which the instruction may go on.
  std::string message;  // "v3 is loaded by the instruction at 0x10: wait for vmcnt(0)"
};

struct HazardOptions {
  bool wave64 = false;  // RDNA: waves have 64 lanes. CDNA's always have.
};

// Decodes `code` and says what is missing, in the order of the code. Words that are no instruction
// end what is known. Time is linear in the code.
std::vector<HazardFinding> CheckHazards(absl::Span<const uint8_t> code, Arch arch,
                                        const HazardOptions& options = {});

// The code with s_nop, v_nop and waits put in where CheckHazards misses them, and everything waited
// for before branches and their targets; branches go where they went. InvalidArgument where code
// does not decode, or computes addresses in itself (s_getpc, s_call, s_setpc, s_swappc), whose
// distances would be wrong.
absl::StatusOr<std::vector<uint8_t>> InsertWaits(absl::Span<const uint8_t> code, Arch arch,
                                                 const HazardOptions& options = {});

// The code with s_delay_alu where an instruction uses what one shortly before it makes: the wave
// then sleeps until its turn, and others go on. For speed alone, so not part of InsertWaits; after
// it, if both are used. Only RDNA. Errors as InsertWaits.
absl::StatusOr<std::vector<uint8_t>> InsertDelays(absl::Span<const uint8_t> code, Arch arch,
                                                  const HazardOptions& options = {});

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_HAZARD_H_
