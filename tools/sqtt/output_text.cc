#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/table.h"
#include "base/terminal.h"
#include "tools/sqtt/output.h"

namespace tg::sqtt {
namespace {

using base::Color;
using base::Table;

std::string Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-"
                    : absl::StrFormat(
                          "%.1f%%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string Title(const Analyzed& a, bool color) {
  return absl::StrCat(base::Paint(a.trace->name, Color::kBold, color), "  shader engine ",
                      a.trace->shader_engine, ", ", LayoutName(a.analysis.summary.layout), "\n");
}

void AppendProblems(const Analysis& a, bool color, std::string* out) {
  if (a.reports.empty()) return;
  absl::StrAppend(
      out, base::Paint(absl::StrCat(a.reports.total(), " problems"), Color::kRed, color), "\n");
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < std::min(kShown, a.reports.first().size()); ++i) {
    absl::StrAppend(out, "  ", ToString(a.reports.first()[i]), "\n");
  }
  if (a.reports.total() > kShown) {
    absl::StrAppend(out, "  and ", a.reports.total() - kShown, " more\n");
  }
}

std::string Hex(uint64_t address) { return absl::StrFormat("0x%x", address); }

std::string Bar(double value, double top) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  constexpr int kWidth = 40;
  const int eighths = top > 0 ? static_cast<int>(std::lround(value / top * kWidth * 8)) : 0;
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

}  // namespace

std::string InfoText(const Analyzed& a, bool color) {
  const Analysis& n = a.analysis;
  std::string out = Title(a, color);
  absl::StrAppend(&out, "  ", n.size, " bytes, ", n.summary.packets, " packets, ", n.waves.size(),
                  " waves, ", n.insts.size(), " instructions, ", n.summary.last_time, " clocks");
  if (n.shader_mhz.has_value()) absl::StrAppendFormat(&out, " at %.1f MHz", *n.shader_mhz);
  out += "\n\n";
  Table table({{"packet"}, {"count", Table::kRight}, {"of all", Table::kRight}});
  for (const PacketSpec& spec : PacketSpecs()) {
    const uint64_t count = n.counts[static_cast<int>(spec.type)];
    if (count > 0) {
      table.AddRow({spec.name, absl::StrCat(count), Percent(count, n.summary.packets)});
    }
  }
  out += table.ToString();
  AppendProblems(n, color, &out);
  return out;
}

std::string WavesText(const Analyzed& a) {
  Table table({{"start", Table::kRight},
               {"end", Table::kRight},
               {"clocks", Table::kRight},
               {"CU", Table::kRight},
               {"SIMD", Table::kRight},
               {"wave", Table::kRight},
               {"id", Table::kRight},
               {""}});
  for (const Wave& w : a.analysis.waves) {
    table.AddRow({absl::StrCat(w.start), absl::StrCat(w.end), absl::StrCat(w.end - w.start),
                  absl::StrCat(w.slot.cu), absl::StrCat(w.slot.simd), absl::StrCat(w.slot.wave),
                  absl::StrCat(w.id), w.ended ? "" : "end not in the trace"});
  }
  std::string out = absl::StrCat(Title(a, false), table.ToString());
  AppendProblems(a.analysis, false, &out);
  return out;
}

std::string InstsText(const Analyzed& a, int wave, int64_t limit, bool totals_only) {
  std::string out = Title(a, false);
  if (a.program == nullptr) {
    return out + "no program: name its ELF file with --elf\n";
  }
  if (a.analysis.summary.layout == Layout::kCdna) {
    return out + "CDNA traces do not say which instructions a wave ran\n";
  }
  if (!totals_only) {
    Table table({{"clock", Table::kRight},
                 {"wave", Table::kRight},
                 {"pc", Table::kRight},
                 {"instruction"},
                 {"class"},
                 {"op"},
                 {"duration", Table::kRight},
                 {"stall", Table::kRight}});
    int64_t rows = 0;
    for (const IssuedInst& i : a.analysis.insts) {
      if (wave >= 0 && i.wave != wave) continue;
      if (rows++ == limit) break;
      const Layout layout = a.analysis.summary.layout;
      table.AddRow({absl::StrCat(i.time), absl::StrCat(i.wave), Hex(a.program->Address(i.index)),
                    a.program->Text(i.index),
                    std::string(InstClassName(ClassOf(layout, i.packet, i.op))),
                    std::string(i.op < 0 ? PacketName(i.packet) : InstOpName(layout, i.op)),
                    absl::StrCat(i.duration), absl::StrCat(i.stall)});
    }
    absl::StrAppend(&out, table.ToString(), "\n");
  }
  Table totals({{"pc", Table::kRight},
                {"instruction"},
                {"hits", Table::kRight},
                {"cycles", Table::kRight},
                {"stall", Table::kRight},
                {"of all cycles", Table::kRight}});
  const std::vector<PcTotals> by_pc = TotalsByPc(a.analysis.insts, *a.program);
  uint64_t all = 0;
  for (const PcTotals& t : by_pc) all += t.cycles;
  for (const PcTotals& t : by_pc) {
    totals.AddRow({Hex(a.program->Address(t.index)), a.program->Text(t.index), absl::StrCat(t.hits),
                   absl::StrCat(t.cycles), absl::StrCat(t.stall), Percent(t.cycles, all)});
  }
  out += totals.ToString();
  AppendProblems(a.analysis, false, &out);
  return out;
}

