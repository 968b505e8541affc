// The model as text for people and as JSON for scripts.
#ifndef TG_TOOLS_AM_SMI_PRINT_H_
#define TG_TOOLS_AM_SMI_PRINT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tools/am_smi/model.h"

namespace tg::am_smi {

// A block for each GPU: bars for activity and memory, temperatures in yellow from 80 and red from
// 87 degrees; "-" for what is absent, and below the block why. `width` are the terminal's columns.
std::string ToText(absl::Span<const Gpu> gpus, int width, bool color);

// {"gpus": [{"pci_bus", "name", "driver", ..., "readings": {"power_w": 31.5, "fan_rpm": null, ...},
// "absent": {"fan_rpm": "why"}, "processes": [...]}]} in one line.
std::string ToJson(absl::Span<const Gpu> gpus);

}  // namespace tg::am_smi

#endif  // TG_TOOLS_AM_SMI_PRINT_H_
