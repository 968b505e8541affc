#include "codegen/lower/ranges.h"

#include <string>

#include "codegen/ir/print.h"
#include "codegen/lower/lower_test_util.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::AxisType;
using ir::kFloat32;
using ir::Op;
using ir::Param;
using ir::Range;
using ir::UOp;

const UOp out = Param(0, kFloat32, 64);
const UOp in = Param(1, kFloat32, 64);

std::string After(const UOp& end) {
  const auto sink = PrepareRanges(Kernel({end}), true);
  if (!sink.ok()) return sink.status().ToString();
  return sink->src_count() == 0 ? "nothing" : ir::PrintExpr(sink->src(0));
}

TEST(Ranges, OfSizeOne) {
  const UOp i = Range(8, 0), one = Range(1, 1), k = Range(1, 2, AxisType::kReduce);
  EXPECT_EQ(
      After(StoreLoop(out, i + one * 3, ReduceOver(Op::kAdd, LoadAt(in, i + k), {k}), {i, one})),
      "End(p0[r0] = load(p1[r0]), r0)");
}

TEST(Ranges, OfSizeZero) {
  const UOp i = Range(8, 0), none = Range(0, 1), k = Range(0, 2, AxisType::kReduce);
  EXPECT_EQ(After(StoreLoop(out, i, ReduceOver(Op::kAdd, LoadAt(in, k), {k}), {i})),
            "End(p0[r0] = 0.0, r0)");
  EXPECT_EQ(After(StoreLoop(out, i, ReduceOver(Op::kMax, LoadAt(in, k), {k}), {i})),
            "End(p0[r0] = -inf, r0)");
  EXPECT_EQ(After(StoreLoop(out, none, LoadAt(in, none), {none})), "nothing");
}

TEST(Ranges, Threads) {
  const UOp t = Range(4, 0, AxisType::kThread), i = Range(8, 1);
  auto threads = [](const UOp& sink, bool has_threads) {
    int n = 0;
    for (const UOp& u : ir::Toposort(PrepareRanges(sink, has_threads).value())) {
      n += u.Is(Op::kRange) && u.arg_as<ir::RangeArg>().type == AxisType::kThread;
    }
    return n;
  };
  const UOp split = StoreLoop(out, t * 8 + i, LoadAt(in, i), {t, i});
  const UOp whole = StoreLoop(in, i, ir::Const(kFloat32, 1.0), {i});
  EXPECT_EQ(threads(Kernel({split}), true), 1);
  EXPECT_EQ(threads(Kernel({split}), false), 0);
  EXPECT_EQ(threads(Kernel({split, whole}), true), 0);
  const UOp second = Range(2, 2, AxisType::kThread);
  EXPECT_EQ(threads(Kernel({StoreLoop(out, t * 2 + second, LoadAt(in, t), {t, second})}), true), 1);
}

TEST(Ranges, Rejects) {
  for (AxisType type : {AxisType::kGlobal, AxisType::kLocal, AxisType::kWarp,
                        AxisType::kGroupReduce, AxisType::kDevice}) {
    const UOp g = Range(4, 0, type);
    EXPECT_EQ(PrepareRanges(Kernel({StoreLoop(out, g, LoadAt(in, g), {g})}), true).status().code(),
              absl::StatusCode::kUnimplemented);
  }
  const UOp u = Range(ir::Variable("n", 1, 8), 0, AxisType::kUpcast);
  EXPECT_EQ(PrepareRanges(Kernel({StoreLoop(out, u, LoadAt(in, u), {u})}), true).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(PrepareRanges(Kernel({LoadAt(in, ir::IndexConst(0))}), true).ok());
  EXPECT_FALSE(PrepareRanges(UOp(), true).ok());
}

}  // namespace
}  // namespace tg::lower
