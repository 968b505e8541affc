#ifndef TG_DRIVERS_AMD_AM_OBSERVER_H_
#define TG_DRIVERS_AMD_AM_OBSERVER_H_

// Looks at an AMD card that an AM driver (am_layout.h) has started, while that driver may be using
// it: what the SMU measures, and how much of the card's memory is mapped.
//
// All of it is reading, with two exceptions. The SMU writes its metrics table only when it is told
// to, by one message through its mailbox, to the memory that the driver has named. And where BAR 0
// is smaller than the card's memory, its end is read through MM_INDEX. A message that the driver
// sends in the same microseconds could be mixed up with it; drivers send some when they start and
// stop, and none while they compute.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "drivers/amd/ip_discovery.h"
#include "drivers/amd/smu_metrics.h"
#include "drivers/pci/function.h"

namespace tg::amd {

struct AmObservation {
  IpVersion gc, mp1;
  uint64_t vram_bytes = 0;  // memory of the card
  // Each with an error of its own, so that one can be had without the other.
  absl::StatusOr<std::vector<Metric>> metrics;
  absl::StatusOr<uint64_t> vram_mapped;
};

// `function` has its memory BARs decoded. Errors that concern all of it: Unavailable: the card does
// not answer; FailedPrecondition: no AM driver of a known version has started it, or it is a
// virtual function, whose SMU belongs to its host; InvalidArgument: its discovery binary is broken;
// Unimplemented: it has no blocks of the expected kinds.
absl::StatusOr<AmObservation> ObserveAmCard(pci::Function* function);

}  // namespace tg::amd

#endif  // TG_DRIVERS_AMD_AM_OBSERVER_H_
