#include "tg/schedule/schedule.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>

#include "codegen/interp/interpreter.h"
#include "codegen/interp/renderer.h"
#include "codegen/ir/print.h"
#include "codegen/ir/shape.h"
#include "codegen/ir/verify.h"
#include "codegen/lower/lower.h"
#include "gtest/gtest.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOp;

UOp Buffer(int64_t id, int64_t size, ir::DType dtype = ir::kFloat32) {
  return UOp::Make(Op::kBuffer, dtype, {},
                   ir::Arg(ir::BufferArg{.id = id,
                                         .size = size,
                                         .space = ir::AddrSpace::kGlobal,
                                         .device = "CPU",
                                         .storage = nullptr}));
}

UOp Input(int64_t id, const Shape& shape) {
  return ir::Reshape(Buffer(id, ir::NumElements(shape).value()), shape);
}

UOp Sum(const UOp& x, std::initializer_list<int64_t> axes) {
  return ir::Reduce(x, Op::kAdd, std::vector<int64_t>(axes));
}

UOp Exp(const UOp& x) {
  return ir::Alu(Op::kExp2, {x * ir::Const(ir::kFloat32, 1.4426950408889634)});
}

// Runs a schedule by the interpreter, unoptimised.
class Runner {
 public:
  explicit Runner(std::vector<std::vector<float>> inputs) : inputs_(std::move(inputs)) {}

  // The outputs of the sink's roots.
  std::vector<std::vector<float>> Run(const UOp& sink) {
    EXPECT_TRUE(ir::VerifyTensor(sink).ok()) << ir::VerifyTensor(sink);
    schedule_ = CreateSchedule(sink, "CPU");
    std::vector<std::vector<float>> memory(schedule_.buffers.size());
    for (size_t b = 0; b < memory.size(); ++b) memory[b].resize(schedule_.buffers[b].size, NAN);
    for (size_t i = 0; i < schedule_.inputs.size(); ++i) {
      if (schedule_.inputs[i] >= 0) memory[schedule_.inputs[i]] = inputs_[i];
    }
    const auto renderer = interp::MakeRenderer();
    for (const ScheduleItem& item : schedule_.items) {
      if (item.kind == ScheduleItem::Kind::kCopy) {
        memory[item.buffers[0]] = memory[item.buffers[1]];
        continue;
      }
      EXPECT_TRUE(ir::VerifyKernel(item.ast).ok()) << ir::VerifyKernel(item.ast);
      auto program = lower::Lower(item.ast, renderer->target());
      if (!program.ok()) {
        ADD_FAILURE() << program.status() << "\n" << ir::PrintTree(item.ast);
        return {};
      }
      std::vector<absl::Span<uint8_t>> buffers;
      for (int b : item.buffers) {
        buffers.emplace_back(reinterpret_cast<uint8_t*>(memory[b].data()), memory[b].size() * 4);
      }
      const absl::Status status = interp::Interpret(*program, buffers, {});
      EXPECT_TRUE(status.ok()) << status << "\n" << ir::PrintTree(item.ast);
    }
    std::vector<std::vector<float>> outputs;
    for (int b : schedule_.outputs) outputs.push_back(memory[b]);
    return outputs;
  }

  size_t kernels() const { return schedule_.items.size(); }
  const Schedule& schedule() const { return schedule_; }

 private:
  std::vector<std::vector<float>> inputs_;
  Schedule schedule_;
};

std::vector<float> Random(size_t n, unsigned seed = 1) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> d(-1, 1);
  std::vector<float> v(n);
  for (float& x : v) x = d(rng);
  return v;
}

void ExpectNear(const std::vector<float>& got, const std::vector<float>& want, float tol = 1e-4f) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tol * (1 + std::abs(want[i]))) << "at " << i;
  }
}

UOp Output(const UOp& x) { return ir::Contiguous(x); }

TEST(ScheduleTest, ElementwiseChainIsOneKernel) {
  const auto a = Random(12, 1), b = Random(12, 2);
  Runner run({a, b});
  const UOp x = Input(0, {3, 4}), y = Input(1, {3, 4});
  auto out = run.Run(ir::Sink({Output((x + y) * y)}));
  EXPECT_EQ(run.kernels(), 1u);
  std::vector<float> want(12);
  for (int i = 0; i < 12; ++i) want[i] = (a[i] + b[i]) * b[i];
  ExpectNear(out[0], want);
}

