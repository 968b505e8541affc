// Gradients against central differences, in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tg/tensor/index.h"
#include "tg/tensor/testing.h"

namespace tg {
namespace {

using testing::ExpectTensor;
using testing::Numbers;
using testing::Thrown;

class GradientTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::UseTestBackend(); }
};

using Function = std::function<Tensor(const Tensor&)>;

// The sum of f weighted by fixed numbers, so that every output counts differently.
double Weighted(const Function& f, const std::vector<double>& x, const Shape& shape) {
  std::vector<double> y = f(FromData(x, shape)).ToVector<double>();
  std::vector<double> w = Numbers(static_cast<int64_t>(y.size()), 77);
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += y[i] * w[i];
  return sum;
}

std::vector<double> Numeric(const Function& f, std::vector<double> x, const Shape& shape) {
  const double kStep = 1e-5;
  std::vector<double> grad;
  for (size_t i = 0; i < x.size(); ++i) {
    double at = x[i];
    x[i] = at + kStep;
    double up = Weighted(f, x, shape);
    x[i] = at - kStep;
    double down = Weighted(f, x, shape);
    x[i] = at;
    grad.push_back((up - down) / (2 * kStep));
  }
  return grad;
}

Tensor Symbolic(const Function& f, const std::vector<double>& x, const Shape& shape) {
  Tensor t = FromData(x, shape);
  Tensor y = f(t);
  Tensor w = FromData(Numbers(y.NumElements(), 77), y.shape());
  return (y * w).Sum().Gradient({t})[0];
}

struct Case {
  const char* name;
  Function f;
  Shape shape = {2, 3};
  double low = -2;
  double high = 2;
};

