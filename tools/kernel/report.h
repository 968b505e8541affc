// Text and pictures about compiled kernels.
#ifndef TG_TOOLS_KERNEL_REPORT_H_
#define TG_TOOLS_KERNEL_REPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/search/search.h"
#include "tools/kernel/stats.h"

namespace tg::kernel_tool {

// What the machine can do, for rooflines; 0: not known.
struct Roofline {
  double gflops = 0;
  double gbps = 0;
};

// "0.512 ms, 420 GFLOP/s, 0.91 of the roofline (compute)": the roofline is the least time that the
// arithmetic and the memory traffic take, whichever is longer (data in the caches may be faster).
// "not measured" without a time.
std::string SpeedText(const KernelStats& stats, const Roofline& roofline);

// A line for each kernel.
std::string StatsTable(absl::Span<const KernelStats> stats, const Roofline& roofline);

// Kernels of both lists by name, those that changed most first; then how many were helped and hurt,
// and the change of all. Time counts where both lists have it, else instructions. Differences of
// time below `noise` (0.05: five percent) are none.
std::string DiffTable(absl::Span<const KernelStats> before, absl::Span<const KernelStats> after,
                      double noise);

// An SVG document: the best time so far over the seconds of a search.
std::string SearchPlot(const search::SearchResult& result, absl::string_view title);

}  // namespace tg::kernel_tool

#endif  // TG_TOOLS_KERNEL_REPORT_H_
