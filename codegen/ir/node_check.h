// Whether one node is well formed: what op.h says of its sources, argument and dtype, in any stage.
//
// UOp::Make does not check (nodes are made by the million by code that is right); the verifier does
// (verify.h), and so does the parser, which would otherwise hand nonsense to the fact computations.
#ifndef TG_CODEGEN_IR_NODE_CHECK_H_
#define TG_CODEGEN_IR_NODE_CHECK_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

// InvalidArgument: a sentence that says what is wrong, with the node at its end. Looks at the
// direct sources only.
absl::Status CheckNode(Op op, DType dtype, absl::Span<const UOp> src, const Arg& arg);
inline absl::Status CheckNode(const UOp& u) {
  return CheckNode(u.op(), u.dtype(), u.src(), u.arg());
}

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_NODE_CHECK_H_
