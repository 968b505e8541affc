// Ranges that need no loop, and ranges that a CPU program cannot have.
#ifndef TG_CODEGEN_LOWER_RANGES_H_
#define TG_CODEGEN_LOWER_RANGES_H_

#include "absl/status/statusor.h"
#include "codegen/ir/uop.h"

namespace tg::lower {

// The kernel `sink` without ranges of constant size 1 (their value is 0) and 0 (a reduction over
// nothing is its identity; an output over nothing is dropped).
//
// At most one kThread range stays: of constant size, and only if all outputs have it, since a part
// of a kernel must not write what another part writes too. Others become loops.
//
// Errors: Unimplemented for axis types that belong to other devices, InvalidArgument for a sink
// that is no kernel.
absl::StatusOr<ir::UOp> PrepareRanges(const ir::UOp& sink, bool has_threads);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_RANGES_H_
