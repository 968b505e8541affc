#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/settings.h"
#include "tg/tensor/random.h"
#include "tg/tensor/testing.h"

namespace tg {
namespace {

using testing::ExpectEach;
using testing::ExpectTensor;
using testing::Numbers;
using testing::Thrown;
using Ix = std::vector<int64_t>;

class NnOpsTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::UseTestBackend(); }
};

TEST_F(NnOpsTest, MatMul) {
  std::vector<double> a = Numbers(2 * 3 * 4, 1);
  std::vector<double> b = Numbers(4 * 5, 2);
  Tensor ta = FromData(a, {2, 3, 4});
  Tensor tb = FromData(b, {4, 5});
  ExpectEach(
      ta.MatMul(tb), {2, 3, 5},
      [&](const Ix& i) {
        double s = 0;
        for (int k = 0; k < 4; ++k) s += a[i[0] * 12 + i[1] * 4 + k] * b[k * 5 + i[2]];
        return s;
      },
      1e-9);
  Tensor v = FromData<double>({1, 2, 3, 4});
  auto dot = [&](int row) {
    return a[row * 4] + 2 * a[row * 4 + 1] + 3 * a[row * 4 + 2] + 4 * a[row * 4 + 3];
  };
  ExpectEach(
      ta.MatMul(v), {2, 3}, [&](const Ix& i) { return dot(i[0] * 3 + i[1]); }, 1e-9);
  ExpectEach(
      v.MatMul(tb), {5},
      [&](const Ix& i) { return b[i[0]] + 2 * b[5 + i[0]] + 3 * b[10 + i[0]] + 4 * b[15 + i[0]]; },
      1e-9);
  ExpectTensor(v.MatMul(v), {}, {30});
  EXPECT_EQ(Thrown<ShapeError>([&] { ta.MatMul(ta); }),
            "matmul: cannot multiply (2, 3, 4) and (2, 3, 4): inner sizes 4 and 3");
  EXPECT_EQ(FromData<int8_t>({1}).MatMul(FromData<int8_t>({2})).dtype(), kInt8);
  ExpectTensor(Zeros({2, 0}).MatMul(Zeros({0, 3})), {2, 3}, {0, 0, 0, 0, 0, 0});
}