std::string OccupancyText(const Analyzed& a, bool color) {
  constexpr int kBuckets = 24;
  const Occupancy o = ComputeOccupancy(a.analysis.waves, kBuckets);
  std::string out = Title(a, color);
  if (o.simds.empty()) return out + "no waves\n";
  Table table({{"CU", Table::kRight},
               {"SIMD", Table::kRight},
               {"waves", Table::kRight},
               {"at once", Table::kRight},
               {"busy", Table::kRight},
               {"average", Table::kRight}});
  const uint64_t clocks = o.end - o.begin;
  for (const SimdOccupancy& s : o.simds) {
    table.AddRow({absl::StrCat(s.simd.cu), absl::StrCat(s.simd.simd), absl::StrCat(s.waves),
                  absl::StrCat(s.max_waves), Percent(s.busy, clocks),
                  clocks == 0 ? "-"
                              : absl::StrFormat("%.2f", static_cast<double>(s.wave_clocks) /
                                                            static_cast<double>(clocks))});
  }
  absl::StrAppend(&out, table.ToString(), "\nwaves of the engine over time\n");
  double top = 0;
  for (double v : o.average_by_bucket) top = std::max(top, v);
  for (size_t b = 0; b < o.average_by_bucket.size(); ++b) {
    const double value = o.average_by_bucket[b];
    absl::StrAppendFormat(&out, "%12d %7.1f %s\n", o.begin + clocks * b / kBuckets, value,
                          Bar(value, top));
  }
  return out;
}

std::string SummaryText(const Analyzed& a, bool color) {
  const Analysis& n = a.analysis;
  const Occupancy o = ComputeOccupancy(n.waves, 0);
  std::string out = Title(a, color);
  absl::StrAppend(&out, "  ", n.waves.size(), " waves on ", o.simds.size(), " SIMDs in ",
                  o.end - o.begin, " clocks");
  if (n.shader_mhz.has_value()) {
    absl::StrAppendFormat(&out, " (%.2f us)", static_cast<double>(o.end - o.begin) / *n.shader_mhz);
  }
  out += "\n";
  const Executions& e = n.executions;
  if (e.salu + e.valu + e.lds + e.vmem > 0) {
    absl::StrAppend(&out, "  executions: SALU ", e.salu, ", VALU ", e.valu, ", LDS ", e.lds,
                    ", VMEM ", e.vmem, "; of the other SIMD: LDS ", e.lds_alt, ", VMEM ",
                    e.vmem_alt, "\n");
  }
  if (!n.insts.empty()) {
    const std::array<ClassTotals, kNumInstClasses> totals = TotalsByClass(n);
    uint64_t all = 0;
    for (const ClassTotals& t : totals) all += t.cycles + t.stall;
    Table table({{"class"},
                 {"instructions", Table::kRight},
                 {"cycles", Table::kRight},
                 {"stall", Table::kRight},
                 {"of the waves' time", Table::kRight}});
    for (int c = 0; c < kNumInstClasses; ++c) {
      const ClassTotals& s = totals[c];
      if (s.count == 0) continue;
      table.AddRow({std::string(InstClassName(static_cast<InstClass>(c))), absl::StrCat(s.count),
                    absl::StrCat(s.cycles), absl::StrCat(s.stall),
                    Percent(s.cycles + s.stall, all)});
    }
    absl::StrAppend(&out, "\n", table.ToString());
    if (a.program != nullptr) {
      std::vector<PcTotals> by_pc = TotalsByPc(n.insts, *a.program);
      std::stable_sort(by_pc.begin(), by_pc.end(),
                       [](const PcTotals& x, const PcTotals& y) { return x.cycles > y.cycles; });
      Table hot({{"pc", Table::kRight},
                 {"instruction"},
                 {"hits", Table::kRight},
                 {"cycles", Table::kRight},
                 {"of all", Table::kRight}});
      for (size_t i = 0; i < std::min<size_t>(8, by_pc.size()); ++i) {
        hot.AddRow({Hex(a.program->Address(by_pc[i].index)), a.program->Text(by_pc[i].index),
                    absl::StrCat(by_pc[i].hits), absl::StrCat(by_pc[i].cycles),
                    Percent(by_pc[i].cycles, all)});
      }
      absl::StrAppend(&out, "\nwhere most of the time went\n", hot.ToString());
    }
  }
  AppendProblems(n, color, &out);
  return out;
}

}  // namespace tg::sqtt
