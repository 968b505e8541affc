#include "codegen/ir/uop.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tg::ir {
namespace {

TEST(UOpTest, EqualPartsAreOneNode) {
  const UOp v = Variable("v", 0, 10);
  EXPECT_EQ(v + 3, v + 3);
  EXPECT_FALSE((v + 3) == (v + 4));
  EXPECT_EQ(Const(kFloat32, 1), Const(kFloat32, 1.0));
  EXPECT_FALSE(Const(kFloat32, 0.0) == Const(kFloat32, -0.0));
  EXPECT_EQ(Const(kFloat32, std::nan("1")), Const(kFloat32, std::nan("2")));
  EXPECT_EQ(Const(kUInt8, 256 + 7), Const(kUInt8, 7));
}

TEST(UOpTest, NodesDieWithTheirLastHandle) {
  const int64_t before = LiveNodeCount();
  {
    UOp v = Variable("dies", 0, 10);
    UOp u = (v + 3) * 5;
    EXPECT_GT(LiveNodeCount(), before);
    // Ranges refer to themselves in their own set; that must not keep them.
    UOp r = Range(8, 77);
    EXPECT_EQ((r + u).ranges().size(), 1u);
    EXPECT_EQ(r.ranges().size(), 1u);
  }
  EXPECT_EQ(LiveNodeCount(), before);
}

TEST(UOpTest, ChainOfAMillionNodes) {
  const int64_t before = LiveNodeCount();
  {
    UOp u = Variable("v", 0, 1);
    for (int i = 0; i < 1'000'000; ++i) u = u * 3 + i;
    EXPECT_GT(LiveNodeCount(), before + 1'000'000);
    EXPECT_GT(Toposort(u).size(), 2'000'000u);
    EXPECT_TRUE(u.ranges().empty());
  }
  EXPECT_EQ(LiveNodeCount(), before);
}

TEST(UOpTest, SharedGraphIsLinear) {
  UOp a = Variable("a", 0, 1);
  for (int i = 0; i < 100; ++i) a = a + a;
  EXPECT_EQ(Toposort(a).size(), 101u);
  EXPECT_EQ(Toposort(Substitute(a, {{Variable("a", 0, 1), Variable("b", 0, 1)}})).size(), 101u);
}

TEST(UOpTest, ToposortListsSourcesFirst) {
  const UOp v = Variable("v", 0, 10), r = Range(4, 0);
  const UOp u = (v + r) * (r + 1);
  std::vector<UOp> order = Toposort(u);
  for (size_t i = 0; i < order.size(); ++i) {
    for (const UOp& s : order[i].src()) {
      EXPECT_NE(std::find(order.begin(), order.begin() + i, s), order.begin() + i);
    }
  }
  EXPECT_EQ(order.back(), u);
}

TEST(UOpTest, RangesInScope) {
  const UOp a = Range(4, 0), b = Range(5, 1, AxisType::kReduce);
  const UOp sum = UOp::Make(Op::kReduce, kIndex, {a + b, b}, Arg(ReduceArg{Op::kAdd, {}}));
  ASSERT_EQ((a + b).ranges().size(), 2u);
  EXPECT_EQ((a + b).ranges()[0], a);
  ASSERT_EQ(sum.ranges().size(), 1u);
  EXPECT_EQ(sum.ranges()[0], a);
  EXPECT_FALSE(sum.DependsOnRange(b));
}

TEST(UOpTest, BoundsAndCongruences) {
  const UOp r = Range(10, 0);
  EXPECT_EQ((r * 4 + 3).bounds(), (Bounds{3, 39}));
  EXPECT_EQ((r * 4 + 3).congruence(), (Congruence{4, 3}));
  EXPECT_EQ(FloorMod(r * 4 + 3, 2).bounds(), (Bounds{0, 1}));
  EXPECT_EQ(FloorDiv(r - 5, 2).bounds(), (Bounds{-3, 2}));
  EXPECT_EQ(Cdiv(r - 5, Const(kIndex, 2)).bounds(), (Bounds{-2, 2}));
  EXPECT_EQ((r < 10).bounds(), (Bounds{1, 1}));
  EXPECT_EQ(CmpEq(r * 2, Const(kIndex, 3)).bounds(), (Bounds{0, 0}));
  // Fixed-width arithmetic that may wrap gives the whole type.
  const UOp u8 = Cast(r, kUInt8);
  EXPECT_EQ((u8 * 28).bounds(), (Bounds{0, 252}));
  EXPECT_EQ((u8 * 29).bounds(), (Bounds{0, 255}));
}

TEST(UOpTest, ThreadsAgreeOnNodes) {
  const int64_t before = LiveNodeCount();
  std::vector<std::thread> threads;
  std::vector<std::vector<UOp>> made(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &made] {
      for (int round = 0; round < 20; ++round) {
        made[t].clear();
        UOp v = Variable("v", 0, 10);
        for (int i = 0; i < 500; ++i) {
          v = v + i;
          made[t].push_back(v);
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (int t = 1; t < 4; ++t) EXPECT_EQ(made[0], made[t]);
  made.clear();
  EXPECT_EQ(LiveNodeCount(), before);
}

}  // namespace
}  // namespace tg::ir
