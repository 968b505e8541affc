#include "codegen/lower/lane_axis.h"

#include <vector>

#include "codegen/lower/lower_test_util.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::AxisType;
using ir::kFloat32;
using ir::Op;
using ir::Param;
using ir::Range;
using ir::UOp;

using Axes = std::vector<UOp>;

const UOp out = Param(0, kFloat32, 1 << 20);
const UOp in = Param(1, kFloat32, 1 << 20);

Axes Choose(const UOp& end) { return ChooseLaneAxes(Kernel({end}), EverythingNative()); }

TEST(LaneAxis, IsContiguous) {
  const UOp a = Range(16, 0, AxisType::kUpcast), b = Range(16, 1, AxisType::kUpcast);
  EXPECT_EQ(Choose(StoreLoop(out, a * 16 + b, LoadAt(in, a * 16 + b), {a, b})), Axes{b});
  EXPECT_EQ(Choose(StoreLoop(out, b * 16 + a, LoadAt(in, b * 16 + a), {a, b})), Axes{a});
}

TEST(LaneAxis, LoadsInReductionsWeighMost) {
  const UOp a = Range(16, 0, AxisType::kUpcast), b = Range(16, 1, AxisType::kUpcast),
            k = Range(64, 2, AxisType::kReduce);
  // The store is contiguous along b, the loads along a.
  const UOp v = LoadAt(in, k * 16 + a) * LoadAt(in, k + b * 64);
  EXPECT_EQ(Choose(StoreLoop(out, a * 16 + b, ReduceOver(Op::kAdd, v, {k}), {a, b})), Axes{a});
}

TEST(LaneAxis, FullRegistersAreBest) {
  const UOp a = Range(3, 0, AxisType::kUpcast), b = Range(16, 1, AxisType::kUpcast);
  EXPECT_EQ(Choose(StoreLoop(out, a + b, ir::Cast(a + b, kFloat32) * LoadAt(in, a + b), {a, b})),
            Axes{b});
}

// Each value has lanes of one axis, but different parts of a kernel may have different ones.
TEST(LaneAxis, OnePerValue) {
  const UOp i = Range(8, 0), j = Range(16, 1, AxisType::kUpcast),
            k = Range(4, 2, AxisType::kReduce), l = Range(16, 3, AxisType::kUnroll);
  const UOp row = ReduceOver(Op::kAdd, LoadAt(in, i * 64 + k * 16 + l), {k, l});
  Axes both = Choose(StoreLoop(out, i * 16 + j, LoadAt(in, i * 16 + j) * row, {i, j}));
  EXPECT_EQ(both.size(), 2u);
  const UOp mixed = ReduceOver(Op::kAdd, LoadAt(in, i * 64 + k * 16 + l) * LoadAt(in, j), {k, l});
  EXPECT_EQ(Choose(StoreLoop(out, i * 16 + j, mixed, {i, j})).size(), 1u);
}

TEST(LaneAxis, GathersAloneDoNotPay) {
  const UOp a = Range(16, 0, AxisType::kUpcast);
  EXPECT_EQ(Choose(StoreLoop(out, a * 16, LoadAt(in, a * 16), {a})), Axes{});
  const UOp large = Range(128, 1, AxisType::kUpcast);
  EXPECT_EQ(Choose(StoreLoop(out, large, LoadAt(in, large), {large})), Axes{});
}

}  // namespace
}  // namespace tg::lower
