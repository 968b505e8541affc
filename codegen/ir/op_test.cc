#include "codegen/ir/op.h"

#include <set>
#include <sstream>
#include <string>

#include "codegen/ir/arg.h"
#include "gtest/gtest.h"

namespace tg::ir {
namespace {

TEST(OpTest, NamesRoundTripAndAreUnique) {
  std::set<std::string> seen;
  for (int i = 0; i < kOpCount; ++i) {
    Op op = static_cast<Op>(i);
    EXPECT_TRUE(seen.insert(std::string(OpName(op))).second);
    EXPECT_EQ(ParseOp(OpName(op)), op);
  }
  EXPECT_EQ(OpName(Op::kFloorDiv), "FloorDiv");
  EXPECT_EQ(ParseOp("kAdd"), std::nullopt);
  EXPECT_EQ(ParseOp(""), std::nullopt);
  std::ostringstream os;
  os << Op::kMulAcc;
  EXPECT_EQ(os.str(), "MulAcc");
}

TEST(OpTest, Stages) {
  EXPECT_TRUE(OpInStage(Op::kConst, 't') && OpInStage(Op::kConst, 'k') &&
              OpInStage(Op::kConst, 'p'));
  EXPECT_TRUE(OpInStage(Op::kReshape, 't'));
  EXPECT_FALSE(OpInStage(Op::kReshape, 'k') || OpInStage(Op::kReshape, 'p'));
  EXPECT_TRUE(OpInStage(Op::kIf, 'p'));
  EXPECT_FALSE(OpInStage(Op::kIf, 'k'));
  EXPECT_FALSE(OpInStage(Op::kConst, 'x'));
  for (int i = 0; i < kOpCount; ++i) {
    Op op = static_cast<Op>(i);
    EXPECT_TRUE(OpInStage(op, 't') || OpInStage(op, 'k') || OpInStage(op, 'p')) << op;
    if (IsElementwise(op)) {
      EXPECT_TRUE(OpInStage(op, 't') && OpInStage(op, 'k') && OpInStage(op, 'p')) << op;
    }
    if (IsMovement(op)) {
      EXPECT_FALSE(OpInStage(op, 'k')) << op;
    }
  }
}

TEST(OpTest, Groups) {
  int unary = 0, binary = 0, ternary = 0, alu = 0, elementwise = 0, movement = 0;
  for (int i = 0; i < kOpCount; ++i) {
    Op op = static_cast<Op>(i);
    unary += IsUnary(op);
    binary += IsBinary(op);
    ternary += IsTernary(op);
    alu += IsAlu(op);
    elementwise += IsElementwise(op);
    movement += IsMovement(op);
    if (IsComparison(op) || IsCommutative(op) || IsAssociative(op)) {
      EXPECT_TRUE(IsBinary(op)) << op;
    }
    EXPECT_EQ(IsElementwise(op), IsUnary(op) || IsBinary(op) || IsTernary(op)) << op;
  }
  EXPECT_EQ(unary, 9);
  EXPECT_EQ(binary, 19);
  EXPECT_EQ(ternary, 2);
  EXPECT_EQ(elementwise, 30);
  EXPECT_EQ(alu, 28);
  EXPECT_EQ(movement, 7);
}

TEST(AxisTypeTest, NamesAndLettersAreUnique) {
  std::set<std::string> names;
  std::set<char> letters;
  for (int i = 0; i < kAxisTypeCount; ++i) {
    AxisType t = static_cast<AxisType>(i);
    EXPECT_TRUE(names.insert(std::string(AxisTypeName(t))).second);
    EXPECT_TRUE(letters.insert(AxisTypeLetter(t)).second);
  }
  EXPECT_EQ(AxisTypeName(AxisType::kGroupReduce), "GROUP_REDUCE");
  EXPECT_EQ(AxisTypeLetter(AxisType::kUpcast), 'u');
}

}  // namespace
}  // namespace tg::ir
