#include "codegen/opt/merge_ranges.h"

#include <vector>

#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"
#include "codegen/opt/kernel.h"
#include "codegen/opt/testing/evaluate.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::AxisType;
using ir::FloorDiv;
using ir::FloorMod;
using ir::kFloat32;
using ir::Op;
using ir::Param;
using ir::Range;
using ir::UOp;

std::string Merged(const UOp& ast) {
  const UOp merged = MergeRanges(ast);
  EXPECT_TRUE(ir::VerifyKernel(merged).ok()) << ir::VerifyKernel(merged) << ir::Print(merged);
  EXPECT_EQ(MergeRanges(merged), merged);
  Buffers a = RandomBuffers(ast, 3), b = a;
  const absl::Status s = Evaluate(ast, a), t = Evaluate(merged, b);
  EXPECT_TRUE(s.ok() && t.ok()) << s << t;
  EXPECT_EQ(a, b) << ir::Print(merged);
  return Kernel::Make(merged, {})->Name();
}

TEST(MergeRanges, Elementwise) {
  EXPECT_EQ(Merged(Elementwise({4, 3, 6}).ast), "E_72");
  EXPECT_EQ(Merged(Transpose(6, 8).ast), "E_6_8");
}

TEST(MergeRanges, Reductions) {
  EXPECT_EQ(Merged(RowWise(4, 6).ast), "r_4_6_6_6");
  EXPECT_EQ(Merged(Matmul(4, 6, 8, false, false).ast), "r_4_6_8");
  // Statistics of channels: images and pixels are two loops, pixels one.
  const UOp c = Range(4, 0), b = Range(3, 1, AxisType::kReduce), y = Range(5, 2, AxisType::kReduce),
            x = Range(6, 3, AxisType::kReduce);
  const UOp in = Param(1, kFloat32, 360), out = Param(0, kFloat32, 4);
  EXPECT_EQ(
      Merged(StoreKernel(
          out, c, ReduceOver(Op::kAdd, LoadAt(in, ((b * 4 + c) * 5 + y) * 6 + x), {b, y, x}), {c})),
      "r_4_3_30");
  // Channels last: one loop, in whatever order the ranges come.
  EXPECT_EQ(
      Merged(StoreKernel(
          out, c, ReduceOver(Op::kAdd, LoadAt(in, ((b * 5 + y) * 6 + x) * 4 + c), {x, b, y}), {c})),
      "r_4_90");
}

// Weights that are stored in the order of the input's window: columns and channels are one loop.
TEST(MergeRanges, Convolution) {
  const ConvShape s{.b = 2, .y = 3, .x = 3, .co = 4, .ci = 2, .k = 3};
  EXPECT_EQ(Merged(ConvForward(s, false, true).ast), "r_2_3_3_4_3_6");
  EXPECT_EQ(Merged(ConvForward(s, false, false).ast), "r_2_3_3_4_2_3_3");
  const ConvShape one{.b = 2, .y = 3, .x = 3, .co = 4, .ci = 2, .k = 1};
  EXPECT_EQ(Merged(ConvForward(one, false, true).ast), "r_18_4_2");
}

TEST(MergeRanges, ConditionsKeepLoops) {
  // The second half of each row only: merging would need a remainder.
  const UOp i = Range(4, 0), j = Range(6, 1), in = Param(1, kFloat32, 24);
  const UOp valid = ir::Not(j < 3);
  EXPECT_EQ(Merged(StoreKernel(Param(0, kFloat32, 24), i * 6 + j,
                               LoadAt(in, ir::Valid(i * 6 + j, valid)), {i, j})),
            "E_4_6");
  // The first rows: a condition that the merged loop has as well.
  EXPECT_EQ(Merged(StoreKernel(Param(0, kFloat32, 24), i * 6 + j,
                               LoadAt(in, ir::Valid(i * 6 + j, i < 2)), {i, j})),
            "E_24");
}

TEST(MergeRanges, SplitsDivisions) {
  // out[r] = a[r] + b[r % 4]: rows and columns.
  const UOp r = Range(24, 0);
  const UOp out = Param(0, kFloat32, 24), a = Param(1, kFloat32, 24), b = Param(2, kFloat32, 4);
  EXPECT_EQ(Merged(StoreKernel(out, r, LoadAt(a, r) + LoadAt(b, FloorMod(r, 4)), {r})), "E_6_4");
  const UOp t = LoadAt(a, FloorMod(r, 4) * 6 + FloorDiv(r, 4));
  EXPECT_EQ(Merged(StoreKernel(out, r, t, {r})), "E_6_4");
  // 5 does not divide 24.
  EXPECT_EQ(Merged(StoreKernel(out, r, LoadAt(b, FloorDiv(r, 7)), {r})), "E_24");
}

}  // namespace
}  // namespace tg::opt
