// Splits reductions that leave too little to do in parallel, or too much to keep in a cache.
#ifndef TG_TG_SCHEDULE_SPLIT_REDUCE_H_
#define TG_TG_SCHEDULE_SPLIT_REDUCE_H_

#include "codegen/ir/uop.h"

namespace tg::schedule {

// Rewrites each kReduce of at least REDUCEOP_SPLIT_THRESHOLD elements per result as two: the first
// over parts of one axis, which are outputs of a kernel of their own (at most
// 2^REDUCEOP_SPLIT_SIZE of them), the second over the parts. The number of parts depends on the
// shapes alone, so results do not depend on the number of threads.
ir::UOp SplitReduces(const ir::UOp& sink);

}  // namespace tg::schedule

#endif  // TG_TG_SCHEDULE_SPLIT_REDUCE_H_
