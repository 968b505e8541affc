// The meaning of a kernel-stage graph, computed the slow way: loops over all ranges whatever their
// type, values in double and int64. Independent of lowering, so optimizer tests do not depend on
// it.
#ifndef TG_CODEGEN_OPT_TESTING_EVALUATE_H_
#define TG_CODEGEN_OPT_TESTING_EVALUATE_H_

#include <vector>

#include "absl/status/status.h"
#include "codegen/ir/uop.h"

namespace tg::opt {

// Elements by parameter slot, whatever the type.
using Buffers = std::vector<std::vector<double>>;

// Buffers for the parameters of `kernel`, of small random integers (so that sums are exact in any
// order). The same seed gives the same data for any kernel with the same parameters.
Buffers RandomBuffers(const ir::UOp& kernel, uint64_t seed);

// Runs the kernel. Errors: OutOfRange for an access outside of its memory, InvalidArgument for
// operations that are not handled here, and for elements that are written twice.
absl::Status Evaluate(const ir::UOp& kernel, Buffers& buffers);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_TESTING_EVALUATE_H_
