// A picture of a trace: a timeline per SIMD.
#ifndef TG_TOOLS_SQTT_PLOT_H_
#define TG_TOOLS_SQTT_PLOT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "tools/sqtt/analysis.h"

namespace tg::sqtt {

struct PlotOptions {
  int width = 1400;    // Pixels.
  uint64_t from = 0;   // Shader clocks: the part to draw.
  uint64_t to = 0;     // 0: from the first wave to the last.
  int max_simds = 48;  // Lanes beyond that are counted, not drawn.
};

// An SVG document. On top the number of waves over time; below it a lane for each wave slot, by CU
// and SIMD; in the traced SIMD the instructions of each wave, coloured by what they work on, with
// the time before them, when the wave waited, in a lighter shade. Its size is bounded by the number
// of pixels, not by the number of instructions. Pointing at something shows clocks and text where
// the viewer can.
std::string PlotSvg(const Analysis& analysis, const Program* program, absl::string_view title,
                    const PlotOptions& options);

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_PLOT_H_
