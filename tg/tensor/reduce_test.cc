#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tg/tensor/testing.h"

namespace tg {
namespace {

using testing::ExpectEach;
using testing::ExpectTensor;
using testing::Numbers;
using testing::Thrown;
using Ix = std::vector<int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();

class ReduceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::UseTestBackend();
    values_ = Numbers(2 * 5 * 3, 7);
    x_ = FromData(values_, {2, 5, 3});
  }
  // f over the middle axis.
  void ExpectMiddle(const Tensor& t, double (*f)(const std::vector<double>&)) {
    ExpectEach(
        t, {2, 3},
        [&](const Ix& i) {
          std::vector<double> v;
          for (int k = 0; k < 5; ++k) v.push_back(values_[i[0] * 15 + k * 3 + i[1]]);
          return f(v);
        },
        1e-9);
  }
  std::vector<double> values_;
  Tensor x_;
};

double SumOf(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double MeanOf(const std::vector<double>& v) { return SumOf(v) / static_cast<double>(v.size()); }
double VarOf(const std::vector<double>& v) {
  double s = 0;
  for (double x : v) s += (x - MeanOf(v)) * (x - MeanOf(v));
  return s / static_cast<double>(v.size() - 1);
}

TEST_F(ReduceTest, OneAxis) {
  ExpectMiddle(x_.Sum(1), SumOf);
  ExpectMiddle(x_.Sum(-2, true).Squeeze(1), SumOf);
  ExpectMiddle(x_.Mean(1), MeanOf);
  ExpectMiddle(x_.Var(1), VarOf);
  ExpectMiddle(x_.Std(1), [](const std::vector<double>& v) { return std::sqrt(VarOf(v)); });
  ExpectMiddle(x_.Max(1),
               [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); });
  ExpectMiddle(x_.Min(1),
               [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); });
  ExpectMiddle(x_.Prod(1), [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<double>());
  });
  ExpectMiddle(x_.LogSumExp(1), [](const std::vector<double>& v) {
    double s = 0;
    for (double x : v) s += std::exp(x);
    return std::log(s);
  });
  ExpectMiddle(x_.ArgMax(1).Cast(kFloat64), [](const std::vector<double>& v) {
    return static_cast<double>(std::max_element(v.begin(), v.end()) - v.begin());
  });
  ExpectMiddle(x_.ArgMin(1).Cast(kFloat64), [](const std::vector<double>& v) {
    return static_cast<double>(std::min_element(v.begin(), v.end()) - v.begin());
  });
}

TEST_F(ReduceTest, SeveralAxes) {
  ExpectTensor(x_.Sum(), {}, {SumOf(values_)}, 1e-9);
  ExpectTensor(x_.Sum({}, true), {1, 1, 1}, {SumOf(values_)}, 1e-9);
  ExpectEach(
      x_.Sum({0, -1}), {5},
      [&](const Ix& i) {
        double s = 0;
        for (int a = 0; a < 2; ++a) {
          for (int c = 0; c < 3; ++c) s += values_[a * 15 + i[0] * 3 + c];
        }
        return s;
      },
      1e-9);
  EXPECT_EQ(x_.ArgMax().Item<int64_t>(),
            std::max_element(values_.begin(), values_.end()) - values_.begin());
}

TEST_F(ReduceTest, Scalars) {
  Tensor t = FromData<float>({3.0f}, {});
  ExpectTensor(t.Sum(), {}, {3});
  ExpectTensor(t.Sum(Axes::None()), {}, {3});
  ExpectTensor(t.Sum(-1), {}, {3});
  ExpectTensor(t.Sum(0, true), {}, {3});
  ExpectTensor(t.ArgMax(), {}, {0});
  EXPECT_NE(Thrown<ShapeError>([&] { t.Sum(1); }), "");
}

TEST_F(ReduceTest, Empty) {
  Tensor e = Zeros({2, 0}).Clone();
  ExpectTensor(e.Sum(1), {2}, {0, 0});
  ExpectTensor(e.Prod(1), {2}, {1, 1});
  ExpectTensor(e.Max(1), {2}, {-kInf, -kInf});
  ExpectTensor(e.Min(1), {2}, {kInf, kInf});
  ExpectTensor(e.Sum(0), {0}, {});
  ExpectTensor(e.Mean(1), {2}, {std::nan(""), std::nan("")});
  ExpectTensor(e.Cast(kBool).Any(1), {2}, {0, 0});
  ExpectTensor(e.Cast(kBool).All(1), {2}, {1, 1});
  EXPECT_NE(Thrown<ShapeError>([&] { e.ArgMax(1); }), "");
}

