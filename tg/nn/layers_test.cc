#include "tg/nn/layers.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tg/state/state_dict.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/random.h"

namespace tg::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<float> RandomValues(int64_t n, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(n);
  for (float& v : values) v = uniform(generator);
  return values;
}

int64_t Count(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// Values with the tensor made of them.
struct Data {
  Data(std::vector<int64_t> shape, uint32_t seed)
      : values(RandomValues(Count(shape), seed)),
        tensor(FromData(values, Shape(shape.begin(), shape.end()))) {}
  std::vector<float> values;
  Tensor tensor;
};

void ExpectClose(const std::vector<float>& actual, const std::vector<double>& expected,
                 double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "at " << i;
  }
}

template <typename E>
void ExpectThrows(const std::function<void()>& f, const std::string& part) {
  try {
    f();
  } catch (const E& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
    return;
  }
  ADD_FAILURE() << "no exception; expected: " << part;
}

std::vector<std::pair<std::string, std::string>> NamesAndShapes(const state::StateDict& dict) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& [name, t] : dict) result.emplace_back(name, ir::ToString(t.shape()));
  return result;
}

TEST(LinearTest, MatchesDoubleLoop) {
  ManualSeed(1);
  const Linear layer(5, 3);
  const Data x({4, 5}, 2);
  const std::vector<float> w = layer.weight.ToVector<float>(), b = layer.bias.ToVector<float>();
  std::vector<double> expected;
  for (int i = 0; i < 4; ++i) {
    for (int o = 0; o < 3; ++o) {
      double sum = b[o];
      for (int k = 0; k < 5; ++k) sum += double{x.values[i * 5 + k]} * w[o * 5 + k];
      expected.push_back(sum);
    }
  }
  ExpectClose(layer(x.tensor).ToVector<float>(), expected);
  // More axes in front, no bias.
  const Linear plain(5, 3, /*bias=*/false);
  EXPECT_EQ(ir::ToString(plain(Zeros({2, 7, 5})).shape()), "(2, 7, 3)");
  EXPECT_THAT(NamesAndShapes(state::GetStateDict(plain)), ElementsAre(Pair("weight", "(3, 5)")));
}

TEST(LinearTest, StartsUniformInBound) {
  ManualSeed(7);
  const Linear layer(100, 200);
  double least = 1, greatest = -1, sum = 0;
  for (float v : layer.weight.ToVector<float>()) {
    least = std::min<double>(least, v);
    greatest = std::max<double>(greatest, v);
    sum += v;
  }
  EXPECT_GE(least, -0.1);
  EXPECT_LE(greatest, 0.1);
  EXPECT_LT(least, -0.099);
  EXPECT_GT(greatest, 0.099);
  EXPECT_NEAR(sum / 20000, 0, 0.002);
  EXPECT_TRUE(layer.weight.requires_grad());
  // Another seed, other weights; the same seed, the same.
  ManualSeed(8);
  const Linear other(100, 200);
  ManualSeed(7);
  const Linear same(100, 200);
  EXPECT_NE(other.weight.ToVector<float>(), layer.weight.ToVector<float>());
  EXPECT_EQ(same.weight.ToVector<float>(), layer.weight.ToVector<float>());
}

struct ConvCase {
  int64_t in, out, groups, height, width, kernel_h, kernel_w, stride, dilation, pad;
};

