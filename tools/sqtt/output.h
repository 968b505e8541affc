// What the tool prints, as text for people and as JSON for scripts; both from an Analysis.
#ifndef TG_TOOLS_SQTT_OUTPUT_H_
#define TG_TOOLS_SQTT_OUTPUT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "tools/sqtt/analysis.h"
#include "tools/sqtt/trace_set.h"

namespace tg::sqtt {

// A trace with what was found in it. `program` may be null.
struct Analyzed {
  const Trace* trace;
  const Program* program;
  Analysis analysis;
};

// Each text ends with a line feed. Each JSON text is one object or value without one.
std::string InfoText(const Analyzed& a, bool color);
std::string InfoJson(const Analyzed& a);

std::string WavesText(const Analyzed& a);
std::string WavesJson(const Analyzed& a);

// Only of this slot's waves where `wave` is not -1; the table of instructions ends after `limit`.
std::string InstsText(const Analyzed& a, int wave, int64_t limit, bool totals_only);
std::string InstsJson(const Analyzed& a, int wave, bool totals_only);

std::string OccupancyText(const Analyzed& a, bool color);
std::string OccupancyJson(const Analyzed& a);

// How busy the traced SIMD was, and with what.
std::string SummaryText(const Analyzed& a, bool color);
std::string SummaryJson(const Analyzed& a);

// Everything in one object: size, packets, monotonic, last_time, counts, inst_ops,
// waves_start_end_cu_simd_wave, inst_trace.
std::string StatsJson(const Analyzed& a);

// One packet, as a JSON object.
std::string PacketJson(const Packet& packet);

std::string JsonString(absl::string_view text);

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_OUTPUT_H_
