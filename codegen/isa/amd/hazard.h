// Hazards and waits of AMD GPUs as data, a checker for code that somebody wrote by hand, and a pass
// that puts in what is missing.
//
// Hardware does not always wait for what it needs: results of memory instructions must be waited
// for with counters, and some pairs of instructions need other instructions between them (Hazard
// rows below). The checker follows the code in its order: it sees what an instruction needs of
// those before it, but not what arrives by a jump from further down.
#ifndef TG_CODEGEN_ISA_AMD_HAZARD_H_
#define TG_CODEGEN_ISA_AMD_HAZARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/inst.h"

namespace tg::amd {

// What an instruction is, for hazards.
enum class Actor : uint8_t {
  kValu,     // Vector arithmetic, matrix instructions included.
  kTrans,    // Of those: transcendental functions.
  kMatrix,   // Of those: MFMA, WMMA, SWMMAC.
  kDpp,      // Of those: with DPP.
  kLane,     // v_readlane, v_writelane: by their lane select.
  kDivFmas,  // v_div_fmas
  kSalu,     // Scalar arithmetic.
  kSetreg,
  kGetreg,
  kSendmsg,    // s_sendmsg and s_ttracedata.
  kVmem,       // Vector memory: buffer, global, flat, scratch, image.
  kWideStore,  // Of those: stores of more than 64 bits.
  kAny,
};

// How producer and consumer meet.
enum class Link : uint8_t {
  kSgpr,         // The consumer reads a scalar register that the producer writes.
  kVcc,          // The same of VCC.
  kExec,         // The consumer runs under an EXEC that the producer writes.
  kM0,           // The consumer reads M0, which the producer writes.
  kVgpr,         // The consumer reads a VGPR that the producer writes.
  kVgprWritten,  // The consumer writes a VGPR that the producer reads.
  kOrder,        // By coming one after the other.
};

enum class Cure : uint8_t {
  kNop,      // s_nop: `distance` instructions, or wait states, between the two.
  kVNop,     // v_nop, as many.
  kVaVdst0,  // s_waitcnt_depctr depctr_va_vdst(0), before the consumer.
};

struct Hazard {
  const char* name;
  uint8_t isas;  // Bit of each Isa.
  Actor producer;
  Actor consumer;
  Link link;
  int distance;  // Wait states that must lie between them.
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
  int nops = 0;                    // Wait states that are missing, for kNop and kVNop.
  Counter counter = Counter::kVm;
  uint32_t count = 0;   // Largest value at which the instruction may go on.
  std::string message;  // "v3 is loaded by the instruction at 0x10: wait for vmcnt(0)"
};

// Decodes `code` and says what is missing, in the order of the code. Words that are no instruction
// end what is known. Time is linear in the code.
std::vector<HazardFinding> CheckHazards(absl::Span<const uint8_t> code, Arch arch);

// The code with s_nop, v_nop and waits put in where CheckHazards misses them, and everything waited
// for before branches and their targets; branches go where they went. InvalidArgument where code
// does not decode, or computes addresses in itself (s_getpc, s_call, s_setpc, s_swappc), whose
// distances would be wrong.
absl::StatusOr<std::vector<uint8_t>> InsertWaits(absl::Span<const uint8_t> code, Arch arch);

}  // namespace tg::amd

#endif  // TG_CODEGEN_ISA_AMD_HAZARD_H_
