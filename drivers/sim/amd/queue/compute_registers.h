// The shader registers of a compute dispatch, and how they become one.
//
// Source: Linux, drivers/gpu/drm/amd/include/asic_reg/gc: gc_9_4_3, gc_11_0_0, gc_12_0_0
// (_offset.h, _sh_mask.h); AMD RDNA3 and CDNA3 instruction set documents, "Dispatch".
#ifndef TG_DRIVERS_SIM_AMD_QUEUE_COMPUTE_REGISTERS_H_
#define TG_DRIVERS_SIM_AMD_QUEUE_COMPUTE_REGISTERS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/isa/amd/arch.h"
#include "drivers/sim/amd/queue/gpu.h"

namespace tg::amd::sim {

// Dword addresses.
inline constexpr uint32_t kComputeDispatchInitiator = 0x2e00;
inline constexpr uint32_t kComputeDimX = 0x2e01;
inline constexpr uint32_t kComputeStartX = 0x2e04;
inline constexpr uint32_t kComputeNumThreadX = 0x2e07;
inline constexpr uint32_t kComputePgmLo = 0x2e0c;
inline constexpr uint32_t kComputeDispatchScratchBaseLo = 0x2e10;
inline constexpr uint32_t kComputePgmRsrc1 = 0x2e12;
inline constexpr uint32_t kComputePgmRsrc2 = 0x2e13;
inline constexpr uint32_t kComputeTmpringSize = 0x2e18;
inline constexpr uint32_t kComputePgmRsrc3Rdna = 0x2e28;
inline constexpr uint32_t kComputePgmRsrc3Cdna = 0x2e2d;
inline constexpr uint32_t kComputeUserData0 = 0x2e40;
inline constexpr uint32_t kNumComputeUserData = 16;

// COMPUTE_DISPATCH_INITIATOR.
inline constexpr uint32_t kComputeShaderEn = 1 << 0;
inline constexpr uint32_t kPartialTgEn = 1 << 1;
inline constexpr uint32_t kForceStartAt000 = 1 << 2;
inline constexpr uint32_t kUseThreadDimensions = 1 << 5;
inline constexpr uint32_t kRestore = 1 << 14;
inline constexpr uint32_t kCsW32En = 1 << 15;

// COMPUTE_TMPRING_SIZE: bytes of scratch of a wave (WAVESIZE, in units that differ), and how many
// waves of a shader engine have some.
uint64_t ScratchBytesOfWave(Isa isa, uint32_t tmpring_size);
constexpr uint32_t ScratchWaves(uint32_t tmpring_size) { return tmpring_size & 0xfff; }

// The dispatch that the registers and the three counts of a DISPATCH packet ask for. A count of 0
// asks for nothing: the dispatch then has an empty grid. Not modelled, thus Unimplemented: a start
// other than 0,0,0, and dispatches that are restored after preemption.
absl::StatusOr<Dispatch> DispatchOfRegisters(Gpu* gpu, const uint32_t dim[3], uint32_t initiator);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_QUEUE_COMPUTE_REGISTERS_H_
