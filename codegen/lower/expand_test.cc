// Expanded axes: whatever runs in lanes or as copies, a kernel computes the same.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/ir/print.h"
#include "codegen/ir/simplify/simplify.h"
#include "codegen/lower/lower_test_util.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"
#include "codegen/render/testing/run_program.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::AxisType;
using ir::FloorDiv;
using ir::FloorMod;
using ir::IndexConst;
using ir::kFloat32;
using ir::Op;
using ir::Param;
using ir::Range;
using ir::UOp;

// Makes axes: an axis of size n as loops and expanded parts, chosen at random.
class Axes {
 public:
  explicit Axes(uint32_t seed) : random_(seed) {}

  // The axis's value; its ranges are appended to `ranges`, expanded ones last.
  UOp Make(int64_t n, bool reduce, std::vector<UOp>& ranges) {
    std::vector<int64_t> factors;
    for (int64_t f = 1; f <= n && f <= 32; ++f) {
      if (n % f == 0) factors.push_back(f);
    }
    const AxisType loop = reduce ? AxisType::kReduce : AxisType::kLoop;
    const AxisType expanded = reduce ? AxisType::kUnroll : AxisType::kUpcast;
    const int64_t f = random_() % 2 == 0 ? 1 : factors[random_() % factors.size()];
    UOp value = Add(n / f, random_() % 5 == 0 && n / f <= 8 ? expanded : loop, ranges);
    if (f > 1) {
      const UOp inner = Add(f, random_() % 4 == 0 ? loop : expanded, ranges);
      value = value * f + inner;
    }
    return value;
  }
  uint32_t Next() { return random_(); }

 private:
  UOp Add(int64_t size, AxisType type, std::vector<UOp>& ranges) {
    ranges.push_back(Range(size, next_id_++, type));
    return ranges.back();
  }

  std::mt19937 random_;
  int next_id_ = 0;
};

std::vector<float> SmallInts(int n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> v(n);
  for (float& x : v) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
  return v;
}

struct Case {
  std::string name;
  std::vector<int> sizes;  // by slot; 0 is the output
  // The kernel with its axes from `axes`.
  std::function<UOp(Axes& axes)> make;
};

UOp P(const Case& c, int slot) { return Param(slot, kFloat32, c.sizes[slot]); }

// Runs the kernel with all axes as loops, then `trials` times at random; values are small integers,
// so sums are exact in any order. The interpreter runs them on two targets, and LLVM's machine
// code.
void ExpectSame(const Case& c, int trials, bool simplified = true) {
  std::vector<float> want;
  for (int trial = 0; trial <= trials; ++trial) {
    Axes axes(trial == 0 ? 0 : static_cast<uint32_t>(trial));
    UOp kernel = c.make(axes);
    if (trial == 0) {
      // All loops.
      ir::UOpMap map;
      for (const UOp& u : ir::Toposort(kernel)) {
        if (!u.Is(Op::kRange)) continue;
        ir::RangeArg arg = u.arg_as<ir::RangeArg>();
        arg.type = ir::IsReduceAxis(arg.type) ? AxisType::kReduce : AxisType::kLoop;
        map[u] = u.WithArg(arg);
      }
      kernel = ir::Substitute(kernel, map);
    }
    if (simplified) kernel = ir::Simplify(kernel);
    std::vector<std::vector<float>> data;
    for (size_t i = 0; i < c.sizes.size(); ++i) {
      data.push_back(SmallInts(c.sizes[i], static_cast<uint32_t>(i)));
    }
    render::Target target = trial % 3 == 2 ? Bare() : EverythingNative();
    if (trial % 3 == 1) {
      // As machine code.
      static const render::Renderer& renderer = *render::MakeLlvmCpuRenderer().release();
      target = renderer.target();
      std::vector<void*> pointers;
      for (auto& d : data) pointers.push_back(d.data());
      const absl::Status s = render::RunProgram(renderer, LowerOrFail(kernel, target), pointers);
      ASSERT_TRUE(s.ok()) << s;
    } else {
      std::vector<absl::Span<uint8_t>> buffers;
      for (auto& d : data) buffers.push_back(Bytes(d));
      RunKernel(kernel, buffers, target);
    }
    if (trial == 0) {
      want = data[0];
    } else {
      ASSERT_EQ(data[0], want) << c.name << " trial " << trial << "\n"
                               << ProgramToString(LowerOrFail(kernel, target));
    }
    if (::testing::Test::HasFailure()) return;
  }
}

