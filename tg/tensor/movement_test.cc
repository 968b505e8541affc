#include <gtest/gtest.h>

#include "tg/tensor/testing.h"

namespace tg {
namespace {

using testing::ExpectEach;
using testing::ExpectTensor;
using testing::Thrown;
using Ix = std::vector<int64_t>;

class MovementTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::UseTestBackend(); }
  // Values that tell their own place.
  Tensor Counted(const Shape& shape) {
    std::vector<int32_t> v(ir::NumElements(shape).value());
    for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int32_t>(i + 1);
    return FromData(v, shape);
  }
};

TEST_F(MovementTest, ReshapePermuteExpand) {
  Tensor x = Counted({2, 3, 4});
  ExpectEach(x.Reshape({4, -1}), {4, 6}, [](const Ix& i) { return i[0] * 6 + i[1] + 1; });
  ExpectEach(x.Permute({2, 0, 1}), {4, 2, 3},
             [](const Ix& i) { return i[1] * 12 + i[2] * 4 + i[0] + 1; });
  ExpectEach(x.Transpose(-1, -2), {2, 4, 3},
             [](const Ix& i) { return i[0] * 12 + i[2] * 4 + i[1] + 1; });
  ExpectEach(x.T(), {4, 3, 2}, [](const Ix& i) { return i[2] * 12 + i[1] * 4 + i[0] + 1; });
  ExpectEach(x.Reshape({2, 1, 12}).Expand({5, -1, 3, -1}), {5, 2, 3, 12},
             [](const Ix& i) { return i[1] * 12 + i[3] + 1; });
  ExpectEach(x.Flip({0, -1}), {2, 3, 4},
             [](const Ix& i) { return (1 - i[0]) * 12 + i[1] * 4 + (3 - i[2]) + 1; });
  EXPECT_EQ(ir::ToString(x.Flatten(1).shape()), "(2, 12)");
  EXPECT_EQ(ir::ToString(Counted({1, 3, 1}).Squeeze().shape()), "(3,)");
  EXPECT_EQ(ir::ToString(Counted({1, 3, 1}).Squeeze(0).shape()), "(3, 1)");
  EXPECT_EQ(ir::ToString(x.Unsqueeze(-1).shape()), "(2, 3, 4, 1)");
  EXPECT_EQ(ir::ToString(x.Unflatten(-1, {2, 2}).shape()), "(2, 3, 2, 2)");
  EXPECT_EQ(ir::ToString(Tensor(1).Flatten().shape()), "(1,)");
}

TEST_F(MovementTest, Pad) {
  Tensor x = Counted({4});
  ExpectTensor(x.Pad({{1, 2}}), {7}, {0, 1, 2, 3, 4, 0, 0});
  ExpectTensor(x.Pad({{1, 2}}, 9), {7}, {9, 1, 2, 3, 4, 9, 9});
  ExpectTensor(x.Pad({{-1, 2}}), {5}, {2, 3, 4, 0, 0});
  ExpectTensor(x.Pad({{1, -3}}, 9), {2}, {9, 1});
  ExpectTensor(x.Pad({{2, 1}}, 0, PadMode::kReflect), {7}, {3, 2, 1, 2, 3, 4, 3});
  ExpectTensor(x.Pad({{2, 1}}, 0, PadMode::kReplicate), {7}, {1, 1, 1, 2, 3, 4, 4});
  ExpectTensor(x.Pad({{2, 1}}, 0, PadMode::kCircular), {7}, {3, 4, 1, 2, 3, 4, 1});
  ExpectTensor(x.Pad({{2, -1}}, 0, PadMode::kReflect), {5}, {3, 2, 1, 2, 3});
  Tensor y = Counted({2, 3});
  ExpectTensor(y.Pad({{1, 0}, {0, 1}}, 0, PadMode::kReplicate), {3, 4},
               {1, 2, 3, 3, 1, 2, 3, 3, 4, 5, 6, 6});
  ExpectTensor(Ones({2}).Pad({{1, 0}}, -std::numeric_limits<double>::infinity()), {3},
               {-std::numeric_limits<double>::infinity(), 1, 1});
}

TEST_F(MovementTest, CatStackSplit) {
  Tensor a = Counted({2, 2});
  Tensor b = a * 10;
  ExpectTensor(Tensor::Cat({a, b}, 0), {4, 2}, {1, 2, 3, 4, 10, 20, 30, 40});
  ExpectTensor(Tensor::Cat({a, b, a}, -1), {2, 6}, {1, 2, 10, 20, 1, 2, 3, 4, 30, 40, 3, 4});
  ExpectTensor(Tensor::Stack({a, b}, 1), {2, 2, 2}, {1, 2, 10, 20, 3, 4, 30, 40});
  ExpectTensor(Tensor::Cat({a, Zeros({0, 2}), b.Cast(kFloat32)}, 0), {4, 2},
               {1, 2, 3, 4, 10, 20, 30, 40});
  std::vector<Tensor> parts = Counted({5}).Split(2);
  ASSERT_EQ(parts.size(), 3u);
  ExpectTensor(parts[1], {2}, {3, 4});
  ExpectTensor(parts[2], {1}, {5});
  ExpectTensor(Counted({5}).Split(std::vector<int64_t>{1, 4})[1], {4}, {2, 3, 4, 5});
  EXPECT_EQ(Counted({5}).Chunk(3).size(), 3u);
}

