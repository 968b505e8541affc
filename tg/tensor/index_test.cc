#include "tg/tensor/index.h"

#include <gtest/gtest.h>

#include <random>

#include "tg/tensor/testing.h"

namespace tg {
namespace {

using testing::ExpectEach;
using testing::ExpectTensor;
using testing::Thrown;
using Ix = std::vector<int64_t>;

class IndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::UseTestBackend();
    x_ = Arange(24).Reshape({2, 3, 4}).Clone();
  }
  static double At(int64_t a, int64_t b, int64_t c) {
    return static_cast<double>(a * 12 + b * 4 + c);
  }
  Tensor x_;
};

TEST_F(IndexTest, IntegersSlicesAxes) {
  ExpectEach(x_.Index({1}), {3, 4}, [](const Ix& i) { return At(1, i[0], i[1]); });
  ExpectEach(x_[-1], {3, 4}, [](const Ix& i) { return At(1, i[0], i[1]); });
  ExpectEach(x_.Index({Slice(), -1, Slice(1, 3)}), {2, 2},
             [](const Ix& i) { return At(i[0], 2, i[1] + 1); });
  ExpectEach(x_.Index({kEllipsis, 2}), {2, 3}, [](const Ix& i) { return At(i[0], i[1], 2); });
  ExpectEach(x_.Index({0, kEllipsis, kNewAxis, 2}), {3, 1},
             [](const Ix& i) { return At(0, i[0], 2); });
  ExpectEach(x_.Index({kNewAxis, Slice(), Slice(-2, {})}), {1, 2, 2, 4},
             [](const Ix& i) { return At(i[1], i[2] + 1, i[3]); });
  ExpectEach(x_.Index({kEllipsis, Slice({}, {}, -1)}), {2, 3, 4},
             [](const Ix& i) { return At(i[0], i[1], 3 - i[2]); });
  ExpectEach(x_.Index({kEllipsis, Slice(1, {}, 2)}), {2, 3, 2},
             [](const Ix& i) { return At(i[0], i[1], 1 + 2 * i[2]); });
  ExpectEach(x_.Index({kEllipsis, Slice(3, 0, -2)}), {2, 3, 2},
             [](const Ix& i) { return At(i[0], i[1], 3 - 2 * i[2]); });
  ExpectEach(x_.Index({Slice(1, 100)}), {1, 3, 4}, [](const Ix& i) { return At(1, i[1], i[2]); });
  ExpectTensor(x_.Index({Slice(2, 1)}), {0, 3, 4}, {});
  EXPECT_EQ(x_.Index({1, 2, 3}).Item<int>(), 23);
}

// Slices of a line against the definition, many at random.
TEST_F(IndexTest, RandomSlices) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 100; ++trial) {
    int64_t n = random() % 8;
    auto bound = [&]() -> std::optional<Sint> {
      if (random() % 4 == 0) return std::nullopt;
      return Sint(static_cast<int64_t>(random() % 21) - 10);
    };
    std::optional<Sint> begin = bound();
    std::optional<Sint> end = bound();
    int64_t step = static_cast<int64_t>(random() % 3 + 1) * (random() % 2 == 0 ? 1 : -1);
    // As Python defines it.
    std::vector<double> expected;
    auto absolute = [&](const Sint& s) { return s.value() < 0 ? s.value() + n : s.value(); };
    int64_t first = begin ? absolute(*begin) : step > 0 ? 0 : n - 1;
    int64_t last = end ? absolute(*end) : step > 0 ? n : -1;
    if (step > 0) first = std::max<int64_t>(first, 0);
    if (step < 0) first = std::min<int64_t>(first, n - 1);
    for (int64_t i = first; step > 0 ? i < last : i > last; i += step) {
      if (i < 0 || i >= n) break;
      expected.push_back(static_cast<double>(i));
    }
    Tensor line = Arange(n);
    SCOPED_TRACE(::testing::Message() << n << "[" << (begin ? begin->ToString() : "") << ":"
                                      << (end ? end->ToString() : "") << ":" << step << "]");
    ExpectTensor(line.Index({Slice(begin, end, step)}), {static_cast<int64_t>(expected.size())},
                 expected);
  }
}

TEST_F(IndexTest, Tensors) {
  Tensor rows = FromData<int32_t>({1, 0, -1}, {3});
  ExpectEach(x_.Index({rows}), {3, 3, 4},
             [](const Ix& i) { return At(i[0] == 1 ? 0 : 1, i[1], i[2]); });
  Tensor square = FromData<int32_t>({0, 2, 1, 1}, {2, 2});
  ExpectEach(x_.Index({Slice(), square}), {2, 2, 2, 4}, [](const Ix& i) {
    int64_t pick[] = {0, 2, 1, 1};
    return At(i[0], pick[i[1] * 2 + i[2]], i[3]);
  });
  // Side by side: in place of the first. Apart: in front.
  Tensor cols = FromData<int32_t>({3, 2, 0}, {3});
  Tensor mids = FromData<int32_t>({0, 2, 1}, {3});
  int64_t mid[] = {0, 2, 1};
  int64_t col[] = {3, 2, 0};
  ExpectEach(x_.Index({Slice(), mids, cols}), {2, 3},
             [&](const Ix& i) { return At(i[0], mid[i[1]], col[i[1]]); });
  ExpectEach(x_.Index({FromData<int32_t>({0, 1, 1}), Slice(), cols}), {3, 3},
             [&](const Ix& i) { return At(i[0] == 0 ? 0 : 1, i[1], col[i[0]]); });
  // Broadcast against each other; combined with an integer.
  ExpectEach(x_.Index({mids.Unsqueeze(-1).Minimum(1), mids}), {3, 3, 4},
             [&](const Ix& i) { return At(std::min<int64_t>(mid[i[0]], 1), mid[i[1]], i[2]); });
  ExpectEach(x_.Index({1, mids}), {3, 4}, [&](const Ix& i) { return At(1, mid[i[0]], i[1]); });
  // Out of range: 0.
  ExpectTensor(Arange(1, 4).Index({FromData<int32_t>({3, 2, -4, -1})}), {4}, {0, 3, 0, 3});
}