TEST(ScheduleTest, MovementsBecomeIndices) {
  const auto a = Random(24);
  Runner run({a});
  UOp x = Input(0, {2, 3, 4});
  x = ir::Permute(x, std::vector<int64_t>{2, 0, 1});  // (4, 2, 3)
  x = ir::Pad(x, {{1, 0}, {0, 0}, {0, 2}});           // (5, 2, 5)
  x = ir::Flip(x, std::vector<int64_t>{2});
  x = ir::Reshape(x, {5, 10});
  x = ir::Shrink(x, {{0, 5}, {1, 9}});  // (5, 8)
  auto out = run.Run(ir::Sink({Output(x)}));
  EXPECT_EQ(run.kernels(), 1u);
  std::vector<float> want;
  for (int i = 0; i < 5; ++i) {
    for (int j = 1; j < 9; ++j) {
      const int p = j / 5, q = 4 - j % 5;  // in (5, 2, 5) before the flip
      want.push_back(i >= 1 && q < 3 ? a[p * 12 + q * 4 + (i - 1)] : 0.0f);
    }
  }
  ExpectNear(out[0], want);
}

TEST(ScheduleTest, SoftmaxIsOneKernel) {
  const int rows = 100, cols = 37;
  const auto a = Random(rows * cols);
  Runner run({a});
  const UOp x = Input(0, {rows, cols});
  auto wide = [&](const UOp& r) { return ir::Expand(r, {rows, cols}); };
  const UOp max = ir::Reduce(x, Op::kMax, std::vector<int64_t>{1});
  const UOp e = Exp(x - wide(max));
  const UOp soft = e * wide(ir::Alu(Op::kReciprocal, {Sum(e, {1})}));
  auto out = run.Run(ir::Sink({Output(soft)}));
  EXPECT_EQ(run.kernels(), 1u);
  std::vector<float> want(a.size());
  for (int r = 0; r < rows; ++r) {
    double m = -1e9, s = 0;
    for (int c = 0; c < cols; ++c) m = std::max<double>(m, a[r * cols + c]);
    for (int c = 0; c < cols; ++c) s += std::exp(a[r * cols + c] - m);
    for (int c = 0; c < cols; ++c) want[r * cols + c] = std::exp(a[r * cols + c] - m) / s;
  }
  ExpectNear(out[0], want);
}

TEST(ScheduleTest, MatmulTakesItsEpilogueAlong) {
  const int m = 5, n = 7, k = 6;
  const auto a = Random(m * k, 1), b = Random(k * n, 2), c = Random(n, 3);
  Runner run({a, b, c});
  const UOp x = ir::Expand(ir::Reshape(Input(0, {m, k}), {m, 1, k}), {m, n, k});
  const UOp y = ir::Expand(
      ir::Reshape(ir::Permute(Input(1, {k, n}), std::vector<int64_t>{1, 0}), {1, n, k}), {m, n, k});
  const UOp product = ir::Reshape(Sum(x * y, {2}), {m, n});
  const UOp bias = ir::Expand(ir::Reshape(Buffer(2, n), {1, n}), {m, n});
  auto out = run.Run(ir::Sink({Output(ir::Max(product + bias, ir::Const(ir::kFloat32, 0.0)))}));
  EXPECT_EQ(run.kernels(), 1u);
  std::vector<float> want(m * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double s = c[j];
      for (int l = 0; l < k; ++l) s += a[i * k + l] * b[l * n + j];
      want[i * n + j] = static_cast<float>(std::max(s, 0.0));
    }
  }
  ExpectNear(out[0], want);
}

