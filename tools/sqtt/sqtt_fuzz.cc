// Any bytes as a trace: decoded, followed, exported.
#include <cstdint>
#include <cstdlib>

#include "absl/types/span.h"
#include "tools/sqtt/analysis.h"
#include "tools/sqtt/export.h"
#include "tools/sqtt/plot.h"
#include "tools/sqtt/sample.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tg::sqtt;
  static const Sample sample = MakeSample(Layout::kRdna3);
  static const Program program = Program::FromCode(sample.code, kSampleAddress, sample.arch);
  absl::StatusOr<Analysis> a = Analyze({data, size}, &program);
  if (!a.ok()) return 0;
  if (a->summary.packets > 2 * size || a->waves.size() > size) std::abort();
  const NamedAnalysis named{"trace", 0, &*a, &program};
  static_cast<void>(PerfettoJson({&named, 1}));
  static_cast<void>(InstsCsv({&named, 1}));
  static_cast<void>(PlotSvg(*a, &program, "trace", {}));
  static_cast<void>(ComputeOccupancy(a->waves, 10));
  return 0;
}
