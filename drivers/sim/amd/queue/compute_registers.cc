#include "drivers/sim/amd/queue/compute_registers.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tg::amd::sim {

uint64_t ScratchBytesOfWave(Isa isa, uint32_t tmpring_size) {
  // WAVESIZE starts at bit 12 and has 13, 15 or 18 bits; units of 256 dwords, since gfx11 of 64.
  if (IsCdna(isa)) return static_cast<uint64_t>(tmpring_size >> 12 & 0x1fff) * 1024;
  uint32_t mask = isa == Isa::kGfx12 ? 0x3ffff : 0x7fff;
  return static_cast<uint64_t>(tmpring_size >> 12 & mask) * 256;
}

absl::StatusOr<Dispatch> DispatchOfRegisters(Gpu* gpu, const uint32_t dim[3], uint32_t initiator) {
  const RegisterFile& r = gpu->registers();
  if (!(initiator & kComputeShaderEn)) {
    return absl::InvalidArgumentError("dispatch: COMPUTE_SHADER_EN is not set");
  }
  if (initiator & kRestore) return absl::UnimplementedError("dispatch: RESTORE is not modelled");
  Dispatch d;
  d.arch = gpu->arch();
  bool rdna = IsRdna(gpu->isa());
  d.wave32 = rdna && (initiator & kCsW32En);
  d.entry = (r.Read(kComputePgmLo) | static_cast<uint64_t>(r.Read(kComputePgmLo + 1) & 0xff) << 32)
            << 8;
  d.rsrc1 = r.Read(kComputePgmRsrc1);
  d.rsrc2 = r.Read(kComputePgmRsrc2);
  d.rsrc3 = r.Read(rdna ? kComputePgmRsrc3Rdna : kComputePgmRsrc3Cdna);
  d.lds_bytes = (d.rsrc2 >> 15 & 0x1ff) * 512;
  uint32_t user = d.rsrc2 >> 1 & 31;
  if (user > kNumComputeUserData) {
    return absl::InvalidArgumentError(
        absl::StrCat("dispatch: USER_SGPR is ", user, "; there are 16 COMPUTE_USER_DATA"));
  }
  for (uint32_t i = 0; i < user; ++i) d.user_sgprs[i] = r.Read(kComputeUserData0 + i);
  for (int i = 0; i < 3; ++i) {
    if (!(initiator & kForceStartAt000) && r.Read(kComputeStartX + i) != 0) {
      return absl::UnimplementedError("dispatch: COMPUTE_START other than 0 is not modelled");
    }
    uint32_t threads = r.Read(kComputeNumThreadX + i);
    uint32_t full = threads & 0xffff, partial = threads >> 16;
    if (full == 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("dispatch: COMPUTE_NUM_THREAD_%c is 0", 'X' + i));
    }
    d.block[i] = full;
    uint64_t grid = dim[i];
    if (!(initiator & kUseThreadDimensions)) grid *= full;
    if ((initiator & kPartialTgEn) && !(initiator & kUseThreadDimensions) && dim[i] > 0 &&
        partial > 0) {
      if (partial > full) {
        return absl::InvalidArgumentError("dispatch: a partial group larger than a full one");
      }
      grid -= full - partial;
    }
    if (grid > ~uint32_t{0}) {
      return absl::InvalidArgumentError(
          absl::StrFormat("dispatch: %u work-items in dimension %c", grid, 'X' + i));
    }
    d.grid[i] = static_cast<uint32_t>(grid);
  }
  if (d.rsrc2 & 1) {  // SCRATCH_EN.
    uint32_t tmpring = r.Read(kComputeTmpringSize);
    uint64_t wave = ScratchBytesOfWave(gpu->isa(), tmpring);
    if (wave == 0 || ScratchWaves(tmpring) == 0) {
      return absl::InvalidArgumentError("dispatch: SCRATCH_EN, but COMPUTE_TMPRING_SIZE is 0");
    }
    uint64_t base = (r.Read(kComputeDispatchScratchBaseLo) |
                     static_cast<uint64_t>(r.Read(kComputeDispatchScratchBaseLo + 1)) << 32)
                    << 8;
    // Waves keep scratch of their own here; but a base that is not there would fault on silicon.
    uint64_t bytes = wave * ScratchWaves(tmpring);
    if (gpu->Bytes(base, bytes, true) == nullptr) {
      return absl::AbortedError(absl::StrFormat("memory fault: %u bytes of scratch at %s", bytes,
                                                gpu->memory().Describe(base)));
    }
    d.scratch_bytes = static_cast<uint32_t>(wave / (d.wave32 ? 32 : 64));
  }
  return d;
}

}  // namespace tg::amd::sim
