// Executes packets of the system DMA engines: SDMA 4.4 (gfx942, gfx950), 6.0 (gfx11) and 7.0
// (gfx12) as far as they are alike.
//
// Known: NOP, COPY (linear), WRITE (linear), INDIRECT, FENCE, TRAP, POLL_REGMEM, ATOMIC,
// CONST_FILL, TIMESTAMP, GCR. Everything else is Unimplemented, by name of its numbers. Linear
// copies must not overlap: the engine has many reads in flight.
//
// Source: Linux, drivers/gpu/drm/amd/amdgpu/{vega10,navi10,sdma_v6_0_0}_sdma_pkt_open.h,
// sdma_v4_0.c, sdma_v6_0.c.
#ifndef TG_DRIVERS_SIM_AMD_QUEUE_SDMA_H_
#define TG_DRIVERS_SIM_AMD_QUEUE_SDMA_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drivers/sim/amd/queue/gpu.h"
#include "drivers/sim/amd/queue/outcome.h"

namespace tg::amd::sim {

class SdmaProcessor {
 public:
  explicit SdmaProcessor(Gpu* gpu) : gpu_(gpu) {}

  // Dwords of the packet that starts with `head`; 0 when more of it must be seen, 4 are always
  // enough. Unimplemented for unknown packets.
  absl::StatusOr<uint32_t> Length(absl::Span<const uint32_t> head) const;
  // `packet` has Length's dwords.
  absl::StatusOr<Outcome> Execute(absl::Span<const uint32_t> packet);

 private:
  absl::StatusOr<Outcome> Copy(absl::Span<const uint32_t> p);
  absl::StatusOr<Outcome> Fill(absl::Span<const uint32_t> p);
  absl::StatusOr<Outcome> Poll(absl::Span<const uint32_t> p);
  absl::StatusOr<Outcome> Atomic(absl::Span<const uint32_t> p);

  Gpu* gpu_;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_QUEUE_SDMA_H_
