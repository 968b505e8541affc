// The example of the README, which is the part between the two marks.

#include <vector>

#include "base/settings.h"
#include "gtest/gtest.h"
#include "tg/engine/jit.h"
#include "tg/nn/layers.h"
#include "tg/nn/optim.h"
#include "tg/state/state_dict.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/random.h"
#include "tg/tensor/tensor.h"

namespace {

TEST(TourTest, LearnsAPlane) {
  tg::ManualSeed(1);
  // --- README: begin
  tg::base::Scoped<int> training(tg::base::kTraining, 1);
  tg::Tensor x = tg::Randn({256, 2});
  tg::Tensor y = (x * tg::FromData<float>({2, -3})).Sum(1, /*keepdim=*/true) + 5.0;
  tg::nn::Linear model(2, 1);
  tg::nn::Adam optimizer(tg::state::GetParameters(model), {.lr = 0.1});
  tg::Jit step([&](const std::vector<tg::Tensor>& in) {
    tg::Tensor loss = (model(in[0]) - in[1]).Square().Mean();
    optimizer.Minimize(loss);
    return std::vector{loss};
  });
  for (int i = 0; i < 200; ++i) step({x, y});
  std::vector<float> weights = model.weight.ToVector<float>();  // 2 and -3, or nearly
  // --- README: end
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_NEAR(weights[0], 2, 0.01);
  EXPECT_NEAR(weights[1], -3, 0.01);
  EXPECT_NEAR(model.bias.Item(), 5, 0.01);
  EXPECT_TRUE(step.captured());
}

}  // namespace