// r[o][k] = x[o + k]: a window, and its adjoint, which sums what falls on each element.
TEST(ScheduleTest, WindowAndItsAdjoint) {
  const int n = 10, k = 3, o = 8;
  const auto a = Random(n, 1), g = Random(o * k, 2);
  Runner run({a, g});
  const UOp x = ir::Expand(ir::Reshape(Buffer(0, n), {n, 1}), {n, k});
  const UOp window = ir::Shear(x, 0, 1, 1, 0, o);
  const UOp adjoint = Sum(ir::Shear(Input(1, {o, k}), 0, 1, -1, 0, n), {1});
  auto out = run.Run(ir::Sink({Output(window), Output(adjoint)}));
  EXPECT_EQ(run.kernels(), 2u);
  std::vector<float> want(o * k), want_adjoint(n, 0);
  for (int i = 0; i < o; ++i) {
    for (int j = 0; j < k; ++j) {
      want[i * k + j] = a[i + j];
      want_adjoint[i + j] += g[i * k + j];
    }
  }
  ExpectNear(out[0], want);
  ExpectNear(out[1], want_adjoint);
}

TEST(ScheduleTest, ReductionUsedTwiceIsStoredOnce) {
  const auto a = Random(64 * 8);
  Runner run({a});
  const UOp x = Input(0, {64, 8});
  const UOp s = Sum(x, {0});  // not the outer axis of what uses it
  const UOp y = x - ir::Expand(s, {64, 8});
  auto out = run.Run(ir::Sink({Output(y), Output(s)}));
  EXPECT_EQ(run.kernels(), 3u);
  std::vector<float> want(a.size());
  for (int c = 0; c < 8; ++c) {
    double sum = 0;
    for (int r = 0; r < 64; ++r) sum += a[r * 8 + c];
    for (int r = 0; r < 64; ++r) want[r * 8 + c] = static_cast<float>(a[r * 8 + c] - sum);
  }
  ExpectNear(out[0], want);
}

TEST(ScheduleTest, LargeReductionIsSplit) {
  const int n = 1 << 18;
  const auto a = Random(n);
  Runner run({a});
  auto out = run.Run(ir::Sink({Output(ir::Reshape(Sum(Buffer(0, n), {0}), {}))}));
  EXPECT_EQ(run.kernels(), 2u);
  double want = 0;
  for (float v : a) want += v;
  ExpectNear(out[0], {static_cast<float>(want)}, 1e-3f);
}

UOp Store(const UOp& target, const UOp& value) {
  return UOp::Make(Op::kAfter, target.dtype(),
                   {target, UOp::Make(Op::kStore, ir::kVoid, {target, value})});
}

TEST(ScheduleTest, AssignReadsTheOldContent) {
  const auto a = Random(16);
  std::vector<float> want(a.rbegin(), a.rend());
  Runner run({a});
  const UOp b = Buffer(0, 16);
  auto out = run.Run(ir::Sink({Store(b, ir::Flip(b, std::vector<int64_t>{0}))}));
  ExpectNear(out[0], want);
  EXPECT_EQ(run.kernels(), 2u);  // with a snapshot
}

TEST(ScheduleTest, OldAndNewContentInOneKernel) {
  const auto a = Random(16);
  Runner run({a, std::vector<float>(16, 0)});
  const UOp b = Buffer(0, 16);
  const UOp after = Store(b, b + ir::Const(ir::kFloat32, 1.0));
  auto out = run.Run(ir::Sink({Store(Buffer(1, 16), b * after)}));
  std::vector<float> want(16);
  for (int i = 0; i < 16; ++i) want[i] = a[i] * (a[i] + 1);
  ExpectNear(out[0], want);
}

TEST(ScheduleTest, VersionsFollowEachOther) {
  const auto a = Random(16);
  Runner run({a});
  const UOp b = Buffer(0, 16);
  const UOp first = Store(b, b + ir::Const(ir::kFloat32, 1.0));
  auto out = run.Run(ir::Sink({Store(first, first * first)}));
  std::vector<float> want(16);
  for (int i = 0; i < 16; ++i) want[i] = (a[i] + 1) * (a[i] + 1);
  ExpectNear(out[0], want);
}

TEST(ScheduleTest, StoreToPartOfABuffer) {
  const auto a = Random(16);
  Runner run({a, {5, 6, 7, 8}});
  const UOp b = Buffer(0, 16);
  const UOp view = ir::Shrink(ir::Reshape(b, {4, 4}), {{1, 3}, {2, 4}});
  const UOp after = UOp::Make(Op::kAfter, ir::kFloat32,
                              {b, UOp::Make(Op::kStore, ir::kVoid, {view, Input(1, {2, 2})})});
  auto out = run.Run(ir::Sink({after}));
  std::vector<float> want = a;
  want[6] = 5, want[7] = 6, want[10] = 7, want[11] = 8;
  ExpectNear(out[0], want);
}

