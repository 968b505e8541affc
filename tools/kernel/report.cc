#include "tools/kernel/report.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/table.h"

namespace tg::kernel_tool {
namespace {

struct Limit {
  double seconds = 0;
  const char* name = "compute";
};

Limit LimitOf(const KernelStats& s, const Roofline& r) {
  const double compute = r.gflops > 0 ? s.flops / (r.gflops * 1e9) : 0;
  const double memory = r.gbps > 0 ? s.bytes / (r.gbps * 1e9) : 0;
  return compute >= memory ? Limit{compute, "compute"} : Limit{memory, "memory"};
}

// -0.5: half as much as before.
double Change(double before, double after) { return before > 0 ? after / before - 1 : 0; }

std::string Percent(double x) { return absl::StrFormat("%+.1f %%", x * 100); }

}  // namespace

std::string SpeedText(const KernelStats& s, const Roofline& roofline) {
  if (std::isnan(s.seconds)) return "not measured";
  std::string text = absl::StrFormat("%.4g ms, %.4g GFLOP/s, %.4g GB/s", s.seconds * 1e3,
                                     s.flops / s.seconds * 1e-9, s.bytes / s.seconds * 1e-9);
  const Limit limit = LimitOf(s, roofline);
  if (limit.seconds > 0) {
    absl::StrAppendFormat(&text, ", %.2f of the roofline (%s)", limit.seconds / s.seconds,
                          limit.name);
  }
  return text;
}

std::string StatsTable(absl::Span<const KernelStats> stats, const Roofline& roofline) {
  using base::Table;
  Table table({{"kernel"},
               {"instructions", Table::kRight},
               {"spills", Table::kRight},
               {"compile ms", Table::kRight},
               {"ms", Table::kRight},
               {"roofline", Table::kRight},
               {"limit"},
               {"steps"}});
  for (const KernelStats& s : stats) {
    const Limit limit = LimitOf(s, roofline);
    const bool timed = !std::isnan(s.seconds);
    table.AddRow(
        {s.name, absl::StrCat(s.instructions), absl::StrCat(s.spills),
         absl::StrFormat("%.1f", s.compile_ms),
         timed ? absl::StrFormat("%.4g", s.seconds * 1e3) : "",
         timed && limit.seconds > 0 ? absl::StrFormat("%.2f", limit.seconds / s.seconds) : "",
         limit.seconds > 0 ? limit.name : "", s.opts});
  }
  return table.ToString();
}

std::string DiffTable(absl::Span<const KernelStats> before, absl::Span<const KernelStats> after,
                      double noise) {
  absl::flat_hash_map<std::string, const KernelStats*> old;
  for (const KernelStats& s : before) old[s.name] = &s;
  struct Row {
    const KernelStats* a;
    const KernelStats* b;
    bool timed;
    double change;
  };
  std::vector<Row> rows;
  int same = 0, helped = 0, hurt = 0, fresh = 0;
  double log_sum = 0;
  int both_timed = 0;
  int64_t instructions[2] = {}, spills[2] = {};
  for (const KernelStats& b : after) {
    const auto it = old.find(b.name);
    if (it == old.end()) {
      ++fresh;
      continue;
    }
    const KernelStats& a = *it->second;
    const bool timed = a.seconds > 0 && b.seconds > 0;
    const double change =
        timed ? Change(a.seconds, b.seconds)
              : Change(static_cast<double>(a.instructions), static_cast<double>(b.instructions));
    if (timed) {
      log_sum += std::log(b.seconds / a.seconds);
      ++both_timed;
    }
    instructions[0] += a.instructions;
    instructions[1] += b.instructions;
    spills[0] += a.spills;
    spills[1] += b.spills;
    const bool changed = timed ? std::abs(change) > noise : change != 0;
    if (!changed) {
      ++same;
    } else {
      ++(change < 0 ? helped : hurt);
      rows.push_back({&a, &b, timed, change});
    }
    old.erase(it);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) {
    return std::abs(std::log1p(x.change)) > std::abs(std::log1p(y.change));
  });
  using base::Table;
  Table table({{""},
               {"kernel"},
               {"change", Table::kRight},
               {"ms before", Table::kRight},
               {"after", Table::kRight},
               {"instructions before", Table::kRight},
               {"after", Table::kRight},
               {"spills before", Table::kRight},
               {"after", Table::kRight}});
  for (const Row& r : rows) {
    table.AddRow({r.change < 0 ? "helped" : "hurt", r.a->name, Percent(r.change),
                  r.timed ? absl::StrFormat("%.4g", r.a->seconds * 1e3) : "",
                  r.timed ? absl::StrFormat("%.4g", r.b->seconds * 1e3) : "",
                  absl::StrCat(r.a->instructions), absl::StrCat(r.b->instructions),
                  absl::StrCat(r.a->spills), absl::StrCat(r.b->spills)});
  }
  std::string text = rows.empty() ? "" : table.ToString() + "\n";
  absl::StrAppend(&text, helped, " helped, ", hurt, " hurt, ", same, " the same; ", fresh, " new, ",
                  old.size(), " gone\ninstructions ", instructions[0], " before, ", instructions[1],
                  " after; spills ", spills[0], " before, ", spills[1], " after\n");
  if (both_timed > 0) {
    absl::StrAppend(&text, "time ", Percent(std::exp(log_sum / both_timed) - 1),
                    " (geometric mean)\n");
  }
  return text;
}

