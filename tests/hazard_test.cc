// Assignments and what must not see them: tensors are values, memory is not.

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/ir/uop.h"
#include "drivers/runtime/counters.h"
#include "gtest/gtest.h"
#include "tg/engine/backend.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/index.h"
#include "tg/tensor/tensor.h"

namespace tg {
namespace {

using Values = std::vector<float>;

class HazardTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(engine::EngineIsBackend()); }

  static Tensor Stored(Values v, Shape shape = {}) {
    if (shape.empty()) shape = {static_cast<int64_t>(v.size())};
    return FromData(v, shape).Clone().Realize();
  }
};

int64_t KernelsOf(const std::function<void()>& f) {
  const int64_t before = drivers::GlobalCounters().Read().kernels;
  f();
  return drivers::GlobalCounters().Read().kernels - before;
}

TEST_F(HazardTest, AReaderKeepsTheOldContent) {
  for (bool reader_first : {true, false}) {
    Tensor x = Stored({1, 2, 3});
    Tensor y = x * 10;
    x.Assign(x + 1);
    if (reader_first) y.Realize();
    x.Realize();
    EXPECT_EQ(y.ToVector<float>(), (Values{10, 20, 30}));
    EXPECT_EQ(x.ToVector<float>(), (Values{2, 3, 4}));
  }
}

TEST_F(HazardTest, OldAndNewContentInOneExpression) {
  Tensor x = Stored({1, 2, 3});
  Tensor old = x * 1;
  x.Assign(x * x + 1);
  Tensor both = old * 100 + x;
  EXPECT_EQ(both.ToVector<float>(), (Values{102, 205, 310}));
  EXPECT_EQ(x.ToVector<float>(), (Values{2, 5, 10}));
}

TEST_F(HazardTest, SeveralAssignmentsBeforeTheyRun) {
  Tensor x = Stored({1, 2});
  std::vector<Tensor> history;
  for (int i = 0; i < 5; ++i) {
    history.push_back(x + 0.5);
    x.Assign(x * 2 + i);
  }
  EXPECT_EQ(x.ToVector<float>(), (Values{58, 90}));
  EXPECT_EQ(history[4].ToVector<float>(), (Values{27.5, 43.5}));
  EXPECT_EQ(history[0].ToVector<float>(), (Values{1.5, 2.5}));
  EXPECT_EQ(history[2].ToVector<float>(), (Values{5.5, 9.5}));
}

TEST_F(HazardTest, ElementsMayMoveWithinTheirMemory) {
  Tensor x = Stored({1, 2, 3, 4, 5, 6}, {2, 3});
  x.Assign(x.Flip(Axes({0, 1}))).Realize();
  EXPECT_EQ(x.ToVector<float>(), (Values{6, 5, 4, 3, 2, 1}));
  x.Assign(x.Reshape({3, 2}).T()).Realize();
  EXPECT_EQ(x.ToVector<float>(), (Values{6, 4, 2, 5, 3, 1}));
  x.Assign(x + x.Sum(0, true)).Realize();
  EXPECT_EQ(x.ToVector<float>(), (Values{17, 11, 5, 16, 10, 4}));
  x.Assign(x.Roll({1}, {1}) + x.Flip(1)).Realize();
  EXPECT_EQ(x.ToVector<float>(), (Values{10, 28, 28, 8, 26, 26}));
}

TEST_F(HazardTest, LargeMemoriesToo) {
  // Beyond what vectors and threads take at once.
  const int64_t n = 100'003;
  Tensor x = Arange(n).Cast(kFloat32).Clone().Realize();
  x.Assign(x.Flip(0)).Realize();
  x.SetIndex({Slice(1, n)}, x.Index({Slice(0, n - 1)})).Realize();
  const Values v = x.ToVector<float>();
  EXPECT_EQ(v[0], static_cast<float>(n - 1));
  for (int64_t i = 1; i < n; ++i) ASSERT_EQ(v[i], static_cast<float>(n - i));
}

