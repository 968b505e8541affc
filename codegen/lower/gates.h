// Validity of an index to the gate of its access.
//
// The kernel stage marks where an index is valid by WHERE(valid, i, Invalid). A program has the
// condition as third source of kIndex instead; a gated load gives 0 where the gate is false.
//
//   kLoad(kIndex(b, WHERE(v, i, Invalid)))             kLoad(kIndex(b, i, v), 0)
//   WHERE(v, kLoad(kIndex(b, i, v), 0), 0)             kLoad(kIndex(b, i, v), 0)
//   WHERE(v, x*y, 0), x and y such loads               x*y
//
// Conditions that bounds prove true are dropped; a load that is never valid is its alternative, a
// store that is never valid is gone.
#ifndef TG_CODEGEN_LOWER_GATES_H_
#define TG_CODEGEN_LOWER_GATES_H_

#include "absl/status/statusor.h"
#include "codegen/ir/uop.h"

namespace tg::lower {

// Errors: InvalidArgument, for Invalid anywhere but as the alternative of an index.
absl::StatusOr<ir::UOp> MoveGates(const ir::UOp& sink);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_GATES_H_
