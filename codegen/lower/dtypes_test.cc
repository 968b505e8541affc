#include "codegen/lower/dtypes.h"

#include <string>

#include "codegen/ir/print.h"
#include "codegen/lower/lower_test_util.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::kFloat16;
using ir::kFloat32;
using ir::Op;
using ir::Param;
using ir::Range;
using ir::UOp;

const UOp i = Range(8, 0);
const UOp h = Param(1, kFloat16, 8);

std::string After(const UOp& out, const UOp& value, const render::Target& target = Bare()) {
  return ir::PrintExpr(LowerDTypes(StoreLoop(out, i, value, {i}).src(0), target));
}

TEST(DTypes, CastsAtMemory) {
  const UOp out = Param(0, kFloat16, 8), x = LoadAt(h, i);
  EXPECT_EQ(After(out, x * x + ir::Const(kFloat16, 1.0)),
            "p0[r0] = float16(float32(load(p1[r0])) * float32(load(p1[r0])) + 1.0)");
  EXPECT_EQ(After(out, x * x, EverythingNative()), "p0[r0] = load(p1[r0]) * load(p1[r0])");
}

TEST(DTypes, CastsRound) {
  const UOp out = Param(0, kFloat32, 8), f = Param(1, kFloat32, 8);
  EXPECT_EQ(After(out, ir::Cast(ir::Cast(LoadAt(f, i), kFloat16), kFloat32)),
            "p0[r0] = float32(float16(load(p1[r0])))");
}

TEST(DTypes, BitsAreThoseOfTheType) {
  const UOp out = Param(0, ir::kUInt16, 8), x = LoadAt(h, i);
  EXPECT_EQ(After(out, ir::Bitcast(x + x, ir::kUInt16)),
            "p0[r0] = bitcast<uint16>(float16(float32(load(p1[r0])) + float32(load(p1[r0]))))");
}

TEST(DTypes, WeakFloats) {
  const UOp out = Param(0, kFloat32, 8);
  const UOp v = ir::Cast(ir::Cast(i, ir::kWeakFloat) * ir::Const(ir::kWeakFloat, 0.5), kFloat32);
  EXPECT_EQ(After(out, v, EverythingNative()), "p0[r0] = float32(r0) * 0.5");
}

}  // namespace
}  // namespace tg::lower