std::vector<Case> Cases() {
  std::vector<double> other = Numbers(12, 55);
  auto fixed = [other](const Shape& shape) {
    int64_t n = ir::NumElements(shape).value();
    return FromData(std::vector<double>(other.begin(), other.begin() + n), shape);
  };
  return {
      {"square", [](const Tensor& x) { return x * x; }},
      {"div", [](const Tensor& x) { return 1.0 / x; }, {4}, 0.5, 2},
      {"div by self sum", [](const Tensor& x) { return x / x.Sum(1, true); }, {2, 3}, 0.5, 2},
      {"exp", [](const Tensor& x) { return x.Exp(); }},
      {"log", [](const Tensor& x) { return x.Log(); }, {4}, 0.5, 2},
      {"sqrt", [](const Tensor& x) { return x.Sqrt(); }, {4}, 0.5, 2},
      {"sin cos", [](const Tensor& x) { return x.Sin() * x.Cos(); }},
      {"tanh", [](const Tensor& x) { return x.Tanh(); }},
      {"sigmoid", [](const Tensor& x) { return x.Sigmoid(); }},
      {"relu", [](const Tensor& x) { return x.Relu(); }},
      {"elu", [](const Tensor& x) { return x.Elu(); }},
      {"gelu", [](const Tensor& x) { return x.Gelu(); }},
      {"erf", [](const Tensor& x) { return x.Erf(); }},
      {"softplus", [](const Tensor& x) { return x.Softplus(); }},
      {"abs", [](const Tensor& x) { return x.Abs(); }},
      {"asin", [](const Tensor& x) { return x.Asin(); }, {4}, -0.8, 0.8},
      {"pow base", [fixed](const Tensor& x) { return x.Pow(fixed({4})); }, {4}, 0.5, 2},
      {"pow exponent", [fixed](const Tensor& x) { return fixed({4}).Abs().Pow(x); }, {4}},
      {"pow 3", [](const Tensor& x) { return x.Pow(3); }},
      {"maximum",
       [fixed](const Tensor& x) {
         return x.Maximum(fixed({2, 3}));
       }},
      {"minimum", [fixed](const Tensor& x) { return x.Minimum(fixed({3})); }},
      {"where", [fixed](const Tensor& x) { return (x > 0).Where(x * x, fixed({3}) * x); }},
      {"clamp", [](const Tensor& x) { return x.Clamp(-1, 1); }},
      {"broadcast", [fixed](const Tensor& x) { return x.Unsqueeze(-1) * fixed({4}); }},
      {"sum", [](const Tensor& x) { return x.Sum(0); }},
      {"mean", [](const Tensor& x) { return x.Mean(1); }},
      {"var", [](const Tensor& x) { return x.Var(1); }},
      {"max", [](const Tensor& x) { return x.Max(1); }},
      {"min", [](const Tensor& x) { return x.Min(); }},
      {"prod", [](const Tensor& x) { return x.Prod(1); }},
      {"logsumexp", [](const Tensor& x) { return x.LogSumExp(0); }},
      {"softmax", [](const Tensor& x) { return x.Softmax(); }},
      {"log softmax", [](const Tensor& x) { return x.LogSoftmax(0); }},
      {"cumsum", [](const Tensor& x) { return x.CumSum(1); }},
      {"cumprod", [](const Tensor& x) { return x.CumProd(1); }, {2, 3}, 0.5, 2},
      {"normalize", [](const Tensor& x) { return x.Normalize(); }},
      {"layernorm", [](const Tensor& x) { return x.LayerNorm(); }},
      {"permute",
       [](const Tensor& x) {
         return x.Permute({2, 0, 1});
       },
       {2, 3, 2}},
      {"flip", [](const Tensor& x) { return x.Flip(0); }},
      {"pad",
       [](const Tensor& x) {
         return x.Pad({{1, 0}, {-1, 2}}, 3);
       }},
      {"pad reflect",
       [](const Tensor& x) {
         return x.Pad({{1, 0}, {2, 1}}, 0, PadMode::kReflect);
       }},
      {"pad circular",
       [](const Tensor& x) {
         return x.Pad({{1, 0}, {2, 1}}, 0, PadMode::kCircular);
       }},
      {"cat",
       [](const Tensor& x) {
         return Tensor::Cat({x, x * x}, 1);
       }},
      {"roll", [](const Tensor& x) { return x.Roll({1}, {1}) * x; }},
      {"repeat",
       [](const Tensor& x) {
         return x.Repeat({2, 3});
       }},
      {"unfold", [](const Tensor& x) { return x.Unfold(0, 3, 2); }, {7}},
      {"unfold overlap", [](const Tensor& x) { return x.Unfold(0, 3, 1); }, {7}},
      {"diagonal", [](const Tensor& x) { return x.Diagonal(1); }, {3, 4}},
      {"triu", [](const Tensor& x) { return x.Triu(); }},
      {"index",
       [](const Tensor& x) {
         return x.Index({1, Slice({}, {}, -2)});
       }},
      {"index tensor",
       [](const Tensor& x) {
         return x.Index({Slice(), FromData<int32_t>({2, 0, 2, 1})});
       }},
      {"gather",
       [](const Tensor& x) {
         return x.Gather(1, FromData<int32_t>({2, 2}, {2, 1}));
       }},
      {"sort", [](const Tensor& x) { return x.Sort(1).first; }},
      {"matmul",
       [fixed](const Tensor& x) {
         return x.MatMul(fixed({3, 4}));
       }},
      {"matmul self", [](const Tensor& x) { return x.MatMul(x.T()); }},
      {"conv",
       [fixed](const Tensor& x) {
         return x.Conv2d(fixed({2, 1, 2, 3}), Tensor(), {.stride = 2, .padding = 1});
       },
       {1, 1, 4, 5}},
      {"max pool",
       [](const Tensor& x) {
         return x.MaxPool2d({.kernel = 3, .stride = PerAxis(2), .padding = 1});
       },
       {1, 1, 5, 4}},
      {"avg pool", [](const Tensor& x) { return x.AvgPool2d({.kernel = 2}); }, {1, 4, 5}},
      {"cross entropy",
       [](const Tensor& x) {
         return x.SparseCategoricalCrossEntropy(FromData<int32_t>({2, 0}),
                                                {.label_smoothing = 0.1});
       }},
      {"bce",
       [](const Tensor& x) {
         return x.BinaryCrossEntropyWithLogits(Ones({2, 3}) * 0.3);
       }},
      {"attention",
       [](const Tensor& x) { return x.ScaledDotProductAttention(x * 2, x + 1, {}, true); },
       {3, 2}},
      {"contiguous", [](const Tensor& x) { return x.Contiguous().ContiguousBackward() * x; }},
      {"clone", [](const Tensor& x) { return (x * x).Clone() * x; }},
      {"shared",
       [](const Tensor& x) {
         Tensor a = x;
         for (int i = 0; i < 5; ++i) a = a + a * 0.5;
         return a * x;
       }},
  };
}

TEST_F(GradientTest, AgainstDifferences) {
  int seed = 10;
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    int64_t n = ir::NumElements(c.shape).value();
    std::vector<double> x = Numbers(n, ++seed, c.low, c.high);
    std::vector<double> expected = Numeric(c.f, x, c.shape);
    Tensor grad = Symbolic(c.f, x, c.shape);
    EXPECT_EQ(grad.shape(), c.shape);
    EXPECT_EQ(grad.dtype(), kFloat64);
    EXPECT_TRUE(testing::Matches(grad, expected, 1e-6))
        << ::testing::PrintToString(grad.ToVector<double>()) << " against "
        << ::testing::PrintToString(expected);
    expected[0] += 0.01;
    EXPECT_FALSE(testing::Matches(grad, expected, 1e-6));
  }
}

TEST_F(GradientTest, TiesShare) {
  Tensor x = FromData<double>({3, 1, 3, 3});
  ExpectTensor(x.Max().Gradient({x})[0], {4}, {1.0 / 3, 0, 1.0 / 3, 1.0 / 3});
  Tensor y = FromData<double>({3, 2, 0, 4});
  ExpectTensor(x.Maximum(y).Sum().Gradient({x})[0], {4}, {0.5, 0, 1, 0});
}

TEST_F(GradientTest, ProductsWithZeros) {
  Tensor one = FromData<double>({2, 0, 3});
  ExpectTensor(one.Prod().Gradient({one})[0], {3}, {0, 6, 0});
  Tensor two = FromData<double>({2, 0, 0});
  ExpectTensor(two.Prod().Gradient({two})[0], {3}, {0, 0, 0});
}

