// T11: arithmetic on indices is done in 64 bits wherever a value on the way may leave 32 bits.
// Shown on the lowered programs, by exact intervals: nothing runs, and no memory is needed.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/settings.h"
#include "codegen/ir/print.h"
#include "codegen/ir/shape.h"
#include "codegen/lower/lower.h"
#include "codegen/opt/optimize.h"
#include "drivers/runtime/target.h"
#include "gtest/gtest.h"
#include "tg/engine/renderers.h"
#include "tg/schedule/schedule.h"

namespace tg::engine {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOp;

struct Interval {
  __int128 min, max;
};

// The values that an integer expression over loops takes, exactly or a little wider; false where
// nothing is known (a value from memory).
class Intervals {
 public:
  bool Of(const UOp& root, Interval* out) {
    for (const UOp& u : ir::Toposort(root)) {
      if (known_.contains(u)) continue;
      Interval r;
      if (Compute(u, &r)) known_.emplace(u, r);
    }
    auto it = known_.find(root);
    if (it == known_.end()) return false;
    *out = it->second;
    return true;
  }

 private:
  bool Compute(const UOp& u, Interval* r) {
    if (!u.dtype().IsInt() || u.dtype().lanes() > 1) return false;
    Interval a, b;
    auto get = [this](const UOp& s, Interval* i) {
      auto it = known_.find(s);
      if (it == known_.end()) return false;
      *i = it->second;
      return true;
    };
    switch (u.op()) {
      case Op::kConst:
        *r = {u.const_int(), u.const_int()};
        return true;
      case Op::kRange:
      case Op::kVariable:
        *r = {u.vmin(), u.vmax()};
        return true;
      case Op::kCast:
        return get(u.src(0), r);
      case Op::kAdd:
        if (!get(u.src(0), &a) || !get(u.src(1), &b)) return false;
        *r = {a.min + b.min, a.max + b.max};
        return true;
      case Op::kSub:
        if (!get(u.src(0), &a) || !get(u.src(1), &b)) return false;
        *r = {a.min - b.max, a.max - b.min};
        return true;
      case Op::kMul: {
        if (!get(u.src(0), &a) || !get(u.src(1), &b)) return false;
        const __int128 p[] = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
        *r = {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
        return true;
      }
      case Op::kShl:
        if (!get(u.src(0), &a) || !u.src(1).IsConst()) return false;
        *r = {a.min << u.src(1).const_int(), a.max << u.src(1).const_int()};
        return true;
      case Op::kLoad:
        return false;
      default:
        for (const UOp& source : u.src()) {
          if (!get(source, &a)) return false;
        }
        // Quotients, remainders, choices: what the node itself says.
        *r = {u.vmin(), u.vmax()};
        return true;
    }
  }

  absl::flat_hash_map<UOp, Interval> known_;
};

UOp Buffer(int64_t id, int64_t size, ir::DType dtype) {
  return UOp::Make(Op::kBuffer, dtype, {},
                   ir::Arg(ir::BufferArg{.id = id,
                                         .size = size,
                                         .space = ir::AddrSpace::kGlobal,
                                         .device = "CPU",
                                         .storage = nullptr}));
}

UOp Input(int64_t id, const Shape& shape, ir::DType dtype = ir::kFloat32) {
  return ir::Reshape(Buffer(id, ir::NumElements(shape).value(), dtype), shape);
}

struct Findings {
  int narrow = 0;  // integers of at most 32 bits
  int wide = 0;
  std::vector<std::string> wrong;
};

// All integer arithmetic of the programs of `value`, stored contiguously.
Findings Inspect(const UOp& value, bool optimize) {
  Findings f;
  const schedule::Schedule s = schedule::CreateSchedule(ir::Sink({ir::Contiguous(value)}), "CPU");
  drivers::Target target = *drivers::ParseTarget("CPU");
  const render::Target& t = (*RendererFor(target))->target();
  for (const schedule::ScheduleItem& item : s.items) {
    base::Scoped<int> noopt(base::kNoOpt, optimize ? 0 : 1);
    const auto program = lower::Lower(opt::Optimize(item.ast, t, 2), t);
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) continue;
    Intervals intervals;
    for (const UOp& u : program->ops) {
      if (!u.dtype().IsInt() || u.Is(Op::kConst)) continue;
      (u.dtype().bytes() <= 4 ? f.narrow : f.wide) += 1;
      Interval i;
      if (!intervals.Of(u, &i)) continue;
      if (i.min < u.dtype().MinInt() || i.max > u.dtype().MaxInt()) {
        f.wrong.push_back(ir::PrintTree(u));
      }
    }
  }
  return f;
}

void ExpectRight(const UOp& value, bool wide) {
  for (bool optimize : {false, true}) {
    const Findings f = Inspect(value, optimize);
    EXPECT_TRUE(f.wrong.empty()) << f.wrong.size() << " overflow, first\n" << f.wrong[0];
    if (wide) {
      EXPECT_GT(f.wide, 0);
    } else {
      EXPECT_EQ(f.wide, 0);
    }
    EXPECT_GT(f.wide + f.narrow, 0);
  }
}

void ExpectNoOverflow(const UOp& value) {
  for (bool optimize : {false, true}) {
    const Findings f = Inspect(value, optimize);
    EXPECT_TRUE(f.wrong.empty()) << f.wrong.size() << " overflow, first\n" << f.wrong[0];
  }
}

TEST(IndexWidthTest, SmallKernelsUse32Bits) {
  ExpectRight(Input(0, {1000, 1000}) + Input(1, {1000, 1000}), false);
}

TEST(IndexWidthTest, MemoriesBeyond32Bits) {
  const Shape shape = {3, 1 << 15, 1 << 15};
  ExpectRight(Input(0, shape, ir::kInt8) + Input(1, shape, ir::kInt8), true);
  ExpectRight(ir::Permute(Input(0, shape, ir::kInt8), std::vector<int64_t>{2, 0, 1}), true);
}

// An int8 repeated to more than 2^31 elements.
TEST(IndexWidthTest, ExpandedBeyond32Bits) {
  const UOp x = ir::Expand(Input(0, {1 << 12, 1}, ir::kInt8), {1 << 12, 1 << 20});
  ExpectRight(x, true);
}

// The result of 4096 x 1024 by 1024 x 64 * 599 stays within 32 bits; what the sum runs over does
// not.
TEST(IndexWidthTest, AProductWithALargeIterationSpace) {
  const int64_t m = 4096, k = 1024, n = 64 * 599;
  const Shape all = {m, n, k};
  const UOp a = ir::Expand(ir::Reshape(Input(0, {m, k}), {m, 1, k}), all);
  const UOp b = ir::Expand(
      ir::Reshape(ir::Permute(Input(1, {k, n}), std::vector<int64_t>{1, 0}), {1, n, k}), all);
  const UOp product = ir::Reduce(a * b, Op::kAdd, std::vector<int64_t>{2});
  ExpectNoOverflow(product);
}

// Small results from the middle of huge reshapes: only what is on the way is wide.
TEST(IndexWidthTest, IntermediateValues) {
  const int64_t n = 100'000;
  // flat = i * n + j of a repeated row, cut down to few elements, divided by something odd.
  const UOp grid = ir::Expand(Input(0, {1, n}), {n, n});
  const UOp flat = ir::Reshape(grid, {n * n});
  const UOp split = ir::Reshape(ir::Shrink(flat, {{0, (n * n) / 7 * 7}}), {7, (n * n) / 7});
  const UOp some = ir::Shrink(split, {{1, 6}, {1'000'000'000, 1'000'000'500}});
  ExpectNoOverflow(some);
}

TEST(IndexWidthTest, TheCheckFindsOverflow) {
  const UOp i = ir::Cast(ir::Range(1 << 20, 0), ir::kInt32);
  Intervals intervals;
  Interval r;
  ASSERT_TRUE(intervals.Of(i * (1 << 15) + 5, &r));
  EXPECT_GT(r.max, ir::kInt32.MaxInt());
}

}  // namespace
}  // namespace tg::engine
