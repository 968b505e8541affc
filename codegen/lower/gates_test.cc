#include "codegen/lower/gates.h"

#include <string>

#include "codegen/ir/print.h"
#include "codegen/lower/lower_test_util.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::Const;
using ir::kFloat32;
using ir::Op;
using ir::Param;
using ir::Range;
using ir::UOp;
using ir::Valid;
using ir::Where;

const UOp out = Param(0, kFloat32, 8);
const UOp in = Param(1, kFloat32, 8);
const UOp i = Range(8, 0);
const UOp low = i < 5;

std::string After(const UOp& value, const UOp& index = i) {
  const auto sink = MoveGates(Kernel({StoreLoop(out, index, value, {i})}));
  if (!sink.ok()) return sink.status().ToString();
  return sink->src_count() == 0 ? "nothing" : ir::PrintExpr(sink->src(0).src(0));
}

TEST(Gates, OfLoads) {
  const UOp load = LoadAt(in, Valid(i + 3, low));
  EXPECT_EQ(After(load), "p0[r0] = load(p1[r0 + 3 if r0 < 5], 0.0)");
  EXPECT_EQ(After(Where(low, load, Const(kFloat32, 0.0))),
            "p0[r0] = load(p1[r0 + 3 if r0 < 5], 0.0)");
  // Another alternative, or a condition that the gate does not imply, stays a choice.
  EXPECT_EQ(After(Where(low, load, Const(kFloat32, 1.0))),
            "p0[r0] = where(r0 < 5, load(p1[r0 + 3 if r0 < 5], 0.0), 1.0)");
  EXPECT_EQ(After(Where(i < 4, load, Const(kFloat32, 0.0))),
            "p0[r0] = where(r0 < 4, load(p1[r0 + 3 if r0 < 5], 0.0), 0.0)");
}

TEST(Gates, ConjunctsInAnyOrder) {
  const UOp high = ir::Not(i < 2);
  const UOp load = LoadAt(in, Valid(i, low & high));
  EXPECT_EQ(After(Where(high & low, load, Const(kFloat32, 0.0))),
            "p0[r0] = load(p1[r0 if (r0 < 5) & ((r0 < 2) != true)], 0.0)");
  EXPECT_EQ(After(Where(high, load, Const(kFloat32, 0.0))),
            "p0[r0] = load(p1[r0 if (r0 < 5) & ((r0 < 2) != true)], 0.0)");
}

TEST(Gates, ThatBoundsDecide) {
  EXPECT_EQ(After(LoadAt(in, Valid(i, i < 8))), "p0[r0] = load(p1[r0])");
  EXPECT_EQ(After(LoadAt(in, Valid(i, i < 0))), "p0[r0] = 0.0");
  EXPECT_EQ(After(Const(kFloat32, 1.0), Valid(i, low)), "p0[r0 if r0 < 5] = 1.0");
  EXPECT_EQ(After(Const(kFloat32, 1.0), Valid(i, i < 0)), "nothing");
}

TEST(Gates, InvalidBelowOperations) {
  EXPECT_EQ(After(LoadAt(in, Valid(i, low) + 2)), "p0[r0] = load(p1[r0 + 2 if r0 < 5], 0.0)");
  EXPECT_EQ(After(LoadAt(in, Where(low, ir::InvalidConst(ir::kIndex), i))),
            "p0[r0] = load(p1[r0 if (r0 < 5) != true], 0.0)");
}

TEST(Gates, RejectsInvalidData) {
  EXPECT_NE(After(Where(low, LoadAt(in, i), ir::InvalidConst(kFloat32))).find("INVALID_ARGUMENT"),
            std::string::npos);
}

}  // namespace
}  // namespace tg::lower