TEST_F(NnOpsTest, Einsum) {
  Tensor a = testing::RandomTensor({2, 3}, 1);
  Tensor b = testing::RandomTensor({3, 4}, 2);
  auto same = [](const Tensor& x, const Tensor& y) {
    ASSERT_EQ(x.shape(), y.shape());
    EXPECT_LT((x - y).Abs().Max().Item(), 1e-5);
  };
  same(Tensor::Einsum("ij,jk->ik", {a, b}), a.MatMul(b));
  same(Tensor::Einsum("ij,jk", {a, b}), a.MatMul(b));
  same(Tensor::Einsum("ij->ji", {a}), a.T());
  same(Tensor::Einsum("ij->", {a}), a.Sum());
  same(Tensor::Einsum("ij,ij->i", {a, a}), a.Square().Sum(1));
  same(Tensor::Einsum("...j->...", {a}), a.Sum(1));
  Tensor c = testing::RandomTensor({3, 3}, 3);
  same(Tensor::Einsum("ii->i", {c}), c.Diagonal());
  same(Tensor::Einsum("ii", {c}), c.Diagonal().Sum());
  same(Tensor::Einsum("...ij,...jk->...ik", {a.Unsqueeze(0), b}), a.MatMul(b).Unsqueeze(0));
  EXPECT_NE(Thrown<ShapeError>([&] { Tensor::Einsum("ij->ik", {a}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { Tensor::Einsum("ijk->i", {a}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { Tensor::Einsum("ij", {a, b}); }), "");
}

struct ConvCase {
  int64_t batch, groups, cin, cout, h, w, kh, kw, stride_h, stride_w, dil, pad_h, pad_w;
};

// The definition of a convolution, and of its adjoint: visits (output, input, weight) positions.
template <typename F>
void ForConv(const ConvCase& c, int64_t oh, int64_t ow, F f) {
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t g = 0; g < c.groups; ++g) {
      for (int64_t o = 0; o < c.cout; ++o) {
        for (int64_t y = 0; y < oh; ++y) {
          for (int64_t x = 0; x < ow; ++x) {
            for (int64_t i = 0; i < c.cin; ++i) {
              for (int64_t ky = 0; ky < c.kh; ++ky) {
                for (int64_t kx = 0; kx < c.kw; ++kx) {
                  int64_t iy = y * c.stride_h + ky * c.dil - c.pad_h;
                  int64_t ix = x * c.stride_w + kx * c.dil - c.pad_w;
                  if (iy < 0 || iy >= c.h || ix < 0 || ix >= c.w) continue;
                  int64_t channel = g * c.cout + o;
                  f(((n * c.groups * c.cout + channel) * oh + y) * ow + x,
                    ((n * c.groups * c.cin + g * c.cin + i) * c.h + iy) * c.w + ix,
                    ((channel * c.cin + i) * c.kh + ky) * c.kw + kx);
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST_F(NnOpsTest, ConvolutionsAgainstLoops) {
  const ConvCase cases[] = {
      {2, 1, 3, 4, 7, 6, 3, 3, 1, 1, 1, 0, 0}, {1, 1, 2, 3, 8, 9, 3, 2, 2, 3, 1, 1, 2},
      {2, 2, 2, 3, 6, 6, 3, 3, 1, 2, 2, 2, 1}, {1, 4, 1, 1, 5, 5, 2, 2, 2, 2, 1, 0, 0},
      {1, 1, 1, 1, 4, 4, 4, 4, 1, 1, 1, 0, 0}, {2, 1, 3, 2, 5, 4, 1, 1, 1, 1, 1, 0, 0},
      {1, 1, 2, 2, 5, 5, 1, 1, 2, 2, 1, 1, 1}, {1, 3, 2, 1, 9, 8, 3, 3, 3, 3, 1, 1, 0},
  };
  int seed = 0;
  for (const ConvCase& c : cases) {
    SCOPED_TRACE(seed);
    int64_t oh = (c.h + 2 * c.pad_h - c.dil * (c.kh - 1) - 1) / c.stride_h + 1;
    int64_t ow = (c.w + 2 * c.pad_w - c.dil * (c.kw - 1) - 1) / c.stride_w + 1;
    int64_t nx = c.batch * c.groups * c.cin * c.h * c.w;
    int64_t nw = c.groups * c.cout * c.cin * c.kh * c.kw;
    std::vector<double> x = Numbers(nx, ++seed);
    std::vector<double> w = Numbers(nw, seed + 100);
    std::vector<double> b = Numbers(c.groups * c.cout, seed + 200);
    int64_t ny = c.batch * c.groups * c.cout * oh * ow;
    std::vector<double> y(ny);
    for (int64_t i = 0; i < ny; ++i) y[i] = b[i / (oh * ow) % (c.groups * c.cout)];
    std::vector<double> gy = Numbers(ny, seed + 300);
    std::vector<double> gx(nx), gw(nw);
    ForConv(c, oh, ow, [&](int64_t out, int64_t in, int64_t weight) {
      y[out] += x[in] * w[weight];
      gx[in] += gy[out] * w[weight];
      gw[weight] += gy[out] * x[in];
    });
    Tensor tx = FromData(x, {c.batch, c.groups * c.cin, c.h, c.w});
    Tensor tw = FromData(w, {c.groups * c.cout, c.cin, c.kh, c.kw});
    Tensor tb = FromData(b, {c.groups * c.cout});
    Conv2dOptions options;
    options.groups = c.groups;
    options.stride = {c.stride_h, c.stride_w};
    options.dilation = c.dil;
    options.padding = {c.pad_h, c.pad_w};
    Tensor ty = tx.Conv2d(tw, tb, options);
    std::vector<int64_t> y_shape = {c.batch, c.groups * c.cout, oh, ow};
    Tensor grad = FromData(gy, {c.batch, c.groups * c.cout, oh, ow});
    std::vector<Tensor> grads = ty.Gradient({tx, tw}, grad);
    ExpectTensor(ty, y_shape, y, 1e-9);
    ExpectTensor(grads[0], {c.batch, c.groups * c.cin, c.h, c.w}, gx, 1e-9);
    ExpectTensor(grads[1], {c.groups * c.cout, c.cin, c.kh, c.kw}, gw, 1e-9);
    // The transposed convolution is that gradient, up to what the strides do not reach.
    ConvTranspose2dOptions transposed;
    transposed.groups = c.groups;
    transposed.stride = options.stride;
    transposed.dilation = options.dilation;
    transposed.padding = options.padding;
    transposed.output_padding = {
        c.h - ((oh - 1) * c.stride_h - 2 * c.pad_h + c.dil * (c.kh - 1) + 1),
        c.w - ((ow - 1) * c.stride_w - 2 * c.pad_w + c.dil * (c.kw - 1) + 1)};
    ExpectTensor(grad.ConvTranspose2d(tw, Tensor(), transposed),
                 {c.batch, c.groups * c.cin, c.h, c.w}, gx, 1e-9);
  }
}

TEST_F(NnOpsTest, OneAndThreeDimensions) {
  Tensor x = Arange(5).Cast(kFloat32).Reshape({1, 1, 5});
  Tensor w = FromData<float>({1, 10}, {1, 1, 2});
  ExpectTensor(x.Conv2d(w), {1, 1, 4}, {10, 21, 32, 43});
  ExpectTensor(Ones({1, 1, 3, 3, 3}).Conv2d(Ones({1, 1, 2, 2, 2})), {1, 1, 2, 2, 2},
               std::vector<double>(8, 8));
}

TEST_F(NnOpsTest, Pools) {
  std::vector<double> v = Numbers(2 * 7 * 6, 3);
  Tensor x = FromData(v, {2, 1, 7, 6});
  std::mt19937 random(1);
  for (int trial = 0; trial < 30; ++trial) {
    int64_t kh = random() % 3 + 1, kw = random() % 3 + 1;
    int64_t sh = random() % 3 + 1, sw = random() % 3 + 1;
    int64_t dil = random() % 2 + 1;
    int64_t ph = random() % (kh / 2 + 1), pw = random() % (kw / 2 + 1);
    bool ceil_mode = random() % 2 == 0;
    bool include = random() % 2 == 0;
    if (trial == 0) std::tie(kh, kw, sh, sw, dil, ph, pw) = std::tuple(2, 2, 2, 2, 1, 0, 0);
    SCOPED_TRACE(::testing::Message() << kh << kw << " " << sh << sw << " " << dil << " " << ph
                                      << pw << " ceil " << ceil_mode << " include " << include);
    Pool2dOptions options;
    options.kernel = {kh, kw};
    options.stride = PerAxis({sh, sw});
    options.dilation = dil;
    options.padding = {ph, pw};
    options.ceil_mode = ceil_mode;
    options.count_include_pad = include;
    auto out = [&](int64_t n, int64_t k, int64_t s, int64_t p) {
      int64_t room = n + 2 * p - dil * (k - 1) - 1;
      int64_t o = (ceil_mode ? (room + s - 1) / s : room / s) + 1;
      return ceil_mode && (o - 1) * s >= n + p ? o - 1 : o;
    };
    int64_t oh = out(7, kh, sh, ph), ow = out(6, kw, sw, pw);
    auto pool = [&](const Ix& i, bool max) {
      double best = -std::numeric_limits<double>::infinity(), sum = 0;
      int count = 0;
      for (int64_t ky = 0; ky < kh; ++ky) {
        for (int64_t kx = 0; kx < kw; ++kx) {
          int64_t y = i[2] * sh + ky * dil - ph, xx = i[3] * sw + kx * dil - pw;
          bool inside = y >= 0 && y < 7 && xx >= 0 && xx < 6;
          // What ceil_mode adds behind the padding never counts.
          if (inside || (include && y < 7 + ph && xx < 6 + pw)) ++count;
          if (!inside) continue;
          best = std::max(best, v[i[0] * 42 + y * 6 + xx]);
          sum += v[i[0] * 42 + y * 6 + xx];
        }
      }
      return max ? best : sum / count;
    };
    ExpectEach(x.MaxPool2d(options), {2, 1, oh, ow}, [&](const Ix& i) { return pool(i, true); });
    ExpectEach(x.AvgPool2d(options), {2, 1, oh, ow}, [&](const Ix& i) { return pool(i, false); });
  }
  ExpectTensor(Arange(16).Reshape({1, 1, 4, 4}).MaxPool2d(), {1, 1, 2, 2}, {5, 7, 13, 15});
}

TEST_F(NnOpsTest, Norms) {
  std::vector<double> v = Numbers(2 * 3 * 4, 9);
  Tensor x = FromData(v, {2, 3, 4});
  Tensor mean = FromData<double>({1, 2, 3});
  Tensor invstd = FromData<double>({0.5, 2, 1});
  ExpectEach(x.BatchNorm(mean, mean, mean, invstd), {2, 3, 4}, [&](const Ix& i) {
    double m[] = {1, 2, 3}, s[] = {0.5, 2, 1};
    int64_t c = i[1];
    return (v[i[0] * 12 + c * 4 + i[2]] - m[c]) * s[c] * m[c] + m[c];
  });
  ExpectEach(x.LayerNorm(), {2, 3, 4}, [&](const Ix& i) {
    const double* row = &v[i[0] * 12 + i[1] * 4];
    double m = (row[0] + row[1] + row[2] + row[3]) / 4;
    double s = 0;
    for (int k = 0; k < 4; ++k) s += (row[k] - m) * (row[k] - m) / 4;
    return (row[i[2]] - m) / std::sqrt(s + 1e-5);
  });
}

TEST_F(NnOpsTest, Attention) {
  std::vector<double> q = Numbers(3 * 2, 1), k = Numbers(3 * 2, 2), v = Numbers(3 * 2, 3);
  auto expected = [&](const Ix& i, bool causal) {
    double sum = 0, total = 0;
    for (int s = 0; s < (causal ? i[0] + 1 : 3); ++s) {
      double e = std::exp((q[i[0] * 2] * k[s * 2] + q[i[0] * 2 + 1] * k[s * 2 + 1]) / std::sqrt(2));
      sum += e;
      total += e * v[s * 2 + i[1]];
    }
    return total / sum;
  };
  Tensor tq = FromData(q, {3, 2}), tk = FromData(k, {3, 2}), tv = FromData(v, {3, 2});
  ExpectEach(tq.ScaledDotProductAttention(tk, tv), {3, 2},
             [&](const Ix& i) { return expected(i, false); });
  ExpectEach(tq.ScaledDotProductAttention(tk, tv, Tensor(), true), {3, 2},
             [&](const Ix& i) { return expected(i, true); });
  Tensor mask = Ones({3, 3}, {kBool, {}}).Tril();
  ExpectEach(tq.ScaledDotProductAttention(tk, tv, mask), {3, 2},
             [&](const Ix& i) { return expected(i, true); });
}

TEST_F(NnOpsTest, Losses) {
  std::vector<double> v = Numbers(3 * 4, 5);
  Tensor x = FromData(v, {3, 4});
  std::vector<int32_t> label = {2, 0, 3};
  Tensor y = FromData(label, {3});
  auto log_softmax = [&](int row, int c) {
    double s = 0;
    for (int k = 0; k < 4; ++k) s += std::exp(v[row * 4 + k]);
    return v[row * 4 + c] - std::log(s);
  };
  double sum = 0, smooth = 0, without_last = 0;
  for (int i = 0; i < 3; ++i) {
    double l = -log_softmax(i, label[i]);
    sum += l;
    if (i < 2) without_last += l;
    double all = 0;
    for (int c = 0; c < 4; ++c) all -= log_softmax(i, c) / 4;
    smooth += 0.9 * l + 0.1 * all;
  }
  ExpectTensor(x.SparseCategoricalCrossEntropy(y), {}, {sum / 3}, 1e-9);
  ExpectTensor(x.SparseCategoricalCrossEntropy(y, {.reduction = Reduction::kSum}), {}, {sum}, 1e-9);
  ExpectTensor(x.SparseCategoricalCrossEntropy(y, {.label_smoothing = 0.1}), {}, {smooth / 3},
               1e-9);
  ExpectTensor(x.SparseCategoricalCrossEntropy(y, {.ignore_index = 3}), {}, {without_last / 2},
               1e-9);
  ExpectTensor(x.CrossEntropy(y.OneHot(4).Cast(kFloat64)), {}, {sum / 3}, 1e-9);
  ExpectTensor(x.LogSoftmax(1).NllLoss(y), {}, {sum / 3}, 1e-9);
  Tensor w = FromData<double>({1, 1, 1, 0});
  ExpectTensor(x.LogSoftmax(1).NllLoss(y, w), {}, {without_last / 2}, 1e-9);
  Tensor target = FromData<double>({0, 1, 0.5}, {3});
  Tensor logits = FromData<double>({-1, 2, 0.5}, {3});
  double bce = 0;
  double tv[] = {0, 1, 0.5}, lv[] = {-1, 2, 0.5};
  for (int i = 0; i < 3; ++i) {
    double p = 1 / (1 + std::exp(-lv[i]));
    bce -= (tv[i] * std::log(p) + (1 - tv[i]) * std::log(1 - p)) / 3;
  }
  ExpectTensor(logits.BinaryCrossEntropyWithLogits(target), {}, {bce}, 1e-9);
  ExpectTensor(logits.Sigmoid().BinaryCrossEntropy(target), {}, {bce}, 1e-9);
  EXPECT_NE(Thrown<ShapeError>([&] {
              x.SparseCategoricalCrossEntropy(Zeros({4}, {kInt32, {}}));
            }),
            "");
  EXPECT_NE(Thrown<DTypeError>([&] { x.NllLoss(Zeros({3})); }), "");
}

TEST_F(NnOpsTest, DropoutOnlyWhenTraining) {
  Tensor x = Ones({1000}).Clone();
  ExpectTensor(x.Dropout(0.5).Sum(), {}, {1000});
  base::Scoped<int> training(base::kTraining, 1);
  ManualSeed(3);
  std::vector<double> y = x.Dropout(0.25).ToVector<double>();
  int kept = 0;
  for (double v : y) {
    EXPECT_TRUE(v == 0 || std::fabs(v - 1 / 0.75) < 1e-6) << v;
    kept += v != 0;
  }
  EXPECT_NEAR(kept, 750, 60);
  ExpectTensor(x.Dropout(1).Sum(), {}, {0});
  EXPECT_NE(Thrown<UsageError>([&] { x.Dropout(1.5); }), "");
}

TEST_F(NnOpsTest, Errors) {
  Tensor x = Zeros({1, 3, 5, 5});
  EXPECT_NE(Thrown<ShapeError>([&] { x.Conv2d(Zeros({2, 4, 3, 3})); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Conv2d(Zeros({2, 3, 6, 6})); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Conv2d(Zeros({2, 3, 3, 3}), Zeros({3})); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Conv2d(Zeros({2, 3, 3, 3}), {}, {.stride = 0}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.MaxPool2d({.kernel = 9}); }), "");
}

}  // namespace
}  // namespace tg