Case Matmul(int m, int n, int k, bool transposed) {
  Case c{absl::StrCat("matmul", transposed ? "_t" : ""), {m * n, m * k, k * n}, nullptr};
  c.make = [=](Axes& axes) {
    std::vector<UOp> out, red;
    const UOp i = axes.Make(m, false, out), j = axes.Make(n, false, out),
              x = axes.Make(k, true, red);
    const UOp b = transposed ? LoadAt(P(c, 2), j * k + x) : LoadAt(P(c, 2), x * n + j);
    const UOp sum = ReduceOver(Op::kAdd, LoadAt(P(c, 1), i * k + x) * b, red);
    return Kernel({StoreLoop(P(c, 0), i * n + j, sum, out)});
  };
  return c;
}

// A convolution with zero padding of 1 on a plane, all channels.
Case Conv(int ci, int co, int size) {
  Case c{"conv", {co * size * size, ci * size * size, co * ci * 9}, nullptr};
  c.make = [=](Axes& axes) {
    std::vector<UOp> out, red;
    const UOp o = axes.Make(co, false, out), y = axes.Make(size, false, out),
              x = axes.Make(size, false, out);
    const UOp i = axes.Make(ci, true, red), ky = axes.Make(3, true, red),
              kx = axes.Make(3, true, red);
    const UOp sy = y + ky - 1, sx = x + kx - 1;
    const UOp valid = ir::Not(sy < 0) & (sy < size) & ir::Not(sx < 0) & (sx < size);
    const UOp v = ir::Where(valid, LoadAt(P(c, 1), ir::Valid((i * size + sy) * size + sx, valid)),
                            ir::Const(kFloat32, 0.0));
    const UOp sum =
        ReduceOver(Op::kAdd, v * LoadAt(P(c, 2), ((o * ci + i) * 3 + ky) * 3 + kx), red);
    return Kernel({StoreLoop(P(c, 0), (o * size + y) * size + x,
                             ir::Alu(Op::kMax, {sum, ir::Const(kFloat32, 0.0)}), out)});
  };
  return c;
}

// The same with the channels innermost, as the gradient of the input of a convolution without
// padding: gates outside of the inner loop, negative offsets.
Case ConvGrad(int ci, int co, int size) {
  const int grown = size + 2;
  Case c{"conv_grad", {grown * grown * ci, size * size * co, 9 * co * ci}, nullptr};
  c.make = [=](Axes& axes) {
    std::vector<UOp> out, red;
    const UOp y = axes.Make(grown, false, out), x = axes.Make(grown, false, out),
              i = axes.Make(ci, false, out);
    const UOp ky = axes.Make(3, true, red), kx = axes.Make(3, true, red),
              o = axes.Make(co, true, red);
    const UOp sy = y - ky, sx = x - kx;
    const UOp valid = ir::Not(sy < 0) & (sy < size) & ir::Not(sx < 0) & (sx < size);
    const UOp v = ir::Where(valid, LoadAt(P(c, 1), ir::Valid((sy * size + sx) * co + o, valid)),
                            ir::Const(kFloat32, 0.0));
    const UOp sum =
        ReduceOver(Op::kAdd, v * LoadAt(P(c, 2), ((ky * 3 + kx) * co + o) * ci + i), red);
    return Kernel({StoreLoop(P(c, 0), (y * grown + x) * ci + i, sum, out)});
  };
  return c;
}

// Rows minus their maximum, times their sum.
Case RowWise(int rows, int cols) {
  Case c{"rows", {rows * cols, rows * cols}, nullptr};
  c.make = [=](Axes& axes) {
    std::vector<UOp> out, r1, r2;
    const UOp i = axes.Make(rows, false, out), j = axes.Make(cols, false, out),
              k = axes.Make(cols, true, r1), l = axes.Make(cols, true, r2);
    auto at = [&](const UOp& col) { return LoadAt(P(c, 1), i * cols + col); };
    const UOp max = ReduceOver(Op::kMax, at(k), r1);
    const UOp sum = ReduceOver(Op::kAdd, ir::Alu(Op::kSub, {at(l), max}), r2);
    return Kernel({StoreLoop(P(c, 0), i * cols + j, ir::Alu(Op::kSub, {at(j), max}) * sum, out)});
  };
  return c;
}