TEST(Conv2dTest, MatchesDoubleLoops) {
  ManualSeed(3);
  const ConvCase cases[] = {
      {1, 4, 1, 7, 6, 3, 3, 1, 1, 0},
      {3, 2, 1, 5, 5, 5, 5, 1, 1, 2},
      {4, 6, 2, 9, 8, 3, 2, 2, 1, 1},
      {4, 4, 4, 9, 9, 3, 3, 1, 2, 2},
  };
  for (const ConvCase& c : cases) {
    const int64_t batch = 2, cin = c.in / c.groups, cout = c.out / c.groups;
    const Conv2d conv(
        c.in, c.out, {c.kernel_h, c.kernel_w},
        {.stride = c.stride, .padding = c.pad, .dilation = c.dilation, .groups = c.groups});
    const Data x({batch, c.in, c.height, c.width}, 4);
    const std::vector<float> w = conv.weight.ToVector<float>(), b = conv.bias.ToVector<float>();
    const int64_t out_h = (c.height + 2 * c.pad - c.dilation * (c.kernel_h - 1) - 1) / c.stride + 1;
    const int64_t out_w = (c.width + 2 * c.pad - c.dilation * (c.kernel_w - 1) - 1) / c.stride + 1;
    std::vector<double> expected;
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t o = 0; o < c.out; ++o) {
        for (int64_t oy = 0; oy < out_h; ++oy) {
          for (int64_t ox = 0; ox < out_w; ++ox) {
            double sum = b[o];
            for (int64_t i = 0; i < cin; ++i) {
              for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
                for (int64_t kx = 0; kx < c.kernel_w; ++kx) {
                  const int64_t y = oy * c.stride + ky * c.dilation - c.pad;
                  const int64_t xx = ox * c.stride + kx * c.dilation - c.pad;
                  if (y < 0 || xx < 0 || y >= c.height || xx >= c.width) continue;
                  const int64_t channel = o / cout * cin + i;
                  sum += double{x.values[((n * c.in + channel) * c.height + y) * c.width + xx]} *
                         w[((o * cin + i) * c.kernel_h + ky) * c.kernel_w + kx];
                }
              }
            }
            expected.push_back(sum);
          }
        }
      }
    }
    const Tensor y = conv(x.tensor);
    EXPECT_EQ(y.Dim(2), out_h);
    EXPECT_EQ(y.Dim(3), out_w);
    ExpectClose(y.ToVector<float>(), expected);
  }
}

TEST(Conv2dTest, BoundsCountGroups) {
  ManualSeed(5);
  // Fan in 2 * 9.
  const Conv2d conv(8, 64, 3, {.groups = 4});
  double greatest = 0;
  for (float v : conv.weight.ToVector<float>()) greatest = std::max<double>(greatest, std::abs(v));
  EXPECT_LE(greatest, 1 / std::sqrt(18.0));
  EXPECT_GT(greatest, 0.95 / std::sqrt(18.0));
}

TEST(Conv2dTest, SamePaddingKeepsSizes) {
  ManualSeed(6);
  const Conv2d odd(1, 1, {3, 5}, {.padding = "same", .dilation = 2});
  EXPECT_EQ(ir::ToString(odd(Zeros({1, 1, 9, 11})).shape()), "(1, 1, 9, 11)");
  // An even kernel pads one more behind: the first output sees the first input at kernel element 0.
  const Conv2d even(1, 1, std::vector<int64_t>{2}, {.padding = "SAME", .bias = false});
  const std::vector<float> w = even.weight.ToVector<float>();
  ExpectClose(even(FromData<float>({1, 0, 0}).Reshape({1, 1, 3})).ToVector<float>(), {w[0], 0, 0});
  ExpectClose(even(FromData<float>({0, 1, 0}).Reshape({1, 1, 3})).ToVector<float>(),
              {w[1], w[0], 0});
}

TEST(Conv2dTest, MisuseThrows) {
  ExpectThrows<UsageError>([] { Conv2d(1, 1, 3, {.padding = "valid"}); },
                           "Invalid padding string 'valid', only 'same' is supported");
  ExpectThrows<UsageError>([] { Conv2d(1, 1, 3, {.stride = 2, .padding = "same"}); },
                           "padding='same' is not supported for strided convolutions");
  ExpectThrows<ShapeError>([] { Conv2d(4, 6, 3, {.groups = 4}); },
                           "4 inputs and 6 outputs cannot be split in 4 groups");
  ExpectThrows<ShapeError>([] { Conv2d(0, 1, 3); }, "sizes must be positive, got 0");
  ExpectThrows<ShapeError>([] { Conv2d(2, 1, 3)(Zeros({1, 3, 5, 5})); }, "conv2d");
}

// Statistics of each channel of (batch, channels, rest).
struct ChannelStats {
  std::vector<double> mean, var;
};
ChannelStats StatsOf(const std::vector<float>& x, int64_t batch, int64_t channels, int64_t rest) {
  ChannelStats s;
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t i = 0; i < rest; ++i) sum += x[(n * channels + c) * rest + i];
    }
    const double mean = sum / static_cast<double>(batch * rest);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t i = 0; i < rest; ++i) {
        const double d = x[(n * channels + c) * rest + i] - mean;
        squares += d * d;
      }
    }
    s.mean.push_back(mean);
    s.var.push_back(squares / static_cast<double>(batch * rest));
  }
  return s;
}

