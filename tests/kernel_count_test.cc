// How many kernels well-known computations take: fusion must not get worse unnoticed.

#include <cstdio>
#include <functional>
#include <vector>

#include "base/settings.h"
#include "drivers/runtime/counters.h"
#include "gtest/gtest.h"
#include "tg/engine/backend.h"
#include "tg/nn/layers.h"
#include "tg/nn/optim.h"
#include "tg/state/state_dict.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/index.h"
#include "tg/tensor/random.h"
#include "tg/tensor/tensor.h"

namespace tg {
namespace {

// Nothing runs on NULL; all else happens as for CPU.
class KernelCountTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(engine::EngineIsBackend()); }

  static Tensor Input(const Shape& shape, DType dtype = kFloat32) {
    return Empty(shape, {dtype, {}}).Realize();
  }

  static int64_t Kernels(const std::vector<Tensor>& results) {
    const int64_t before = drivers::GlobalCounters().Read().kernels;
    Tensor::Realize(results);
    return drivers::GlobalCounters().Read().kernels - before;
  }

  base::Scoped<std::string> dev_{base::kDev, "NULL"};
};

TEST_F(KernelCountTest, Elementwise) {
  const Tensor x = Input({512, 512}), y = Input({512, 512});
  EXPECT_EQ(Kernels({((x + y) * y.Exp()).Sigmoid() - x.T()}), 1);
  EXPECT_EQ(Kernels({x.Permute({1, 0}).Contiguous()}), 1);
  EXPECT_EQ(Kernels({x.Pad({{1, 1}, {2, 2}}).Flip(0)}), 1);
  EXPECT_EQ(Kernels({Tensor::Cat({x, y}, 1).Gelu()}), 1);
}

TEST_F(KernelCountTest, Reductions) {
  const Tensor x = Input({64, 1024});
  EXPECT_EQ(Kernels({x.Sum(1)}), 1);
  EXPECT_EQ(Kernels({x.Sum(0)}), 1);
  EXPECT_EQ(Kernels({x.Max(1).Exp() + 1}), 1);
  EXPECT_EQ(Kernels({x.Mean(1)}), 1);
  EXPECT_EQ(Kernels({x.Var(1)}), 1);
  EXPECT_EQ(Kernels({x.Std(1)}), 1);
  EXPECT_LE(Kernels({x.ArgMax(1)}), 2);
  // Large ones in two.
  EXPECT_EQ(Kernels({Input({1 << 20}).Sum()}), 2);
}

TEST_F(KernelCountTest, Rows) {
  const Tensor x = Input({256, 384});
  EXPECT_EQ(Kernels({x.Softmax()}), 1);
  EXPECT_EQ(Kernels({x.LogSoftmax()}), 1);
  EXPECT_EQ(Kernels({x.LayerNorm()}), 1);
  const nn::LayerNorm norm({384});
  norm.weight.Realize();
  norm.bias.Realize();
  EXPECT_EQ(Kernels({norm(x)}), 1);
  EXPECT_LE(Kernels({x.LogSumExp(1)}), 2);
}

TEST_F(KernelCountTest, Products) {
  const Tensor x = Input({128, 256}), w = Input({256, 64}), b = Input({64});
  EXPECT_LE(Kernels({x.Linear(w, b).Relu()}), 1);
  EXPECT_LE(Kernels({x.MatMul(w).Gelu() * 2 + b}), 1);
}

TEST_F(KernelCountTest, Convolutions) {
  const Tensor x = Input({8, 16, 20, 20}), w = Input({32, 16, 3, 3}), b = Input({32});
  EXPECT_LE(Kernels({x.Conv2d(w, b).Relu()}), 1);
  // The padded input may be copied first.
  EXPECT_LE(Kernels({x.Conv2d(w, b, {.padding = 1}).Relu()}), 2);
  EXPECT_LE(Kernels({x.MaxPool2d()}), 1);
}

TEST_F(KernelCountTest, Losses) {
  const Tensor logits = Input({64, 10}), labels = Input({64}, kInt32);
  EXPECT_LE(Kernels({logits.SparseCategoricalCrossEntropy(labels)}), 2);
  EXPECT_LE(Kernels({logits.ArgMax(1) == labels}), 2);
}

TEST_F(KernelCountTest, Picking) {
  const Tensor table = Input({1000, 32}), index = Input({64}, kInt32);
  EXPECT_EQ(Kernels({table.Index({index})}), 1);
}

struct Net {
  nn::Conv2d conv1{1, 32, 5}, conv2{32, 32, 5};
  nn::BatchNorm bn1{32};
  nn::Conv2d conv3{32, 64, 3}, conv4{64, 64, 3};
  nn::BatchNorm bn2{64};
  nn::Linear fc{576, 10};

  Tensor operator()(const Tensor& x) const {
    Tensor h = conv2(conv1(x).Relu()).Relu();
    h = bn1(h).MaxPool2d();
    h = conv4(conv3(h).Relu()).Relu();
    h = bn2(h).MaxPool2d();
    return fc(h.Flatten(1));
  }
  void VisitState(const state::StateVisitor& visit) const {
    visit("conv1", conv1);
    visit("conv2", conv2);
    visit("bn1", bn1);
    visit("conv3", conv3);
    visit("conv4", conv4);
    visit("bn2", bn2);
    visit("fc", fc);
  }
};

TEST_F(KernelCountTest, ConvolutionalNetwork) {
  const Net net;
  const std::vector<Tensor> params = state::GetParameters(net);
  Tensor::Realize(params);
  const Tensor x = Input({512, 1, 28, 28}), y = Input({512}, kInt32);
  const int64_t forward = Kernels({net(x).ArgMax(1)});

  base::Scoped<int> training(base::kTraining, 1);
  auto step = [&](nn::Optimizer& optimizer) {
    optimizer.ZeroGrad();
    const Tensor loss = net(x).SparseCategoricalCrossEntropy(y);
    loss.Backward();
    std::vector<Tensor> all = optimizer.ScheduleStep();
    all.push_back(loss);
    return Kernels(all);
  };
  nn::Sgd sgd(params, {.lr = 0.01});
  step(sgd);
  const int64_t with_sgd = step(sgd);
  nn::Adam adam(params);
  step(adam);
  const int64_t with_adam = step(adam);
  std::printf("forward %lld, step with SGD %lld, with Adam %lld kernels\n",
              static_cast<long long>(forward), static_cast<long long>(with_sgd),
              static_cast<long long>(with_adam));
  // Upper bounds: what they took when this was written.
  EXPECT_LE(forward, 14);
  EXPECT_LE(with_sgd, 84);
  EXPECT_LE(with_adam, 116);
}

}  // namespace
}  // namespace tg
