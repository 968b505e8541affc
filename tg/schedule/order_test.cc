#include "tg/schedule/order.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::UOp;

UOp Buffer(int64_t id, int64_t size = 16) {
  return UOp::Make(Op::kBuffer, ir::kFloat32, {},
                   ir::Arg(ir::BufferArg{.id = id,
                                         .size = size,
                                         .space = ir::AddrSpace::kGlobal,
                                         .device = "CPU",
                                         .storage = nullptr}));
}

// A kernel about whose inside nothing is known.
RangeifiedKernel Kernel(const UOp& target, int64_t version, std::vector<BufferVersion> reads) {
  RangeifiedKernel k;
  k.device = "CPU";
  k.target = target;
  k.target_version = version;
  k.reads = std::move(reads);
  return k;
}

// What is wrong with an order; empty: nothing.
std::string Check(const std::vector<RangeifiedKernel>& kernels, const std::vector<int>& order) {
  std::vector<int> position(kernels.size(), -1);
  if (order.size() != kernels.size()) return "not all kernels";
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (position[i] < 0) return "not all kernels";
    for (size_t j = 0; j < kernels.size(); ++j) {
      if (i == j) continue;
      const RangeifiedKernel &a = kernels[i], &b = kernels[j];
      const bool a_first = position[i] < position[j];
      for (const auto& [buffer, version] : b.reads) {
        if (!(buffer == a.target)) continue;
        if (a.target_version == version && !a_first) return "read before it was written";
        if (a.target_version == version + 1 && a_first) return "read after it was overwritten";
      }
      if (a.target == b.target && a.target_version < b.target_version && !a_first) {
        return "versions out of order";
      }
    }
  }
  return "";
}

TEST(OrderTest, WritersBeforeReaders) {
  const UOp x = Buffer(0), y = Buffer(1), z = Buffer(2);
  const std::vector<RangeifiedKernel> kernels = {Kernel(z, 0, {{y, 0}}), Kernel(y, 0, {{x, 0}}),
                                                 Kernel(x, 0, {})};
  const OrderResult r = OrderKernels(kernels);
  EXPECT_EQ(r.order, (std::vector<int>{2, 1, 0}));
  EXPECT_TRUE(r.snapshots.empty());
}

TEST(OrderTest, ReadersOfTheOldContentBeforeTheNextWriter) {
  const UOp x = Buffer(0), y = Buffer(1), z = Buffer(2);
  const std::vector<RangeifiedKernel> kernels = {Kernel(x, 1, {}), Kernel(y, 0, {{x, 0}}),
                                                 Kernel(z, 0, {{x, 1}})};
  EXPECT_EQ(OrderKernels(kernels).order, (std::vector<int>{1, 0, 2}));
}

TEST(OrderTest, VersionsInTurn) {
  const UOp x = Buffer(0);
  const std::vector<RangeifiedKernel> kernels = {Kernel(x, 3, {}), Kernel(x, 2, {}),
                                                 Kernel(x, 1, {})};
  EXPECT_EQ(OrderKernels(kernels).order, (std::vector<int>{2, 1, 0}));
}

TEST(OrderTest, ParallelWritersOfOneVersion) {
  // Two partial stores make version 1; a reader of it waits for both.
  const UOp x = Buffer(0), y = Buffer(1);
  const std::vector<RangeifiedKernel> kernels = {Kernel(y, 0, {{x, 1}}), Kernel(x, 1, {}),
                                                 Kernel(x, 1, {})};
  EXPECT_EQ(OrderKernels(kernels).order, (std::vector<int>{1, 2, 0}));
}

TEST(OrderTest, IndependentKernelsKeepTheirOrder) {
  std::vector<RangeifiedKernel> kernels;
  for (int i = 0; i < 10; ++i) kernels.push_back(Kernel(Buffer(i), 0, {}));
  std::vector<int> want(10);
  std::iota(want.begin(), want.end(), 0);
  EXPECT_EQ(OrderKernels(kernels).order, want);
}

