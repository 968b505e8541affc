#include "tg/schedule/data_layout.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "codegen/ir/shape.h"
#include "gtest/gtest.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOp;
using Order = std::vector<int64_t>;
using Varies = std::vector<bool>;

UOp Input(int64_t id, const Shape& shape) {
  return ir::Reshape(UOp::Make(Op::kBuffer, ir::kFloat32, {},
                               ir::Arg(ir::BufferArg{.id = id,
                                                     .size = ir::NumElements(shape).value(),
                                                     .space = ir::AddrSpace::kGlobal,
                                                     .device = "CPU",
                                                     .storage = nullptr})),
                     shape);
}

class Layouts {
 public:
  const DataLayout& Of(const UOp& root) {
    auto known = [this](const UOp& u) -> const DataLayout& { return layouts_.at(u); };
    for (const UOp& u : ir::Toposort(root)) {
      if (layouts_.contains(u)) continue;
      DataLayout l = LayoutOf(u, known);
      layouts_.emplace(u, std::move(l));
    }
    return layouts_.at(root);
  }
  bool Contracts(const UOp& u) {
    Of(u);
    return IsContraction(u, [this](const UOp& s) -> const DataLayout& { return layouts_.at(s); });
  }

 private:
  absl::flat_hash_map<UOp, DataLayout> layouts_;
};

UOp Widen(const UOp& x, const Shape& with_ones, const Shape& shape) {
  return ir::Expand(ir::Reshape(x, with_ones), shape);
}

TEST(DataLayoutTest, MemoryIsRowMajor) {
  Layouts l;
  EXPECT_EQ(l.Of(Input(0, {2, 3, 4})).order, (Order{0, 1, 2}));
  EXPECT_TRUE(l.Of(Input(0, {2, 3, 4})).VariesEverywhere());
  // An axis of size 1 has nothing to differ.
  EXPECT_EQ(l.Of(Input(0, {2, 1, 4})).varies, (Varies{true, false, true}));
}

TEST(DataLayoutTest, PermutesAreFollowed) {
  Layouts l;
  // Axis 0 of the result is axis 2 in memory: innermost.
  const UOp x = ir::Permute(Input(0, {2, 3, 4}), Order{2, 0, 1});
  EXPECT_EQ(l.Of(x).order, (Order{1, 2, 0}));
  EXPECT_EQ(l.Of(ir::Permute(x, Order{1, 2, 0})).order, (Order{0, 1, 2}));
  EXPECT_EQ(l.Of(ir::Flip(x, Order{0})).order, (Order{1, 2, 0}));
  EXPECT_EQ(l.Of(ir::Pad(x, {{1, 1}, {0, 0}, {0, 2}})).order, (Order{1, 2, 0}));
}

TEST(DataLayoutTest, ReshapesKeepGroupsTogether) {
  Layouts l;
  const UOp x = ir::Permute(Input(0, {6, 20}), Order{1, 0});  // (20, 6), the 6 outside
  EXPECT_EQ(l.Of(ir::Reshape(x, {4, 5, 6})).order, (Order{2, 0, 1}));
  EXPECT_EQ(l.Of(ir::Reshape(x, {20, 2, 3})).order, (Order{1, 2, 0}));
  EXPECT_EQ(l.Of(ir::Reshape(x, {4, 5, 1, 2, 3})).varies, (Varies{true, true, false, true, true}));
}

TEST(DataLayoutTest, RepeatedAxesDoNotVary) {
  Layouts l;
  const UOp x = Widen(Input(0, {4}), {1, 4}, {3, 4});
  EXPECT_EQ(l.Of(x).varies, (Varies{false, true}));
  EXPECT_FALSE(l.Of(x).VariesEverywhere());
  // Windows differ along the axis of their offsets, too.
  const UOp window = ir::Shear(Widen(Input(0, {10}), {10, 1}, {10, 3}), 0, 1, 1, 0, 8);
  EXPECT_EQ(l.Of(window).varies, (Varies{true, true}));
}

TEST(DataLayoutTest, ElementwiseFollowsAFullOperand) {
  Layouts l;
  const UOp x = ir::Permute(Input(0, {3, 4}), Order{1, 0});  // (4, 3)
  const UOp bias = Widen(Input(1, {3}), {1, 3}, {4, 3});
  EXPECT_EQ(l.Of(bias + x).order, (Order{1, 0}));
  EXPECT_TRUE(l.Of(bias + x).VariesEverywhere());
  // In doubt the plain order gives way.
  EXPECT_EQ(l.Of(Input(2, {4, 3}) + x).order, (Order{1, 0}));
  EXPECT_EQ(l.Of(x + Input(2, {4, 3})).order, (Order{1, 0}));
  EXPECT_EQ(l.Of(ir::Contiguous(x)).order, (Order{0, 1}));
}

TEST(DataLayoutTest, ReducedAxesDoNotVary) {
  Layouts l;
  const UOp sum = ir::Reduce(Input(0, {2, 3, 4}), Op::kAdd, Order{1});
  EXPECT_EQ(l.Of(sum).varies, (Varies{true, false, true}));
}

TEST(DataLayoutTest, Contractions) {
  Layouts l;
  const Shape all = {4, 5, 6};
  const UOp a = Widen(Input(0, {4, 6}), {4, 1, 6}, all);
  const UOp b = Widen(ir::Permute(Input(1, {6, 5}), Order{1, 0}), {1, 5, 6}, all);
  EXPECT_TRUE(l.Contracts(ir::Reduce(a * b, Op::kAdd, Order{2})));
  EXPECT_TRUE(l.Contracts(ir::Reduce(ir::Cast(a * b, ir::kFloat64), Op::kAdd, Order{2})));
  EXPECT_FALSE(l.Contracts(ir::Reduce(a * b, Op::kMax, Order{2})));
  EXPECT_FALSE(l.Contracts(ir::Reduce(a + b, Op::kAdd, Order{2})));
  // One operand has all axes: each of its values is used once.
  EXPECT_FALSE(l.Contracts(ir::Reduce(Input(2, all) * b, Op::kAdd, Order{2})));
  EXPECT_FALSE(l.Contracts(ir::Reduce(Input(2, all), Op::kAdd, Order{2})));
}

}  // namespace
}  // namespace tg::schedule
