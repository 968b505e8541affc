#include "tg/tensor/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tg/tensor/testing.h"

namespace tg {
namespace {

using testing::ExpectTensor;
using testing::Thrown;

class RandomTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::UseTestBackend(); }
};

// Made with JAX's threefry_2x32, the key derived as random.h says.
TEST_F(RandomTest, KnownStream) {
  ManualSeed(1337);
  ExpectTensor(Rand({20}), {20},
               {0.45735931396484375, 0.6311527490615845, 0.15571284294128418, 0.8149417638778687,
                0.7862188816070557,  0.8008807897567749, 0.568588376045227,   0.9852620363235474,
                0.42314577102661133, 0.9811755418777466, 0.38059568405151367, 0.09186363220214844,
                0.9497315883636475,  0.5826880931854248, 0.3796330690383911,  0.5610522031784058,
                0.16122901439666748, 0.3732343912124634, 0.9795231819152832,  0.3280656337738037},
               1e-7);
  // A draw that starts at counter 20, and one at 40.
  std::vector<float> second = Rand({20}).ToVector<float>();
  EXPECT_NEAR(second[0], 0.09199333190917969, 1e-7);
  EXPECT_NEAR(second[19], 0.2599533796310425, 1e-7);
  std::vector<float> third = Rand({10}).ToVector<float>();
  EXPECT_NEAR(third[0], 0.3198714256286621, 1e-7);
  EXPECT_NEAR(third[9], 0.10077548027038574, 1e-7);
}

// The numbers depend on the order of the draws in the program, not on the order of realizing.
TEST_F(RandomTest, AnyOrderOfRealizing) {
  ManualSeed(5);
  Tensor a = Rand({4});
  Tensor b = Rand({5});
  Tensor c = Rand({4});
  std::vector<float> av = a.ToVector<float>();
  std::vector<float> bv = b.ToVector<float>();
  std::vector<float> cv = c.ToVector<float>();
  EXPECT_NE(av, cv);
  ManualSeed(5);
  a = Rand({4});
  b = Rand({5});
  c = Rand({4});
  EXPECT_EQ(b.ToVector<float>(), bv);
  EXPECT_EQ(c.ToVector<float>(), cv);
  EXPECT_EQ(a.ToVector<float>(), av);
  ManualSeed(5);
  a = Rand({4});
  b = Rand({5});
  FlushRandomState();
  EXPECT_EQ(Rand({4}).ToVector<float>(), cv);
  EXPECT_EQ(a.ToVector<float>(), av);
  EXPECT_EQ(b.ToVector<float>(), bv);
}

TEST_F(RandomTest, ManyDrawsWithoutRealizing) {
  ManualSeed(9);
  std::vector<Tensor> draws;
  for (int i = 0; i < 30; ++i) draws.push_back(Rand({2}));
  Tensor last = Rand({2});
  std::vector<float> v = last.ToVector<float>();
  ManualSeed(9);
  for (int i = 0; i < 30; ++i) Rand({2}).Realize();
  EXPECT_EQ(Rand({2}).ToVector<float>(), v);
}

double Mean(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

TEST_F(RandomTest, Distributions) {
  ManualSeed(1);
  const int64_t n = 20000;
  std::vector<double> u = Uniform({n}, -2, 4).ToVector<double>();
  EXPECT_GE(*std::min_element(u.begin(), u.end()), -2);
  EXPECT_LT(*std::max_element(u.begin(), u.end()), 4);
  EXPECT_NEAR(Mean(u), 1, 0.05);
  std::vector<double> g = Normal({n}, 3, 2).ToVector<double>();
  EXPECT_NEAR(Mean(g), 3, 0.06);
  double var = 0;
  for (double v : g) var += (v - 3) * (v - 3) / static_cast<double>(n);
  EXPECT_NEAR(var, 4, 0.15);
  std::vector<int> i = RandInt({n}, -2, 3).ToVector<int>();
  for (int k = -2; k < 3; ++k) {
    EXPECT_NEAR(static_cast<double>(std::count(i.begin(), i.end(), k)), n / 5.0, 250);
  }
  for (DType d : {kFloat16, kBFloat16, kFloat64}) {
    std::vector<double> h = Rand({999}, {d, {}}).ToVector<double>();
    EXPECT_LT(*std::max_element(h.begin(), h.end()), 1);
    EXPECT_GE(*std::min_element(h.begin(), h.end()), 0);
    EXPECT_NEAR(Mean(h), 0.5, 0.05);
  }
  double bound = std::sqrt(6.0 / (1 + 1e-4) / 9);
  std::vector<double> k = KaimingUniform({100, 3, 3}).ToVector<double>();
  EXPECT_LE(*std::max_element(k.begin(), k.end()), bound);
  EXPECT_GT(*std::max_element(k.begin(), k.end()), 0.9 * bound);
}

TEST_F(RandomTest, Permutations) {
  for (int64_t n : {0, 1, 2, 15, 64}) {
    std::vector<int> p = RandPerm(n).ToVector<int>();
    std::sort(p.begin(), p.end());
    std::vector<int> expected(n);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(p, expected);
  }
}

TEST_F(RandomTest, Multinomial) {
  Tensor w = FromData<float>({1, 0, 3});
  std::vector<int> s = Multinomial(w, 1000, true).ToVector<int>();
  EXPECT_EQ(std::count(s.begin(), s.end(), 1), 0);
  EXPECT_NEAR(static_cast<double>(std::count(s.begin(), s.end(), 2)), 750, 60);
  std::vector<int> all = Multinomial(FromData<float>({1, 2, 3, 4}), 4, false).ToVector<int>();
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<int>{0, 1, 2, 3}));
}

// A lazy cumulative sum compared with a draw is what it is when realized first.
TEST_F(RandomTest, LazyAndEarlyAgree) {
  Tensor weights = testing::RandomTensor({600}, 3, 0, 1);
  auto pick = [&](bool early) {
    ManualSeed(11);
    Tensor sums = weights.CumSum(0);
    if (early) sums.Realize();
    Tensor u = Rand({20, 1}) * weights.Sum();
    if (early) u.Realize();
    return (u >= sums).Sum(1).ToVector<int>();
  };
  EXPECT_EQ(pick(false), pick(true));
}

TEST_F(RandomTest, Errors) {
  EXPECT_NE(Thrown<DTypeError>([] { Rand({2}, {kInt32, {}}); }), "");
  EXPECT_NE(Thrown<ShapeError>([] { Rand({-2}); }), "");
  EXPECT_NE(Thrown<UsageError>([] { RandInt({2}, 3, 3); }), "");
  EXPECT_NE(Thrown<DTypeError>([] { RandInt({2}, 0, 3, {kFloat32, {}}); }), "");
  EXPECT_NE(Thrown<UsageError>([] { Uniform({2}, 1, 0); }), "");
  EXPECT_NE(Thrown<UsageError>([] { Normal({2}, 0, -1); }), "");
  ExpectTensor(Rand({0, 3}), {0, 3}, {});
}

}  // namespace
}  // namespace tg
