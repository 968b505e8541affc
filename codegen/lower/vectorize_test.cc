#include "codegen/lower/vectorize.h"

#include <string>

#include "codegen/ir/print.h"
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

const UOp out = Param(0, kFloat32, 64);
const UOp in = Param(1, kFloat32, 64);
const UOp i = Range(8, 0);
const UOp l = Range(4, 1, AxisType::kUpcast);

// The store after the pass, and the lanes of its value.
UOp After(const UOp& index, const UOp& value) {
  UOp end = Vectorize(Kernel({StoreLoop(out, index, value, {i, l})}), {l}).src(0);
  return end.Is(Op::kEnd) ? end.src(0) : end;
}
std::string Text(const UOp& index, const UOp& value) { return ir::PrintExpr(After(index, value)); }

TEST(Vectorize, Contiguous) {
  EXPECT_EQ(Text(i * 4 + l, LoadAt(in, i * 4 + l + 2)), "p0[r0 * 4] = load(p1[r0 * 4 + 2])");
  EXPECT_EQ(After(i * 4 + l, LoadAt(in, i * 4 + l)).src(1).dtype(), kFloat32.Vec(4));
  // Also where it takes the value of each lane to see it.
  EXPECT_EQ(Text(i * 4 + l, LoadAt(in, ir::FloorMod(l + 4, 8))), "p0[r0 * 4] = load(p1[4])");
}

TEST(Vectorize, Broadcast) {
  EXPECT_EQ(Text(i * 4 + l, LoadAt(in, i)),
            "p0[r0 * 4] = [load(p1[r0]), load(p1[r0]), load(p1[r0]), load(p1[r0])]");
  EXPECT_EQ(After(i * 4 + l, ir::Const(kFloat32, 1.5)).src(1),
            UOp::Make(Op::kConst, kFloat32.Vec(4), {}, ir::ConstFloat(1.5)));
}

TEST(Vectorize, Strided) {
  EXPECT_EQ(Text(i + l * 8, LoadAt(in, i * -4 - l + 31)),
            "p0[[r0, r0 + 8, r0 + 16, r0 + 24]] = "
            "load(p1[[r0 * -4 + 31, r0 * -4 + 30, r0 * -4 + 29, r0 * -4 + 28]])");
}

TEST(Vectorize, Gather) {
  const UOp table = Param(2, ir::kInt32, 64);
  const UOp at = ir::Cast(LoadAt(table, l), ir::kIndex);
  const UOp store = After(i * 4 + l, LoadAt(in, at));
  EXPECT_EQ(store.src(1).src(0).src(1).dtype(), ir::kIndex.Vec(4));
}

TEST(Vectorize, Gates) {
  auto gated = [](const UOp& gate) {
    return UOp::Make(
        Op::kLoad, kFloat32,
        {UOp::Make(Op::kIndex, kFloat32, {in, i * 4 + l, gate}), ir::Const(kFloat32, 0.0)});
  };
  const UOp scalar = After(i * 4 + l, gated(i < 5)).src(1);
  EXPECT_EQ(scalar.dtype(), kFloat32.Vec(4));
  EXPECT_EQ(scalar.src(0).src(2).dtype(), ir::kBool);
  const UOp vector = After(i * 4 + l, gated(i * 4 + l < 21)).src(1);
  EXPECT_EQ(vector.src(0).src(1).dtype(), ir::kIndex);
  EXPECT_EQ(vector.src(0).src(2).dtype(), ir::kBool.Vec(4));
}

TEST(Vectorize, ReductionAcrossLanes) {
  const UOp k = Range(3, 2, AxisType::kReduce), u = Range(4, 3, AxisType::kUnroll);
  const UOp sum = ReduceOver(Op::kAdd, LoadAt(in, k * 4 + u), {k, u});
  const UOp end = Vectorize(Kernel({StoreLoop(out, i, sum, {i})}), {u}).src(0);
  const UOp across = end.src(0).src(1);
  EXPECT_EQ(across.src_count(), 1);
  EXPECT_EQ(across.dtype(), kFloat32);
  EXPECT_EQ(across.src(0).dtype(), kFloat32.Vec(4));
  EXPECT_EQ(across.src(0).src_count(), 2);
}

// All lanes to one place: the last one, as a loop would leave it.
TEST(Vectorize, StoresToOnePlace) {
  EXPECT_EQ(ir::PrintExpr(After(i, LoadAt(in, l)).src(1).src(0)), "load(p1[0])");
  EXPECT_EQ(After(i, LoadAt(in, l)).src(1).arg_as<int64_t>(), 3);
}

}  // namespace
}  // namespace tg::lower
