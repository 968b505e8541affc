#include "codegen/lower/lower.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/settings.h"
#include "codegen/lower/lower_test_util.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::AxisType;
using ir::FloorDiv;
using ir::FloorMod;
using ir::kFloat32;
using ir::Op;
using ir::Param;
using ir::Range;
using ir::UOp;

std::vector<float> Iota(int n, float start = 0, float step = 1) {
  std::vector<float> v(n);
  for (int i = 0; i < n; ++i) v[i] = start + step * static_cast<float>(i);
  return v;
}

int Count(const LinearProgram& p, Op op) {
  return static_cast<int>(
      std::count_if(p.ops.begin(), p.ops.end(), [op](const UOp& u) { return u.Is(op); }));
}

TEST(Lower, Elementwise) {
  const UOp out = Param(0, kFloat32, 6), a = Param(1, kFloat32, 6), i = Range(6, 0);
  const UOp k = Kernel({StoreLoop(out, i, LoadAt(a, i) * ir::Const(kFloat32, 2.0), {i})});
  std::vector<float> o(6), x = Iota(6);
  RunKernel(k, {Bytes(o), Bytes(x)});
  EXPECT_EQ(o, (std::vector<float>{0, 2, 4, 6, 8, 10}));
}

TEST(Lower, PadByGates) {
  const UOp out = Param(0, kFloat32, 8), a = Param(1, kFloat32, 5), i = Range(8, 0);
  const UOp valid = ir::Not(i < 2) & (i < 7);
  const UOp load = LoadAt(a, ir::Valid(i - 2, valid));
  const UOp k = Kernel({StoreLoop(out, i, ir::Where(valid, load, ir::Const(kFloat32, 0.0)), {i})});
  std::vector<float> o(8), x = Iota(5, 1);
  RunKernel(k, {Bytes(o), Bytes(x)});
  EXPECT_EQ(o, (std::vector<float>{0, 0, 1, 2, 3, 4, 5, 0}));
  // The choice is the load's own.
  EXPECT_EQ(Count(LowerOrFail(k, EverythingNative()), Op::kWhere), 0);
}

// Each row: maximum, then sum of differences, then the quotient: three loops below one.
TEST(Lower, SoftmaxLike) {
  const int rows = 3, cols = 5;
  const UOp out = Param(0, kFloat32, rows * cols), a = Param(1, kFloat32, rows * cols);
  const UOp i = Range(rows, 0), j = Range(cols, 1), k = Range(cols, 2, AxisType::kReduce),
            l = Range(cols, 3, AxisType::kReduce);
  const UOp max = ReduceOver(Op::kMax, LoadAt(a, i * cols + k), {k});
  const UOp sum = ReduceOver(
      Op::kAdd, ir::Alu(Op::kExp2, {ir::Alu(Op::kSub, {LoadAt(a, i * cols + l), max})}), {l});
  const UOp e = ir::Alu(Op::kExp2, {ir::Alu(Op::kSub, {LoadAt(a, i * cols + j), max})});
  const UOp kernel = Kernel({StoreLoop(out, i * cols + j, ir::Alu(Op::kFdiv, {e, sum}), {i, j})});
  std::vector<float> o(rows * cols), x = Iota(rows * cols, -3, 0.5f);
  for (const render::Target& target : {EverythingNative(), Bare()}) {
    RunKernel(kernel, {Bytes(o), Bytes(x)}, target);
    for (int r = 0; r < rows; ++r) {
      double m = -1e9, s = 0;
      for (int c = 0; c < cols; ++c) m = std::max<double>(m, x[r * cols + c]);
      for (int c = 0; c < cols; ++c) s += std::exp2(x[r * cols + c] - m);
      for (int c = 0; c < cols; ++c) {
        EXPECT_NEAR(o[r * cols + c], std::exp2(x[r * cols + c] - m) / s, 1e-6);
      }
    }
  }
  EXPECT_EQ(Count(LowerOrFail(kernel, EverythingNative()), Op::kRange), 4);
}