// Transposition, flip, and an index with division: out[i] = a[flip], 6x8 as 48.
Case Shuffle() {
  Case c{"shuffle", {96, 96}, nullptr};
  c.make = [=](Axes& axes) {
    std::vector<UOp> out;
    const UOp i = axes.Make(96, false, out);
    const UOp from = FloorMod(i, 8) * 12 + (FloorDiv(i, 8) * -1 + 11);
    return Kernel({StoreLoop(P(c, 0), i, LoadAt(P(c, 1), from) * ir::Cast(i, kFloat32), out)});
  };
  return c;
}

// A padded axis: iterations beyond the end touch no memory.
Case Padded(int n) {
  const int rounded = (n + 15) / 16 * 16;
  Case c{"padded", {n * 3, n * 3}, nullptr};
  c.make = [=](Axes& axes) {
    std::vector<UOp> out;
    const UOp r = axes.Make(3, false, out), i = axes.Make(rounded, false, out);
    const UOp valid = i < n;
    const UOp v = LoadAt(P(c, 1), ir::Valid(r * n + i, valid));
    return Kernel({StoreLoop(P(c, 0), ir::Valid(r * n + i, valid), v + v, out)});
  };
  return c;
}

// Gather by a table of positions, and a reduction whose values do not depend on its range.
Case Gather() {
  Case c{"gather", {24, 40, 24}, nullptr};
  c.make = [=](Axes& axes) {
    std::vector<UOp> out, red;
    const UOp i = axes.Make(24, false, out), k = axes.Make(4, true, red);
    const UOp at = ir::Cast(LoadAt(P(c, 2), i), ir::kInt32) + ir::Const(ir::kInt32, 4);
    const UOp v = LoadAt(P(c, 1), ir::Cast(at, ir::kIndex));
    return Kernel(
        {StoreLoop(P(c, 0), i, ReduceOver(Op::kAdd, v, red) + ir::Cast(k * 0 + i, kFloat32), out)});
  };
  return c;
}

// A nested reduction: sum over rows of the maximum of each.
Case Nested() {
  Case c{"nested", {6, 6 * 8 * 12}, nullptr};
  c.make = [=](Axes& axes) {
    std::vector<UOp> out, r1, r2;
    const UOp i = axes.Make(6, false, out), j = axes.Make(8, true, r1), k = axes.Make(12, true, r2);
    const UOp max = ReduceOver(Op::kMax, LoadAt(P(c, 1), (i * 8 + j) * 12 + k), r2);
    return Kernel({StoreLoop(P(c, 0), i, ReduceOver(Op::kAdd, max, r1), out)});
  };
  return c;
}

TEST(Expand, Matmul) {
  ExpectSame(Matmul(6, 16, 8, false), 60);
  ExpectSame(Matmul(6, 16, 8, true), 60);
  ExpectSame(Matmul(5, 9, 7, false), 30);
}
TEST(Expand, Conv) { ExpectSame(Conv(2, 8, 6), 60); }
TEST(Expand, ConvGrad) { ExpectSame(ConvGrad(4, 8, 5), 60); }
TEST(Expand, RowWise) { ExpectSame(RowWise(4, 24), 60); }
TEST(Expand, Shuffle) {
  ExpectSame(Shuffle(), 60);
  ExpectSame(Shuffle(), 20, /*simplified=*/false);
}
TEST(Expand, Padded) {
  ExpectSame(Padded(20), 60);
  ExpectSame(Padded(7), 30);
}
TEST(Expand, Gather) { ExpectSame(Gather(), 60); }
TEST(Expand, Nested) { ExpectSame(Nested(), 60); }

// The comparison notices a wrong result: a kernel that depends on how its axes are split.
TEST(Expand, NegativeControl) {
  Case c{"control", {8, 8}, nullptr};
  int calls = 0;
  c.make = [&](Axes& axes) {
    std::vector<UOp> out;
    const UOp i = axes.Make(8, false, out);
    return Kernel({StoreLoop(P(c, 0), i, ir::Const(kFloat32, calls++), out)});
  };
  Axes axes(1);
  std::vector<float> a(8), b(8), unused(8);
  RunKernel(c.make(axes), {Bytes(a)});
  RunKernel(c.make(axes), {Bytes(b)});
  EXPECT_NE(a, b);
}

