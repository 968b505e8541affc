// The verifier: whether a graph is what its stage promises (op.h, codegen/lower/program.h).
//
// Each function returns OK, or InvalidArgument with a sentence that says what is wrong and the node
// that is. All of them check every node by itself (node_check.h) and that its operation may stand
// in the stage; besides that:
//
// * everywhere: a variable's name has one interval, a parameter's slot one type and size, `Invalid`
//   is only a choice of kWhere;
// * tensor: buffers are global; shapes agree (elementwise sources are equal or (), reshapes keep
// the
//   number of elements, boxes lie inside, axes exist);
// * kernel: the root is a kSink, range numbers are unique, every range is closed by a kReduce, kEnd
//   or kStage before the root;
// * instructions: see VerifyInstructions.
//
// Linear in the size of the graph, iterative; meant for tests and for SPEC=1.
#ifndef TG_CODEGEN_IR_VERIFY_H_
#define TG_CODEGEN_IR_VERIFY_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

// A graph of the tensor stage. Does not look into the kernels of kCall.
absl::Status VerifyTensor(const UOp& root);

// One kernel: a kSink.
absl::Status VerifyKernel(const UOp& root);

// The instructions of a linear program: each once, sources before users; loops and kIf regions
// nested, closed innermost first, nothing of a closed one used after it; no weak types, no
// `Invalid`; accesses through kIndex on a kParam or kBuffer, which are no
// values; constant indices into registers; at
// most one kThread range. What depends on the rest of a LinearProgram (its parameters, its name) is
// checked by lower::VerifyProgram (codegen/lower/program_verify.h).
absl::Status VerifyInstructions(absl::Span<const UOp> ops);

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_VERIFY_H_
