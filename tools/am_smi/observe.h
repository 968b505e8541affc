// Cards that are asked themselves: those that a program drives from user space, those of other
// machines, and simulated ones.
#ifndef TG_TOOLS_AM_SMI_OBSERVE_H_
#define TG_TOOLS_AM_SMI_OBSERVE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "drivers/amd/am_observer.h"
#include "tools/am_smi/model.h"

namespace tg::am_smi {

// Puts what the card says in the place of what is not known of it, or the reason why it says
// nothing.
void AddObservation(const absl::StatusOr<amd::AmObservation>& seen, Gpu* gpu);

// A simulated card: "gfx1100", "gfx1201,fault=no-response,small-bar". InvalidArgument says what
// there is.
absl::StatusOr<std::vector<Gpu>> ReadSimulated(absl::string_view description);

// The cards of the machines that the setting REMOTE names ("10.0.0.2,gpubox:7000"); `bus` as of
// ReadGpus. Locks are taken below `locks`. A card that cannot be opened is shown with the reason.
absl::StatusOr<std::vector<Gpu>> ReadRemote(absl::string_view addresses, absl::Duration timeout,
                                            const std::string& locks, absl::string_view bus);

}  // namespace tg::am_smi

#endif  // TG_TOOLS_AM_SMI_OBSERVE_H_
