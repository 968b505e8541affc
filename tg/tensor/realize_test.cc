// Values, memory and time: what realize and assign promise.
#include <gtest/gtest.h>

#include "tg/tensor/backend.h"
#include "tg/tensor/index.h"
#include "tg/tensor/reference_backend.h"
#include "tg/tensor/testing.h"

namespace tg {
namespace {

using testing::ExpectTensor;
using testing::Thrown;

class RealizeTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::UseTestBackend(); }
};

TEST_F(RealizeTest, ValuesStandForExpressions) {
  Tensor x = FromData<float>({1, 2});
  Tensor y = x + 1.0;
  Tensor z = y * y;
  EXPECT_FALSE(y.IsRealized());
  y.Realize();
  EXPECT_TRUE(y.IsRealized());
  // z uses y's memory now.
  bool mentions_add = false;
  for (const ir::UOp& node : ir::Toposort(z.uop())) mentions_add |= node.Is(ir::Op::kAdd);
  EXPECT_FALSE(mentions_add);
  ExpectTensor(z, {2}, {4, 9});
  Tensor view = (x * 3.0).Reshape({2, 1});
  view.Realize();
  ExpectTensor(view.Reshape({1, 2}), {1, 2}, {3, 6});
}

TEST_F(RealizeTest, SeveralAtOnce) {
  Tensor x = FromData<float>({1, 2});
  Tensor y = x + 1.0;
  Tensor z = (y * 2.0).Contiguous();
  Tensor s = (z + y).Sum();
  Tensor::Realize({s, z, y, y});
  ExpectTensor(y, {2}, {2, 3});
  ExpectTensor(z, {2}, {4, 6});
  ExpectTensor(s, {}, {15});
}

TEST_F(RealizeTest, HandlesAndCopies) {
  Tensor a = FromData<float>({1, 2});
  Tensor same = a;
  Tensor reshaped = a.Reshape({2});  // a no-op, but a tensor of its own
  a += 1.0;
  ExpectTensor(same, {2}, {2, 3});
  ExpectTensor(reshaped, {2}, {1, 2});
  EXPECT_TRUE(same.IsSame(a));
  EXPECT_FALSE(reshaped.IsSame(a));
}

// An operation that changes nothing still makes a tensor of its own.
TEST_F(RealizeTest, OperationsGiveNewTensors) {
  Tensor a = FromData<float>({1}, {1});
  for (const Tensor& t : {a.Cast(kFloat32),
                          a.Roll({0}, {0}),
                          a.CumMax(0),
                          a.Contiguous(),
                          a.Permute({0}),
                          a.Flip(0),
                          a.Expand({1}),
                          a.Pad({{0, 0}}),
                          a.Squeeze(-1).Unsqueeze(0),
                          a.Dropout(),
                          a.Sum(0, true),
                          a.To(a.device()),
                          a.Bitcast(kFloat32),
                          a.Sort().first,
                          a.Detach(),
                          a + 0,
                          a * 1,
                          Tensor::Cat({a}),
                          a.Trunc(),
                          a.Split(1)[0],
                          a.Clamp({}, 3)}) {
    EXPECT_FALSE(t.IsSame(a));
  }
  Tensor s = FromData<float>({1}, {});
  for (const Tensor& t : {s.CumMax(0), s.Sort().first, s.Sum(), s.Permute({}), s.Mean()}) {
    EXPECT_FALSE(t.IsSame(s));
  }
}

TEST_F(RealizeTest, AssignKeepsMemory) {
  Tensor a = FromData<float>({1, 2});
  ir::UOp before = a.uop();
  a.Assign(a * 2.0);
  a.Assign(a + Ones({2}));
  a.Realize();
  EXPECT_EQ(a.uop(), before);
  ExpectTensor(a, {2}, {3, 5});
}

// What was computed from the old value keeps it, whatever is realized first.
TEST_F(RealizeTest, ReadersOfOldValues) {
  Tensor a = FromData<float>({1, 2});
  Tensor sum = a.Sum();
  Tensor view = a.Flip(0);
  Tensor marked = (a * 10.0).Contiguous();
  Tensor from_marked = marked + 1.0;
  a.Assign(a + 5.0);
  Tensor after = a * 1.0;
  Tensor pending = a.Detach();
  a.Assign(a * 2.0);
  a.Realize();
  ExpectTensor(a, {2}, {12, 14});
  ExpectTensor(sum, {}, {3});
  ExpectTensor(view, {2}, {2, 1});
  ExpectTensor(from_marked, {2}, {11, 21});
  ExpectTensor(marked, {2}, {10, 20});
  ExpectTensor(after, {2}, {6, 7});
  ExpectTensor(pending, {2}, {6, 7});
}

