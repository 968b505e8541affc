// Checks a LinearProgram against its contract (program.h).
#ifndef TG_CODEGEN_LOWER_PROGRAM_VERIFY_H_
#define TG_CODEGEN_LOWER_PROGRAM_VERIFY_H_

#include "absl/status/status.h"
#include "codegen/lower/program.h"

namespace tg::lower {

// ir::VerifyInstructions, and: the name is a C identifier; every kParam has its row in `params`
// with its type and size, is loaded only where that says `read` and stored to only where it says
// `written`; `variables` are distinct kVariable nodes and hold every one that is used; the kThread
// range, if there is one, has `threads` parts, and there is one if `threads` > 1.
//
// InvalidArgument: "kernel NAME: " and a sentence with the node.
absl::Status VerifyProgram(const LinearProgram& program);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_PROGRAM_VERIFY_H_