std::vector<double> Normalized(const std::vector<float>& x, int64_t channels, int64_t rest,
                               const ChannelStats& stats, const std::vector<float>& weight,
                               const std::vector<float>& bias) {
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t c = static_cast<int64_t>(i) / rest % channels;
    y.push_back((x[i] - stats.mean[c]) / std::sqrt(stats.var[c] + 1e-5) * weight[c] + bias[c]);
  }
  return y;
}

TEST(BatchNormTest, TrainsOnBatchAndTracks) {
  const int64_t batch = 3, channels = 4, rest = 6;
  BatchNorm norm(channels);
  const Data w({channels}, 11), b({channels}, 12);
  norm.weight.Assign(w.tensor);
  norm.bias.Assign(b.tensor);
  std::vector<double> mean(channels, 0), var(channels, 1);
  for (uint32_t step = 0; step < 3; ++step) {
    const Data x({batch, channels, 2, 3}, 20 + step);
    const ChannelStats stats = StatsOf(x.values, batch, channels, rest);
    {
      base::Scoped<int> training(base::kTraining, 1);
      ExpectClose(norm(x.tensor).ToVector<float>(),
                  Normalized(x.values, channels, rest, stats, w.values, b.values), 2e-5);
    }
    for (int64_t c = 0; c < channels; ++c) {
      mean[c] = 0.9 * mean[c] + 0.1 * stats.mean[c];
      var[c] = 0.9 * var[c] + 0.1 * stats.var[c] * (batch * rest) / (batch * rest - 1);
    }
  }
  ExpectClose(norm.running_mean.ToVector<float>(), mean);
  ExpectClose(norm.running_var.ToVector<float>(), var);
  EXPECT_EQ(norm.num_batches_tracked.dtype(), kInt64);
  EXPECT_EQ(norm.num_batches_tracked.Item<int64_t>(), 3);
  EXPECT_FALSE(norm.running_mean.requires_grad());
  EXPECT_TRUE(norm.weight.requires_grad());

  // Not in training: the running statistics, which stay.
  const Data x({batch, channels, 2, 3}, 30);
  ExpectClose(norm(x.tensor).ToVector<float>(),
              Normalized(x.values, channels, rest, {mean, var}, w.values, b.values), 2e-5);
  EXPECT_EQ(norm.num_batches_tracked.Item<int64_t>(), 3);
}

TEST(BatchNormTest, WithoutAffineAndTracking) {
  const BatchNorm norm(2, {.affine = false, .track_running_stats = false});
  EXPECT_TRUE(state::GetStateDict(norm).empty());
  const Data x({5, 2}, 40);
  const ChannelStats stats = StatsOf(x.values, 5, 2, 1);
  // The batch's statistics, in training or not.
  ExpectClose(norm(x.tensor).ToVector<float>(), Normalized(x.values, 2, 1, stats, {1, 1}, {0, 0}),
              2e-5);
  EXPECT_THAT(
      NamesAndShapes(state::GetStateDict(BatchNorm(2))),
      ElementsAre(Pair("weight", "(2,)"), Pair("bias", "(2,)"), Pair("running_mean", "(2,)"),
                  Pair("running_var", "(2,)"), Pair("num_batches_tracked", "()")));
}

// The gradient passes through the mean and the variance: against finite differences of the double
// loop.
TEST(BatchNormTest, Gradient) {
  base::Scoped<int> training(base::kTraining, 1);
  const int64_t batch = 4, channels = 2;
  BatchNorm norm(channels);
  const Data x({batch, channels}, 50), g({batch, channels}, 51), w({channels}, 52),
      b({channels}, 53);
  norm.weight.Assign(w.tensor);
  norm.bias.Assign(b.tensor);
  const std::vector<Tensor> targets = {x.tensor, norm.weight, norm.bias};
  const std::vector<Tensor> grads = norm(x.tensor).Gradient(targets, g.tensor);
  auto loss = [&](const std::vector<std::vector<float>>& v) {
    const std::vector<double> y =
        Normalized(v[0], channels, 1, StatsOf(v[0], batch, channels, 1), v[1], v[2]);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * g.values[i];
    return sum;
  };
  const std::vector<std::vector<float>> at = {x.values, w.values, b.values};
  for (size_t t = 0; t < at.size(); ++t) {
    const std::vector<float> grad = grads[t].ToVector<float>();
    for (size_t i = 0; i < grad.size(); ++i) {
      std::vector<std::vector<float>> up = at, down = at;
      up[t][i] += 1e-3f;
      down[t][i] -= 1e-3f;
      EXPECT_NEAR(grad[i], (loss(up) - loss(down)) / (double{up[t][i]} - down[t][i]), 2e-3)
          << t << " " << i;
    }
  }
}

