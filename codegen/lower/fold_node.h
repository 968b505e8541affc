// Makes nodes of index arithmetic in the form that copies of a loop body want: constants folded and
// last in sums, so that copies differ by a constant that becomes part of an address.
#ifndef TG_CODEGEN_LOWER_FOLD_NODE_H_
#define TG_CODEGEN_LOWER_FOLD_NODE_H_

#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::lower {

// The node `u` with the sources `src`, folded where it is an integer or a bool:
//   constants; bounds that leave one value; (x + c) + y -> (x + y) + c; (x + c) * m -> x*m + c*m;
//   x + 0, x * 1; conditions that are true in a conjunction or decide a kWhere; divisions and
//   remainders by the simplifier.
ir::UOp FoldNode(const ir::UOp& u, absl::Span<const ir::UOp> src);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_FOLD_NODE_H_
