// Traces in the formats of other tools.
#ifndef TG_TOOLS_SQTT_EXPORT_H_
#define TG_TOOLS_SQTT_EXPORT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tools/sqtt/analysis.h"

namespace tg::sqtt {

struct NamedAnalysis {
  std::string name;  // "se0.bin"
  int shader_engine = 0;
  const Analysis* analysis = nullptr;
  const Program* program = nullptr;  // May be null.
};

// Trace events for ui.perfetto.dev and chrome://tracing: a process for each trace, a thread for
// each wave slot, complete events ("ph":"X") for waves and, nested in them, instructions. `ts` and
// `dur` are microseconds by the trace's shader clock where it is known, else a clock counts as a
// nanosecond. Format: "Trace Event Format", Google, 2016.
std::string PerfettoJson(absl::Span<const NamedAnalysis> traces);

// A line for each instruction under the line
// "trace,time,wave,pc,instruction,class,packet,op,duration,stall"; quoted as RFC 4180 says.
std::string InstsCsv(absl::Span<const NamedAnalysis> traces);

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_EXPORT_H_
