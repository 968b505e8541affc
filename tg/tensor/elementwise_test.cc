#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tg/tensor/testing.h"

namespace tg {
namespace {

using testing::ExpectTensor;
using testing::Matches;
using testing::Numbers;
using testing::RandomTensor;
using testing::Thrown;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class ElementwiseTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::UseTestBackend(); }
};

struct UnaryCase {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*expected)(double);
  double low = -3;
  double high = 3;
  double tolerance = 1e-5;
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Relu(double x) { return std::max(x, 0.0); }
double RoundEven(double x) { return std::nearbyint(x); }

const UnaryCase kUnary[] = {
    {"neg", [](const Tensor& x) { return -x; }, [](double x) { return -x; }},
    {"reciprocal", [](const Tensor& x) { return x.Reciprocal(); }, [](double x) { return 1 / x; },
     0.1, 3},
    {"square", [](const Tensor& x) { return x.Square(); }, [](double x) { return x * x; }},
    {"sqrt", [](const Tensor& x) { return x.Sqrt(); }, std::sqrt, 0, 9},
    {"rsqrt", [](const Tensor& x) { return x.Rsqrt(); }, [](double x) { return 1 / std::sqrt(x); },
     0.1, 9},
    {"exp", [](const Tensor& x) { return x.Exp(); }, std::exp},
    {"exp2", [](const Tensor& x) { return x.Exp2(); }, std::exp2},
    {"log", [](const Tensor& x) { return x.Log(); }, std::log, 0.01, 9},
    {"log2", [](const Tensor& x) { return x.Log2(); }, std::log2, 0.01, 9},
    {"log10", [](const Tensor& x) { return x.Log10(); }, std::log10, 0.01, 9},
    {"sin", [](const Tensor& x) { return x.Sin(); }, std::sin, -20, 20},
    {"cos", [](const Tensor& x) { return x.Cos(); }, std::cos, -20, 20},
    {"tan", [](const Tensor& x) { return x.Tan(); }, std::tan, -1.4, 1.4},
    {"asin", [](const Tensor& x) { return x.Asin(); }, std::asin, -1, 1},
    {"acos", [](const Tensor& x) { return x.Acos(); }, std::acos, -1, 1},
    {"atan", [](const Tensor& x) { return x.Atan(); }, std::atan, -9, 9},
    {"sinh", [](const Tensor& x) { return x.Sinh(); }, std::sinh},
    {"cosh", [](const Tensor& x) { return x.Cosh(); }, std::cosh},
    {"tanh", [](const Tensor& x) { return x.Tanh(); }, std::tanh},
    {"asinh", [](const Tensor& x) { return x.Asinh(); }, std::asinh, -50, 50},
    {"acosh", [](const Tensor& x) { return x.Acosh(); }, std::acosh, 1.1, 9},
    {"atanh", [](const Tensor& x) { return x.Atanh(); }, std::atanh, -0.9, 0.9},
    {"erf", [](const Tensor& x) { return x.Erf(); }, std::erf},
    {"abs", [](const Tensor& x) { return x.Abs(); }, std::fabs},
    {"trunc", [](const Tensor& x) { return x.Trunc(); }, std::trunc},
    {"floor", [](const Tensor& x) { return x.Floor(); }, std::floor},
    {"ceil", [](const Tensor& x) { return x.Ceil(); }, std::ceil},
    {"round", [](const Tensor& x) { return x.Round(); }, RoundEven},
    {"relu", [](const Tensor& x) { return x.Relu(); }, Relu},
    {"relu6", [](const Tensor& x) { return x.Relu6(); },
     [](double x) { return std::min(Relu(x), 6.0); }, -9, 9},
    {"leaky_relu", [](const Tensor& x) { return x.LeakyRelu(); },
     [](double x) { return x < 0 ? 0.01 * x : x; }},
    {"elu", [](const Tensor& x) { return x.Elu(1.5); },
     [](double x) { return x > 0 ? x : 1.5 * (std::exp(x) - 1); }},
    {"celu", [](const Tensor& x) { return x.Celu(1.5); },
     [](double x) { return Relu(x) + std::min(0.0, 1.5 * (std::exp(x / 1.5) - 1)); }},
    {"selu", [](const Tensor& x) { return x.Selu(); },
     [](double x) { return 1.0507 * (x > 0 ? x : 1.67326 * (std::exp(x) - 1)); }},
    {"sigmoid", [](const Tensor& x) { return x.Sigmoid(); }, Sigmoid, -9, 9},
    {"log_sigmoid", [](const Tensor& x) { return x.LogSigmoid(); },
     [](double x) { return std::log(Sigmoid(x)); }, -9, 9},
    {"hardsigmoid", [](const Tensor& x) { return x.Hardsigmoid(); },
     [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }, -9, 9},
    {"hardswish", [](const Tensor& x) { return x.Hardswish(); },
     [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }, -9, 9},
    {"hardtanh", [](const Tensor& x) { return x.Hardtanh(); },
     [](double x) { return std::clamp(x, -1.0, 1.0); }},
    {"gelu", [](const Tensor& x) { return x.Gelu(false); },
     [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2))); }},
    {"gelu_tanh", [](const Tensor& x) { return x.Gelu(); },
     [](double x) {
       return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     }},
    {"quick_gelu", [](const Tensor& x) { return x.QuickGelu(); },
     [](double x) { return x * Sigmoid(1.702 * x); }},
    {"silu", [](const Tensor& x) { return x.Silu(); }, [](double x) { return x * Sigmoid(x); }},
    {"mish", [](const Tensor& x) { return x.Mish(); },
     [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"softplus", [](const Tensor& x) { return x.Softplus(2); },
     [](double x) { return std::log1p(std::exp(2 * x)) / 2; }, -20, 20},
    {"softsign", [](const Tensor& x) { return x.Softsign(); },
     [](double x) { return x / (1 + std::fabs(x)); }},
    {"pow3", [](const Tensor& x) { return x.Pow(3); }, [](double x) { return x * x * x; }},
    {"pow-2", [](const Tensor& x) { return x.Pow(-2); }, [](double x) { return 1 / (x * x); }, 0.2,
     3},
    {"pow.7", [](const Tensor& x) { return x.Pow(0.7); }, [](double x) { return std::pow(x, 0.7); },
     0.1, 3},
    {"2pow", [](const Tensor& x) { return Tensor(2.0).Pow(x); }, std::exp2},
};