std::string SearchPlot(const search::SearchResult& result, absl::string_view title) {
  constexpr int kWidth = 800, kHeight = 360, kLeft = 80, kBottom = 50, kTop = 40, kRight = 20;
  double end = 1e-3, most = 0;
  for (const search::Improvement& i : result.curve) {
    end = std::max(end, i.elapsed);
    most = std::max(most, i.seconds);
  }
  most = most > 0 ? most : 1;
  auto x = [&](double t) { return kLeft + t / end * (kWidth - kLeft - kRight); };
  auto y = [&](double s) { return kHeight - kBottom - s / most * (kHeight - kBottom - kTop); };
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
      "%d\">\n<style>text{font:12px sans-serif;fill:#333}</style>\n<rect width=\"100%%\" "
      "height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"22\" "
      "style=\"font-weight:bold\">%s</text>\n",
      kWidth, kHeight, kWidth, kHeight, kLeft,
      absl::StrReplaceAll(title, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}));
  for (int i = 0; i <= 4; ++i) {
    const double s = most * i / 4, t = end * i / 4;
    absl::StrAppendFormat(&svg,
                          "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n<text x=\"%d\" y=\"%.1f\" "
                          "text-anchor=\"end\">%.3g ms</text>\n<text x=\"%.1f\" y=\"%d\" "
                          "text-anchor=\"middle\">%.3g s</text>\n",
                          kLeft, y(s), kWidth - kRight, kLeft - 8, y(s) + 4, s * 1e3, x(t),
                          kHeight - kBottom + 20, t);
  }
  std::string path;
  for (const search::Improvement& i : result.curve) {
    if (path.empty()) {
      absl::StrAppendFormat(&path, "M%.1f %.1f", x(i.elapsed), y(i.seconds));
    } else {
      absl::StrAppendFormat(&path, "H%.1fV%.1f", x(i.elapsed), y(i.seconds));
    }
    absl::StrAppendFormat(&svg,
                          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#0072b2\"><title>"
                          "candidate %d: %.4g ms after %.3g s</title></circle>\n",
                          x(i.elapsed), y(i.seconds), i.candidate, i.seconds * 1e3, i.elapsed);
  }
  if (!path.empty()) {
    absl::StrAppendFormat(
        &svg, "<path d=\"%sH%d\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\"/>\n", path,
        kWidth - kRight);
  }
  absl::StrAppendFormat(&svg,
                        "<text x=\"%d\" y=\"%d\">best time of a run, over the time of the search; "
                        "%d measured, %d slow</text>\n</svg>\n",
                        kLeft, kHeight - 8, result.measured, result.slow);
  return svg;
}

}  // namespace tg::kernel_tool