TEST_F(ReduceTest, Dtypes) {
  Tensor u8 = FromData<uint8_t>({200, 100, 7});
  EXPECT_EQ(u8.Sum().dtype(), kUInt32);
  ExpectTensor(u8.Sum(), {}, {307});
  ExpectTensor(u8.Min(), {}, {7});
  EXPECT_EQ(u8.Max().dtype(), kUInt8);
  EXPECT_EQ(FromData<int8_t>({1}).Sum().dtype(), kInt32);
  Tensor bits = FromData<bool>({true, false, true});
  ExpectTensor(bits.Sum(), {}, {2});
  ExpectTensor(bits.Any(), {}, {1});
  ExpectTensor(bits.All(), {}, {0});
  ExpectTensor(bits.Min(), {}, {0});
  // 4096 ones do not fit the mantissa of a half one by one, 70000 not its range.
  Tensor half = Ones({4096}, {kFloat16, {}});
  EXPECT_EQ(half.Sum().dtype(), kFloat16);
  ExpectTensor(half.Sum(), {}, {4096});
  ExpectTensor((half * 1000).Mean(), {}, {1000});
  EXPECT_EQ(u8.Mean().dtype(), DefaultFloat());
  ExpectTensor(FromData<int32_t>({INT32_MIN, 5}).Min(), {}, {INT32_MIN});
}

TEST_F(ReduceTest, Cumulative) {
  for (int64_t n : {0, 1, 7, 700}) {
    SCOPED_TRACE(n);
    std::vector<double> v = Numbers(n * 2, 3, 0.9, 1.1);
    Tensor x = FromData(v, {n, 2});
    auto fold = [&](const Ix& i, double start, double (*f)(double, double)) {
      for (int64_t k = 0; k <= i[0]; ++k) start = f(start, v[k * 2 + i[1]]);
      return start;
    };
    ExpectEach(x.CumSum(0), {n, 2},
               [&](const Ix& i) { return fold(i, 0, [](double a, double b) { return a + b; }); });
    ExpectEach(x.CumProd(0), {n, 2},
               [&](const Ix& i) { return fold(i, 1, [](double a, double b) { return a * b; }); });
    ExpectEach(x.CumMax(0), {n, 2}, [&](const Ix& i) {
      return fold(i, -kInf, [](double a, double b) { return std::max(a, b); });
    });
  }
  ExpectTensor(FromData<int32_t>({3, -1, 2}).CumMax(0), {3}, {3, 3, 3});
}

TEST_F(ReduceTest, Softmax) {
  auto softmax = [&](const Ix& i) {
    double s = 0;
    for (int k = 0; k < 3; ++k) s += std::exp(values_[i[0] * 15 + i[1] * 3 + k]);
    return std::exp(values_[i[0] * 15 + i[1] * 3 + i[2]]) / s;
  };
  ExpectEach(x_.Softmax(), {2, 5, 3}, softmax, 1e-9);
  ExpectEach(
      x_.LogSoftmax(), {2, 5, 3}, [&](const Ix& i) { return std::log(softmax(i)); }, 1e-9);
  ExpectTensor(FromData<float>({1000, 1000}).Softmax(), {2}, {0.5, 0.5});
  ExpectTensor(FromData<float>({-1000, -1000}).LogSumExp(), {}, {-1000 + std::log(2.0)});
  ExpectTensor(x_.Normalize().Square().Sum(1), {2, 3}, std::vector<double>(6, 1), 1e-9);
}

// The softmax of a slice looks at the slice alone.
TEST_F(ReduceTest, SoftmaxOfSlice) {
  Tensor x = testing::RandomTensor({4, 4}, 5).Shrink({{}, {{Sint(0), Sint(2)}}});
  ExpectTensor(x.Softmax(-1).Sum(), {}, {4});
}

TEST_F(ReduceTest, Sort) {
  double nan = std::nan("");
  Tensor x = FromData<double>({3, 1, nan, 2, 1}, {5});
  auto [up, up_order] = x.Sort();
  ExpectTensor(up, {5}, {1, 1, 2, 3, nan});
  ExpectTensor(up_order, {5}, {1, 4, 3, 0, 2});
  auto [down, down_order] = x.Sort(0, true);
  ExpectTensor(down, {5}, {nan, 3, 2, 1, 1});
  ExpectTensor(down_order, {5}, {2, 0, 3, 1, 4});
  auto [top, where] = FromData<int32_t>({5, 9, 7, 1, 8, 2}, {2, 3}).TopK(2, 1);
  ExpectTensor(top, {2, 2}, {9, 7, 8, 2});
  ExpectTensor(where, {2, 2}, {1, 2, 1, 2});
}

}  // namespace
}  // namespace tg