TEST(BatchNormTest, MisuseThrows) {
  const BatchNorm norm(3);
  ExpectThrows<ShapeError>(
      [&] {
        norm(Zeros({2, 4, 5}));
      },
      "batchnorm: expected shape (batch, 3, ...), got (2, 4, 5)");
  ExpectThrows<ShapeError>([&] { norm(Zeros({3})); }, "got (3,)");
  base::Scoped<int> training(base::kTraining, 1);
  ExpectThrows<ShapeError>([&] { norm(Zeros({1, 3})); }, "more than one value per channel");
}

TEST(LayerNormTest, MatchesDoubleLoop) {
  const LayerNorm norm({2, 3}, {.eps = 1e-3});
  const Data w({2, 3}, 60), b({2, 3}, 61), x({4, 2, 3}, 62);
  Tensor(norm.weight).Assign(w.tensor);
  Tensor(norm.bias).Assign(b.tensor);
  std::vector<double> expected;
  for (int row = 0; row < 4; ++row) {
    double mean = 0, var = 0;
    for (int i = 0; i < 6; ++i) mean += x.values[row * 6 + i] / 6.0;
    for (int i = 0; i < 6; ++i) var += std::pow(x.values[row * 6 + i] - mean, 2) / 6;
    for (int i = 0; i < 6; ++i) {
      expected.push_back((x.values[row * 6 + i] - mean) / std::sqrt(var + 1e-3) * w.values[i] +
                         b.values[i]);
    }
  }
  ExpectClose(norm(x.tensor).ToVector<float>(), expected);
  EXPECT_THAT(NamesAndShapes(state::GetStateDict(LayerNorm(7))),
              ElementsAre(Pair("weight", "(7,)"), Pair("bias", "(7,)")));
  EXPECT_TRUE(
      state::GetStateDict(LayerNorm(7, LayerNormOptions{.elementwise_affine = false})).empty());
  ExpectThrows<ShapeError>(
      [&] {
        norm(Zeros({2, 4}));
      },
      "last dimensions of (2, 4) must match (2, 3)");
  ExpectThrows<ShapeError>([&] { norm(Zeros({3})); }, "must match (2, 3)");
}

TEST(EmbeddingTest, PicksRows) {
  ManualSeed(9);
  const Embedding embedding(5, 3);
  const std::vector<float> w = embedding.weight.ToVector<float>();
  const Tensor index = FromData<int32_t>({4, 0, 2, 2, -1, 9}).Reshape({2, 3});
  const Tensor y = embedding(index);
  EXPECT_EQ(ir::ToString(y.shape()), "(2, 3, 3)");
  std::vector<double> expected;
  for (int row : {4, 0, 2, 2, 4, 9}) {
    for (int i = 0; i < 3; ++i) expected.push_back(row < 5 ? w[row * 3 + i] : 0);
  }
  ExpectClose(y.ToVector<float>(), expected, 0);
  for (float v : w) EXPECT_LE(std::abs(v), std::sqrt(6.0 / 8.0));

  // Each row gets the gradients of the places that picked it.
  embedding(FromData<int32_t>({1, 3, 1})).Sum().Backward();
  ExpectClose(embedding.weight.grad().ToVector<float>(),
              {0, 0, 0, 2, 2, 2, 0, 0, 0, 1, 1, 1, 0, 0, 0}, 0);
  ExpectThrows<DTypeError>([&] { embedding(Zeros({2})); },
                           "Expected integer dtype for index in embedding, got float32");
}

}  // namespace
}  // namespace tg::nn
