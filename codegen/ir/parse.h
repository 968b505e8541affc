// Reads the text form of a graph (print.h).
//
// Blank lines and what follows `#` to the end of the line are ignored. IDs are decimal numbers
// below 2^32 in any order; each is defined once, before it is used.
//
// Text may come from anywhere: every node is checked (node_check.h) before it is made, nothing
// recurses, and memory stays below 64 times the size of the text. That the graph makes sense for
// its stage is the verifier's business (verify.h).
#ifndef TG_CODEGEN_IR_PARSE_H_
#define TG_CODEGEN_IR_PARSE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

// The node of the last line. Errors: InvalidArgument, "line 3, column 8: ...".
absl::StatusOr<UOp> Parse(absl::string_view text);

// The nodes of all lines, in order.
absl::StatusOr<std::vector<UOp>> ParseList(absl::string_view text);

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_PARSE_H_
