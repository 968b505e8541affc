// Rules on whole kernels that make reductions smaller, after Rangeify and before optimisation.
#ifndef TG_TG_SCHEDULE_KERNEL_RULES_H_
#define TG_TG_SCHEDULE_KERNEL_RULES_H_

#include "codegen/ir/uop.h"

namespace tg::schedule {

// Simplifies a kernel (kSink): index arithmetic; sums of sums become one sum; a reduction over a
// range that its value does not depend on becomes a product; sums that pick one element
// (one-hot times table) become a load of it.
ir::UOp CleanKernel(const ir::UOp& sink);

}  // namespace tg::schedule

#endif  // TG_TG_SCHEDULE_KERNEL_RULES_H_
