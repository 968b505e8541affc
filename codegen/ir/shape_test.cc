#include "codegen/ir/shape.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace tg::ir {
namespace {

UOp Data(const Shape& shape) {
  return Reshape(Param(0, kFloat32, NumElements(shape).value()), shape);
}

template <typename F>
std::string MessageOf(F f) {
  try {
    f();
  } catch (const ShapeError& e) {
    return e.what();
  }
  return "";
}

TEST(SintTest, Arithmetic) {
  Sint n = Variable("n", 1, 10);
  EXPECT_EQ(Sint(2) + Sint(3), Sint(5));
  EXPECT_EQ(n + 0, n);
  EXPECT_EQ(n + 2 - 2, n);
  EXPECT_EQ((n + 3) - n, Sint(3));
  EXPECT_EQ(n - n, Sint(0));
  EXPECT_EQ(n * 1, n);
  EXPECT_EQ(n * 0, Sint(0));
  EXPECT_EQ(FloorDiv(n * 6, 3), n * 2);
  EXPECT_EQ(FloorDiv(Sint(-7), 2), Sint(-4));
  EXPECT_EQ((n * 2).max(), 20);
  EXPECT_NE(n, Sint(10));
  EXPECT_EQ((n + 1).ToString(), "(n+1)");
}

TEST(ShapeTest, OfLeavesAndElementwise) {
  EXPECT_EQ(ShapeOf(Const(kFloat32, 1.0)), Shape());
  EXPECT_EQ(ShapeOf(Param(0, kFloat32, 6)), (Shape{6}));
  UOp x = Data({2, 3});
  EXPECT_EQ(ShapeOf(x), (Shape{2, 3}));
  EXPECT_EQ(ShapeOf(Const(kFloat32, 1.0) + x), (Shape{2, 3}));
  EXPECT_EQ(ShapeOf(Contiguous(x)), (Shape{2, 3}));
  EXPECT_EQ(ShapeOf(UOp::Make(Op::kAfter, kFloat32, {Param(0, kFloat32, 6)})), (Shape{6}));
}

TEST(ShapeTest, Movement) {
  UOp x = Data({2, 3});
  EXPECT_EQ(ShapeOf(Permute(x, {1, 0})), (Shape{3, 2}));
  EXPECT_EQ(ShapeOf(Pad(x, {{1, 2}, {0, 0}})), (Shape{5, 3}));
  EXPECT_EQ(ShapeOf(Shrink(x, {{1, 2}, {0, 2}})), (Shape{1, 2}));
  EXPECT_EQ(ShapeOf(Flip(x, {0})), (Shape{2, 3}));
  EXPECT_EQ(ShapeOf(Reduce(x, Op::kAdd, {1})), (Shape{2, 1}));
  EXPECT_EQ(ShapeOf(Expand(Reduce(x, Op::kAdd, {1}), {2, 7})), (Shape{2, 7}));
  EXPECT_EQ(ShapeOf(Shear(x, 1, 0, 2, 0, 5)), (Shape{2, 5}));
}

TEST(ShapeTest, NoOpsAreDroppedAndChainsCollapse) {
  UOp x = Data({2, 3});
  EXPECT_EQ(Reshape(x, {2, 3}), x);
  EXPECT_EQ(Reshape(Reshape(x, {6}), {2, 3}), x);
  EXPECT_EQ(Permute(x, {0, 1}), x);
  EXPECT_EQ(Permute(Permute(x, {1, 0}), {1, 0}), x);
  EXPECT_EQ(Pad(x, {{0, 0}, {0, 0}}), x);
  EXPECT_EQ(Shrink(x, {{0, 2}, {0, 3}}), x);
  EXPECT_EQ(Flip(Flip(x, {1}), {1}), x);
  EXPECT_EQ(Expand(x, {2, 3}), x);
  EXPECT_EQ(Reduce(Data({1, 3}), Op::kAdd, {0}), Data({1, 3}));
  EXPECT_EQ(Shear(x, 1, 0, 0, 0, 3), x);
}

TEST(ShapeTest, Symbolic) {
  Sint n = Variable("n", 1, 10);
  UOp x = Shrink(Data({10, 3}), {{0, n}, {0, 3}});
  EXPECT_EQ(ShapeOf(x), (Shape{n, 3}));
  EXPECT_EQ(ShapeOf(Pad(x, {{0, Sint(10) - n}, {0, 0}}))[1], Sint(3));
  EXPECT_EQ(ShapeOf(Reshape(x, {n * 3})), (Shape{n * 3}));
  EXPECT_FALSE(IsConst(ShapeOf(x)));
}

TEST(ShapeTest, Errors) {
  UOp x = Data({2, 3});
  EXPECT_EQ(MessageOf([&] {
              Reshape(x, {4, 2});
            }),
            "reshape: cannot view (2, 3) as (4, 2): 6 elements against 8");
  EXPECT_EQ(MessageOf([&] {
              Expand(x, {2, 4});
            }),
            "expand: cannot expand (2, 3) to (2, 4): axis 1 has size 3, expected 1 or 4");
  EXPECT_NE(MessageOf([&] { Permute(x, {0, 0}); }), "");
  EXPECT_NE(MessageOf([&] { Permute(x, {0}); }), "");
  EXPECT_NE(MessageOf([&] { Pad(x, {{-1, 0}, {0, 0}}); }), "");
  EXPECT_NE(MessageOf([&] { Shrink(x, {{0, 3}, {0, 3}}); }), "");
  EXPECT_NE(MessageOf([&] { Flip(x, {2}); }), "");
  EXPECT_EQ(MessageOf([&] { Shrink(x, {{0, 2}, {3, 3}}); }), "");
}

TEST(ShapeTest, DeepGraph) {
  UOp x = Data({2, 3});
  for (int i = 0; i < 200000; ++i) x = UOp::Make(Op::kExp2, kFloat32, {x});
  EXPECT_EQ(ShapeOf(x), (Shape{2, 3}));
}

}  // namespace
}  // namespace tg::ir
