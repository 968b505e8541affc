#include "codegen/lower/index_dtype.h"

#include <string>

#include "codegen/ir/print.h"
#include "codegen/lower/lower_test_util.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::DType;
using ir::kInt32;
using ir::kInt64;
using ir::Range;
using ir::UOp;

DType TypeOf(const UOp& u) { return LowerIndexDType(u).dtype(); }

TEST(IndexDType, ByBounds) {
  const UOp i = Range(1 << 16, 0), j = Range(1 << 15, 1);
  EXPECT_EQ(TypeOf(i * (1 << 15)), kInt32);  // below 2^31
  EXPECT_EQ(TypeOf(i * (1 << 15) + j), kInt32);
  EXPECT_EQ(TypeOf(i * (1 << 15) + j + 1), kInt64);
  EXPECT_EQ(TypeOf(i * -(1 << 15) - j - 1), kInt32);  // down to -2^31
  EXPECT_EQ(TypeOf(i * -(1 << 15) - j - 2), kInt64);
  EXPECT_EQ(TypeOf(ir::IndexConst(int64_t{1} << 31)), kInt64);
  EXPECT_EQ(TypeOf(ir::Variable("n", 0, int64_t{1} << 40)), kInt64);
  EXPECT_EQ(TypeOf(Range(int64_t{1} << 33, 0)), kInt64);
}

// known_bugs T11: what is computed on the way counts.
TEST(IndexDType, ByIntermediateValues) {
  const UOp i = Range(1 << 16, 0);
  const UOp q = ir::FloorDiv(i * (1 << 16), 1 << 16);
  EXPECT_EQ(TypeOf(q), kInt64);
  EXPECT_EQ(ir::PrintExpr(LowerIndexDType(q)), "int64(r0) * 65536 // 65536");
  EXPECT_EQ(TypeOf(i * (1 << 16) < 5), ir::kBool);
  EXPECT_EQ(LowerIndexDType(i * (1 << 16) < 5).src(1).dtype(), kInt64);
}

TEST(IndexDType, CastsAndVectors) {
  const UOp p = ir::Param(0, kInt32, 4), i = Range(4, 0);
  // Data that is an index already has a width.
  EXPECT_EQ(ir::PrintExpr(LowerIndexDType(ir::Cast(LoadAt(p, i), ir::kIndex) * 4)),
            "int64(load(p0[r0])) * 4");
  const UOp lanes = UOp::Make(ir::Op::kStack, ir::kIndex.Vec(2), {i, i * 5});
  EXPECT_EQ(TypeOf(lanes), kInt32.Vec(2));
  const UOp wide = UOp::Make(ir::Op::kStack, ir::kIndex.Vec(2), {i, i * (int64_t{1} << 40)});
  EXPECT_EQ(TypeOf(wide), kInt64.Vec(2));
  EXPECT_EQ(TypeOf(ir::Cast(i, ir::kFloat32)), ir::kFloat32);
}

}  // namespace
}  // namespace tg::lower