TEST_F(ElementwiseTest, UnaryAgainstTheLibrary) {
  int seed = 0;
  for (const UnaryCase& c : kUnary) {
    SCOPED_TRACE(c.name);
    std::vector<double> x = Numbers(35, ++seed, c.low, c.high);
    std::vector<double> expected;
    for (double& v : x) {
      v = static_cast<float>(v);
      expected.push_back(c.expected(v));
    }
    Tensor y = c.op(FromData(x, {5, 7}, {kFloat32, {}}));
    EXPECT_EQ(y.dtype(), kFloat32);
    ExpectTensor(y, {5, 7}, expected, c.tolerance);
    expected[3] += 0.1;
    EXPECT_FALSE(Matches(y, expected, c.tolerance));
  }
}

TEST_F(ElementwiseTest, UnaryOnEmptyAndOne) {
  for (const UnaryCase& c : kUnary) {
    SCOPED_TRACE(c.name);
    ExpectTensor(c.op(Zeros({0, 3}).Clone()), {0, 3}, {});
    double v = (c.low + c.high) / 2 + 0.3;
    v = static_cast<float>(std::min(v, c.high - 0.05));
    ExpectTensor(c.op(FromData<double>({v}, {}, {kFloat32, {}})), {}, {c.expected(v)}, c.tolerance);
  }
}

