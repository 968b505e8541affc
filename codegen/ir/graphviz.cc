#include "codegen/ir/graphviz.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/ir/print.h"

namespace tg::ir {
namespace {

absl::string_view Colour(Op op) {
  switch (op) {
    case Op::kConst:
    case Op::kVariable:
    case Op::kBind:
    case Op::kUnique:
    case Op::kDevice:
      return "#e0e0e0";
    case Op::kParam:
    case Op::kBuffer:
    case Op::kIndex:
    case Op::kLoad:
    case Op::kStore:
    case Op::kCopy:
    case Op::kContiguous:
    case Op::kStage:
      return "#a8c8f8";
    case Op::kRange:
    case Op::kSpecial:
    case Op::kEnd:
    case Op::kIf:
    case Op::kEndIf:
      return "#ffe08a";
    case Op::kReduce:
    case Op::kAllReduce:
    case Op::kWmma:
      return "#f4a6a0";
    default:
      break;
  }
  if (IsElementwise(op)) return "#b8e0b0";
  if (IsMovement(op)) return "#d8c0f0";
  return "#ffffff";
}

// For a double-quoted DOT string: PrintArg leaves printable ASCII only.
std::string Escape(absl::string_view s) {
  std::string r;
  for (char c : s) {
    if (c == '"' || c == '\\') r.push_back('\\');
    r.push_back(c);
  }
  return r;
}

}  // namespace

std::string ToDot(const UOp& root, absl::string_view name) {
  std::string out = absl::StrCat("digraph \"", Escape(name),
                                 "\" {\n  node [shape=box, style=filled, fontname=monospace];\n");
  if (root) {
    absl::flat_hash_map<const void*, size_t> ids;
    for (const UOp& u : Toposort(root)) {
      const size_t id = ids.size();
      ids.emplace(u.id(), id);
      absl::StrAppend(&out, "  n", id, " [label=\"", OpName(u.op()), " ", u.dtype().ToString());
      if (u.arg().index() != 0) absl::StrAppend(&out, "\\n", Escape(PrintArg(u.arg())));
      absl::StrAppend(&out, "\", fillcolor=\"", Colour(u.op()), "\"];\n");
      for (int i = 0; i < u.src_count(); ++i) {
        absl::StrAppend(&out, "  n", id, " -> n", ids.at(u.src(i).id()));
        if (u.src_count() > 1) absl::StrAppend(&out, " [label=\"", i, "\"]");
        out += ";\n";
      }
    }
  }
  out += "}\n";
  return out;
}

}  // namespace tg::ir
