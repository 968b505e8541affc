// Rebuild: one bottom-up pass over a graph, each node once.
#ifndef TG_CODEGEN_LOWER_REBUILD_H_
#define TG_CODEGEN_LOWER_REBUILD_H_

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::lower {

// `u` with other sources; `u` itself where they are the same.
ir::UOp WithSources(const ir::UOp& u, absl::Span<const ir::UOp> src);

// Calls `fn(old, src)` for every node below `root`, sources first, where `src` are the results for
// old's sources, and returns the result for `root`. What `fn` returns is not visited again.
// Iterative: the depth of the graph does not matter.
ir::UOp Rebuild(const ir::UOp& root,
                absl::FunctionRef<ir::UOp(const ir::UOp& old, absl::Span<const ir::UOp> src)> fn);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_REBUILD_H_
