#include "base/cpu_count.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace tg::base {
namespace {

int AffinityCpus() {
  // The kernel refuses a mask that is smaller than its own: grow until it fits.
  for (int bits = 1024; bits <= (1 << 20); bits *= 2) {
    cpu_set_t* set = CPU_ALLOC(bits);
    if (set == nullptr) break;
    const size_t size = CPU_ALLOC_SIZE(bits);
    CPU_ZERO_S(size, set);
    const bool ok = sched_getaffinity(0, size, set) == 0;
    const int count = ok ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (ok) return std::max(count, 1);
  }
  return std::max<int>(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string ReadSmallFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The strictest quota from the process's own group up to the root; 0 when there is none.
int CgroupCpus() {
  int limit = 0;
  const std::string membership = ReadSmallFile("/proc/self/cgroup");
  for (absl::string_view line : absl::StrSplit(membership, '\n')) {
    if (!absl::ConsumePrefix(&line, "0::")) continue;
    std::string group(line);
    while (true) {
      const int cpus = CpusInQuota(ReadSmallFile("/sys/fs/cgroup" + group + "/cpu.max"));
      if (cpus > 0 && (limit == 0 || cpus < limit)) limit = cpus;
      const size_t slash = group.rfind('/');
      if (slash == std::string::npos || group.empty()) break;
      group.resize(slash);
    }
  }
  return limit;
}

}  // namespace

int CpusInQuota(absl::string_view cpu_max) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripAsciiWhitespace(cpu_max), ' ');
  double quota = 0, period = 0;
  if (words.size() != 2 || !absl::SimpleAtod(words[0], &quota) ||
      !absl::SimpleAtod(words[1], &period) || !(quota > 0) || !(period > 0)) {
    return 0;
  }
  const double cpus = quota / period;
  if (!(cpus < 1e6)) return 0;
  const int whole = static_cast<int>(cpus);
  return whole + (whole < cpus ? 1 : 0);
}

int AvailableCpus() {
  const int affinity = AffinityCpus();
  const int quota = CgroupCpus();
  return quota > 0 ? std::min(affinity, quota) : affinity;
}

}  // namespace tg::base