// x' = f(y), y' = g(x): each must run before the other.
TEST(OrderTest, ExchangeNeedsASnapshot) {
  const UOp x = Buffer(0), y = Buffer(1);
  const OrderResult r = OrderKernels({Kernel(x, 1, {{y, 0}}), Kernel(y, 1, {{x, 0}})});
  EXPECT_FALSE(r.snapshots.empty());
  for (const auto& [buffer, version] : r.snapshots) {
    EXPECT_TRUE(buffer == x || buffer == y);
    EXPECT_EQ(version, 0);
  }
}

TEST(OrderTest, OldAndNewContentInOneKernelNeedsASnapshot) {
  const UOp x = Buffer(0), y = Buffer(1);
  const OrderResult r = OrderKernels({Kernel(x, 1, {{x, 0}}), Kernel(y, 0, {{x, 0}, {x, 1}})});
  EXPECT_EQ(r.snapshots, (std::vector<BufferVersion>{{x, 0}}));
}

// buffer[r] = buffer[from(r)] + 1.
RangeifiedKernel InPlace(const UOp& buffer, const UOp& r, const UOp& from) {
  const UOp load =
      UOp::Make(Op::kLoad, ir::kFloat32, {UOp::Make(Op::kIndex, ir::kFloat32, {buffer, from})});
  const UOp store = UOp::Make(Op::kStore, ir::kVoid,
                              {UOp::Make(Op::kIndex, ir::kFloat32, {buffer, r}), load + 1});
  RangeifiedKernel k = Kernel(buffer, 1, {{buffer, 0}});
  k.ast = ir::Sink({UOp::Make(Op::kEnd, ir::kVoid, {store, r})});
  return k;
}

TEST(OrderTest, AnElementMayReplaceItself) {
  const UOp r = ir::Range(16, 0);
  EXPECT_TRUE(OrderKernels({InPlace(Buffer(0), r, r)}).snapshots.empty());
}

TEST(OrderTest, ReadingOtherElementsOfTheTargetNeedsASnapshot) {
  const UOp r = ir::Range(16, 0);
  const OrderResult flipped = OrderKernels({InPlace(Buffer(0), r, ir::IndexConst(15) - r)});
  EXPECT_EQ(flipped.snapshots, (std::vector<BufferVersion>{{Buffer(0), 0}}));
}

// Against all permutations: an order is found where there is one, and it is right.
TEST(OrderTest, RandomKernels) {
  std::mt19937 rng(3);
  int ordered = 0, cyclic = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const int buffers = 1 + static_cast<int>(rng() % 3);
    std::vector<int64_t> made(buffers, 0);
    std::vector<RangeifiedKernel> kernels;
    const int n = 2 + static_cast<int>(rng() % 4);
    // As graphs are: a kernel reads contents that were made before.
    for (int i = 0; i < n; ++i) {
      std::vector<BufferVersion> reads;
      for (int m = static_cast<int>(rng() % 3); m > 0; --m) {
        const int b = static_cast<int>(rng() % buffers);
        reads.emplace_back(Buffer(b), static_cast<int64_t>(rng() % (made[b] + 1)));
      }
      const int target = static_cast<int>(rng() % buffers);
      kernels.push_back(Kernel(Buffer(target), ++made[target], std::move(reads)));
    }
    std::shuffle(kernels.begin(), kernels.end(), rng);
    std::vector<int> permutation(n);
    std::iota(permutation.begin(), permutation.end(), 0);
    bool possible = false;
    do {
      possible = Check(kernels, permutation).empty();
    } while (!possible && std::next_permutation(permutation.begin(), permutation.end()));
    const OrderResult r = OrderKernels(kernels);
    if (possible) {
      ++ordered;
      ASSERT_TRUE(r.snapshots.empty()) << "trial " << trial;
      ASSERT_EQ(Check(kernels, r.order), "") << "trial " << trial;
      // The nearest to the input's order: the permutations come in lexical order.
      ASSERT_EQ(r.order, permutation) << "trial " << trial;
    } else {
      ++cyclic;
      ASSERT_FALSE(r.snapshots.empty()) << "trial " << trial;
    }
  }
  EXPECT_GT(ordered, 200);
  EXPECT_GT(cyclic, 200);
}

}  // namespace
}  // namespace tg::schedule