TEST_F(HazardTest, Exchange) {
  Tensor x = Stored({1, 2, 3}), y = Stored({4, 5, 6});
  Tensor old_x = x + 0, old_y = y + 0;
  x.Assign(old_y);
  y.Assign(old_x);
  Tensor::Realize(std::vector<Tensor>{x, y});
  EXPECT_EQ(x.ToVector<float>(), (Values{4, 5, 6}));
  EXPECT_EQ(y.ToVector<float>(), (Values{1, 2, 3}));
  // Around three, with changes.
  Tensor z = Stored({7, 8, 9});
  Tensor a = x * 1, b = y * 1, c = z * 1;
  x.Assign(b + 1);
  y.Assign(c.Flip(0));
  z.Assign(a * 2);
  EXPECT_EQ(z.ToVector<float>(), (Values{8, 10, 12}));
  EXPECT_EQ(y.ToVector<float>(), (Values{9, 8, 7}));
  EXPECT_EQ(x.ToVector<float>(), (Values{2, 3, 4}));
}

TEST_F(HazardTest, PartsAreAssigned) {
  Tensor x = Stored({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {4, 4});
  Tensor before = x + 0.25;
  // M4: an inner part, from the outer one.
  x.SetIndex({Slice(1, -1), Slice(1, -1)}, x.Index({Slice(2, 4), Slice(2, 4)}));
  EXPECT_EQ(x.ToVector<float>(), (Values{0, 1, 2, 3, 4, 10, 11, 7, 8, 14, 15, 11, 12, 13, 14, 15}));
  EXPECT_EQ(before.ToVector<float>()[5], 5.25f);
  // Overlapping shifts, both ways.
  Tensor v = Stored({1, 2, 3, 4, 5, 6});
  v.SetIndex({Slice(1, 6)}, v.Index({Slice(0, 5)})).Realize();
  EXPECT_EQ(v.ToVector<float>(), (Values{1, 1, 2, 3, 4, 5}));
  v.SetIndex({Slice(0, 5)}, v.Index({Slice(1, 6)})).Realize();
  EXPECT_EQ(v.ToVector<float>(), (Values{1, 2, 3, 4, 5, 5}));
  // With steps, backwards, and one on top of the other before they run.
  v.SetIndex({Slice({}, {}, 2)}, Tensor(0.0));
  v.SetIndex({Slice({}, {}, -1)}, v * 2);
  v.SetIndex({2}, v.Index({-1}) + 1);
  EXPECT_EQ(v.ToVector<float>(), (Values{10, 0, 1, 0, 4, 0}));
}

// M5: mixed integers and slices.
TEST_F(HazardTest, MixedIndices) {
  Tensor b = Zeros({1, 5, 6, 7}).Clone().Realize();
  const Tensor a = Ones({1, 5, 6, 7}).Clone();
  b.SetIndex({0, Slice(0, 4), 3, Slice(0, 4)}, a.Index({0, Slice(1, 5), 5, Slice(1, 5)}));
  EXPECT_EQ(b.Sum().Item<int>(), 16);
  EXPECT_EQ(b.Index({0, Slice(0, 4), 3, Slice(0, 4)}).Sum().Item<int>(), 16);
}

// M3: a softmax of a part of the rows.
TEST_F(HazardTest, SoftmaxOfASlice) {
  const Tensor x = Arange(16).Cast(kFloat32).Reshape({4, 4}).Clone();
  EXPECT_NEAR(x.Index({kEllipsis, Slice(0, 2)}).Softmax().Sum().Item(), 4, 1e-6);
}

TEST_F(HazardTest, ReadsThroughViewsSeeTheirTime) {
  Tensor x = Stored({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor row = x.Index({1}), transposed = x.T(), flat = x.Reshape({6});
  x.Assign(x * 10);
  const Tensor new_row = x.Index({1}), new_flat = x.Reshape({6});
  x.Assign(x + 1);
  x.Realize();
  EXPECT_EQ(row.ToVector<float>(), (Values{4, 5, 6}));
  EXPECT_EQ(new_row.ToVector<float>(), (Values{40, 50, 60}));
  EXPECT_EQ(transposed.ToVector<float>(), (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(flat.ToVector<float>(), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(new_flat.ToVector<float>(), (Values{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(x.ToVector<float>(), (Values{11, 21, 31, 41, 51, 61}));
}

TEST_F(HazardTest, ManyReadersOfManyVersions) {
  Tensor x = Stored(Values(50, 1));
  std::vector<Tensor> sums;
  for (int i = 0; i < 40; ++i) {
    sums.push_back(x.Sum() + i);
    x.Assign(x + x.Flip(0) * 0.5);
  }
  Tensor::Realize(sums);
  double want = 50;
  for (int i = 0; i < 40; ++i, want *= 1.5) {
    EXPECT_NEAR(sums[i].Item(), want + i, 1e-4 * (want + i));
  }
}

TEST_F(HazardTest, InPlaceTakesOneKernelAndNoMemory) {
  Tensor x = Ones({1 << 16}).Clone().Realize();
  x.Assign(x + 1).Realize();
  const int64_t bytes = drivers::GlobalCounters().Read().mem_used;
  EXPECT_EQ(KernelsOf([&] {
              x.Assign(x * 2);
              x.Realize();
            }),
            1);
  EXPECT_EQ(drivers::GlobalCounters().Read().mem_used, bytes);
  EXPECT_EQ(x.Index({77}).Item<int>(), 4);
}

TEST_F(HazardTest, StoresThatNothingNeeds) {
  // The sum of no elements does not need x, whose assignment is below it all the same.
  Tensor x = Stored({6, 1, 5});
  x.SetIndex({Slice(1, 3)}, x.Index({Slice(0, 2)}));
  EXPECT_EQ(x.Index({Slice(0, 0)}).Sum().Item<int>(), 0);
  EXPECT_EQ(x.ToVector<float>(), (Values{6, 6, 1}));
}

TEST_F(HazardTest, TwoVersionsAsRoots) {
  Tensor x = Stored({1, 2, 3, 4}).Clone();
  const Tensor early = x.Reshape({2, 2});
  x.Assign(x.Flip(0));
  Tensor::Realize(std::vector<Tensor>{x, early});
  EXPECT_EQ(early.ToVector<float>(), (Values{1, 2, 3, 4}));
  EXPECT_EQ(x.ToVector<float>(), (Values{4, 3, 2, 1}));
  // One tensor twice.
  const Tensor constant = Full({3}, 2);
  Tensor::Realize(std::vector<Tensor>{constant, constant, x, x});
  EXPECT_EQ(constant.ToVector<float>(), (Values{2, 2, 2}));
}

TEST_F(HazardTest, MisuseIsNamed) {
  Tensor x = Stored({1, 2, 3});
  EXPECT_THROW(x.Assign(Ones({4})), ShapeError);
  EXPECT_THROW(x.Assign(Ones({3}, {kInt32, {}})), DTypeError);
  EXPECT_THROW(x.SetIndex({Slice(0, 2)}, Ones({3})), ShapeError);
  EXPECT_EQ(x.ToVector<float>(), (Values{1, 2, 3}));
}

// Random statements on a few vectors, against plain arrays.
TEST_F(HazardTest, RandomStatements) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 rng(seed);
    auto pick = [&rng](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
    const int n = 5;
    std::vector<Tensor> tensors;
    std::vector<Values> values;
    auto add = [&](Tensor t, Values v) {
      tensors.push_back(std::move(t));
      values.push_back(std::move(v));
    };
    for (int i = 0; i < 3; ++i) {
      Values v;
      for (int k = 0; k < n; ++k) v.push_back(static_cast<float>(pick(9) - 4));
      add(Stored(v), v);
    }
    std::string text = "seed " + std::to_string(seed) + ":";
    for (int step = 0; step < 25; ++step) {
      const int a = pick(static_cast<int>(tensors.size()));
      const int b = pick(static_cast<int>(tensors.size()));
      const int what = pick(6);
      text += " " + std::to_string(what) + "(" + std::to_string(a) + "," + std::to_string(b) + ")";
      Values v(n);
      switch (what) {
        case 0:  // a pure operation
          for (int k = 0; k < n; ++k) v[k] = values[a][k] - values[b][n - 1 - k];
          add(tensors[a] - tensors[b].Flip(0), v);
          break;
        case 1:
          for (int k = 0; k < n; ++k) v[k] = std::max(-50.0f, std::min(50.0f, values[b][k] * 2));
          tensors[a].Assign((tensors[b] * 2).Clamp(-50, 50));
          values[a] = v;
          break;
        case 2:
          for (int k = 0; k < n; ++k) v[k] = k == 0 ? values[a][0] : values[b][k - 1];
          tensors[a].SetIndex({Slice(1, n)}, tensors[b].Index({Slice(0, n - 1)}));
          values[a] = v;
          break;
        case 3:
          tensors[a].Realize();
          break;
        case 4:
          Tensor::Realize(std::vector<Tensor>{tensors[a], tensors[b]});
          break;
        default:
          add(tensors[a].Clone(), values[a]);
          break;
      }
    }
    for (size_t i = tensors.size(); i-- > 0;) {
      ASSERT_EQ(tensors[i].ToVector<float>(), values[i]) << text << " tensor " << i;
    }
  }
}

}  // namespace
}  // namespace tg