// one_hot(index) * table, summed: a load of the row.
TEST(ScheduleTest, PickingBecomesALoad) {
  const auto table = Random(50 * 3);
  Runner run({table, {7, 49, 0, 12}});
  const UOp index = ir::Cast(ir::Reshape(Buffer(1, 4), {4, 1, 1}), ir::kInt32);
  const Shape all = {4, 50, 3};
  const UOp iota = ir::Expand(ir::Reshape(ir::Iota(50, ir::kInt32), {1, 50, 1}), all);
  const UOp rows = ir::Expand(ir::Reshape(Input(0, {50, 3}), {1, 50, 3}), all);
  const UOp picked = Sum(
      ir::Where(ir::CmpEq(iota, ir::Expand(index, all)), rows, ir::Const(ir::kFloat32, 0.0)), {1});
  auto out = run.Run(ir::Sink({Output(picked)}));
  std::vector<float> want;
  for (int r : {7, 49, 0, 12})
    want.insert(want.end(), table.begin() + r * 3, table.begin() + r * 3 + 3);
  ExpectNear(out[0], want);
  for (const UOp& u : ir::Toposort(run.schedule().items[0].ast)) EXPECT_FALSE(u.Is(Op::kReduce));
}

// A choice between places that exclude each other: one of the loads has no valid index at all.
TEST(ScheduleTest, ALoadFromNowhere) {
  Runner run(std::vector<std::vector<float>>{{13}});
  const UOp x = ir::Pad(Input(0, {1}), {{3, 1}});
  // r[3:] = flip(x[:2]), as a choice.
  const UOp late = ir::Pad(ir::Flip(ir::Shrink(x, {{0, 2}}), std::vector<int64_t>{0}), {{3, 0}});
  const UOp old =
      ir::CmpNe(ir::Pad(ir::Expand(ir::Reshape(ir::Const(ir::kInt32, 1), {1}), {3}), {{0, 2}}),
                ir::Const(ir::kInt32, 0));
  auto out = run.Run(ir::Sink({Output(ir::Where(old, x, late))}));
  EXPECT_EQ(out[0], std::vector<float>(5, 0));
}

TEST(ScheduleTest, ReductionsOfNothing) {
  Runner run(std::vector<std::vector<float>>(1));
  const UOp x = Input(0, {3, 0});
  std::vector<UOp> roots;
  for (Op op : {Op::kAdd, Op::kMul, Op::kMax}) {
    roots.push_back(Output(ir::Reduce(x, op, std::vector<int64_t>{1})));
  }
  auto out = run.Run(ir::Sink(roots));
  EXPECT_EQ(out[0], std::vector<float>(3, 0));
  EXPECT_EQ(out[1], std::vector<float>(3, 1));
  EXPECT_EQ(out[2], std::vector<float>(3, -INFINITY));
}

TEST(ScheduleTest, DeepChainIsCutIntoKernels) {
  Runner run({Random(4)});
  UOp x = Buffer(0, 4);
  for (int i = 0; i < 20'000; ++i) x = x + ir::Const(ir::kFloat32, 1.0);
  run.Run(ir::Sink({Output(x)}));
  EXPECT_GT(run.kernels(), 10u);
}

TEST(ScheduleTest, EqualKernelsAreOneNode) {
  Runner run({Random(16), Random(16)});
  const UOp a = Buffer(0, 16), b = Buffer(1, 16);
  run.Run(ir::Sink({Output(a + a), Output(b + b)}));
  ASSERT_EQ(run.kernels(), 2u);
  EXPECT_EQ(run.schedule().items[0].ast, run.schedule().items[1].ast);
}

TEST(NormalizeTest, EqualComputationsAreEqualGraphs) {
  auto graph = [](int64_t id) { return ir::Sink({Store(Buffer(id, 8), Buffer(id + 1, 8))}); };
  EXPECT_EQ(Normalize(graph(5)).sink, Normalize(graph(90)).sink);
  EXPECT_EQ(Normalize(graph(5)).buffers[0], Buffer(5, 8));
}

}  // namespace
}  // namespace tg::schedule
