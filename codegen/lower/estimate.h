// Work and traffic of a program, for speeds (GFLOPS, GB/s) and for the optimizer's filters.
#ifndef TG_CODEGEN_LOWER_ESTIMATE_H_
#define TG_CODEGEN_LOWER_ESTIMATE_H_

#include "codegen/lower/program.h"

namespace tg::lower {

// Sizes that depend on variables count at their upper bounds. What only addresses depend on is not
// counted as work.
Estimates Estimate(const LinearProgram& program);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_ESTIMATE_H_
