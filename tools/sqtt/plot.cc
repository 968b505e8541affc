#include "tools/sqtt/plot.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace tg::sqtt {
namespace {

constexpr int kLabelWidth = 120, kMargin = 16, kChartHeight = 70;
constexpr int kLane = 7, kDetailLane = 20, kGap = 6;

// Told apart also by people who see fewer colours (Okabe and Ito's palette).
constexpr const char* kColors[kNumInstClasses] = {"#56b4e9", "#0072b2", "#e69f00",
                                                  "#d55e00", "#009e73", "#cc79a7",
                                                  "#555555", "#bbbbbb", "#999933"};

std::string Escape(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// A step of 1, 2 or 5 times a power of ten that gives about `count` of them.
double TickStep(double range, int count) {
  const double raw = range / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (double m : {1.0, 2.0, 5.0}) {
    if (power * m >= raw) return power * m;
  }
  return power * 10;
}

class Plot {
 public:
  Plot(const Analysis& a, const Program* program, const PlotOptions& o)
      : a_(a), program_(program), width_(o.width), max_simds_(o.max_simds) {
    from_ = o.from;
    to_ = o.to;
    if (to_ == 0 && !a.waves.empty()) {
      from_ = a.waves[0].start;
      for (const Wave& w : a.waves) {
        from_ = std::min(from_, w.start);
        to_ = std::max(to_, w.end);
      }
    }
    to_ = std::max(to_, from_ + 1);
  }

  std::string Draw(absl::string_view title) {
    y_ = kMargin + 18;
    absl::StrAppendFormat(&body_, "<text x=\"%d\" y=\"%d\" class=\"t\">%s</text>\n", kMargin, y_,
                          Escape(title));
    Legend();
    Chart();
    Axis();
    Lanes();
    const int height = y_ + kMargin;
    return absl::StrCat(
        absl::StrFormat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                        "viewBox=\"0 0 %d %d\">\n",
                        width_, height, width_, height),
        "<style>text{font:11px sans-serif;fill:#333}.t{font:bold 14px sans-serif}"
        ".g{stroke:#ddd;stroke-width:1}</style>\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"#fff\"/>\n",
        body_, "</svg>\n");
  }

 private:
  double X(double clock) const {
    const double part = (clock - static_cast<double>(from_)) / static_cast<double>(to_ - from_);
    return kLabelWidth + part * (width_ - kLabelWidth - kMargin);
  }
  double Inside(uint64_t clock) const {
    return X(static_cast<double>(std::clamp(clock, from_, to_)));
  }

  void Rect(double x, double y, double w, double h, absl::string_view style,
            absl::string_view tip) {
    absl::StrAppendFormat(&body_, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s",
                          x, y, std::max(w, 0.3), h, style);
    if (tip.empty()) {
      body_ += "/>\n";
    } else {
      absl::StrAppend(&body_, "><title>", Escape(tip), "</title></rect>\n");
    }
  }

  void Legend() {
    if (a_.insts.empty()) return;
    y_ += 20;
    int x = kLabelWidth;
    for (int c = 0; c < kNumInstClasses; ++c) {
      Rect(x, y_ - 9, 10, 10, absl::StrCat("fill=\"", kColors[c], "\""), "");
      const absl::string_view name = InstClassName(static_cast<InstClass>(c));
      absl::StrAppendFormat(&body_, "<text x=\"%d\" y=\"%d\">%s</text>\n", x + 14, y_, name);
      x += 28 + 8 * static_cast<int>(name.size());
    }
    absl::StrAppendFormat(&body_, "<text x=\"%d\" y=\"%d\">light: the wave waits for it</text>\n",
                          x, y_);
  }

  // Waves of the engine over time.
  void Chart() {
    y_ += 14;
    const int columns = width_ - kLabelWidth - kMargin;
    const std::vector<double> waves = AverageWaves(a_.waves, from_, to_, columns);
    const double top = waves.empty() ? 0 : *std::max_element(waves.begin(), waves.end());
    std::string points;
    for (int i = 0; i < columns; ++i) {
      const double h = top > 0 ? waves[static_cast<size_t>(i)] / top * kChartHeight : 0;
      absl::StrAppendFormat(&points, " %d,%.1f", kLabelWidth + i, y_ + kChartHeight - h);
    }
    absl::StrAppendFormat(&body_, "<polygon fill=\"#c6dbef\" points=\"%d,%d%s %d,%d\"/>\n",
                          kLabelWidth, y_ + kChartHeight, points, kLabelWidth + columns - 1,
                          y_ + kChartHeight);
    absl::StrAppendFormat(&body_, "<text x=\"%d\" y=\"%d\">waves, up to %.0f</text>\n", kMargin,
                          y_ + 12, top);
    y_ += kChartHeight;
  }

  void Axis() {
    y_ += 14;
    const double step = TickStep(static_cast<double>(to_ - from_), 10);
    const double first = std::ceil(static_cast<double>(from_) / step) * step;
    // Counted, because beyond 2^53 a sum may be the number itself.
    for (int i = 0; i <= 20; ++i) {
      const double t = first + i * step;
      if (t > static_cast<double>(to_)) break;
      const char* const anchor = X(t) > width_ - 40 ? "end" : "middle";
      absl::StrAppendFormat(&body_,
                            "<line class=\"g\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>"
                            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.0f</text>\n",
                            X(t), y_ - 14, X(t), y_ - 8, X(t), y_ + 2, anchor, t);
    }
    absl::StrAppendFormat(
        &body_, "<text x=\"%d\" y=\"%d\">clocks%s</text>\n", kMargin, y_ + 2,
        a_.shader_mhz.has_value() ? absl::StrFormat(" (%.0f MHz)", *a_.shader_mhz) : "");
    y_ += 10;
  }

  void Lanes() {
    // Lanes by SA, CU, SIMD and slot.
    std::map<std::tuple<int, int, int>, std::map<int, std::vector<const Wave*>>> simds;
    for (const Wave& w : a_.waves) {
      if (w.end < from_ || w.start > to_) continue;
      simds[{w.slot.sa, w.slot.cu, w.slot.simd}][w.slot.wave].push_back(&w);
    }
    // Instructions by slot, in the order of time.
    std::map<int, std::vector<const IssuedInst*>> insts;
    for (const IssuedInst& i : a_.insts) insts[i.wave].push_back(&i);
    int drawn = 0;
    for (const auto& [key, slots] : simds) {
      if (drawn++ == max_simds_) {
        absl::StrAppendFormat(&body_, "<text x=\"%d\" y=\"%d\">and %d SIMDs more</text>\n", kMargin,
                              y_ + 12, static_cast<int>(simds.size()) - max_simds_);
        y_ += 16;
        return;
      }
      const int cu = std::get<1>(key), simd = std::get<2>(key);
      const bool detail = cu == a_.traced.cu && simd == a_.traced.simd && !insts.empty();
      absl::StrAppendFormat(&body_, "<text x=\"%d\" y=\"%d\">CU %d SIMD %d</text>\n", kMargin,
                            y_ + (detail ? 14 : 8), cu, simd);
      for (const auto& [slot, waves] : slots) {
        const int height = detail ? kDetailLane : kLane;
        for (const Wave* w : waves) {
          const double x = Inside(w->start);
          Rect(x, y_, Inside(w->end) - x, height - 1,
               detail ? "fill=\"#f2f2f2\" stroke=\"#ccc\"" : "fill=\"#9ecae1\"",
               absl::StrFormat("slot %d: clocks %d to %d", slot, w->start, w->end));
        }
        if (detail) Instructions(insts[slot]);
        y_ += height;
      }
      y_ += kGap;
    }
  }

  // One rectangle for what would fall on the same pixel.
  void Instructions(const std::vector<const IssuedInst*>& list) {
    double painted = 0, waited = 0;
    for (const IssuedInst* i : list) {
      const uint64_t end = i->time + i->duration;
      if (end < from_ || i->time > to_) continue;
      const InstClass c = ClassOf(a_.summary.layout, i->packet, i->op);
      const char* color = kColors[static_cast<int>(c)];
      const double x0 = Inside(i->time - i->stall), x1 = Inside(i->time), x2 = Inside(end);
      if (x1 - std::max(x0, waited) >= 1) {
        Rect(x0, y_ + 6, x1 - x0, kDetailLane - 13,
             absl::StrCat("opacity=\".35\" fill=\"", color, "\""),
             absl::StrFormat("%d clocks before %s", i->stall, Text(*i)));
        waited = x1;
      }
      if (x2 < painted + 0.5) continue;
      Rect(x1, y_ + 2, x2 - x1, kDetailLane - 5, absl::StrCat("fill=\"", color, "\""),
           absl::StrFormat("%d: %s", i->time, Text(*i)));
      painted = std::max(x2, x1 + 0.3);
    }
  }

  std::string Text(const IssuedInst& i) const {
    return program_ == nullptr ? "" : program_->Text(i.index);
  }

  const Analysis& a_;
  const Program* program_;
  const int width_, max_simds_;
  uint64_t from_ = 0, to_ = 0;
  int y_ = 0;
  std::string body_;
};

}  // namespace

std::string PlotSvg(const Analysis& analysis, const Program* program, absl::string_view title,
                    const PlotOptions& options) {
  return Plot(analysis, program, options).Draw(title);
}

}  // namespace tg::sqtt
