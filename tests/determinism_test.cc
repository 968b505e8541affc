// The same bits whatever the number of threads: of products, convolutions, normalizations, large
// sums and of training.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/settings.h"
#include "gtest/gtest.h"
#include "tests/child.h"
#include "tg/engine/backend.h"
#include "tg/engine/jit.h"
#include "tg/nn/layers.h"
#include "tg/nn/optim.h"
#include "tg/state/state_dict.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/random.h"
#include "tg/tensor/tensor.h"

namespace tg {
namespace {

void Print(const char* name, const Tensor& t) {
  // FNV-1a.
  uint64_t hash = 14695981039346656037u;
  double first = 0;
  for (std::byte b : t.ToBytes()) hash = (hash ^ static_cast<uint64_t>(b)) * 1099511628211u;
  first = t.Flatten().Shrink({{{Sint(0), Sint(1)}}}).Item();
  std::printf("%s %016llx %.9g\n", name, static_cast<unsigned long long>(hash), first);
}

struct Net {
  nn::Conv2d conv1{1, 8, 5}, conv2{8, 16, 3};
  nn::BatchNorm bn{16};
  nn::Linear fc{16 * 5 * 5, 10};
  Tensor operator()(const Tensor& x) const {
    const Tensor h = bn(conv2(conv1(x).Relu().MaxPool2d()).Relu()).MaxPool2d();
    return fc(h.Flatten(1));
  }
  void VisitState(const state::StateVisitor& visit) const {
    visit("conv1", conv1);
    visit("conv2", conv2);
    visit("bn", bn);
    visit("fc", fc);
  }
};

// What a child computes.
void Compute() {
  ManualSeed(5);
  const Tensor a = Randn({257, 300}).Realize(), b = Randn({300, 191}).Realize();
  Print("matmul", a.MatMul(b));
  Print("softmax", a.Softmax());
  Print("layernorm", a.LayerNorm());
  const Tensor big = Randn({1 << 20}).Realize();
  Print("sum", big.Sum());
  Print("mean", big.Mean());
  Print("rows", big.Reshape({64, 1 << 14}).Sum(1));
  Print("columns", big.Reshape({1 << 14, 64}).Sum(0));
  Print("variance", big.Reshape({16, 1 << 16}).Var(1));
  const Tensor images = Randn({32, 3, 20, 20}).Realize(), w = Randn({16, 3, 5, 5}).Realize();
  const Tensor conv = images.Conv2d(w, Tensor(), {.padding = 2}).Realize();
  Print("conv", conv);
  const Tensor mean = conv.Mean(Axes({0, 2, 3})), var = conv.Var(Axes({0, 2, 3}));
  Print("batchnorm", conv.BatchNorm(Tensor(), Tensor(), mean, (var + 1e-5).Rsqrt()));

  base::Scoped<int> training(base::kTraining, 1);
  const Net net;
  nn::Adam adam(state::GetParameters(net), {.lr = 0.01});
  Jit step([&](const std::vector<Tensor>& in) {
    const Tensor loss = net(in[0].Dropout(0.1)).SparseCategoricalCrossEntropy(in[1]);
    adam.Minimize(loss);
    return std::vector<Tensor>{loss};
  });
  for (int i = 0; i < 5; ++i) {
    const Tensor x = Rand({64, 1, 28, 28}), y = RandInt({64}, 0, 10);
    Print("loss", step({x, y})[0]);
  }
  Print("weights", net.fc.weight);
}

TEST(DeterminismTest, AnyNumberOfThreads) {
  ASSERT_TRUE(engine::EngineIsBackend());
  std::map<int, std::string> lines;
  for (int threads : {1, 2, 3}) {
    testing::Child child("compute", {{"CPU_COUNT", std::to_string(threads)}});
    const testing::ChildResult r = child.Wait();
    ASSERT_EQ(r.exit_code, 0) << r.err;
    lines[threads] = r.out;
  }
  EXPECT_EQ(lines[1], lines[2]);
  EXPECT_EQ(lines[1], lines[3]);
  EXPECT_GT(lines[1].size(), 300u);
  // Twice the same, too.
  testing::Child again("compute", {{"CPU_COUNT", "2"}});
  EXPECT_EQ(again.Wait().out, lines[2]);
}

}  // namespace
}  // namespace tg

int main(int argc, char** argv) {
  if (tg::testing::ChildRole() == "compute") {
    tg::Compute();
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
