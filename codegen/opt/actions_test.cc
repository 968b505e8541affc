#include "codegen/opt/actions.h"

#include <algorithm>
#include <random>
#include <string>

#include "codegen/opt/opt_text.h"
#include "codegen/opt/testing/evaluate.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::Opt;
using ir::UOp;

Kernel MakeOrDie(const UOp& ast, const Limits& limits = {}) {
  absl::StatusOr<Kernel> k = Kernel::Make(ast, limits);
  EXPECT_TRUE(k.ok()) << k.status();
  return *std::move(k);
}

bool Has(const std::vector<Opt>& opts, absl::string_view text) {
  return std::any_of(opts.begin(), opts.end(),
                     [text](const Opt& o) { return ToString(o) == text; });
}

void ExpectSame(const UOp& before, const UOp& after, const std::string& what) {
  Buffers a = RandomBuffers(before, 3), b = a;
  ASSERT_TRUE(Evaluate(before, a).ok()) << what;
  ASSERT_TRUE(Evaluate(after, b).ok()) << what;
  EXPECT_EQ(a, b) << what;
}

std::vector<NamedKernel> SmallKernels() {
  const ConvShape s{.b = 2, .y = 4, .x = 6, .co = 4, .ci = 2, .k = 3};
  return {Matmul(4, 6, 8, false, false),
          Matmul(6, 7, 5, true, true),
          ConvForward(s, true, true),
          ConvInputGrad(s, false),
          Elementwise({4, 3, 6}),
          Transpose(6, 8),
          Sum(6, 8, true),
          RowWise(4, 6),
          MaxPool(2, 3, 2, 4)};
}

TEST(Actions, Matmul) {
  const Kernel k = MakeOrDie(Matmul(64, 64, 64, false, false).ast);
  const std::vector<Opt> opts = LegalOpts(k);
  EXPECT_TRUE(Has(opts, "SPLIT(1, 16, UPCAST)"));
  EXPECT_TRUE(Has(opts, "SPLIT(2, 4, UNROLL)"));
  EXPECT_TRUE(Has(opts, "SPLIT(0, 2, THREAD, top)"));
  EXPECT_TRUE(Has(opts, "SPLIT(0, 8, LOOP)"));
  EXPECT_TRUE(Has(opts, "SPLIT(2, 16, REDUCE)"));
  EXPECT_TRUE(Has(opts, "SWAP(0, 1)"));
  // Not: what does not divide, what is the same as the whole axis, what is not asked for.
  EXPECT_FALSE(Has(opts, "SPLIT(1, 3, UPCAST)"));
  EXPECT_TRUE(Has(opts, "SPLIT(1, 0, UPCAST)"));
  EXPECT_FALSE(Has(opts, "SPLIT(1, 64, UPCAST)"));
  EXPECT_FALSE(Has(opts, "SPLIT(0, 2, LOCAL)"));
  const Kernel odd = MakeOrDie(Matmul(10, 10, 10, false, false).ast);
  EXPECT_FALSE(Has(LegalOpts(odd), "PADTO(0, 8)"));
  EXPECT_TRUE(Has(LegalOpts(odd, {.pad = true}), "PADTO(0, 8)"));
  EXPECT_FALSE(Has(LegalOpts(odd, {.pad = true}), "PADTO(0, 16)"));  // 16 as well
}

TEST(Actions, WithinOptions) {
  Kernel k = MakeOrDie(Matmul(64, 64, 64, false, false).ast);
  ASSERT_TRUE(k.Apply(ParseOpts("SPLIT(0, 16, UPCAST)")->front()).ok());
  EXPECT_TRUE(Has(LegalOpts(k), "SPLIT(1, 16, UPCAST)"));
  EXPECT_FALSE(Has(LegalOpts(k), "SPLIT(1, 32, UPCAST)"));
  EXPECT_TRUE(Has(LegalOpts(k, {.max_upcast = 512}), "SPLIT(1, 32, UPCAST)"));
  const Kernel gpu = MakeOrDie(Sum(64, 64, true).ast, {.work_groups = true, .shared_memory = 64});
  EXPECT_TRUE(Has(LegalOpts(gpu), "SPLIT(0, 16, LOCAL)"));
  EXPECT_FALSE(Has(LegalOpts(gpu, {.max_local = 8}), "SPLIT(0, 16, LOCAL)"));
  EXPECT_TRUE(Has(LegalOpts(gpu), "SPLIT(1, 16, GROUP_REDUCE, top)"));
  EXPECT_FALSE(Has(LegalOpts(gpu), "SPLIT(1, 32, GROUP_REDUCE, top)"));
}

// Each single step, and random walks of them, keep what a kernel computes; each is accepted.
TEST(Actions, KeepMeaning) {
  std::mt19937 random(11);
  int steps = 0;
  for (const NamedKernel& kernel : SmallKernels()) {
    const Kernel start = MakeOrDie(kernel.ast);
    const std::vector<Opt> first = LegalOpts(start, {.pad = true});
    EXPECT_FALSE(first.empty()) << kernel.name;
    for (const Opt& opt : first) {
      Kernel k = start;
      ASSERT_TRUE(k.Apply(opt).ok()) << kernel.name << ": " << ToString(opt);
      EXPECT_NE(k.Ast().src(0), start.Ast().src(0)) << kernel.name << ": " << ToString(opt);
      ExpectSame(kernel.ast, k.Ast(), kernel.name + ": " + ToString(opt));
    }
    for (int walk = 0; walk < 6; ++walk) {
      Kernel k = start;
      for (int i = 0; i < 5; ++i) {
        const std::vector<Opt> opts = LegalOpts(k, {.pad = true});
        if (opts.empty()) break;
        const Opt& opt = opts[random() % opts.size()];
        ASSERT_TRUE(k.Apply(opt).ok()) << ToString(k.applied()) << ", " << ToString(opt);
        ++steps;
      }
      ExpectSame(kernel.ast, k.Ast(), kernel.name + ": " + ToString(k.applied()));
      // The printed steps lead there again.
      Kernel again = start;
      const auto printed = ParseOpts(ToString(k.applied()));
      ASSERT_TRUE(printed.ok()) << printed.status();
      for (const Opt& opt : *printed) ASSERT_TRUE(again.Apply(opt).ok());
      EXPECT_EQ(again.Ast(), k.Ast());
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(steps, 200);
}

}  // namespace
}  // namespace tg::opt
