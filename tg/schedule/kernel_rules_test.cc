#include "tg/schedule/kernel_rules.h"

#include <random>
#include <utility>
#include <vector>

#include "codegen/interp/interpreter.h"
#include "codegen/interp/renderer.h"
#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"
#include "codegen/lower/lower.h"
#include "gtest/gtest.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::UOp;

constexpr int64_t kSize = 24;  // of each memory

UOp Memory(int slot) { return ir::Param(slot, ir::kInt32, kSize); }

UOp Load(int slot, const UOp& index) {
  return UOp::Make(Op::kLoad, ir::kInt32,
                   {UOp::Make(Op::kIndex, ir::kInt32, {Memory(slot), index})});
}

UOp Reduce(Op op, const UOp& value, const std::vector<UOp>& ranges) {
  std::vector<UOp> src = {value};
  src.insert(src.end(), ranges.begin(), ranges.end());
  return UOp::Make(Op::kReduce, value.dtype(), src,
                   ir::Boxed<ir::ReduceArg>(ir::ReduceArg{op, {}}));
}

UOp ReduceRange(int64_t size, int id) { return ir::Range(size, id, ir::AxisType::kReduce); }

// Memory 0 at `loop` = value.
UOp Kernel(const UOp& value, const UOp& loop) {
  const UOp store = UOp::Make(Op::kStore, ir::kVoid,
                              {UOp::Make(Op::kIndex, ir::kInt32, {Memory(0), loop}), value});
  return ir::Sink({UOp::Make(Op::kEnd, ir::kVoid, {store, loop})});
}

int Count(const UOp& u, Op op) {
  int n = 0;
  for (const UOp& x : ir::Toposort(u)) n += x.Is(op);
  return n;
}

// What the kernel leaves in memory 0, with memories 1 and 2 given.
std::vector<int32_t> Interpret(const UOp& kernel, std::vector<int32_t> a, std::vector<int32_t> b) {
  EXPECT_TRUE(ir::VerifyKernel(kernel).ok()) << ir::VerifyKernel(kernel);
  const auto program = lower::Lower(kernel, interp::MakeRenderer()->target());
  EXPECT_TRUE(program.ok()) << program.status() << "\n" << ir::PrintTree(kernel);
  if (!program.ok()) return {};
  std::vector<int32_t> out(kSize, -1);
  std::vector<absl::Span<uint8_t>> buffers;
  for (std::vector<int32_t>* m : {&out, &a, &b}) {
    buffers.emplace_back(reinterpret_cast<uint8_t*>(m->data()), m->size() * 4);
  }
  // A kernel takes memories up to the last one that it mentions.
  buffers.resize(program->params.size());
  const absl::Status status = interp::Interpret(*program, buffers, {});
  EXPECT_TRUE(status.ok()) << status << "\n" << ir::PrintTree(kernel);
  return out;
}

std::vector<int32_t> Numbers(int seed, int low, int high) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  std::vector<int32_t> v(kSize);
  for (int32_t& x : v) {
    x = low + static_cast<int32_t>(rng() % static_cast<unsigned>(high - low + 1));
  }
  return v;
}

void ExpectSame(const UOp& kernel, const UOp& cleaned) {
  const auto a = Numbers(1, -5, 30), b = Numbers(2, -3, 25);
  EXPECT_EQ(Interpret(cleaned, a, b), Interpret(kernel, a, b)) << ir::PrintTree(cleaned);
}

TEST(KernelRulesTest, SumsOfSumsBecomeOne) {
  const UOp i = ir::Range(6, 0), r = ReduceRange(2, 1), s = ReduceRange(2, 2);
  const UOp kernel =
      Kernel(Reduce(Op::kAdd, Reduce(Op::kAdd, Load(1, i * 4 + r * 2 + s), {s}), {r}), i);
  const UOp cleaned = CleanKernel(kernel);
  EXPECT_EQ(Count(cleaned, Op::kReduce), 1);
  ExpectSame(kernel, cleaned);
  // A sum of maxima stays what it is.
  const UOp mixed =
      Kernel(Reduce(Op::kAdd, Reduce(Op::kMax, Load(1, i * 4 + r * 2 + s), {s}), {r}), i);
  EXPECT_EQ(Count(CleanKernel(mixed), Op::kReduce), 2);
  ExpectSame(mixed, CleanKernel(mixed));
}

TEST(KernelRulesTest, UnusedRangesAreFactors) {
  const UOp i = ir::Range(6, 0), r = ReduceRange(7, 1);
  const UOp sum = Kernel(Reduce(Op::kAdd, Load(1, i), {r}), i);
  EXPECT_EQ(Count(CleanKernel(sum), Op::kReduce), 0);
  ExpectSame(sum, CleanKernel(sum));
  const UOp max = Kernel(Reduce(Op::kMax, Load(1, i), {r}), i);
  EXPECT_EQ(Count(CleanKernel(max), Op::kReduce), 0);
  ExpectSame(max, CleanKernel(max));
  const UOp product = Kernel(Reduce(Op::kMul, Load(1, i), {r}), i);
  ExpectSame(product, CleanKernel(product));
}

