// Graphs as text: a form that parses back, an indented tree, one-line expressions.
//
// All of these are linear in the number of nodes (shared nodes are written once), iterative, and
// deterministic: they depend on the structure of the graph, never on addresses.
//
// Text form. One node a line, sources before users, the root last:
//
//   %0 = Variable weakint var("n", 1, 10)
//   %1 = Const weakint 3
//   %2 = Add weakint %0 %1
//
// that is `%ID = OP DTYPE SOURCES... [ARGUMENT]`. Arguments:
//
//   42                                     integer (also the constants of integer and bool types)
//   0x1.8p+1  inf  -inf  nan               float constant, exact (C's %a)
//   invalid                                Invalid
//   "a \"string\" \x00\n"                  string; bytes outside of printable ASCII as \xHH
//   [0, 2, 1]                              integers
//   range(0, LOOP)  param(0, 1024)  shear(1, 2, -1)  var("n", 1, 10)
//   buffer(7, 1024, global, "CPU")         without its storage
//   reduce(Add, [0, 1])
//   kernel("name", optimized, [split(0, 4, UPCAST, top), padto(1, 32, UPCAST, bottom)])
//   wmma("name", 16, 16, 16, float16, float32, 32)
//   function("name", precompile)
//
// parse.h reads it back; `Parse(Print(u)) == u`, the same pointer.
#ifndef TG_CODEGEN_IR_PRINT_H_
#define TG_CODEGEN_IR_PRINT_H_

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

// The text form of a graph. A null handle prints as nothing.
std::string Print(const UOp& root);
// The text form of a list in its own order: each node's sources must be listed before it
// (TG_CHECK).
std::string PrintList(absl::Span<const UOp> nodes);

// The argument in the syntax above; empty without one.
std::string PrintArg(const Arg& arg);
// `s` quoted and escaped as above.
std::string Quote(absl::string_view s);
// "split", "tensor_core", "padto", "swap", "nolocals"; "global", "local", "reg".
absl::string_view OptOpName(OptOp op);
absl::string_view AddrSpaceName(AddrSpace space);

// One node with its direct sources, for messages:
// `Add int32 (Param int32 param(0, 16), Mul int32 (...))`.
std::string DescribeNode(Op op, DType dtype, absl::Span<const UOp> src, const Arg& arg);
inline std::string DescribeNode(const UOp& u) {
  return DescribeNode(u.op(), u.dtype(), u.src(), u.arg());
}

// An indented tree, the root first, sources below their user. A node with several users is named
// where it first appears (`%3 = Add ...`) and mentioned by that name after. Beyond 32 levels the
// depth is written as a number instead of blanks.
std::string PrintTree(const UOp& root);

// One line in infix notation with the fewest parentheses that keep the structure readable back:
// `(a + 3) // 4`, `a % 2 < r0`, `where(c, x, y)`, `float32(x)`. Variables by name, ranges as r0,
// parameters as p0, buffers as buf0, // and % round down, cdiv and cmod toward zero. dtypes are
// shown by casts only. A graph that would be long as a tree is written with names for what is
// shared: `x0 = a + a; x1 = x0 + x0; x1 * x1`.
std::string PrintExpr(const UOp& root);

// PrintExpr: for logs, checks and tests.
std::ostream& operator<<(std::ostream& os, const UOp& u);

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_PRINT_H_