// The same range in two reductions that depend on each other needs two loops.
TEST(Lower, OneRangeInTwoLoops) {
  const UOp out = Param(0, kFloat32, 1), a = Param(1, kFloat32, 4);
  const UOp k = Range(4, 0, AxisType::kReduce);
  const UOp mean = ReduceOver(Op::kAdd, LoadAt(a, k), {k}) * ir::Const(kFloat32, 0.25);
  const UOp d = ir::Alu(Op::kSub, {LoadAt(a, k), mean});
  const UOp kernel =
      Kernel({StoreLoop(out, ir::IndexConst(0), ReduceOver(Op::kAdd, d * d, {k}), {})});
  std::vector<float> o(1), x = {1, 2, 3, 6};
  RunKernel(kernel, {Bytes(o), Bytes(x)});
  EXPECT_EQ(o[0], 14);
  // Independent ones share it.
  const UOp both =
      ReduceOver(Op::kAdd, LoadAt(a, k), {k}) * ReduceOver(Op::kMax, LoadAt(a, k), {k});
  const UOp shared = Kernel({StoreLoop(out, ir::IndexConst(0), both, {})});
  RunKernel(shared, {Bytes(o), Bytes(x)});
  EXPECT_EQ(o[0], 72);
  EXPECT_EQ(Count(LowerOrFail(shared, EverythingNative()), Op::kRange), 1);
  EXPECT_EQ(Count(LowerOrFail(kernel, EverythingNative()), Op::kRange), 2);
}

TEST(Lower, InvariantCodeLeavesLoops) {
  const UOp out = Param(0, kFloat32, 12), a = Param(1, kFloat32, 3), b = Param(2, kFloat32, 4);
  const UOp i = Range(3, 0), j = Range(4, 1);
  const UOp row = ir::Alu(Op::kSqrt, {LoadAt(a, i)});
  const UOp kernel = Kernel({StoreLoop(out, i * 4 + j, row * LoadAt(b, j), {i, j})});
  const LinearProgram p = LowerOrFail(kernel, EverythingNative());
  int depth = 0;
  for (const UOp& u : p.ops) {
    depth += u.Is(Op::kRange) ? 1 : u.Is(Op::kEnd) ? -1 : 0;
    if (u.Is(Op::kSqrt)) {
      EXPECT_EQ(depth, 1);
    }
  }
}

TEST(Lower, AllReduceOps) {
  const UOp k = Range(7, 5, AxisType::kReduce);
  for (const render::Target& target : {EverythingNative(), Bare()}) {
    for (Op op : {Op::kAdd, Op::kMul, Op::kMax}) {
      const UOp out = Param(0, ir::kInt32, 1), a = Param(1, ir::kInt32, 7);
      const UOp kernel =
          Kernel({StoreLoop(out, ir::IndexConst(0), ReduceOver(op, LoadAt(a, k), {k}), {})});
      std::vector<int32_t> o(1), x = {-5, 3, 2, -1, -4, 1, 6};
      RunKernel(kernel, {Bytes(o), Bytes(x)}, target);
      EXPECT_EQ(o[0], op == Op::kAdd ? 2 : op == Op::kMul ? -720 : 6);

      const UOp bout = Param(0, ir::kBool, 1), ba = Param(1, ir::kBool, 7);
      const UOp bools =
          Kernel({StoreLoop(bout, ir::IndexConst(0), ReduceOver(op, LoadAt(ba, k), {k}), {})});
      std::vector<uint8_t> bo(1), bx = {0, 0, 1, 0, 0, 1, 0};
      RunKernel(bools, {Bytes(bo), Bytes(bx)}, target);
      EXPECT_EQ(bo[0], op == Op::kMul ? 0 : 1);
    }
    // A NaN wins a maximum wherever it stands.
    for (int at = 0; at < 7; ++at) {
      const UOp out = Param(0, kFloat32, 1), a = Param(1, kFloat32, 7);
      const UOp kernel =
          Kernel({StoreLoop(out, ir::IndexConst(0), ReduceOver(Op::kMax, LoadAt(a, k), {k}), {})});
      std::vector<float> o(1), x = Iota(7);
      x[at] = NAN;
      RunKernel(kernel, {Bytes(o), Bytes(x)}, target);
      EXPECT_TRUE(std::isnan(o[0])) << at;
    }
  }
}

