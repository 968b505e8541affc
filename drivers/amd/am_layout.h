#ifndef TG_DRIVERS_AMD_AM_LAYOUT_H_
#define TG_DRIVERS_AMD_AM_LAYOUT_H_

// What an AMD card that is driven from user space looks like to others.
//
// A user-space ("AM") driver that has started a card leaves its version in the register
// GC SCRATCH_REG7, so that the next one need not start it again. The first 32 MiB of the card's
// memory are boot memory: what the blocks of the card use that are started only once. Drivers of
// one version put the same things there in the same order, each at the lowest place where it fits:
//
//   bytes      alignment  offset
//   0x1000     0x1000     0x0       root page table of VMID 0
//   0x1000     0x1000     0x1000    default page of the system aperture
//   0x1000     0x1000     0x2000    page for accesses that fault
//   0x40000    0x1000     0x3000    interrupt ring 0, then a page for its pointers
//   0x40000    0x1000     0x44000   interrupt ring 1, the same
//   0x100000   0x100000   0x100000  messages to the PSP
//   0x1000     0x1000     0x85000   PSP commands
//   0x1000     0x1000     0x86000   PSP fence
//   0x10000    0x1000     0x87000   PSP ring
//   0x1300000  0x100000   0x200000  trusted memory, where the PSP has none of its own
//   0x4000     0x1000     0x97000   tables of the SMU

#include <cstdint>

namespace tg::amd {

// SCRATCH_REG7, in segment 1 of GC, in dwords; the same from GC 9.4.3 to 12.
inline constexpr uint64_t kScratchReg7 = 0x2047;
inline constexpr uint32_t kAmVersion = 0xa000'0008;

inline constexpr uint64_t kAmRootPageTable = 0;
inline constexpr uint64_t kAmSmuTables = 0x97000;

// Registers at fixed places in BAR 5, in dwords (drivers/gpu/drm/amd/amdgpu/amdgpu_discovery.c,
// amdgpu_virt.h in the Linux kernel).
inline constexpr uint64_t kMmIndex = 0x0;              // address bits 30:0, and bit 31 for memory
inline constexpr uint64_t kMmData = 0x1;               // the dword there
inline constexpr uint64_t kMmIndexHi = 0x6;            // address from bit 31 on
inline constexpr uint64_t kConfigMemsize = 0xde3;      // memory of the card, MiB
inline constexpr uint64_t kIovFuncIdentifier = 0xde5;  // bit 0: this is a virtual function

}  // namespace tg::amd

#endif  // TG_DRIVERS_AMD_AM_LAYOUT_H_
