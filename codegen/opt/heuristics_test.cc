#include "codegen/opt/heuristics.h"

#include <cstdio>
#include "codegen/opt/merge_ranges.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/optimize.h"
#include "codegen/opt/testing/evaluate.h"
#include "codegen/opt/testing/kernels.h"
#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::UOp;

render::Target Avx512() {
  return {.name = "TEST", .vector_bytes = 64, .vector_registers = 32, .has_threads = true};
}
[[maybe_unused]] render::Target Avx2() {
  return {.name = "TEST", .vector_bytes = 32, .vector_registers = 16, .has_threads = true};
}

TEST(Heuristics, Show) {
  const ConvShape s{.b = 512, .y = 20, .x = 20, .co = 32, .ci = 32, .k = 5};
  const ConvShape s1{.b = 512, .y = 24, .x = 24, .co = 32, .ci = 1, .k = 5};
  for (const NamedKernel& k :
       {ConvForward(s, false, true), ConvForward(s, true, true), ConvForward(s, false, false), ConvInputGrad(s, true),
        ConvWeightGrad(s, 64), ConvForward(s1, false, true), ConvWeightGrad(s1,64), Matmul(512, 10, 576, false, true),
        Matmul(512, 576, 10, false, false), Matmul(10, 576, 512, true, false),
        Matmul(1024, 1024, 1024, false, false), Matmul(1024, 1024, 1024, false, true), Elementwise({90000}), Elementwise({512, 32, 48, 48}),
        Elementwise({10007}), Transpose(512, 512),
        Sum(512, 4096, true), Sum(32, 294912, false), Sum(1, 1000003, true), RowWise(4096, 1024),
        MaxPool(512, 10, 10, 32)}) {
    const Kernel m = *PrepareKernel(k.ast, Avx512());
    const auto o = HandCodedOpts(m, Avx512(), 2);
    Kernel n = m;
    for (auto& x : o) EXPECT_TRUE(n.Apply(x).ok());
    std::printf("%-40s %-20s %s   %s\n", k.name.c_str(), m.Name().c_str(), n.Name().c_str(), ToString(o).c_str());
  }
}

}  // namespace
}  // namespace tg::opt
