#include "codegen/lower/replicate.h"

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

std::string After(const UOp& end) {
  const auto sink = Replicate(Kernel({end}), EverythingNative());
  return sink.ok() ? ir::PrintExpr(sink->src(0)) : sink.status().ToString();
}

TEST(Replicate, Outputs) {
  const UOp u = Range(2, 1, AxisType::kUpcast);
  EXPECT_EQ(After(StoreLoop(out, i * 2 + u, LoadAt(in, i * 6 + u * 3 + 1) * LoadAt(in, i), {i, u})),
            "End(Group(p0[r0 * 2] = load(p1[r0 * 6 + 1]) * load(p1[r0]), "
            "p0[r0 * 2 + 1] = load(p1[r0 * 6 + 4]) * load(p1[r0])), r0)");
}

TEST(Replicate, ReductionsWithoutLoops) {
  const UOp u = Range(3, 1, AxisType::kUnroll);
  EXPECT_EQ(After(StoreLoop(out, i, ReduceOver(Op::kMax, LoadAt(in, i * 3 + u), {u}), {i})),
            "End(p0[r0] = max(max(load(p1[r0 * 3]), load(p1[r0 * 3 + 1])), load(p1[r0 * 3 + 2])), "
            "r0)");
}

// Few outputs: the values of a turn go to several accumulators; many: to one each.
TEST(Replicate, Accumulators) {
  const UOp k = Range(4, 1, AxisType::kReduce), u = Range(2, 2, AxisType::kUnroll);
  EXPECT_EQ(After(StoreLoop(out, i, ReduceOver(Op::kAdd, LoadAt(in, k * 2 + u), {k, u}), {i})),
            "End(p0[r0] = sum(load(p1[r1 * 2]), r1) + sum(load(p1[r1 * 2 + 1]), r1), r0)");
  const UOp o = Range(8, 3, AxisType::kUpcast);
  const UOp many = ReduceOver(Op::kAdd, LoadAt(in, o * 8 + k * 2 + u), {k, u});
  const UOp sink = Replicate(Kernel({StoreLoop(out, o, many, {o})}), EverythingNative()).value();
  const UOp first = sink.src(0).src(0).src(1);
  EXPECT_TRUE(first.Is(Op::kReduce));
  EXPECT_TRUE(first.src(0).Is(Op::kTuple));
  EXPECT_EQ(first.src(0).src_count(), 2);
}

TEST(Replicate, DropsGatesThatCopiesDecide) {
  const UOp u = Range(3, 1, AxisType::kUpcast);
  auto index = [](const UOp& p, const UOp& at, const UOp& gate) {
    return UOp::Make(Op::kIndex, kFloat32, {p, at, gate});
  };
  const UOp load =
      UOp::Make(Op::kLoad, kFloat32, {index(in, u + 8, u < 2), ir::Const(kFloat32, 0.0)});
  const UOp store = UOp::Make(Op::kStore, ir::kVoid, {index(out, i * 3 + u, ir::Not(u < 1)), load});
  EXPECT_EQ(After(UOp::Make(Op::kEnd, ir::kVoid, {store, i, u})),
            "End(Group(p0[r0 * 3 + 1] = load(p1[9]), p0[r0 * 3 + 2] = 0.0), r0)");
}

TEST(Replicate, HasABound) {
  const UOp a = Range(4096, 1, AxisType::kUpcast), b = Range(4096, 2, AxisType::kUpcast);
  EXPECT_NE(After(StoreLoop(out, a + b, LoadAt(in, a), {a, b})).find("RESOURCE_EXHAUSTED"),
            std::string::npos);
}

}  // namespace
}  // namespace tg::lower
