// Matrix instructions as plain loops over matrices, to check the simulator against: with the
// layouts that the manuals give, and sums in 113 bits.
#ifndef TG_DRIVERS_SIM_AMD_WAVE_MATRIX_REFERENCE_H_
#define TG_DRIVERS_SIM_AMD_WAVE_MATRIX_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "drivers/sim/amd/wave/transition.h"

namespace tg::amd::sim {

// What one element of the result may be.
struct MatrixElement {
  int row;  // Of the register file; of the first one, for 64 bits.
  int lane;
  int bits;   // 16, 32 or 64.
  bool high;  // Of 16 bits: which half.
  bool integer;
  bool nan;  // Not a number.
  bool bf16;
  long double least;  // A number between these two, rounded to the result's type.
  long double greatest;
};

// All elements that the instruction of `t` writes, from t.in. Empty for other instructions. The
// interval covers a sum of double precision in any order.
std::vector<MatrixElement> MatrixResult(const Transition& t);

// Whether `state` has that element.
bool HasElement(const WaveState& state, const MatrixElement& e);

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_WAVE_MATRIX_REFERENCE_H_
