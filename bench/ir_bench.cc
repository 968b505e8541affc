// The micro-op graph: node creation, rule applications, and a chain of a million nodes through
// everything that walks a graph. `of_target` is the ratio to the figure that the design asks for:
// 3 million interned nodes and 300 thousand rule applications a second on one core.
//
//   bazel run //bench:ir_bench
#include <cstdint>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "codegen/ir/print.h"
#include "codegen/ir/rewrite.h"
#include "codegen/ir/simplify/simplify.h"
#include "codegen/ir/uop.h"

namespace tg::ir {
namespace {

constexpr double kNodesTarget = 3e6;
constexpr double kRewritesTarget = 300e3;

void Report(benchmark::State& state, double items, double target) {
  state.counters["per_second"] = benchmark::Counter(items, benchmark::Counter::kIsRate);
  state.counters["of_target"] = benchmark::Counter(items / target, benchmark::Counter::kIsRate);
}

// Nodes that did not exist, made and freed: sums and products of a few thousand at a time.
void BM_NewNodes(benchmark::State& state) {
  const UOp a = Variable("a", 0, 1000);
  std::vector<UOp> constants;
  for (int i = 0; i < 2048; ++i) constants.push_back(IndexConst(i + 2));
  std::vector<UOp> keep(4096);
  int64_t made = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < constants.size(); ++i) {
      keep[2 * i] = Alu(Op::kMul, {a, constants[i]});
      keep[2 * i + 1] = Alu(Op::kAdd, {keep[2 * i], constants[i]});
    }
    made += static_cast<int64_t>(keep.size());
    for (UOp& u : keep) u = UOp();
  }
  Report(state, static_cast<double>(made), kNodesTarget);
}
BENCHMARK(BM_NewNodes);

// The same where every node exists already.
void BM_FoundNodes(benchmark::State& state) {
  const UOp a = Variable("a", 0, 1000);
  std::vector<UOp> constants, keep;
  for (int i = 0; i < 2048; ++i) {
    constants.push_back(IndexConst(i + 2));
    keep.push_back(a * constants.back());
  }
  int64_t made = 0;
  for (auto _ : state) {
    for (const UOp& c : constants) benchmark::DoNotOptimize(Alu(Op::kMul, {a, c}));
    made += static_cast<int64_t>(constants.size());
  }
  Report(state, static_cast<double>(made), kNodesTarget);
}
BENCHMARK(BM_FoundNodes);

// What lowering asks of the simplifier: indices of reshapes, permutes, pads, windows, flips and
// splits of axes.
std::vector<UOp> IndexExpressions() {
  std::vector<UOp> r;
  for (int n = 2; n < 34; ++n) {
    const UOp a = Range(n, 0), b = Range(28, 1), c = Range(28, 2), k = Range(5, 3);
    const UOp flat = a * 784 + b * 28 + c;
    r.push_back(FloorMod(FloorDiv(flat, 28), 28) * 28 + FloorMod(flat, 28));
    r.push_back(FloorDiv(flat, 56) * 56 + FloorMod(FloorDiv(flat, 7), 8) * 7 + FloorMod(flat, 7));
    const UOp at = b + k - 2;
    const UOp padded = Valid(at, Not(at < 0) & (at < 28));
    r.push_back(a * 784 + padded * 28 + (c * -1 + 27));
    const UOp merged = Range(n * 64, 4), lane = Range(4, 5);
    const UOp tiled = FloorDiv(merged, 16) * 64 + lane * 16 + FloorMod(merged, 16);
    r.push_back(FloorDiv(tiled, 64) * 64 + FloorMod(FloorDiv(tiled, 4), 16) * 4 +
                FloorMod(tiled, 4));
    const UOp pooled = FloorDiv(c, 2) * 2 + FloorMod(k, 2);
    r.push_back(Valid(pooled * n + FloorDiv(b, 4), (pooled < 27) & (b < 27) & Not(b < 1)));
    r.push_back(Cast(Where(at < 28, at, IndexConst(0)) + a * 3 + a * 4 + 0, kInt32) * 1 + 0);
  }
  return r;
}

void BM_Simplify(benchmark::State& state) {
  const std::vector<UOp> work = IndexExpressions();
  const int64_t before = RewriteCount();
  int64_t expressions = 0;
  for (auto _ : state) {
    for (const UOp& u : work) benchmark::DoNotOptimize(Simplify(u));
    expressions += static_cast<int64_t>(work.size());
  }
  Report(state, static_cast<double>(RewriteCount() - before), kRewritesTarget);
  state.counters["expressions"] =
      benchmark::Counter(static_cast<double>(expressions), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Simplify);

constexpr int kChain = 1'000'000;

UOp Chain() {
  UOp u = Variable("a", 0, 1000);
  for (int n = 0; n < kChain; ++n) u = u + 1;
  return u;
}

void BM_ChainBuildAndDestroy(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Chain());
  Report(state, static_cast<double>(state.iterations()) * kChain, kNodesTarget);
}
BENCHMARK(BM_ChainBuildAndDestroy)->Unit(benchmark::kMillisecond);

void BM_ChainSimplify(benchmark::State& state) {
  const UOp u = Chain();
  const int64_t before = RewriteCount();
  for (auto _ : state) benchmark::DoNotOptimize(Simplify(u));
  Report(state, static_cast<double>(RewriteCount() - before), kRewritesTarget);
}
BENCHMARK(BM_ChainSimplify)->Unit(benchmark::kMillisecond);

void BM_ChainPrint(benchmark::State& state) {
  const UOp u = Chain();
  for (auto _ : state) benchmark::DoNotOptimize(Print(u));
}
BENCHMARK(BM_ChainPrint)->Unit(benchmark::kMillisecond);

// The hash is made with each node: reading it is free at any depth.
void BM_ChainHash(benchmark::State& state) {
  const UOp u = Chain();
  for (auto _ : state) benchmark::DoNotOptimize(u.hash());
}
BENCHMARK(BM_ChainHash);

void BM_ChainToposort(benchmark::State& state) {
  const UOp u = Chain();
  for (auto _ : state) benchmark::DoNotOptimize(Toposort(u));
}
BENCHMARK(BM_ChainToposort)->Unit(benchmark::kMillisecond);

// a = a + a, 100 times: 101 nodes, 2^100 paths.
void BM_DoublingSimplify(benchmark::State& state) {
  UOp u = Cast(Variable("a", 0, 1000), kFloat32);
  for (int n = 0; n < 100; ++n) u = u + u;
  for (auto _ : state) benchmark::DoNotOptimize(Simplify(u));
}
BENCHMARK(BM_DoublingSimplify);

}  // namespace
}  // namespace tg::ir
