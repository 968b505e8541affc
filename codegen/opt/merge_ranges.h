// Fewer and simpler loops, before anything else is decided.
//
// Two adjacent output loops (or two loops of one reduction) become one where no index expression
// gets a division or remainder more by it: an elementwise kernel over contiguous memory is one flat
// loop, a reduction over adjacent contiguous axes too. A range that appears as r // c and r % c
// becomes two. Loops of one iteration go.
#ifndef TG_CODEGEN_OPT_MERGE_RANGES_H_
#define TG_CODEGEN_OPT_MERGE_RANGES_H_

#include "codegen/ir/uop.h"

namespace tg::opt {

// `kernel`: a kSink as Kernel takes it. Equal kernels up to the numbering of their ranges give
// equal kernels up to that. Output loops keep their order; the order in which a reduction adds may
// change (it is the same at every call).
ir::UOp MergeRanges(const ir::UOp& kernel);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_MERGE_RANGES_H_