TEST_F(ElementwiseTest, BinaryBroadcasts) {
  std::vector<double> av = Numbers(6, 1);
  std::vector<double> bv = Numbers(4, 2);
  for (double& v : bv) v += v < 0 ? -0.5 : 0.5;
  Tensor a = FromData(av, {2, 3, 1});
  Tensor b = FromData(bv, {4});
  auto check = [&](const Tensor& t, double (*f)(double, double)) {
    testing::ExpectEach(
        t, {2, 3, 4},
        [&](const std::vector<int64_t>& i) { return f(av[i[0] * 3 + i[1]], bv[i[2]]); }, 1e-9);
  };
  check(a + b, [](double x, double y) { return x + y; });
  check(a - b, [](double x, double y) { return x - y; });
  check(a * b, [](double x, double y) { return x * y; });
  check(a / b, [](double x, double y) { return x / y; });
  check(a.Maximum(b), [](double x, double y) { return std::max(x, y); });
  check(a.Minimum(b), [](double x, double y) { return std::min(x, y); });
  check(a.FloorDiv(b), [](double x, double y) { return std::floor(x / y); });
  check(a.Mod(b), [](double x, double y) { return x - std::floor(x / y) * y; });
  check(a.TruncDiv(b), [](double x, double y) { return std::trunc(x / y); });
  check(a.Fmod(b), [](double x, double y) { return std::fmod(x, y); });
  check(a < b, [](double x, double y) { return x < y ? 1.0 : 0.0; });
  check(a >= b, [](double x, double y) { return x >= y ? 1.0 : 0.0; });
  check(a.CopySign(b), [](double x, double y) { return std::copysign(x, y); });
  check(a.LogAddExp(b), [](double x, double y) { return std::log(std::exp(x) + std::exp(y)); });
  check(a.Abs().Pow(b), [](double x, double y) { return std::pow(std::fabs(x), y); });
  check((a < b).Where(a, b), [](double x, double y) { return std::min(x, y); });
  check(a.Lerp(b, 0.25), [](double x, double y) { return x + (y - x) * 0.25; });
}

TEST_F(ElementwiseTest, NansAndInfinities) {
  Tensor x = FromData<double>({kNan, kInf, -kInf, 0, -0.0, 1}, {6});
  ExpectTensor(x.IsNan(), {6}, {1, 0, 0, 0, 0, 0});
  ExpectTensor(x.IsInf(), {6}, {0, 1, 1, 0, 0, 0});
  ExpectTensor(x.IsFinite(), {6}, {0, 0, 0, 1, 1, 1});
  ExpectTensor(x <= x, {6}, {0, 1, 1, 1, 1, 1});
  ExpectTensor(x >= 0.0, {6}, {0, 1, 0, 1, 1, 1});
  ExpectTensor(x == x, {6}, {0, 1, 1, 1, 1, 1});
  ExpectTensor(x.Sign(), {6}, {kNan, 1, -1, 0, 0, 1});
  ExpectTensor(x.Maximum(0.5), {6}, {kNan, kInf, 0.5, 0.5, 0.5, 1});
  ExpectTensor(x.IsClose(x, 1e-5, 1e-8, true), {6}, {1, 1, 1, 1, 1, 1});
  ExpectTensor(x.Exp(), {6}, {kNan, kInf, 0, 1, 1, std::exp(1.0)}, 1e-12);
  ExpectTensor(FromData<float>({0.5, 1.5, 2.5, -0.5, -1.5}).Round(), {5}, {0, 2, 2, 0, -2});
}

TEST_F(ElementwiseTest, Integers) {
  Tensor a = FromData<int32_t>({-7, 7, -8, 8, 5});
  Tensor b = FromData<int32_t>({2, -2, 2, 3, -5});
  ExpectTensor(a.FloorDiv(b), {5}, {-4, -4, -4, 2, -1});
  ExpectTensor(a.Mod(b), {5}, {1, -1, 0, 2, 0});
  ExpectTensor(a.TruncDiv(b), {5}, {-3, -3, -4, 2, -1});
  ExpectTensor(a.Fmod(b), {5}, {-1, 1, 0, 2, 0});
  ExpectTensor(a & b, {5}, {-7 & 2, 7 & -2, -8 & 2, 8 & 3, 5 & -5});
  ExpectTensor(a | b, {5}, {-7 | 2, 7 | -2, -8 | 2, 8 | 3, 5 | -5});
  ExpectTensor(a ^ b, {5}, {-7 ^ 2, 7 ^ -2, -8 ^ 2, 8 ^ 3, 5 ^ -5});
  ExpectTensor(~a, {5}, {6, -8, 7, -9, -6});
  ExpectTensor(a >> 1, {5}, {-4, 3, -4, 4, 2});
  ExpectTensor(a << 2, {5}, {-28, 28, -32, 32, 20});
  ExpectTensor(a.Minimum(b), {5}, {-7, -2, -8, 3, -5});
  ExpectTensor(a.Abs(), {5}, {7, 7, 8, 8, 5});
  ExpectTensor(a.Sign(), {5}, {-1, 1, -1, 1, 1});
  ExpectTensor(a.Clamp(-1, 6), {5}, {-1, 6, -1, 6, 5});
  ExpectTensor(FromData<uint8_t>({250}) + FromData<uint8_t>({10}), {1}, {4});
  ExpectTensor(FromData<bool>({true, false, true}) + FromData<bool>({true, false, false}), {3},
               {1, 0, 1});
  ExpectTensor(FromData<uint8_t>({3}).Minimum(FromData<uint8_t>({200})), {1}, {3});
}

