// Expressions that the fuzzer found to be simplified wrongly once, or without end: kept as it
// printed them.
#include "codegen/ir/simplify/expression_gen.h"
#include "codegen/ir/simplify/simplify.h"
#include "gtest/gtest.h"

namespace tg::ir {
namespace {

UOp Memory(int slot, DType d) {
  return UOp::Make(Op::kLoad, d, {UOp::Make(Op::kIndex, d, {Param(slot, d, 1), IndexConst(0)})});
}

TEST(SimplifyRegressionTest, Expressions) {
  const UOp c = Variable("c", 0, 5), r = Range(10, 1), n = Variable("n", 1, 5);
  const UOp any = Memory(1, kBool), huge = Cast(Memory(1, kInt64), kIndex);
  const UOp u64 = Cast(Variable("a", 6, 11), kUInt64);
  const UOp expressions[] = {
      // The literals true and false matched the integers 1 and 0.
      FloorDiv(Where(any, Const(kUInt8, 0), Const(kUInt8, 3)), 3) * 3,
      // Coefficients reduced modulo c left int64.
      FloorMod(c - r, int64_t{1} << 60),
      // What is known of one range was put into the size of another.
      Valid(n + Range(n * 3, 7), Not(CmpNe(IndexConst(1), n))),
      // The upper half of uint64 is held as negative numbers.
      Cast(Const(kUInt64, -1), kIndex),
      FloorMod(Const(kUInt64, -4), 12),
      // No remainder may be computed beyond int64.
      FloorMod(Cast(Variable("d", 3, 3), kInt64), INT64_MAX),
      // Fixed-width sums have no order of terms: this went around in a circle.
      FloorMod(u64 + Cast(Range(6, 2), kUInt64) + Cast(any, kUInt64), 4),
      FloorDiv(Variable("a", 0, 9), -1) < huge,
      // An exact integer bounded by int64 only is no int64: these wrapped, and did not.
      Cast(Range(2, 0), kInt64) < Const(kInt64, INT64_MAX) + Cast(Range(2, 0), kInt64),
      Cast(Variable("a", 1, 8), kInt64) * Const(kInt64, -(int64_t{1} << 61)) < 0,
      CmpEq(Cast(Range(8, 0), kInt64) * Const(kInt64, -(int64_t{1} << 62)), Const(kInt64, 0)),
      Cast(Cast(Range(12, 0), kInt64) - 1 + INT64_MIN, kIndex),
      // Extreme constants in what Where and Max are congruent to.
      FloorMod(Where(any, IndexConst(28), IndexConst(INT64_MIN + 2)), 4),
      // Bool arithmetic is logic, not numbers.
      Alu(Op::kSub, {any, Const(kBool, true)}),
      Alu(Op::kNeg, {any}),
  };
  for (const UOp& u : expressions) {
    const UOp s = Simplify(u);
    const auto d = testing::FindDifference(u, s, 1);
    EXPECT_FALSE(d.has_value()) << testing::ToCpp(u) << "\n  became " << testing::ToCpp(s)
                                << "\n  at " << d->point << ": " << d->before << ", " << d->after;
    EXPECT_EQ(Simplify(s), s) << testing::ToCpp(u);
  }
}

}  // namespace
}  // namespace tg::ir