TEST(Lower, SizesZeroAndOne) {
  const UOp out = Param(0, kFloat32, 4), a = Param(1, kFloat32, 4), empty = Param(2, kFloat32, 0);
  const UOp i = Range(4, 0), one = Range(1, 1), k0 = Range(0, 2, AxisType::kReduce),
            k1 = Range(1, 3, AxisType::kReduce), i0 = Range(0, 4);
  const UOp none = ReduceOver(Op::kMax, LoadAt(empty, k0), {k0});
  const UOp single = ReduceOver(Op::kAdd, LoadAt(a, i + k1), {k1});
  std::vector<float> o(4), x = Iota(4), e;
  RunKernel(Kernel({StoreLoop(out, i + one, ir::Alu(Op::kMax, {none, single}), {i, one}),
                    StoreLoop(empty, i0, LoadAt(a, i0), {i0})}),
            {Bytes(o), Bytes(x), Bytes(e)});
  EXPECT_EQ(o, x);
  // A kernel that does nothing.
  const LinearProgram p =
      LowerOrFail(Kernel({StoreLoop(empty, i0, LoadAt(a, i0), {i0})}), EverythingNative());
  EXPECT_TRUE(p.ops.empty());
  EXPECT_EQ(p.params.size(), 3u);
}

TEST(Lower, OutputsShareLoops) {
  const UOp p0 = Param(0, kFloat32, 6), p1 = Param(1, kFloat32, 6), p2 = Param(2, kFloat32, 2);
  const UOp i = Range(2, 0), j = Range(3, 1);
  const UOp v = LoadAt(p0, i * 3 + j);
  // p0 is updated in place, and read by the other output before that.
  const UOp kernel =
      Kernel({StoreLoop(p0, i * 3 + j, v + v, {i, j}), StoreLoop(p1, i * 3 + j, v * v, {i, j}),
              StoreLoop(p2, i, ir::Cast(i, kFloat32), {i})});
  std::vector<float> a = Iota(6), b(6), c(2);
  RunKernel(kernel, {Bytes(a), Bytes(b), Bytes(c)});
  EXPECT_EQ(a, Iota(6, 0, 2));
  EXPECT_EQ(b, (std::vector<float>{0, 1, 4, 9, 16, 25}));
  EXPECT_EQ(c, Iota(2));
  EXPECT_EQ(Count(LowerOrFail(kernel, EverythingNative()), Op::kRange), 2);
}

TEST(Lower, Threads) {
  const UOp out = Param(0, kFloat32, 12), a = Param(1, kFloat32, 12);
  const UOp t = Range(3, 0, AxisType::kThread), i = Range(4, 1);
  const UOp kernel = Kernel({StoreLoop(out, t * 4 + i, LoadAt(a, t * 4 + i), {t, i})});
  std::vector<float> o(12), x = Iota(12);
  RunKernel(kernel, {Bytes(o), Bytes(x)});
  EXPECT_EQ(o, x);
  EXPECT_EQ(LowerOrFail(kernel, EverythingNative()).threads, 3);
  // An output that is not split: nothing is.
  const UOp more = Kernel({kernel.src(0), StoreLoop(a, i, ir::Cast(i, kFloat32), {i})});
  EXPECT_EQ(LowerOrFail(more, EverythingNative()).threads, 1);
  render::Target single = EverythingNative();
  single.has_threads = false;
  EXPECT_EQ(LowerOrFail(kernel, single).threads, 1);
}

TEST(Lower, SymbolicSizes) {
  const UOp n = ir::Variable("n", 0, 10);
  const UOp out = Param(0, kFloat32, 10), a = Param(1, kFloat32, 10);
  const UOp i = Range(n, 0), k = Range(n, 1, AxisType::kReduce);
  const UOp kernel = Kernel({StoreLoop(out, i, ReduceOver(Op::kAdd, LoadAt(a, k), {k}), {i})});
  for (int64_t size : {0, 1, 7}) {
    std::vector<float> o(10, -1), x = Iota(10);
    RunKernel(kernel, {Bytes(o), Bytes(x)}, EverythingNative(), {size});
    for (int j = 0; j < 10; ++j) {
      EXPECT_EQ(o[j], j < size ? static_cast<float>(size * (size - 1) / 2) : -1.f);
    }
  }
}