TEST_F(GradientTest, PowAtZero) {
  Tensor x = FromData<double>({0, 0, 2});
  Tensor e = FromData<double>({2, 0, -1});
  std::vector<Tensor> g = x.Pow(e).Sum().Gradient({x, e});
  ExpectTensor(g[0], {3}, {0, 0, -0.25});
  ExpectTensor(g[1], {3}, {0, 0, 0.5 * std::log(2.0)});
}

// No gradient passes through the comparison.
TEST_F(GradientTest, Comparisons) {
  Tensor t = FromData<double>({-1, 2, -3});
  ExpectTensor((t * (t < 0)).Sum().Gradient({t})[0], {3}, {1, 0, 1});
}

TEST_F(GradientTest, DetachAndMissingPaths) {
  Tensor x = FromData<double>({1, 2});
  Tensor y = FromData<double>({3, 4});
  ExpectTensor((x.Detach() * x).Sum().Gradient({x})[0], {2}, {1, 2});
  ExpectTensor(x.Sum().Gradient({y})[0], {2}, {0, 0});
  ExpectTensor(x.Trunc().Sum().Gradient({x})[0], {2}, {0, 0});
}

// A gradient that is silently zero because of an earlier read would be worse than an error.
TEST_F(GradientTest, ForgottenHistory) {
  Tensor x = FromData<double>({1, 2});
  Tensor y = (x * x).Sum();
  EXPECT_EQ(y.Item(), 5);
  EXPECT_NE(Thrown<UsageError>([&] { y.Gradient({x}); }), "");
}

TEST_F(GradientTest, CastsComeBack) {
  Tensor x = FromData<float>({1, 2}, {2}, {kFloat16, {}});
  Tensor g = (x.Cast(kFloat32) * 3.0).Sum().Gradient({x})[0];
  EXPECT_EQ(g.dtype(), kFloat16);
  ExpectTensor(g, {2}, {3, 3});
  ExpectTensor(x.Cast(kInt32).Cast(kFloat32).Sum().Gradient({x})[0], {2}, {0, 0});
}

TEST_F(GradientTest, GivenGradient) {
  Tensor x = FromData<double>({1, 2});
  ExpectTensor((x * 2.0).Gradient({x}, FromData<double>({10, 20}))[0], {2}, {20, 40});
  EXPECT_NE(Thrown<ShapeError>([&] { x.Gradient({x}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Gradient({x}, Ones({3})); }), "");
}

TEST_F(GradientTest, BackwardFillsLeaves) {
  Tensor w = Zeros({2}, {kFloat64, {}}).SetRequiresGrad();
  Tensor b = Zeros({2}, {kFloat64, {}}).SetRequiresGrad();  // equal to w, and another tensor
  Tensor x = FromData<double>({3, 4});
  (w * x + b * 2.0).Sum().Backward();
  ExpectTensor(w.grad(), {2}, {3, 4});
  ExpectTensor(b.grad(), {2}, {2, 2});
  EXPECT_FALSE(x.grad().defined());
  (w * x).Sum().Backward();
  ExpectTensor(w.grad(), {2}, {6, 8});
  w.ZeroGrad();
  EXPECT_FALSE(w.grad().defined());
  EXPECT_NE(Thrown<UsageError>([&] { x.Sum().Backward(); }), "");
  EXPECT_NE(Thrown<DTypeError>([&] { Zeros({2}, {kInt32, {}}).SetRequiresGrad(); }), "");
  EXPECT_NE(Thrown<DTypeError>([&] { (x > 0).Any().Backward(); }), "");
}

// Reading or realizing a loss before Backward does not cut its history.
TEST_F(GradientTest, BackwardAfterRealize) {
  Tensor w = FromData<double>({1, 2}).SetRequiresGrad();
  Tensor h = w * w;
  h.Realize();
  Tensor loss = (h * 3.0).Sum();
  EXPECT_EQ(loss.Item(), 15);
  EXPECT_TRUE(loss.IsRealized());
  loss.Backward();
  ExpectTensor(w.grad(), {2}, {6, 12});
  // After a step, tensors computed from the old weights keep their values.
  w.Assign(w.Detach() - w.grad()).Realize();
  EXPECT_EQ(loss.Item(), 15);
  ExpectTensor(h, {2}, {1, 4});
  ExpectTensor(w, {2}, {-5, -10});
  ExpectTensor(h * 1.0, {2}, {1, 4});
}

// Linear in the nodes of a graph, not in its paths; and no recursion.
TEST_F(GradientTest, SharedAndDeepGraphs) {
  Tensor x = FromData<double>({1});
  Tensor a = x;
  for (int i = 0; i < 100; ++i) a = a + a;
  Tensor g = a.Sum().Gradient({x})[0];
  Tensor deep = x;
  for (int i = 0; i < 20000; ++i) deep = deep.Sin();
  Tensor h = deep.Sum().Gradient({x})[0];
  if (testing::OnReference()) {
    EXPECT_EQ(g.Item(), std::exp2(100));
    EXPECT_GT(h.Item(), 0);
  }
}

}  // namespace
}  // namespace tg
