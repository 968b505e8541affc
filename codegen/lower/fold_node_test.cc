#include "codegen/lower/fold_node.h"

#include <string>

#include "codegen/ir/print.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::IndexConst;
using ir::UOp;

const UOp x = ir::Range(8, 0), y = ir::Range(8, 1), u = ir::Range(4, 2, ir::AxisType::kUpcast);

// `e` rebuilt with u = 3.
std::string At3(const UOp& e) {
  ir::UOpMap made;
  for (const UOp& n : ir::Toposort(e)) {
    std::vector<UOp> src;
    for (const UOp& s : n.src()) src.push_back(made.at(s));
    made[n] = n == u ? IndexConst(3) : FoldNode(n, src);
  }
  return ir::PrintExpr(made.at(e));
}

TEST(FoldNode, ConstantsAreLast) {
  EXPECT_EQ(At3((x + u) + y), "r0 + r1 + 3");
  EXPECT_EQ(At3(x + (u * 5 + y)), "r0 + r1 + 15");
  EXPECT_EQ(At3((x + u) * 4 + y + 1), "r0 * 4 + r1 + 13");
  EXPECT_EQ(At3(x * 2 + (u - 3)), "r0 * 2");
  EXPECT_EQ(At3(x * (u - 3)), "0");
  EXPECT_EQ(At3(u * 7), "21");
}

TEST(FoldNode, Conditions) {
  EXPECT_EQ(At3(u < 3), "false");
  EXPECT_EQ(At3((x < 4) & (u < 4)), "r0 < 4");
  EXPECT_EQ(At3((x < 4) & (u < 3)), "false");
  EXPECT_EQ(At3((x < 4) | (u < 3)), "r0 < 4");
  EXPECT_EQ(At3(x + u < 20), "true");
  EXPECT_EQ(At3(ir::Where(u < 3, ir::Cast(x, ir::kFloat32), ir::Const(ir::kFloat32, 2.0))), "2.0");
}

TEST(FoldNode, Divisions) {
  EXPECT_EQ(At3(ir::FloorDiv(x * 4 + u, 4)), "r0");
  EXPECT_EQ(At3(ir::FloorMod(x * 4 + u, 4)), "3");
}

}  // namespace
}  // namespace tg::lower