// known_bugs T11: intermediate values decide the width of index arithmetic.
TEST(Lower, IndexWidth) {
  const UOp out = Param(0, ir::kInt8, 1 << 20);
  auto widest = [&](const UOp& index, std::vector<UOp> ranges) {
    const UOp kernel = Kernel({StoreLoop(out, index, ir::Const(ir::kInt8, 1), ranges)});
    int bits = 0;
    for (const UOp& u : LowerOrFail(kernel, EverythingNative()).ops) {
      if (u.dtype().IsInt() && ir::IsElementwise(u.op())) bits = std::max(bits, u.dtype().bits());
    }
    return bits;
  };
  const UOp i = Range(1 << 18, 0), j = Range(1 << 14, 1), k = Range(64, 2);
  EXPECT_EQ(widest(FloorDiv(i * (1 << 13) + k, 1 << 13), {i, k}), 32);  // 2^31 - 1 at most
  EXPECT_EQ(widest(FloorDiv(i * 16381 + j, 1 << 14), {i, j}), 64);
  EXPECT_EQ(widest(FloorMod(FloorDiv(i * 16381 + j, 1 << 14), 1 << 10), {i, j}), 64);
}

TEST(Lower, FloorDivisionOfAllSigns) {
  const int n = 41;
  for (const render::Target& target : {EverythingNative(), Bare()}) {
    for (int divisor : {1, 3, 4, 7, 16, -3, -4}) {
      const UOp q = Param(0, ir::kInt32, n), r = Param(1, ir::kInt32, n),
                a = Param(2, ir::kInt32, n);
      const UOp i = Range(n, 0), x = LoadAt(a, i);
      const UOp kernel = Kernel(
          {StoreLoop(q, i, FloorDiv(x, divisor), {i}), StoreLoop(r, i, FloorMod(x, divisor), {i})});
      std::vector<int32_t> vq(n), vr(n), va(n);
      for (int k = 0; k < n; ++k) va[k] = k - 20;
      RunKernel(kernel, {Bytes(vq), Bytes(vr), Bytes(va)}, target);
      for (int k = 0; k < n; ++k) {
        const int want = static_cast<int>(std::floor(static_cast<double>(va[k]) / divisor));
        EXPECT_EQ(vq[k], want) << va[k] << " // " << divisor;
        EXPECT_EQ(vr[k], va[k] - want * divisor) << va[k] << " % " << divisor;
      }
    }
  }
}

TEST(Lower, RejectsWhatItCannotRun) {
  const UOp out = Param(0, kFloat32, 4);
  const UOp g = Range(4, 0, AxisType::kGlobal);
  EXPECT_EQ(Lower(Kernel({StoreLoop(out, g, ir::Const(kFloat32, 1.0), {g})}), EverythingNative())
                .status()
                .code(),
            absl::StatusCode::kUnimplemented);
  const UOp i = Range(4, 0), j = Range(4, 1);
  EXPECT_EQ(
      Lower(Kernel({StoreLoop(out, i + j, ir::Const(kFloat32, 1.0), {i})}), EverythingNative())
          .status()
          .code(),
      absl::StatusCode::kInternal);
  EXPECT_EQ(Lower(i, EverythingNative()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Lower, VerifiesWithSpec) {
  const UOp out = Param(0, kFloat32, 4), i = Range(4, 0);
  // Two types in one slot.
  const UOp bad =
      Kernel({StoreLoop(out, i, ir::Cast(LoadAt(Param(0, ir::kInt32, 4), i), kFloat32), {i})});
  EXPECT_TRUE(Lower(bad, EverythingNative()).ok());
  const base::Scoped<int> spec(base::kSpec, 1);
  EXPECT_EQ(Lower(bad, EverythingNative()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(
      Lower(Kernel({StoreLoop(out, i, ir::Const(kFloat32, 1.0), {i})}), EverythingNative()).ok());
}

TEST(Lower, Estimates) {
  const UOp out = Param(0, kFloat32, 4), a = Param(1, kFloat32, 40), b = Param(2, kFloat32, 10);
  const UOp i = Range(4, 0), k = Range(10, 1, AxisType::kReduce);
  const LinearProgram p = LowerOrFail(
      Kernel({StoreLoop(out, i, ReduceOver(Op::kAdd, LoadAt(a, i * 10 + k) * LoadAt(b, k), {k}),
                        {i})}),
      EverythingNative());
  EXPECT_EQ(p.estimates.ops, 80);
  EXPECT_EQ(p.estimates.mem_bytes, 4 * (4 + 40 + 10));
  EXPECT_EQ(p.estimates.lds_bytes, 4 * (4 + 40 + 40));
  EXPECT_TRUE(p.params[0].written && !p.params[0].read && p.params[1].read && !p.params[1].written);
}

}  // namespace
}  // namespace tg::lower
