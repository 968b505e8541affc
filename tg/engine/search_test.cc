#include "tg/engine/search.h"

#include <memory>
#include <utility>

#include "base/settings.h"
#include "codegen/opt/testing/evaluate.h"
#include "codegen/opt/testing/kernels.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"
#include "gtest/gtest.h"

namespace tg::engine {
namespace {

TEST(SearchKernelTest, GivesAKernelThatComputesTheSame) {
  const auto renderer = render::MakeLlvmCpuRenderer();
  const ir::UOp ast = opt::Matmul(12, 10, 14, false, true).ast;
  EXPECT_EQ(SearchKernel(ast, *renderer, 2), ast);  // BEAM is 0
  base::Scoped<int> beam(base::kBeam, 1);
  base::Scoped<int> upcast(base::kBeamUpcastMax, 16);
  base::Scoped<int> parallel(base::kParallel, 2);
  const ir::UOp kernel = SearchKernel(ast, *renderer, 2);
  EXPECT_TRUE(kernel.arg_as<ir::KernelInfo>().optimized);
  opt::Buffers before = opt::RandomBuffers(ast, 1), after = before;
  ASSERT_TRUE(opt::Evaluate(ast, before).ok());
  ASSERT_TRUE(opt::Evaluate(kernel, after).ok());
  EXPECT_EQ(before, after);
  EXPECT_EQ(SearchKernel(ast, *renderer, 2), kernel);  // from the cache
  EXPECT_EQ(SearchKernel(kernel, *renderer, 2), kernel);
  base::Scoped<int> no_opt(base::kNoOpt, 1);
  EXPECT_EQ(SearchKernel(ast, *renderer, 2), ast);
}

}  // namespace
}  // namespace tg::engine