// What the register tile of a matmul must look like: 2 x 3 accumulators of 16 lanes; a turn of the
// loop loads 2 vectors and 3 scalars and has 6 multiply-adds; nothing else but addresses.
TEST(Expand, MatmulTile) {
  const int m = 12, n = 64, k = 32;
  const UOp out = Param(0, kFloat32, m * n), a = Param(1, kFloat32, m * k),
            b = Param(2, kFloat32, k * n);
  const UOp io = Range(4, 0), jo = Range(2, 1), ii = Range(3, 2, AxisType::kUpcast),
            jm = Range(2, 3, AxisType::kUpcast), jl = Range(16, 4, AxisType::kUpcast),
            x = Range(k, 5, AxisType::kReduce);
  const UOp i = io * 3 + ii, j = jo * 32 + jm * 16 + jl;
  const UOp sum = ReduceOver(Op::kAdd, LoadAt(a, i * k + x) * LoadAt(b, x * n + j), {x});
  const UOp kernel = ir::Simplify(Kernel({StoreLoop(out, i * n + j, sum, {io, jo, ii, jm, jl})}));
  const LinearProgram p = LowerOrFail(kernel, EverythingNative());
  int depth = 0, vectors = 0, scalars = 0, fmas = 0, splats = 0, stores = 0;
  for (const UOp& u : p.ops) {
    if (u.Is(Op::kRange)) ++depth;
    if (u.Is(Op::kEnd)) --depth;
    if (u.Is(Op::kStore) && depth == 2 && u.src(0).src(0).Is(Op::kParam)) ++stores;
    if (depth != 3) continue;
    const bool from_memory = u.Is(Op::kLoad) && u.src(0).src(0).Is(Op::kParam);
    vectors += from_memory && u.dtype().lanes() == 16;
    scalars += from_memory && u.dtype().lanes() == 1;
    fmas += u.Is(Op::kMulAcc);
    splats += u.Is(Op::kStack);
  }
  EXPECT_EQ(vectors, 2);
  EXPECT_EQ(scalars, 3);
  EXPECT_EQ(fmas, 6);
  EXPECT_EQ(splats, 3);
  EXPECT_EQ(stores, 6);
}

// Where all that a loop adds is padding, it does not run.
TEST(Expand, LoopsOverPaddingAreSkipped) {
  const int n = 8, co = 4;
  const UOp out = Param(0, kFloat32, n), a = Param(1, kFloat32, n * co),
            w = Param(2, kFloat32, 3 * co);
  const UOp i = Range(n, 0), k = Range(3, 1, AxisType::kReduce),
            c = Range(co, 2, AxisType::kReduce);
  const UOp at = i + k - 1;
  const UOp valid = ir::Not(at < 0) & (at < n);
  const UOp v =
      ir::Where(valid, LoadAt(a, ir::Valid(at * co + c, valid)), ir::Const(kFloat32, 0.0));
  const UOp sum = ReduceOver(Op::kAdd, v * LoadAt(w, k * co + c), {k, c});
  const UOp kernel = Kernel({StoreLoop(out, i, sum, {i})});
  const LinearProgram p = LowerOrFail(kernel, EverythingNative());
  int depth = 0, guarded_at = -1;
  for (const UOp& u : p.ops) {
    depth += u.Is(Op::kRange) ? 1 : u.Is(Op::kEnd) ? -1 : 0;
    if (u.Is(Op::kIf)) guarded_at = depth;
  }
  EXPECT_EQ(guarded_at, 2);
  std::vector<float> o(n), x = SmallInts(n * co, 1), y = SmallInts(3 * co, 2), want(n);
  for (int r = 0; r < n; ++r) {
    for (int t = 0; t < 3; ++t) {
      const int row = r + t - 1;
      for (int l = 0; row >= 0 && row < n && l < co; ++l)
        want[r] += x[row * co + l] * y[t * co + l];
    }
  }
  RunKernel(kernel, {Bytes(o), Bytes(x), Bytes(y)});
  EXPECT_EQ(o, want);
}

// A sum over memory: accumulators with lanes, several of them, combined after the loop.
TEST(Expand, SumHasSeveralAccumulators) {
  const UOp out = Param(0, kFloat32, 1), a = Param(1, kFloat32, 1024);
  const UOp k = Range(16, 0, AxisType::kReduce), u = Range(4, 1, AxisType::kUnroll),
            l = Range(16, 2, AxisType::kUnroll);
  const UOp kernel = Kernel({StoreLoop(
      out, IndexConst(0), ReduceOver(Op::kAdd, LoadAt(a, k * 64 + u * 16 + l), {k, u, l}), {})});
  const LinearProgram p = LowerOrFail(kernel, EverythingNative());
  const auto buffers =
      std::count_if(p.ops.begin(), p.ops.end(), [](const UOp& v) { return v.Is(Op::kBuffer); });
  EXPECT_EQ(buffers, 4);
}

}  // namespace
}  // namespace tg::lower
