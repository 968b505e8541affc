#include "codegen/ir/simplify/simplify.h"

#include "codegen/ir/print.h"
#include "gtest/gtest.h"

namespace tg::ir {
namespace {

const UOp kR0 = Range(28, 0), kR1 = Range(28, 1), kR4 = Range(4, 4), kR8 = Range(8, 8);

TEST(SimplifyTest, IndicesOfReshapes) {
  const UOp flat = kR0 * 28 + kR1;
  EXPECT_EQ(Simplify(FloorMod(FloorDiv(flat, 28), 28)), kR0);
  EXPECT_EQ(Simplify(FloorMod(flat, 28)), kR1);
  EXPECT_EQ(Simplify(FloorDiv(kR0 * 4 + kR1, 4)), kR0 + FloorDiv(kR1, 4));
  EXPECT_EQ(Simplify(FloorMod(kR0 * 4 + kR4, 4)), kR4);
  EXPECT_EQ(Simplify(FloorDiv(kR8 * 4 + kR4, 8)), FloorDiv(kR8, 2));
  EXPECT_EQ(Simplify(FloorDiv(kR0, 4) * 4 + FloorMod(kR0, 4)), kR0);
}

}  // namespace
}  // namespace tg::ir