TEST(KernelRulesTest, PickingIsALoad) {
  const UOp i = ir::Range(6, 0), r = ReduceRange(kSize, 1);
  const UOp index = Load(2, i);
  // As a choice and as a product with a one-hot row, with the range as an index and as an integer.
  for (const UOp& chosen :
       {ir::CmpEq(ir::Cast(r, ir::kInt32), index), ir::CmpEq(index, ir::Cast(r, ir::kInt32)),
        ir::CmpEq(r, ir::Cast(index, ir::kIndex))}) {
    const UOp where =
        Kernel(Reduce(Op::kAdd, ir::Where(chosen, Load(1, r), ir::Const(ir::kInt32, 0)), {r}), i);
    EXPECT_EQ(Count(CleanKernel(where), Op::kReduce), 0);
    ExpectSame(where, CleanKernel(where));
    const UOp product = Kernel(Reduce(Op::kAdd, ir::Cast(chosen, ir::kInt32) * Load(1, r), {r}), i);
    EXPECT_EQ(Count(CleanKernel(product), Op::kReduce), 0);
    ExpectSame(product, CleanKernel(product));
  }
}

// Also where the index of what is loaded is loaded by the range that goes: those loads, too, must
// not happen for an index out of range (memory 2 has some).
TEST(KernelRulesTest, PickingThroughIndices) {
  const UOp i = ir::Range(4, 0), r = ReduceRange(4, 1), s = ReduceRange(5, 2);
  const UOp pick_r = ir::CmpEq(r, ir::Cast(Load(2, i), ir::kIndex));
  const UOp pick_s = ir::CmpEq(ir::Cast(s, ir::kInt32), Load(2, r * 2));
  const UOp kernel = Kernel(
      Reduce(Op::kAdd, ir::Where(pick_r & pick_s, Load(1, s * 2 + 1), ir::Const(ir::kInt32, 0)),
             {r, s}),
      i);
  const UOp cleaned = CleanKernel(kernel);
  EXPECT_EQ(Count(cleaned, Op::kReduce), 0);
  ExpectSame(kernel, cleaned);
}

// Random sums over comparisons, choices and products: cleaning changes no value. Memory 2 holds
// numbers below and above the ranges.
TEST(KernelRulesTest, RandomKernels) {
  int cleaned_away = 0;
  for (int seed = 1; seed <= 1500; ++seed) {
    std::mt19937 rng(static_cast<unsigned>(seed));
    auto pick = [&rng](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
    const UOp i = ir::Range(4, 0);
    std::vector<UOp> ranges;
    for (int k = 0, n = 1 + pick(2); k < n; ++k) ranges.push_back(ReduceRange(2 + pick(4), k + 1));
    auto index = [&]() -> UOp {
      UOp e = pick(2) == 0 ? i : ir::IndexConst(pick(4));
      if (pick(3) != 0) {
        const UOp r = ranges[pick(static_cast<int>(ranges.size()))];
        e = e + r * (1 + pick(3));
      }
      return e;  // at most 3 + 5 * 3
    };
    auto number = [&]() -> UOp {
      switch (pick(4)) {
        case 0:
          return ir::Const(ir::kInt32, pick(7) - 3);
        case 1:
          return ir::Cast(ranges[pick(static_cast<int>(ranges.size()))], ir::kInt32);
        default: {
          const UOp at = index();
          return Load(1 + pick(2), at);
        }
      }
    };
    auto condition = [&]() -> UOp {
      const UOp r = ranges[pick(static_cast<int>(ranges.size()))];
      switch (pick(5)) {
        case 0:
          return ir::Cast(r, ir::kInt32) < number();
        case 1:
          return ir::CmpNe(ir::Cast(r, ir::kInt32), number());
        case 2:
          return ir::CmpEq(r, ir::Cast(Load(2, i), ir::kIndex));
        default:
          return ir::CmpEq(ir::Cast(r, ir::kInt32), number());
      }
    };
    UOp value = number();
    int id = 10;
    for (int step = 0, n = 1 + pick(4); step < n; ++step) {
      switch (pick(6)) {
        case 0:
          value = value + number();
          break;
        case 1:
          value = value * number();
          break;
        case 2: {
          const UOp c = condition(), d = condition();
          value = ir::Where(c & d, value, ir::Const(ir::kInt32, 0));
          break;
        }
        case 3:
          value = ir::Cast(condition(), ir::kInt32) * value;
          break;
        case 4: {
          const UOp r = ReduceRange(2 + pick(3), id++);
          if (pick(2) == 0) value = value + Load(1, i + r);
          value = Reduce(pick(3) == 0 ? Op::kMax : Op::kAdd, value, {r});
          break;
        }
        default: {
          const UOp c = condition();
          value = ir::Where(c, value, pick(2) == 0 ? number() : ir::Const(ir::kInt32, 0));
          break;
        }
      }
    }
    const UOp kernel = Kernel(Reduce(pick(5) == 0 ? Op::kMax : Op::kAdd, value, ranges), i);
    const UOp cleaned = CleanKernel(kernel);
    cleaned_away += Count(kernel, Op::kReduce) - Count(cleaned, Op::kReduce);
    const auto a = Numbers(seed, -4, 9), b = Numbers(seed + 1000, -2, 7);
    ASSERT_EQ(Interpret(cleaned, a, b), Interpret(kernel, a, b))
        << "seed " << seed << "\n"
        << ir::PrintTree(kernel) << ir::PrintTree(cleaned);
    if (HasFailure()) return;
  }
  EXPECT_GT(cleaned_away, 100);
}

}  // namespace
}  // namespace tg::schedule
