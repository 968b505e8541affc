// Deep graphs, shared graphs, large sizes: nothing recurses, nothing is exponential, nothing wraps.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "codegen/ir/print.h"
#include "codegen/ir/rewrite.h"
#include "codegen/ir/uop.h"
#include "drivers/runtime/counters.h"
#include "gtest/gtest.h"
#include "tg/engine/backend.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/index.h"
#include "tg/tensor/tensor.h"

namespace tg {
namespace {

class ScaleTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(engine::EngineIsBackend()); }
};

// --- Depth (T12) ---------------------------------------------------------------------------------

TEST_F(ScaleTest, AChainOf100000UnaryOperations) {
  Tensor x = FromData<float>({0.5f, -2.0f, 3.0f}).Clone().Realize();
  for (int i = 0; i < 50'000; ++i) x = (-x).Abs();
  EXPECT_EQ(x.ToVector<float>(), (std::vector<float>{0.5f, 2.0f, 3.0f}));
}

TEST_F(ScaleTest, AChainOf10000Additions) {
  Tensor x = FromData<int32_t>({1, 2}).Clone().Realize(), sum = x;
  const Tensor y = FromData<int32_t>({3, 5}).Clone().Realize();
  for (int i = 0; i < 10'000; ++i) sum = sum + y;
  EXPECT_EQ(sum.ToVector<int>(), (std::vector<int>{30'001, 50'002}));
}

// Each term has memory of its own: kernels take a bounded number of memories.
TEST_F(ScaleTest, ASumOfManyMemories) {
  std::vector<Tensor> terms;
  for (int i = 0; i < 300; ++i) terms.push_back(FromData<int32_t>({i, 1}));
  Tensor sum = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) sum = sum + terms[i];
  EXPECT_EQ(sum.ToVector<int>(), (std::vector<int>{44'850, 300}));
}

TEST_F(ScaleTest, AStackOfManyTensors) {
  std::vector<Tensor> rows;
  for (int i = 0; i < 200; ++i) rows.push_back(Full({3}, i, {kInt32, {}}));
  const std::vector<int> v = Tensor::Stack(rows).ToVector<int>();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(v[3 * i + 2], i);
}

TEST_F(ScaleTest, AChainOfMovements) {
  Tensor x = Arange(24).Clone().Realize();
  Tensor y = x.Reshape({2, 3, 4});
  for (int i = 0; i < 3'000; ++i) y = y.Permute({2, 0, 1}).Flip(1);
  std::vector<int> v = y.ToVector<int>();
  ASSERT_EQ(v.size(), 24u);
  std::sort(v.begin(), v.end());
  for (int i = 0; i < 24; ++i) EXPECT_EQ(v[i], i);
}

TEST_F(ScaleTest, ManyAssignmentsInOneRun) {
  Tensor x = Zeros({4}, {kInt32, {}}).Clone().Realize();
  for (int i = 0; i < 500; ++i) x.Assign(x + 1);
  EXPECT_EQ(x.ToVector<int>(), (std::vector<int>(4, 500)));
}

TEST_F(ScaleTest, GradientOfADeepGraph) {
  Tensor x = FromData<float>({0.5f}).Clone();
  x.SetRequiresGrad();
  Tensor y = x;
  for (int i = 0; i < 2'000; ++i) y = (y * 0.5).Relu() * 2;
  y.Sum().Backward();
  EXPECT_EQ(x.grad().Item(), 1.0);
}

// --- Sharing (T13) -------------------------------------------------------------------------------

TEST_F(ScaleTest, SharedOperandsAreLinear) {
  Tensor a = FromData<int64_t>({1, 3}).Clone().Realize();
  Tensor x = a;
  for (int i = 0; i < 62; ++i) x = x + x;
  EXPECT_EQ(x.ToVector<int64_t>(), (std::vector<int64_t>{int64_t{1} << 62, int64_t{3} << 62}));
}

TEST_F(ScaleTest, ManyTimesTheSame) {
  Tensor w = FromData<float>({1.0f}).Clone().Realize();
  w.SetRequiresGrad();
  Tensor x = w;
  for (int i = 0; i < 100; ++i) x = x + x;
  EXPECT_LT(ir::PrintTree(x.uop()).size(), 100'000u);
  const double power = 1267650600228229401496703205376.0;  // 2^100
  EXPECT_EQ(x.Item(), power);
  x.Sum().Backward();
  EXPECT_EQ(w.grad().Item(), power);
}

// With reductions in between, which are kernels.
TEST_F(ScaleTest, SharedReductions) {
  Tensor x = Ones({4, 4}).Clone().Realize();
  for (int i = 0; i < 30; ++i) {
    const Tensor s = x.Mean(1, true);
    x = (x - s) + s * s + x.Mean(0, true) - s;
  }
  for (float v : x.ToVector<float>()) EXPECT_EQ(v, 1.0f);
}

// --- Size (M1, T11) ------------------------------------------------------------------------------

TEST_F(ScaleTest, SizesBeyond32BitsNeedNoMemory) {
  const Tensor x = Full({1 << 20, 1 << 15}, 2);
  EXPECT_EQ(x.NumElements(), int64_t{1} << 35);
  const Tensor y =
      (x * 3).Reshape({-1}).Index({Slice((int64_t{1} << 34) + 5, (int64_t{1} << 34) + 8)});
  EXPECT_EQ(y.ToVector<float>(), (std::vector<float>{6, 6, 6}));
}

TEST_F(ScaleTest, IndicesBeyond32BitsAreRight) {
  // Element numbers of a huge expanded grid, computed in the kernel and cut down again.
  const int64_t n = 100'000;
  const Tensor row = Arange(n, {kInt64, {}}).Clone().Realize();
  const Tensor grid = row.Reshape({n, 1}).Expand({n, n}) * n + row.Reshape({1, n}).Expand({n, n});
  const Tensor flat = grid.Reshape({n * n});
  for (int64_t at : {int64_t{0}, (int64_t{1} << 31) - 2, (int64_t{1} << 32) - 2, n * n - 4}) {
    const std::vector<int64_t> v = flat.Index({Slice(at, at + 4)}).ToVector<int64_t>();
    EXPECT_EQ(v, (std::vector<int64_t>{at, at + 1, at + 2, at + 3}));
  }
  const Tensor strided = flat.Index({Slice(7, n * n, 1'500'000'001)});
  EXPECT_EQ(strided.ToVector<int64_t>(),
            (std::vector<int64_t>{7, 1'500'000'008, 3'000'000'009, 4'500'000'010, 6'000'000'011,
                                  7'500'000'012, 9'000'000'013}));
}

TEST_F(ScaleTest, OutOfMemoryNamesTheRightNumber) {
  auto error = [](const std::function<void()>& f) -> std::string {
    try {
      f();
    } catch (const DeviceError& e) {
      return e.what();
    }
    return "";
  };
  // 2^44 floats, 2^46 bytes: more than a process can map.
  const std::string big = error([] { (Full({1 << 22, 1 << 22}, 1) + 1).Contiguous().Realize(); });
  EXPECT_NE(big.find("out of memory"), std::string::npos) << big;
  EXPECT_NE(big.find("70368744177664"), std::string::npos) << big;
  EXPECT_NE(big.find("CPU"), std::string::npos) << big;
  const std::string huge = error([] {
    (Full({int64_t{1} << 31, int64_t{1} << 31}, 1) + 1).Contiguous().Realize();
  });
  EXPECT_NE(huge.find("out of memory"), std::string::npos) << huge;
  // The next one works.
  EXPECT_EQ(Ones({3}).Sum().Item<int>(), 3);
}

// --- What is done once ---------------------------------------------------------------------------

TEST_F(ScaleTest, TheSameComputationIsScheduledOnce) {
  auto compute = [](int seed) {
    const Tensor x = (Arange(64).Cast(kFloat32) + seed).Reshape({8, 8}).Clone().Realize();
    const int64_t before = ir::RewriteCount();
    (x.Softmax().MatMul(x) + x.Mean(0, true)).Relu().Realize();
    return ir::RewriteCount() - before;
  };
  const int64_t first = compute(1), second = compute(2);
  EXPECT_GT(first, 20);
  EXPECT_LE(second, first / 10);
  // Without the cache it is.
  base::Scoped<int> scache(base::kScache, 0);
  EXPECT_GT(compute(3), first / 4);
}

TEST_F(ScaleTest, NothingIsLeftBehind) {
  auto work = [] {
    Tensor w = Ones({16, 16}).Clone().Realize();
    w.SetRequiresGrad();
    const Tensor loss = (w.MatMul(w).Softmax() * w).Sum();
    loss.Backward();
    w.Assign(w.Detach() - w.grad() * 0.1);
    Tensor::Realize(std::vector<Tensor>{w, loss});
    return loss.Item();
  };
  work();
  work();
  const int64_t nodes = ir::LiveNodeCount();
  const int64_t bytes = drivers::GlobalCounters().Read().mem_used;
  for (int i = 0; i < 50; ++i) work();
  EXPECT_LE(ir::LiveNodeCount(), nodes);
  EXPECT_LE(drivers::GlobalCounters().Read().mem_used, bytes);
}

}  // namespace
}  // namespace tg
