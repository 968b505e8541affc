// Graphs as Graphviz DOT: `dot -Tsvg`.
#ifndef TG_CODEGEN_IR_GRAPHVIZ_H_
#define TG_CODEGEN_IR_GRAPHVIZ_H_

#include <string>

#include "absl/strings/string_view.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

// A digraph with edges from users to sources (numbered where there are several), nodes coloured by
// the group of their operation: constants grey, memory blue, loops yellow, arithmetic green,
// reductions red, movement violet, structure white. `name` is its title. Linear, iterative.
std::string ToDot(const UOp& root, absl::string_view name = "uops");

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_GRAPHVIZ_H_
