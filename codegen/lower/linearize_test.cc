#include "codegen/lower/linearize.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/ir/verify.h"
#include "codegen/lower/lower_test_util.h"
#include "gtest/gtest.h"

namespace tg::lower {
namespace {

using ir::AxisType;
using ir::kFloat32;
using ir::kInt32;
using ir::Op;
using ir::Param;
using ir::UOp;

UOp Loop(int size, int id, AxisType type = AxisType::kLoop) {
  return UOp::Make(Op::kRange, kInt32, {ir::Const(kInt32, size)}, ir::RangeArg{id, type});
}

const UOp out = Param(0, kFloat32, 64);
const UOp in = Param(1, kFloat32, 64);

// One letter per instruction in order, loops in braces with the number of their range: L load,
// S store, A accumulator accesses, f multiply-add, + * arithmetic. Addresses are left out.
std::string Shape(const UOp& sink) {
  const auto ops = Linearize(sink, EverythingNative());
  if (!ops.ok()) return ops.status().ToString();
  const absl::Status valid = ir::VerifyInstructions(*ops);
  EXPECT_TRUE(valid.ok()) << valid;
  std::string text;
  for (const UOp& u : *ops) {
    const bool reg = (u.Is(Op::kLoad) || u.Is(Op::kStore)) && u.src(0).src(0).Is(Op::kBuffer);
    switch (u.op()) {
      case Op::kRange:
        absl::StrAppend(&text, u.arg_as<ir::RangeArg>().id, "{");
        break;
      case Op::kEnd:
        text += "}";
        break;
      case Op::kLoad:
        text += reg ? "a" : "L";
        break;
      case Op::kStore:
        text += reg ? "A" : "S";
        break;
      case Op::kMulAcc:
        text += "f";
        break;
      case Op::kAdd:
      case Op::kMul:
        if (u.dtype().IsFloat()) text += u.Is(Op::kAdd) ? "+" : "*";
        break;
      default:
        break;
    }
  }
  return text;
}

TEST(Linearize, Loops) {
  const UOp i = Loop(4, 0), j = Loop(8, 1);
  EXPECT_EQ(Shape(Kernel({StoreLoop(out, i * 8 + j, LoadAt(in, i) * LoadAt(in, j), {i, j})})),
            "0{L1{L*S}}");
}

TEST(Linearize, Accumulator) {
  const UOp i = Loop(4, 0), k = Loop(8, 1, AxisType::kReduce);
  EXPECT_EQ(Shape(Kernel({StoreLoop(
                out, i, ReduceOver(Op::kAdd, LoadAt(in, i) * LoadAt(in, k), {k}), {i})})),
            "0{LA1{LafA}aS}");
  // Does not depend on i: once, before its loop.
  EXPECT_EQ(Shape(Kernel({StoreLoop(out, i, ReduceOver(Op::kAdd, LoadAt(in, k), {k}), {i})})),
            "A1{aL+A}a0{S}");
}

TEST(Linearize, IndependentReductionsShareALoop) {
  const UOp k = Loop(8, 1, AxisType::kReduce), zero = ir::Const(kInt32, 0);
  const UOp a = ReduceOver(Op::kAdd, LoadAt(in, k), {k}),
            b = ReduceOver(Op::kMul, LoadAt(in, k), {k});
  EXPECT_EQ(Shape(Kernel({StoreLoop(out, zero, a * b, {})})), "AA1{aL+a*AA}aa*S");
}

TEST(Linearize, DependentReductionsGetLoopsOfTheirOwn) {
  const UOp k = Loop(8, 1, AxisType::kReduce), zero = ir::Const(kInt32, 0);
  const UOp a = ReduceOver(Op::kAdd, LoadAt(in, k), {k});
  const UOp b = ReduceOver(Op::kAdd, LoadAt(in, k) * a, {k});
  EXPECT_EQ(Shape(Kernel({StoreLoop(out, zero, b, {})})), "A1{aL+A}aA2{LafA}aS");
}

// Reading and writing one memory in two outputs: all reads of a turn come first.
TEST(Linearize, InPlace) {
  const UOp i = Loop(8, 0);
  const UOp v = LoadAt(in, i), w = LoadAt(out, i);
  EXPECT_EQ(Shape(Kernel({StoreLoop(out, i, v, {i}), StoreLoop(in, i, w, {i})})), "0{LLSS}");
}

TEST(Linearize, ValueOutsideOfItsLoop) {
  const UOp i = Loop(8, 0), j = Loop(8, 1);
  EXPECT_NE(Shape(Kernel({StoreLoop(out, i, LoadAt(in, j), {i})})).find("range 1 is used outside"),
            std::string::npos);
}

TEST(Linearize, DeepChains) {
  const UOp i = Loop(8, 0);
  UOp v = LoadAt(in, i);
  for (int n = 0; n < 100'000; ++n) v = v * ir::Const(kFloat32, 1.0 + n);
  EXPECT_EQ(Shape(Kernel({StoreLoop(out, i, v, {i})})).size(), 100'000u + 5);
}

}  // namespace
}  // namespace tg::lower
