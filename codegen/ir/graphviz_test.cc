#include "codegen/ir/graphviz.h"

#include "gtest/gtest.h"

namespace tg::ir {
namespace {

TEST(GraphvizTest, NodesEdgesColours) {
  UOp a = Variable("a", 0, 3);
  EXPECT_EQ(ToDot(a + 1, "say \"x\""),
            "digraph \"say \\\"x\\\"\" {\n"
            "  node [shape=box, style=filled, fontname=monospace];\n"
            "  n0 [label=\"Variable weakint\\nvar(\\\"a\\\", 0, 3)\", fillcolor=\"#e0e0e0\"];\n"
            "  n1 [label=\"Const weakint\\n1\", fillcolor=\"#e0e0e0\"];\n"
            "  n2 [label=\"Add weakint\", fillcolor=\"#b8e0b0\"];\n"
            "  n2 -> n0 [label=\"0\"];\n"
            "  n2 -> n1 [label=\"1\"];\n"
            "}\n");
}

TEST(GraphvizTest, SharedNodesOnce) {
  UOp a = Variable("a", 0, 3);
  for (int i = 0; i < 100; ++i) a = a + a;
  EXPECT_LT(ToDot(a).size(), 20000u);
}

}  // namespace
}  // namespace tg::ir
