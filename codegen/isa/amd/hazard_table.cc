// The rows of hazard.h.
//
// Sources. CDNA: AMD "CDNA3" and "CDNA4" Instruction Set Architecture documents, sections 4.5
// (manually inserted wait states) and 7.6 (dependency resolution of matrix instructions). RDNA:
// "RDNA3" 7.9 and "RDNA4" 7.12 (WMMA). What the manuals leave out or have wrong was taken from what
// LLVM 22 puts in (hazard_llvm_test compares).
#include "codegen/isa/amd/hazard.h"

namespace tg::amd {
namespace {

using A = Actor;
using L = Link;

constexpr uint8_t Bit(Isa isa) { return static_cast<uint8_t>(1 << static_cast<int>(isa)); }
constexpr uint8_t k942 = Bit(Isa::kGfx942);
constexpr uint8_t k950 = Bit(Isa::kGfx950);
constexpr uint8_t kCdna = k942 | k950;
constexpr uint8_t k11 = Bit(Isa::kGfx11);
constexpr uint8_t kRdna3 = k11 | Bit(Isa::kGfx115);
constexpr uint8_t k12 = Bit(Isa::kGfx12);
constexpr uint8_t kRdna = kRdna3 | k12;

constexpr char kManual[] = "CDNA3 ISA, 4.5";
constexpr char kMatrix[] = "CDNA3 ISA, 7.6; CDNA4 ISA, 7.6";
constexpr char kLlvm[] = "LLVM 22";
constexpr char kWmma[] = "RDNA3 ISA, 7.9; RDNA4 ISA, 7.12";

constexpr std::array<int8_t, 4> Always(int8_t distance) {
  return {distance, distance, distance, distance};
}
using Passes = std::array<int8_t, 4>;  // 2, 4, 8, 16.

constexpr Hazard kHazards[] = {
    // Vector and scalar instructions of CDNA.
    {"VALU writes SGPR, VMEM reads it", kCdna, A::kValu, A::kVmem, L::kSgpr, Always(5), Cure::kNop,
     kManual},
    {"VALU writes EXEC, VMEM", kCdna, A::kValu, A::kVmem, L::kExec, Always(5), Cure::kNop, kLlvm},
    {"VALU writes SGPR, VALU reads it", kCdna, A::kValu, A::kValu, L::kSgpr, Always(2), Cure::kNop,
     kLlvm},
    {"VALU writes VCC, v_div_fmas", kCdna, A::kValu, A::kDivFmas, L::kVcc, Always(4), Cure::kNop,
     kManual},
    {"VALU writes SGPR, lane select", kCdna, A::kValu, A::kLaneSelect, L::kSgpr, Always(4),
     Cure::kNop, kManual},
    {"VALU writes VGPR, v_readlane reads it", kCdna, A::kValu, A::kLaneRead, L::kVgpr, Always(1),
     Cure::kNop, kLlvm},
    {"VALU writes EXEC, v_readlane or v_writelane", kCdna, A::kValu, A::kLane, L::kExec, Always(4),
     Cure::kNop, kLlvm},
    {"VALU writes EXEC, VALU with DPP", kCdna, A::kValu, A::kDpp, L::kExec, Always(5), Cure::kNop,
     kManual},
    {"VALU writes VGPR, VALU with DPP reads it", kCdna, A::kValu, A::kDpp, L::kVgpr, Always(2),
     Cure::kNop, kManual},
    {"VALU writes VGPR, v_permlane_swap reads it", k950, A::kValu, A::kPermlaneSwap, L::kVgpr,
     Always(2), Cure::kNop, kLlvm},
    {"VALU writes EXEC, v_permlane_swap", k950, A::kValu, A::kPermlaneSwap, L::kExec, Always(4),
     Cure::kNop, kLlvm},
    {"transcendental VALU writes VGPR, VALU reads it", kCdna, A::kTrans, A::kNotTrans, L::kVgpr,
     Always(1), Cure::kNop, kManual},
    {"VALU writes a part of a VGPR, VALU reads or writes it", kCdna, A::kPartialWrite, A::kValu,
     L::kVgprEither, Always(1), Cure::kNop, kManual},
    {"dot product writes VGPR, VALU reads it", kCdna, A::kDot, A::kPlain, L::kDotRead, Always(3),
     Cure::kNop, kManual},
    {"dot product writes VGPR, memory instruction reads it", kCdna, A::kDot, A::kMemory, L::kVgpr,
     Always(3), Cure::kNop, kManual},
    {"dot product writes VGPR, VALU writes it", kCdna, A::kDot, A::kPlain, L::kDotOverwritten,
     Always(3), Cure::kNop, kManual},
    {"dot product writes VGPR, load writes it", kCdna, A::kDot, A::kMemory, L::kVgprOverwritten,
     Always(3), Cure::kNop, kManual},
    {"store of more than 64 bits, VALU writes its data", kCdna, A::kWideStore, A::kValu,
     L::kStoreData, Always(2), Cure::kNop, kManual},
    {"s_setreg, s_getreg of the same register", kCdna, A::kSetreg, A::kGetreg, L::kHwreg, Always(2),
     Cure::kNop, kManual},
    {"s_setreg, s_setreg of the same register", kCdna, A::kSetreg, A::kSetreg, L::kHwreg, Always(2),
     Cure::kNop, kManual},
    {"s_setreg of TRAPSTS, s_rfe", kCdna, A::kSetreg, A::kRfe, L::kTrapsts, Always(1), Cure::kNop,
     kManual},
    {"SALU writes M0, an instruction reads it without waiting", kCdna, A::kSalu, A::kM0Reader,
     L::kM0, Always(1), Cure::kNop, kManual},

    // Matrix instructions of CDNA after others.
    {"VALU writes EXEC, MFMA", kCdna, A::kPlain, A::kMatrix, L::kExec, Always(4), Cure::kNop,
     kMatrix},
    {"VALU writes VGPR, MFMA reads it", kCdna, A::kPlainNotDot, A::kMatrix, L::kVgpr, Always(2),
     Cure::kNop, kMatrix},

    // A matrix instruction multiplies what another one made.
    {"MFMA writes VGPR, MFMA multiplies it", k942, A::kXdl, A::kMatrix, L::kMultiplicand,
     Passes{5, 7, 11, 19}, Cure::kNop, kMatrix},
    {"MFMA writes VGPR, MFMA multiplies it", k950, A::kXdl, A::kMatrix, L::kMultiplicand,
     Passes{5, 8, 12, 20}, Cure::kNop, kMatrix},
    {"MFMA of f32 writes VGPR, MFMA multiplies it", kCdna, A::kSgemm, A::kMatrix, L::kMultiplicand,
     Passes{4, 6, 10, 18}, Cure::kNop, kMatrix},
    {"MFMA of f64 4x4x4 writes VGPR, MFMA multiplies it", kCdna, A::kDgemm4x4, A::kMatrix,
     L::kMultiplicand, Always(6), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPR, MFMA multiplies it", k942, A::kDgemm16x16, A::kMatrix,
     L::kMultiplicand, Always(11), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPR, MFMA multiplies it", k950, A::kDgemm16x16, A::kMatrix,
     L::kMultiplicand, Always(19), Cure::kNop, kMatrix},

    // It adds it: the whole result, which is mostly forwarded, or a part.
    {"MFMA writes VGPRs, MFMA adds them", kCdna, A::kXdl, A::kMatrix, L::kAddendSame,
     Passes{2, 0, 0, 0}, Cure::kNop, kMatrix},
    {"MFMA of f32 writes VGPRs, MFMA adds them", kCdna, A::kSgemm, A::kMatrix, L::kAddendSame,
     Passes{2, 0, 0, 0}, Cure::kNop, kMatrix},
    {"MFMA of f64 4x4x4 writes VGPRs, the same adds them", kCdna, A::kDgemm4x4, A::kDgemm4x4,
     L::kAddendSame, Always(4), Cure::kNop, kMatrix},
    {"MFMA writes VGPRs, MFMA adds some of them", k942, A::kXdl, A::kMatrix, L::kAddendOverlaps,
     Passes{3, 5, 9, 17}, Cure::kNop, kMatrix},
    {"MFMA writes VGPRs, MFMA adds some of them", k950, A::kXdl, A::kXdl, L::kAddendOverlaps,
     Passes{4, 6, 10, 18}, Cure::kNop, kMatrix},
    {"MFMA writes VGPRs, MFMA of f32 adds some of them", k950, A::kXdl, A::kSgemm,
     L::kAddendOverlaps, Passes{3, 6, 10, 18}, Cure::kNop, kMatrix},
    {"MFMA writes VGPRs, MFMA of f64 adds some of them", k950, A::kXdl, A::kDgemm,
     L::kAddendOverlaps, Passes{3, 6, 10, 18}, Cure::kNop, kMatrix},
    {"MFMA of f32 writes VGPRs, MFMA of f32 adds some of them", kCdna, A::kSgemm, A::kSgemm,
     L::kAddendOverlaps, Passes{2, 4, 8, 16}, Cure::kNop, kMatrix},
    {"MFMA of f32 writes VGPRs, MFMA of f64 adds some of them", kCdna, A::kSgemm, A::kDgemm,
     L::kAddendOverlaps, Passes{2, 4, 8, 16}, Cure::kNop, kMatrix},
    {"MFMA of f64 4x4x4 writes VGPRs, MFMA of f32 adds some of them", kCdna, A::kDgemm4x4,
     A::kSgemm, L::kAddendOverlaps, Always(4), Cure::kNop, kMatrix},
    {"MFMA of f64 4x4x4 writes VGPRs, MFMA of f64 adds some of them", kCdna, A::kDgemm4x4,
     A::kDgemm, L::kAddendOverlaps, Always(4), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPRs, MFMA of f32 adds some of them", k942, A::kDgemm16x16,
     A::kSgemm, L::kAddendOverlaps, Always(9), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPRs, MFMA of f64 adds some of them", k942, A::kDgemm16x16,
     A::kDgemm, L::kAddendOverlaps, Always(9), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPRs, MFMA of f32 adds some of them", k950, A::kDgemm16x16,
     A::kSgemm, L::kAddendOverlaps, Always(17), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPRs, MFMA of f64 adds some of them", k950, A::kDgemm16x16,
     A::kDgemm, L::kAddendOverlaps, Always(17), Cure::kNop, kMatrix},

    // Vector instructions after matrix instructions.
    {"MFMA writes VGPR, VALU reads it", k942, A::kXdl, A::kPlain, L::kVgpr, Passes{5, 7, 11, 19},
     Cure::kNop, kMatrix},
    {"MFMA writes VGPR, VALU reads it", k950, A::kXdl, A::kPlain, L::kVgpr, Passes{5, 8, 12, 20},
     Cure::kNop, kMatrix},
    {"MFMA of f32 writes VGPR, VALU reads it", kCdna, A::kSgemm, A::kPlain, L::kVgpr,
     Passes{4, 6, 10, 18}, Cure::kNop, kMatrix},
    {"MFMA of f64 4x4x4 writes VGPR, VALU reads it", kCdna, A::kDgemm4x4, A::kPlain, L::kVgpr,
     Always(6), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPR, VALU reads it", k942, A::kDgemm16x16, A::kPlain, L::kVgpr,
     Always(11), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPR, VALU reads it", k950, A::kDgemm16x16, A::kPlain, L::kVgpr,
     Always(19), Cure::kNop, kMatrix},
    {"MFMA writes VGPR, VALU writes it", k942, A::kXdl, A::kPlain, L::kVgprOverwritten,
     Passes{5, 7, 11, 19}, Cure::kNop, kMatrix},
    {"MFMA writes VGPR, VALU writes it", k950, A::kXdl, A::kPlain, L::kVgprOverwritten,
     Passes{5, 8, 12, 20}, Cure::kNop, kMatrix},
    {"MFMA of f32 writes VGPR, VALU writes it", kCdna, A::kSgemm, A::kPlain, L::kVgprOverwritten,
     Passes{4, 6, 10, 18}, Cure::kNop, kMatrix},
    {"MFMA of f64 4x4x4 writes VGPR, VALU writes it", kCdna, A::kDgemm4x4, A::kPlain,
     L::kVgprOverwritten, Always(6), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPR, VALU writes it", kCdna, A::kDgemm16x16, A::kPlain,
     L::kVgprOverwritten, Always(11), Cure::kNop, kMatrix},
    {"MFMA adds VGPR, VALU writes it", kCdna, A::kXdl, A::kPlain, L::kAddendWritten,
     Passes{1, 3, 7, 15}, Cure::kNop, kMatrix},
    {"MFMA of f64, v_fma_f64", kCdna, A::kDgemm, A::kFmaF64, L::kOrder, Always(2), Cure::kNop,
     kMatrix},

    // Memory instructions after matrix instructions.
    {"MFMA writes VGPR, memory instruction reads it", k942, A::kXdl, A::kMemory, L::kVgpr,
     Passes{5, 7, 11, 19}, Cure::kNop, kMatrix},
    {"MFMA writes VGPR, memory instruction reads it", k950, A::kXdl, A::kMemory, L::kVgpr,
     Passes{5, 8, 12, 20}, Cure::kNop, kMatrix},
    {"MFMA of f32 writes VGPR, memory instruction reads it", kCdna, A::kSgemm, A::kMemory, L::kVgpr,
     Passes{4, 6, 10, 18}, Cure::kNop, kMatrix},
    {"MFMA of f64 4x4x4 writes VGPR, memory instruction reads it", kCdna, A::kDgemm4x4, A::kMemory,
     L::kVgpr, Always(9), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPR, memory instruction reads it", kCdna, A::kDgemm16x16,
     A::kMemory, L::kVgpr, Always(18), Cure::kNop, kMatrix},
    {"MFMA writes VGPR, load writes it", k942, A::kXdl, A::kMemory, L::kVgprOverwritten,
     Passes{5, 7, 11, 19}, Cure::kNop, kMatrix},
    {"MFMA writes VGPR, load writes it", k950, A::kXdl, A::kMemory, L::kVgprOverwritten,
     Passes{5, 8, 12, 20}, Cure::kNop, kMatrix},
    {"MFMA of f32 writes VGPR, load writes it", kCdna, A::kSgemm, A::kMemory, L::kVgprOverwritten,
     Passes{4, 6, 10, 18}, Cure::kNop, kMatrix},
    {"MFMA of f64 4x4x4 writes VGPR, load writes it", kCdna, A::kDgemm4x4, A::kMemory,
     L::kVgprOverwritten, Always(6), Cure::kNop, kMatrix},
    {"MFMA of f64 16x16x4 writes VGPR, load writes it", kCdna, A::kDgemm16x16, A::kMemory,
     L::kVgprOverwritten, Always(11), Cure::kNop, kMatrix},
    {"MFMA adds VGPR, load writes it", kCdna, A::kXdl, A::kMemory, L::kAddendWritten,
     Passes{1, 3, 7, 15}, Cure::kNop, kMatrix},

    // RDNA.
    {"transcendental VALU writes VGPR, VALU reads it", k11, A::kTrans, A::kValu, L::kVgpr,
     Always(6), Cure::kVaVdst0, kLlvm},
    {"WMMA writes VGPR, WMMA multiplies it", kRdna, A::kMatrix, A::kMatrix, L::kMultiplicand,
     Always(1), Cure::kVNop, kWmma},
    {"v_cmpx, v_permlane", kRdna, A::kCmpx, A::kPermlane, L::kOrder, Always(1), Cure::kVMov, kLlvm},
    {"SGPR read as a mask is written and read, VALU", kRdna3, A::kValu, A::kValu, L::kSgprReused,
     Always(0), Cure::kSdst0, kLlvm},
    {"SGPR read as a mask is written and read, SALU", kRdna3, A::kValu, A::kSalu, L::kSgprReused,
     Always(0), Cure::kSdst0, kLlvm},
    {"SGPR read by VALU is written and read, VALU", k12, A::kValu, A::kValu, L::kSgprReused,
     Always(0), Cure::kSdst0, kLlvm},
    {"SGPR read by VALU is written and read, SALU", k12, A::kValu, A::kSalu, L::kSgprReused,
     Always(0), Cure::kSdst0, kLlvm},
};

}  // namespace

absl::Span<const Hazard> Hazards() { return kHazards; }

}  // namespace tg::amd
