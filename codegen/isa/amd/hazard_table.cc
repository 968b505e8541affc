// The rows of hazard.h. Distances are wait states: an instruction is one, s_nop N is N + 1.
#include "codegen/isa/amd/hazard.h"

namespace tg::amd {
namespace {

constexpr uint8_t Bit(Isa isa) { return static_cast<uint8_t>(1 << static_cast<int>(isa)); }
constexpr uint8_t kCdna = Bit(Isa::kGfx942) | Bit(Isa::kGfx950);
constexpr uint8_t kRdna3 = Bit(Isa::kGfx11) | Bit(Isa::kGfx115);
constexpr uint8_t kRdna = kRdna3 | Bit(Isa::kGfx12);

constexpr char kCdnaManual[] = "CDNA3 ISA, 4.5 Manually inserted wait states";
constexpr char kLlvm[] = "LLVM 22, GCNHazardRecognizer";
constexpr char kRdnaManual[] = "RDNA3 ISA, 7.9 WMMA; RDNA4 ISA, 7.12";

constexpr Hazard kHazards[] = {
    {"VALU writes SGPR, VMEM reads it", kCdna, Actor::kValu, Actor::kVmem, Link::kSgpr, 5,
     Cure::kNop, kCdnaManual},
    {"VALU writes VCC, v_div_fmas", kCdna, Actor::kValu, Actor::kDivFmas, Link::kVcc, 4, Cure::kNop,
     kCdnaManual},
    {"VALU writes SGPR, lane select", kCdna, Actor::kValu, Actor::kLane, Link::kSgpr, 4, Cure::kNop,
     kCdnaManual},
    {"VALU writes EXEC, VALU with DPP", kCdna, Actor::kValu, Actor::kDpp, Link::kExec, 5,
     Cure::kNop, kCdnaManual},
    {"VALU writes VGPR, VALU with DPP reads it", kCdna, Actor::kValu, Actor::kDpp, Link::kVgpr, 2,
     Cure::kNop, kCdnaManual},
    {"s_setreg, s_getreg", kCdna, Actor::kSetreg, Actor::kGetreg, Link::kOrder, 2, Cure::kNop,
     kCdnaManual},
    {"s_setreg, s_setreg", kCdna, Actor::kSetreg, Actor::kSetreg, Link::kOrder, 2, Cure::kNop,
     kCdnaManual},
    {"SALU writes M0, s_sendmsg or s_ttracedata", kCdna, Actor::kSalu, Actor::kSendmsg, Link::kM0,
     1, Cure::kNop, kCdnaManual},
    {"store of more than 64 bits, VALU writes its data", kCdna, Actor::kWideStore, Actor::kValu,
     Link::kVgprWritten, 2, Cure::kNop, kLlvm},
    {"VALU writes VGPR, MFMA reads it", kCdna, Actor::kValu, Actor::kMatrix, Link::kVgpr, 2,
     Cure::kNop, kLlvm},
    {"transcendental VALU writes VGPR, VALU reads it", kCdna, Actor::kTrans, Actor::kValu,
     Link::kVgpr, 1, Cure::kNop, kLlvm},
    // The number of passes depends on the shape; this is that of the longest, 16 passes.
    {"MFMA writes VGPR, VALU reads it", kCdna, Actor::kMatrix, Actor::kValu, Link::kVgpr, 19,
     Cure::kNop, kLlvm},
    {"MFMA writes VGPR, VMEM reads it", kCdna, Actor::kMatrix, Actor::kVmem, Link::kVgpr, 19,
     Cure::kNop, kLlvm},
    {"transcendental VALU writes VGPR, VALU reads it", kRdna3, Actor::kTrans, Actor::kValu,
     Link::kVgpr, 5, Cure::kVaVdst0, kLlvm},
    {"WMMA writes VGPR, WMMA reads it", kRdna, Actor::kMatrix, Actor::kMatrix, Link::kVgpr, 1,
     Cure::kVNop, kRdnaManual},
};

}  // namespace

absl::Span<const Hazard> Hazards() { return kHazards; }

}  // namespace tg::amd