TEST_F(MovementTest, RepeatRollUnfoldDiagonal) {
  Tensor x = Counted({2, 2});
  ExpectTensor(x.Repeat({2, 1, 2}), {2, 2, 4}, {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4});
  ExpectTensor(x.RepeatInterleave(2, 1), {2, 4}, {1, 1, 2, 2, 3, 3, 4, 4});
  ExpectTensor(Counted({5}).Roll({2}, {0}), {5}, {4, 5, 1, 2, 3});
  ExpectTensor(Counted({2, 3}).Roll({-1, 1}, {1, 0}), {2, 3}, {5, 6, 4, 2, 3, 1});
  ExpectTensor(x.Roll({1}, {}), {2, 2}, {4, 1, 2, 3});
  ExpectTensor(Counted({7}).Unfold(0, 3, 2), {3, 3}, {1, 2, 3, 3, 4, 5, 5, 6, 7});
  ExpectTensor(Counted({5}).Unfold(0, 2, 1), {4, 2}, {1, 2, 2, 3, 3, 4, 4, 5});
  ExpectTensor(Counted({3}).Diag(), {3, 3}, {1, 0, 0, 0, 2, 0, 0, 0, 3});
  Tensor m = Counted({3, 4});
  ExpectTensor(m.Diagonal(), {3}, {1, 6, 11});
  ExpectTensor(m.Diagonal(1), {3}, {2, 7, 12});
  ExpectTensor(m.Diagonal(-1), {2}, {5, 10});
  ExpectTensor(m.Diagonal(9), {0}, {});
  ExpectEach(m.Triu(1), {3, 4}, [](const Ix& i) { return i[1] > i[0] ? i[0] * 4 + i[1] + 1 : 0; });
  ExpectEach(m.Tril(-1), {3, 4}, [](const Ix& i) { return i[1] < i[0] ? i[0] * 4 + i[1] + 1 : 0; });
  std::vector<Tensor> grid = Tensor::Meshgrid({Counted({2}), Counted({3})});
  ExpectTensor(grid[0], {2, 3}, {1, 1, 1, 2, 2, 2});
  ExpectTensor(grid[1], {2, 3}, {1, 2, 3, 1, 2, 3});
}

TEST_F(MovementTest, Creation) {
  ExpectTensor(Arange(5), {5}, {0, 1, 2, 3, 4});
  ExpectTensor(Arange(5, 10, 2), {3}, {5, 7, 9});
  ExpectTensor(Arange(3, -3, -2), {3}, {3, 1, -1});
  ExpectTensor(Arange(3, 3), {0}, {});
  ExpectTensor(ArangeF(5.5, 10, 2), {3}, {5.5, 7.5, 9.5});
  ExpectTensor(Linspace(-1, 1, 5), {5}, {-1, -0.5, 0, 0.5, 1});
  ExpectTensor(Eye(2, 3), {2, 3}, {1, 0, 0, 0, 1, 0});
  ExpectTensor(Full({2}, 2.5), {2}, {2.5, 2.5});
  ExpectTensor(OnesLike(Zeros({2}, {kInt8, {}})), {2}, {1, 1});
  ExpectTensor(FromData<int>({1, -1}, {2}, {kFloat16, {}}), {2}, {1, -1});
  ExpectTensor(FromData<double>({1.75, -1.5}, {2}, {kUInt8, {}}), {2}, {1, 255});
  EXPECT_EQ(FromData<float>({}, {0, 3}).NumElements(), 0);
  EXPECT_EQ(Full({2}, 1, {kInt64, {}}).dtype(), kInt64);
}

TEST_F(MovementTest, Errors) {
  Tensor x = Zeros({2, 3});
  EXPECT_EQ(Thrown<ShapeError>([&] {
              x.Reshape({4, 2});
            }),
            "reshape: cannot view (2, 3) as (4, 2): 6 elements against 8");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Reshape({-1, -1}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Reshape({4, -1}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Expand({2, 4}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Permute({0, 0}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Flip(2); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Pad({{1, 1}}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Pad({{0, 0}, {3, 0}}, 0, PadMode::kReflect); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { Tensor::Cat({x, Zeros({2, 2})}, 0); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { Tensor::Stack({x, Zeros({2, 2})}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Split(std::vector<int64_t>{1, 3}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { FromData<float>({1, 2}, {3}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { Zeros({-1}); }), "");
  EXPECT_NE(Thrown<DTypeError>([&] { Arange(0, 300, 1, {kInt8, {}}); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { x.Unsqueeze(4); }), "");
}

TEST_F(MovementTest, Symbolic) {
  ir::UOp n = ir::Bind(ir::Variable("n", 1, 8), 3);
  Tensor x = Counted({8, 2}).Shrink({{{Sint(0), Sint(n)}}, {}});
  EXPECT_EQ(ir::ToString(x.shape()), "(n, 2)");
  EXPECT_EQ(ir::ToString(x.Reshape({-1}).shape()), "((n*2),)");
  EXPECT_EQ(ir::ToString((x * 2).Transpose().shape()), "(2, n)");
  ExpectTensor(x.Sum(0), {2}, {9, 12});
  ExpectTensor(x.Mean(), {}, {3.5});
  EXPECT_NE(Thrown<ShapeError>([&] { x.NumElements(); }), "");
}

// Sizes beyond 32 bits are exact, and nothing is allocated for them.
TEST_F(MovementTest, HugeShapes) {
  Tensor x = Zeros({1, 1}).Expand({int64_t{1} << 20, int64_t{1} << 20});
  EXPECT_EQ(x.NumElements(), int64_t{1} << 40);
  EXPECT_EQ(x.Reshape({-1}).Dim(0), int64_t{1} << 40);
}

}  // namespace
}  // namespace tg