TEST_F(ElementwiseTest, Promotion) {
  Tensor f16 = Ones({2}, {kFloat16, {}});
  Tensor i32 = Ones({2}, {kInt32, {}});
  EXPECT_EQ((f16 * 2.5).dtype(), kFloat16);
  EXPECT_EQ((i32 + 1).dtype(), kInt32);
  EXPECT_EQ((i32 * 0.5).dtype(), DefaultFloat());
  EXPECT_EQ((i32 / 2).dtype(), DefaultFloat());
  EXPECT_EQ((f16 + i32).dtype(), kFloat16);
  EXPECT_EQ((Ones({2}, {kInt8, {}}) + Ones({2}, {kUInt8, {}})).dtype(), kInt16);
  EXPECT_EQ((f16 + Ones({2}, {kBFloat16, {}})).dtype(), kFloat32);
  EXPECT_EQ((i32 < 0.5).dtype(), kBool);
  EXPECT_EQ(i32.Exp().dtype(), DefaultFloat());
  EXPECT_EQ((Ones({2}, {kBool, {}}) + 1).dtype(), DefaultInt());
}

// Known disagreements between backends; see dtype.h for what is meant.
TEST_F(ElementwiseTest, CastsOfNegatives) {
  ExpectTensor(FromData<float>({-1.5f, -1.0f, 2.9f}).Cast(kUInt8), {3}, {255, 255, 2});
  ExpectTensor(FromData<int8_t>({-1}).Cast(kUInt16), {1}, {65535});
  ExpectTensor(FromData<int16_t>({-1}).Cast(kUInt32), {1}, {4294967295.0});
  ExpectTensor(FromData<float>({0.5f, 0.0f, 1e30f}).Cast(kBool), {3}, {1, 0, 1});
  ExpectTensor(FromData<int32_t>({300}).Cast(kInt8), {1}, {44});
}

TEST_F(ElementwiseTest, Bitcast) {
  ExpectTensor(FromData<float>({1.0f}).Bitcast(kUInt32), {1}, {0x3F800000});
  ExpectTensor(FromData<uint32_t>({0x12345678u, 1u}).Bitcast(kUInt8), {8},
               {0x78, 0x56, 0x34, 0x12, 1, 0, 0, 0});
  ExpectTensor(FromData<uint8_t>({0x78, 0x56, 0x34, 0x12}).Bitcast(kUInt16), {2}, {0x5678, 0x1234});
  ExpectTensor(FromData<uint32_t>({0u, 0x3FF00000u}).Bitcast(kFloat64), {1}, {1.0});
}

TEST_F(ElementwiseTest, Errors) {
  Tensor a = Zeros({2, 3});
  EXPECT_EQ(Thrown<ShapeError>([&] { a + Zeros({4}); }), "add: cannot broadcast (2, 3) and (4,)");
  EXPECT_NE(Thrown<DTypeError>([&] { a & 1; }), "");
  EXPECT_NE(Thrown<DTypeError>([&] { a.Where(1, 2); }), "");
  EXPECT_NE(Thrown<UsageError>([&] { a.Clamp({}, {}); }), "");
  EXPECT_NE(Thrown<UsageError>([&] { Tensor() + a; }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { FromData<uint8_t>({1, 2, 3}).Bitcast(kUInt16); }), "");
  EXPECT_NE(Thrown<DTypeError>([&] { Tensor(1.5).Realize(); }), "");
}

// 100 doublings share all of their nodes; 100,000 steps are a deep graph.
TEST_F(ElementwiseTest, SharedAndDeepGraphs) {
  Tensor a = FromData<float>({1.0f});
  for (int i = 0; i < 100; ++i) a = a + a;
  if (testing::OnReference()) {
    EXPECT_EQ(a.Item(), std::exp2(100));
    Tensor b = FromData<double>({1.0});
    for (int i = 0; i < 100000; ++i) b = b + 1.0;
    EXPECT_EQ(b.Item(), 100001);
  }
}

}  // namespace
}  // namespace tg
