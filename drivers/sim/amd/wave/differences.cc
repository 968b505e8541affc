#include "drivers/sim/amd/wave/differences.h"

namespace tg::amd::sim {

const DifferenceRule* FindDifferenceRule(absl::string_view name) {
  for (auto rules : {ModifierDifferences(), RegisterDifferences(), NumberDifferences(),
                     LdsDifferences(), MatrixDifferences()}) {
    for (const DifferenceRule& r : rules) {
      if (name == r.name) return &r;
    }
  }
  return nullptr;
}

}  // namespace tg::amd::sim
