#include "codegen/opt/pad_operand.h"

#include <vector>

#include "codegen/ir/print.h"
#include "codegen/ir/simplify/simplify.h"
#include "codegen/ir/verify.h"
#include "codegen/opt/testing/evaluate.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::Op;
using ir::UOp;

// sum over co and k of where(0 <= i - k < n, g[b][i - k][co] * w[k][co][ci], 0): the input gradient
// of a convolution in one dimension. `inside`: the condition is about g alone.
UOp InputGrad(int64_t b, int64_t n, int64_t ci, int64_t co, int64_t taps, bool inside) {
  const UOp rb = ir::Range(b, 0), ri = ir::Range(n + taps - 1, 1), rci = ir::Range(ci, 4);
  const UOp rk = ir::Range(taps, 2, ir::AxisType::kReduce);
  const UOp rc = ir::Range(co, 3, ir::AxisType::kReduce);
  const UOp at = ri - rk;
  const UOp valid = ir::Not(at < 0) & (at < n);
  const UOp g =
      LoadAt(ir::Param(1, ir::kFloat32, b * n * co), ir::Valid((rb * n + at) * co + rc, valid));
  const UOp w = LoadAt(ir::Param(2, ir::kFloat32, taps * co * ci), (rk * co + rc) * ci + rci);
  const UOp zero = ir::Const(ir::kFloat32, 0);
  const UOp value = inside ? ir::Where(valid, g, zero) * w : ir::Where(valid, g * w, zero);
  return ir::Simplify(StoreKernel(ir::Param(0, ir::kFloat32, b * (n + taps - 1) * ci),
                                  (rb * (n + taps - 1) + ri) * ci + rci,
                                  ReduceOver(Op::kAdd, value, {rk, rc}), {rb, ri, rci}));
}

render::Target Target() {
  return {.name = "TEST", .vector_bytes = 64, .vector_registers = 32, .has_threads = true};
}

bool HasCondition(const UOp& kernel) {
  for (const UOp& u : ir::Toposort(kernel)) {
    if (u.Is(Op::kWhere)) return true;
  }
  return false;
}

TEST(PadOperand, ConditionsBecomeZerosInMemory) {
  for (bool inside : {false, true}) {
    const UOp kernel = InputGrad(1, 20, 8, 8, 5, inside);
    ASSERT_TRUE(HasCondition(kernel));
    const auto p = FindPadding(kernel, Target());
    ASSERT_TRUE(p.has_value()) << inside;
    EXPECT_EQ(p->slot, 1);
    EXPECT_EQ(p->packed_slot, 1);
    EXPECT_EQ(p->size, 28 * 8);
    EXPECT_FALSE(HasCondition(p->kernel)) << ir::PrintTree(p->kernel);
    ASSERT_TRUE(ir::VerifyKernel(p->pack).ok()) << ir::VerifyKernel(p->pack);
    ASSERT_TRUE(ir::VerifyKernel(p->kernel).ok()) << ir::VerifyKernel(p->kernel);

    Buffers before = RandomBuffers(kernel, 7);
    Buffers after = before;
    ASSERT_TRUE(Evaluate(kernel, before).ok());
    Buffers copy = {std::vector<double>(p->size), after[1]};
    ASSERT_TRUE(Evaluate(p->pack, copy).ok());
    after[1] = copy[0];
    ASSERT_TRUE(Evaluate(p->kernel, after).ok());
    EXPECT_EQ(before[0], after[0]);
    EXPECT_FALSE(FindPadding(p->kernel, Target()).has_value());
    // The control: without the zeros the result is another one.
    for (double& v : after[1]) v = v == 0 ? 1 : v;
    ASSERT_TRUE(Evaluate(p->kernel, after).ok());
    EXPECT_NE(before[0], after[0]);
  }
}

// With many images the tile is over them, and what is outside is skipped.
TEST(PadOperand, NotWhereTilesAreOverImages) {
  for (bool inside : {false, true}) {
    EXPECT_FALSE(FindPadding(InputGrad(16, 20, 32, 8, 5, inside), Target()).has_value());
    EXPECT_TRUE(FindPadding(InputGrad(1, 20, 32, 8, 5, inside), Target()).has_value());
  }
}

TEST(PadOperand, NotWhatIsUsedOnceOrGrowsTooMuch) {
  // Each element is read by 5 taps only.
  EXPECT_FALSE(FindPadding(InputGrad(64, 20, 1, 2, 5, false), Target()).has_value());
  // Two elements under 64 taps would be padded to 128.
  EXPECT_FALSE(FindPadding(InputGrad(64, 2, 32, 32, 64, false), Target()).has_value());
  EXPECT_FALSE(FindPadding(Matmul(64, 64, 64, false, false).ast, Target()).has_value());
}

}  // namespace
}  // namespace tg::opt
