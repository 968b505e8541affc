// Executes PM4 packets of compute queues as the micro engine compute (MEC) does.
//
// Known: NOP, DISPATCH_DIRECT, DISPATCH_INDIRECT, ATOMIC_MEM, PRED_EXEC, WRITE_DATA, WAIT_REG_MEM,
// INDIRECT_BUFFER, COPY_DATA, EVENT_WRITE (flushes), RELEASE_MEM, ACQUIRE_MEM, SET_SH_REG,
// SET_UCONFIG_REG. Everything else is Unimplemented, and so are values of known packets that ask
// for what is not modelled: thread traces, performance counters, GDS. Caches are not modelled: a
// release or acquire orders what simulation orders anyway, and only its words are checked.
//
// Source: Linux, drivers/gpu/drm/amd/amdgpu/{soc15d,nvd}.h; Linux,
// drivers/gpu/drm/amd/amdkfd/kfd_pm4_headers_ai.h; AMD, open packet descriptions in PAL
// (src/core/hw/gfxip/gfx9/chip, f32_mec_pm4_packets).
#ifndef TG_DRIVERS_SIM_AMD_QUEUE_PM4_H_
#define TG_DRIVERS_SIM_AMD_QUEUE_PM4_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drivers/sim/amd/queue/gpu.h"
#include "drivers/sim/amd/queue/outcome.h"

namespace tg::amd::sim {

class Pm4Processor {
 public:
  explicit Pm4Processor(Gpu* gpu) : gpu_(gpu) {}

  // Dwords of the packet that starts with `header`. InvalidArgument for packets of types 0 and 1.
  static absl::StatusOr<uint32_t> Length(uint32_t header);
  // `packet` has Length's dwords.
  absl::StatusOr<Outcome> Execute(absl::Span<const uint32_t> packet);

 private:
  absl::StatusOr<Outcome> DispatchPacket(const uint32_t dim[3], uint32_t initiator);
  absl::StatusOr<Outcome> WaitRegMem(absl::Span<const uint32_t> p);
  absl::StatusOr<Outcome> WriteData(absl::Span<const uint32_t> p);
  absl::StatusOr<Outcome> CopyData(absl::Span<const uint32_t> p);
  absl::StatusOr<Outcome> ReleaseMem(absl::Span<const uint32_t> p);
  absl::StatusOr<Outcome> AtomicMem(absl::Span<const uint32_t> p);
  absl::StatusOr<Outcome> EventWrite(absl::Span<const uint32_t> p);
  absl::StatusOr<Outcome> SetRegisters(absl::Span<const uint32_t> p, uint32_t start, uint32_t end);

  Gpu* gpu_;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_QUEUE_PM4_H_
