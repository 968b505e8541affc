#include "codegen/opt/optimize.h"

#include <random>

#include "base/settings.h"
#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/testing/evaluate.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::UOp;

render::Target TargetOf(int vector_bytes, int registers) {
  return {.name = "TEST",
          .vector_bytes = vector_bytes,
          .vector_registers = registers,
          .has_threads = true};
}

const ir::KernelInfo& Info(const UOp& ast) { return ast.arg_as<ir::KernelInfo>(); }

// A kernel of a random kind and random odd sizes, small enough to evaluate.
NamedKernel RandomKernel(std::mt19937& random) {
  auto up_to = [&random](int64_t n) { return static_cast<int64_t>(random() % n) + 1; };
  const ConvShape s{.b = up_to(2) * 2,
                    .y = up_to(6),
                    .x = up_to(8),
                    .co = up_to(18),
                    .ci = up_to(3),
                    .k = up_to(3)};
  switch (random() % 9) {
    case 0:
      return Matmul(up_to(20), up_to(40), up_to(20), random() % 2 == 0, random() % 2 == 0);
    case 1:
      return ConvForward(s, random() % 2 == 0, random() % 2 == 0);
    case 2:
      return ConvInputGrad(s, random() % 2 == 0);
    case 3:
      return ConvWeightGrad(s, random() % 2 == 0 ? 2 : s.b);
    case 4:
      return Elementwise({up_to(9), up_to(9), up_to(40)});
    case 5:
      return Transpose(up_to(40), up_to(40));
    case 6:
      return Sum(up_to(20), up_to(100), random() % 2 == 0);
    case 7:
      return RowWise(up_to(20), up_to(40));
    default:
      return MaxPool(up_to(3), up_to(4), up_to(4), up_to(20));
  }
}

TEST(Optimize, KeepsMeaning) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 150; ++trial) {
    const NamedKernel k = RandomKernel(random);
    const render::Target target = trial % 3 == 0   ? TargetOf(16, 16)
                                  : trial % 3 == 1 ? TargetOf(32, 16)
                                                   : TargetOf(64, 32);
    const UOp after = Optimize(k.ast, target, 4);
    ASSERT_TRUE(ir::VerifyKernel(after).ok()) << k.name << ir::VerifyKernel(after);
    Buffers a = RandomBuffers(k.ast, trial), b = a;
    const absl::Status s = Evaluate(k.ast, a), t = Evaluate(after, b);
    ASSERT_TRUE(s.ok() && t.ok()) << k.name << s << t << "\n" << ir::PrintTree(after);
    ASSERT_EQ(a, b) << k.name << ": " << ToString(Info(after).applied) << "\n"
                    << ir::PrintTree(after);
  }
}

// The number of threads changes the split over cores and nothing else: without that step the
// kernels are the same.
TEST(Optimize, ThreadsChangeOneStep) {
  const NamedKernel k = Matmul(512, 512, 64, false, false);
  const std::vector<ir::Opt> one = Info(Optimize(k.ast, TargetOf(64, 32), 1)).applied;
  for (int threads : {2, 3, 16}) {
    std::vector<ir::Opt> many = Info(Optimize(k.ast, TargetOf(64, 32), threads)).applied;
    ASSERT_EQ(many.back().type, ir::AxisType::kThread);
    many.pop_back();
    EXPECT_EQ(many, one);
  }
}

TEST(Optimize, Deterministic) {
  const ConvShape s{.b = 64, .y = 20, .x = 20, .co = 32, .ci = 32, .k = 5};
  for (const NamedKernel& k : {ConvForward(s, false, false), ConvWeightGrad(s, 8)}) {
    const UOp first = Optimize(k.ast, TargetOf(64, 32), 2);
    EXPECT_EQ(Optimize(k.ast, TargetOf(64, 32), 2), first);
    EXPECT_EQ(Optimize(first, TargetOf(64, 32), 2), first);
  }
}

TEST(Optimize, NoOpt) {
  const base::Scoped no_opt(base::kNoOpt, 1);
  const UOp k = Optimize(Elementwise({8, 64}).ast, TargetOf(64, 32), 4);
  EXPECT_EQ(Info(k).name, "E_8_64");
  EXPECT_TRUE(Info(k).applied.empty());
  EXPECT_TRUE(Info(k).optimized);
}

TEST(Optimize, GivenSteps) {
  const UOp ast = Matmul(8, 8, 8, false, false).ast;
  const auto opts = ParseOpts("SPLIT(0, 4, UPCAST), SPLIT(2, 0, UNROLL)");
  const auto k = ApplyOpts(ast, TargetOf(64, 32), *opts);
  ASSERT_TRUE(k.ok()) << k.status();
  EXPECT_EQ(Info(*k).name, "r_2_8_4_8");
  EXPECT_EQ(Info(*k).applied, *opts);
  const auto bad = ApplyOpts(ast, TargetOf(64, 32), *ParseOpts("SWAP(0, 1), SPLIT(0, 3, UPCAST)"));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message(),
            "SPLIT(0, 3, UPCAST): 3 can't divide 8 in (8 LOOP, 8 LOOP, 8 REDUCE)");
}

TEST(Optimize, OtherGraphsComeBack) {
  const UOp sink = ir::Sink({ir::Const(ir::kFloat32, 1.0)});
  EXPECT_EQ(Optimize(sink, TargetOf(64, 32), 2).src(0), sink.src(0));
}

TEST(Optimize, SymbolicAndEmptyAxes) {
  const UOp n = ir::Variable("n", 1, 64), i = ir::Range(n, 0), j = ir::Range(64, 1);
  const UOp a = ir::Param(0, ir::kFloat32, 4096), b = ir::Param(1, ir::kFloat32, 4096);
  const UOp symbolic = StoreKernel(a, i * 64 + j, LoadAt(b, i * 64 + j), {i, j});
  EXPECT_TRUE(ir::VerifyKernel(Optimize(symbolic, TargetOf(64, 32), 2)).ok());
  const UOp zero = ir::Range(0, 0);
  const UOp empty = StoreKernel(a, zero * 64 + j, LoadAt(b, zero * 64 + j), {zero, j});
  EXPECT_TRUE(ir::VerifyKernel(Optimize(empty, TargetOf(64, 32), 2)).ok());
}

}  // namespace
}  // namespace tg::opt
