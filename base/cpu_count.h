#ifndef TG_BASE_CPU_COUNT_H_
#define TG_BASE_CPU_COUNT_H_

// How many cores this process may use. Linux only; thread safe.

#include "absl/strings/string_view.h"

namespace tg::base {

// The smaller of the cores in the process's affinity mask and of its cgroup v2 quotas (rounded up);
// at least 1. Reads /proc and /sys on each call.
int AvailableCpus();

// Cores that the text of a cgroup v2 `cpu.max` file allows, rounded up: "150000 100000" is 2. 0
// when there is no limit ("max 100000") or the text is something else.
int CpusInQuota(absl::string_view cpu_max);

}  // namespace tg::base

#endif  // TG_BASE_CPU_COUNT_H_