TEST_F(IndexTest, SetBasic) {
  Tensor t = Zeros({6}).Clone();
  t.SetIndex({Slice(1, 6, 2)}, FromData<float>({1, 2, 3}));
  ExpectTensor(t, {6}, {0, 1, 0, 2, 0, 3});
  t.SetIndex({Slice({}, {}, -2)}, FromData<float>({7, 8, 9}));
  ExpectTensor(t, {6}, {0, 9, 0, 8, 0, 7});
  t.SetIndex({0}, 5.0);
  ExpectTensor(t, {6}, {5, 9, 0, 8, 0, 7});
  // Negative bounds: the border is as it was.
  Tensor m = Ones({4, 4}).Clone();
  m.SetIndex({Slice(1, -1), Slice(1, -1)}, 0.0);
  ExpectEach(m, {4, 4}, [](const Ix& i) { return i[0] % 3 == 0 || i[1] % 3 == 0 ? 1.0 : 0.0; });
  // Integers and slices mixed, from a source that is cut likewise.
  Tensor a = Ones({1, 6, 6, 6}).Clone();
  Tensor b = Zeros({1, 4, 4, 4}).Clone();
  b.SetIndex({0, Slice(0, 4), 3, Slice(0, 4)}, a.Index({0, Slice(1, 5), 5, Slice(1, 5)}));
  ExpectTensor(b.Sum(), {}, {16});
  ExpectTensor(b.Index({0, Slice(), 3}).Sum(), {}, {16});
  // NaN and infinity elsewhere do not spread.
  Tensor n = FromData<float>({1, 2});
  n.SetIndex({0}, std::numeric_limits<float>::quiet_NaN());
  n.SetIndex({0}, 4.0);
  ExpectTensor(n, {2}, {4, 2});
}

TEST_F(IndexTest, SetWithTensors) {
  Tensor t = Zeros({5}).Clone();
  t.SetIndex({FromData<int32_t>({4, 0, -2})}, FromData<float>({1, 2, 3}));
  ExpectTensor(t, {5}, {2, 0, 0, 3, 1});
  Tensor m = Zeros({3, 3}, {kInt32, {}}).Clone();
  Tensor i = FromData<int32_t>({0, 1, 2});
  m.SetIndex({i, i}, 7);
  ExpectTensor(m, {3, 3}, {7, 0, 0, 0, 7, 0, 0, 0, 7});
  m.SetIndex({Slice(), FromData<int32_t>({0})}, FromData<int32_t>({1, 2, 3}, {3, 1}));
  ExpectTensor(m, {3, 3}, {1, 0, 0, 2, 7, 0, 3, 0, 7});
}

TEST_F(IndexTest, GatherScatterOneHot) {
  Tensor t = FromData<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  ExpectTensor(t.Gather(1, FromData<int32_t>({0, 0, 2, 1}, {2, 2})), {2, 2}, {1, 1, 6, 5});
  ExpectTensor(t.Gather(0, FromData<int64_t>({1, 0}, {1, 2})), {1, 2}, {4, 2});
  ExpectTensor(t.Scatter(1, FromData<int32_t>({2, 0}, {2, 1}), FromData<float>({8, 9}, {2, 1})),
               {2, 3}, {1, 2, 8, 9, 5, 6});
  ExpectTensor(Zeros({3}).Scatter(0, FromData<int32_t>({1, 1}), FromData<float>({4, 5})), {3},
               {0, 5, 0});
  ExpectTensor(FromData<int32_t>({1, 0, 7}).OneHot(2), {3, 2}, {0, 1, 1, 0, 0, 0});
}

TEST_F(IndexTest, Errors) {
  EXPECT_EQ(Thrown<ShapeError>([&] { x_.Index({2}); }),
            "index: 2 is out of bounds for axis 0 of size 2");
  EXPECT_NE(Thrown<ShapeError>([&] { x_.Index({0, 0, 0, 0}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x_.Index({kEllipsis, kEllipsis}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x_.Index({Slice(0, 1, 0)}); }), "");
  EXPECT_NE(Thrown<DTypeError>([&] { x_.Index({Ones({2})}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] {
              x_.Index({FromData<int32_t>({0, 1}), FromData<int32_t>({0, 1, 2})});
            }),
            "");
  EXPECT_NE(Thrown<ShapeError>([&] { x_.SetIndex({0}, Zeros({5}, {kInt32, {}})); }), "");
  EXPECT_NE(Thrown<DTypeError>([&] { x_.SetIndex({0}, Zeros({4})); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x_.Gather(0, Zeros({1, 1}, {kInt32, {}})); }), "");
  EXPECT_NE(Thrown<DTypeError>([&] { Ones({2}).OneHot(3); }), "");
}

TEST_F(IndexTest, SymbolicSlices) {
  ir::UOp n = ir::Bind(ir::Variable("n", 0, 3), 2);
  EXPECT_EQ(x_.Index({0, Sint(n), 1}).Item<int>(), 9);
  Tensor part = x_.Index({0, 0, Slice(0, Sint(n))});
  EXPECT_EQ(ir::ToString(part.shape()), "(n,)");
  ExpectTensor(part.Sum(), {}, {1});
}

}  // namespace
}  // namespace tg