TEST_F(RealizeTest, AssignReadsItselfElsewhere) {
  Tensor a = FromData<float>({1, 2, 3});
  a.Assign(a.Flip(0));
  a.Realize();
  ExpectTensor(a, {3}, {3, 2, 1});
  a.Assign(a - a.Sum()).Realize();
  ExpectTensor(a, {3}, {-3, -4, -5});
  // Two tensors that swap.
  Tensor b = FromData<float>({7, 8, 9});
  Tensor t = a.Detach();
  a.Assign(b);
  b.Assign(t);
  Tensor::Realize({a, b});
  ExpectTensor(a, {3}, {7, 8, 9});
  ExpectTensor(b, {3}, {-3, -4, -5});
}

// A tensor fed back into itself, shifted: half old, half new.
TEST_F(RealizeTest, ShiftedFeedback) {
  const int n = 64;
  Tensor buffer = Zeros({n}, {kInt32, {}}).Clone().Realize();
  for (int step = 1; step < 5; ++step) {
    buffer.Assign(
        Tensor::Cat({buffer.Index({Slice(n / 2, n)}), Full({n / 2}, step, {kInt32, {}})}));
    buffer.Realize();
    std::vector<int> v = buffer.ToVector<int>();
    EXPECT_EQ(v[0], step - 1);
    EXPECT_EQ(v[n / 2 - 1], step - 1);
    EXPECT_EQ(v[n / 2], step);
    EXPECT_EQ(v[n - 1], step);
  }
}

TEST_F(RealizeTest, ViewsDoNotShareStores) {
  Tensor a = Zeros({4}).Clone();
  Tensor b = a.Reshape({2, 2});
  b.Assign(Ones({2, 2}));
  b.Realize();
  ExpectTensor(a, {4}, {0, 0, 0, 0});
  ExpectTensor(b, {2, 2}, {1, 1, 1, 1});
}

TEST_F(RealizeTest, CloneAndConstants) {
  Tensor zero = Zeros({2});
  Tensor one = zero.Clone();
  Tensor two = zero.Clone();
  one += 1.0;
  two += 2.0;
  ExpectTensor(one, {2}, {1, 1});
  ExpectTensor(two, {2}, {2, 2});
  ExpectTensor(zero, {2}, {0, 0});
  EXPECT_FALSE(zero.IsRealized());
  ExpectTensor(Tensor(2.5) * 2, {}, {5});
}

TEST_F(RealizeTest, EmptyTensors) {
  Tensor e = Zeros({0, 3});
  e.Realize();
  ExpectTensor(e + 1.0, {0, 3}, {});
  Tensor c = e.Clone();
  c.Assign(c * 2.0).Realize();
  ExpectTensor(c.Sum(0), {3}, {0, 0, 0});
}

TEST_F(RealizeTest, Errors) {
  Tensor a = FromData<float>({1, 2});
  EXPECT_EQ(Thrown<DTypeError>([&] {
              a.Assign(FromData<int32_t>({1, 2}));
            }),
            "assign: dtype mismatch float32 != int32");
  EXPECT_NE(Thrown<ShapeError>([&] { a.Assign(Zeros({3})); }), "");
  EXPECT_NE(Thrown<DeviceError>([&] { a.To("NO_SUCH_DEVICE"); }), "");
  EXPECT_NE(Thrown<ShapeError>([&] { a.Item(); }), "");
  EXPECT_NE(Thrown<DTypeError>([&] { Tensor(1).Realize(); }), "");
  // The number of bytes is exact beyond 32 bits.
  Tensor huge = Zeros({1}).Clone().Expand({int64_t{1} << 45});
  EXPECT_NE(Thrown<DeviceError>([&] { huge.Realize(); }), "");
}

// What only the reference backend can show.
TEST(RealizeOnReferenceTest, DevicesAndCapture) {
  testing::UseTestBackend();
  if (!testing::OnReference()) GTEST_SKIP() << "about the reference backend";
  auto& backend = static_cast<ReferenceBackend&>(GetBackend());
  Tensor a = FromData<float>({1, 2});
  Tensor b = a.To("REF:1");
  EXPECT_NE(Thrown<DeviceError>([&] { a + b; }), "");
  EXPECT_NE(Thrown<DeviceError>([&] { a.Assign(b); }), "");
  ExpectTensor(b + 1.0, {2}, {2, 3});
  ExpectTensor((a * a).To("REF:1").Sum().Gradient({a})[0], {2}, {2, 4});
  backend.capturing = true;
  EXPECT_NE(Thrown<UsageError>([&] { a.ToVector<float>(); }), "");
  backend.capturing = false;
  // Everything that was asked for is computed once.
  int64_t before = backend.stores;
  Tensor c = a + 1.0;
  Tensor::Realize({c, c});
  c.Realize();
  EXPECT_EQ(backend.stores - before, 1);
}

}  // namespace
}  // namespace tg
