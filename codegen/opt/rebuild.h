// Rebuilds a kernel with other ranges: what splitting, merging, retyping, padding and reordering of
// loops come down to.
#ifndef TG_CODEGEN_OPT_REBUILD_H_
#define TG_CODEGEN_OPT_REBUILD_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "codegen/ir/uop.h"

namespace tg::opt {

struct RangeReplacement {
  ir::UOp value;               // stands for the range in expressions
  std::vector<ir::UOp> parts;  // stand for it in the range lists of kEnd and kReduce
  // Where set (a bool over `parts`), the parts run over more than the range did: reductions take
  // the identity and memory is not accessed where it is false.
  ir::UOp valid;
};

using RangeReplacements = absl::flat_hash_map<ir::UOp, RangeReplacement>;

// `kernel` with each range that has a replacement replaced, not simplified. The ranges in the list
// of each kEnd and kReduce come sorted by `position` (of new ranges, all distinct); ranges without
// a position keep their relative order and stand before those with one. A kReduce without ranges
// left is its value.
//
// Every kStore must have each replaced range with `valid` that its kEnd closes in its index.
ir::UOp ReplaceRanges(const ir::UOp& kernel, const RangeReplacements& replacements,
                      const absl::flat_hash_map<ir::UOp, int>& position = {});

// What `op` (kAdd, kMul, kMax) gives for no elements.
ir::UOp ReduceIdentity(ir::Op op, ir::DType d);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_REBUILD_H_
