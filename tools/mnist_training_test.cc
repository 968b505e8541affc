#include "tools/mnist_training.h"

#include <vector>

#include "base/error.h"
#include "gtest/gtest.h"
#include "tg/tensor/random.h"

namespace tg::tools {
namespace {

// Images of 20 x 20 of `classes` kinds: a bar whose row tells the class, in noise.
data::LabelledImages Bars(int64_t count, int classes, uint64_t seed) {
  data::LabelledImages images;
  images.count = count;
  images.height = images.width = 20;
  HostRandom random(seed);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = i % classes;
    for (int64_t y = 0; y < 20; ++y) {
      for (int64_t x = 0; x < 20; ++x) {
        const bool bar = y / 5 == label && x > 2 && x < 17;
        images.pixels.push_back(static_cast<uint8_t>((bar ? 150 : 0) + random.Below(100)));
      }
    }
    images.labels.push_back(static_cast<uint8_t>(label));
  }
  return images;
}

TEST(LearningRateTest, WarmsUpAndFalls) {
  EXPECT_DOUBLE_EQ(LearningRate(0, 100, 1.0), 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(9, 100, 1.0), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(10, 100, 1.0), 1.0);
  EXPECT_NEAR(LearningRate(55, 100, 2.0), 1.0, 0.01);
  EXPECT_LT(LearningRate(99, 100, 1.0), 0.01);
  EXPECT_GT(LearningRate(99, 100, 1.0), 0);
  for (int steps : {1, 2, 5}) {
    for (int i = 0; i < steps; ++i) EXPECT_GT(LearningRate(i, steps, 1.0), 0) << steps << " " << i;
  }
}

TEST(TrainTest, LearnsBars) {
  const data::LabelledImages train = Bars(64, 4, 1), test = Bars(20, 4, 2);
  ManualSeed(1);
  const DigitNet net(20, 20);
  int calls = 0;
  const TrainOptions options = {.steps = 16, .batch_size = 16, .lr = 0.01, .seed = 3};
  const TrainResult result = Train(net, train, options, [&](int done, const TrainStep::Result& r) {
    EXPECT_EQ(done, ++calls);
    EXPECT_GE(r.correct, 0);
    EXPECT_LE(r.correct, 16);
  });
  EXPECT_EQ(calls, 16);
  ASSERT_EQ(result.losses.size(), 16u);
  // Ten classes by chance: ln 10 = 2.3.
  EXPECT_GT(result.losses.front(), 1.5);
  EXPECT_LT(result.losses.back(), 0.3);
  EXPECT_GE(result.seconds, result.first_step_seconds);
  EXPECT_EQ(net.bn1.num_batches_tracked.Item<int64_t>(), 16);

  const TestResult tested = Evaluate(net, test);
  EXPECT_EQ(tested.count, 20);
  EXPECT_GE(tested.correct, 15);
  int64_t sum = 0, diagonal = 0;
  for (size_t row = 0; row < 10; ++row) {
    for (size_t c = 0; c < 10; ++c) sum += tested.confusion[row][c];
    diagonal += tested.confusion[row][row];
  }
  EXPECT_EQ(sum, 20);
  EXPECT_EQ(diagonal, tested.correct);
  // Testing is no training.
  EXPECT_EQ(net.bn1.num_batches_tracked.Item<int64_t>(), 16);
}

TEST(TrainTest, StopsWhenTheLossIsNotFinite) {
  const data::LabelledImages train = Bars(16, 4, 1);
  ManualSeed(1);
  const DigitNet net(20, 20);
  const TrainOptions options = {.steps = 8, .batch_size = 8, .lr = 1e38, .seed = 3};
  EXPECT_THROW(Train(net, train, options, [](int, const TrainStep::Result&) {}), UsageError);
}

TEST(DigitNetTest, SizesFollowTheImages) {
  EXPECT_EQ(DigitNet(28, 28).fc.weight.Dim(1), 576);
  EXPECT_EQ(DigitNet(20, 33).fc.weight.Dim(1), 64 * 1 * 4);
  EXPECT_THROW(DigitNet(19, 28), ShapeError);
}

}  // namespace
}  // namespace tg::tools
