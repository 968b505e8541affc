#include "codegen/ir/print.h"

#include <limits>
#include <sstream>

#include "gtest/gtest.h"

namespace tg::ir {
namespace {

TEST(PrintTest, TextForm) {
  UOp n = Variable("n", 1, 10);
  EXPECT_EQ(Print((n + 3) * n),
            "%0 = Variable weakint var(\"n\", 1, 10)\n"
            "%1 = Const weakint 3\n"
            "%2 = Add weakint %0 %1\n"
            "%3 = Mul weakint %2 %0\n");
  EXPECT_EQ(Print(UOp()), "");
}

TEST(PrintTest, Arguments) {
  EXPECT_EQ(PrintArg({}), "");
  EXPECT_EQ(PrintArg(int64_t{-3}), "-3");
  EXPECT_EQ(PrintArg(ConstFloat(1.5)), "0x1.8p+0");
  EXPECT_EQ(PrintArg(ConstFloat(-0.0)), "-0x0p+0");
  EXPECT_EQ(PrintArg(ConstFloat(std::numeric_limits<double>::infinity())), "inf");
  EXPECT_EQ(PrintArg(ConstFloat(-std::numeric_limits<double>::infinity())), "-inf");
  EXPECT_EQ(PrintArg(ConstFloat(std::numeric_limits<double>::quiet_NaN())), "nan");
  EXPECT_EQ(PrintArg(Invalid()), "invalid");
  EXPECT_EQ(PrintArg(RangeArg{.id = 3, .type = AxisType::kReduce}), "range(3, REDUCE)");
  EXPECT_EQ(PrintArg(ParamArg{.slot = 1, .size = 64}), "param(1, 64)");
  EXPECT_EQ(PrintArg(ShearArg{.axis = 1, .by = 2, .coef = -1}), "shear(1, 2, -1)");
  EXPECT_EQ(PrintArg(Boxed<std::string>("a\"b\\c\n\x01\xff#")), R"("a\"b\\c\n\x01\xff#")");
  EXPECT_EQ(PrintArg(Boxed<Ints>(Ints{0, 2, 1})), "[0, 2, 1]");
  EXPECT_EQ(PrintArg(Boxed<BufferArg>(BufferArg{7, 16, AddrSpace::kLocal, "CPU", nullptr})),
            "buffer(7, 16, local, \"CPU\")");
  EXPECT_EQ(PrintArg(Boxed<ReduceArg>(ReduceArg{Op::kMax, {0, 2}})), "reduce(Max, [0, 2])");
  KernelInfo info{"k", {{OptOp::kSplit, 0, 4, AxisType::kUnroll, true}, {OptOp::kNoLocals}}, true};
  EXPECT_EQ(PrintArg(Boxed<KernelInfo>(info)),
            "kernel(\"k\", optimized, [split(0, 4, UNROLL, top), "
            "nolocals(0, 0, UPCAST, bottom)])");
  EXPECT_EQ(PrintArg(Boxed<WmmaArg>(WmmaArg{"w", 16, 8, 4, kFloat16, kFloat32, 32})),
            "wmma(\"w\", 16, 8, 4, float16, float32, 32)");
  EXPECT_EQ(PrintArg(Boxed<FunctionArg>(FunctionArg{"f", true})), "function(\"f\", precompile)");
}

TEST(PrintTest, ListNeedsSourcesFirst) {
  UOp n = Variable("n", 1, 10);
  EXPECT_DEATH(PrintList({n + 1}), "not listed before");
}

TEST(PrintTest, DescribeShowsOneLevel) {
  UOp n = Variable("n", 1, 10);
  EXPECT_EQ(DescribeNode((n + 1) * n),
            "Mul weakint (Add weakint (...), Variable weakint var(\"n\", 1, 10))");
}

TEST(PrintTest, TreeNamesSharedNodes) {
  UOp n = Variable("n", 1, 10);
  UOp s = n + 1;
  EXPECT_EQ(PrintTree(s * s + n),
            "Add weakint\n"
            "  Mul weakint\n"
            "    %2 = Add weakint\n"
            "      Variable weakint var(\"n\", 1, 10)\n"
            "      Const weakint 1\n"
            "    %2\n"
            "  Variable weakint var(\"n\", 1, 10)\n");
}

TEST(PrintTest, Expressions) {
  UOp a = Variable("a", 0, 10), b = Variable("b", 0, 10), r = Range(8, 2);
  UOp x = Param(1, kFloat32, 64);
  auto load = [&x](const UOp& i) {
    UOp index = UOp::Make(Op::kIndex, kFloat32, {x, i});
    return UOp::Make(Op::kLoad, kFloat32, {index});
  };
  struct {
    UOp u;
    const char* want;
  } rows[] = {
      {FloorDiv(a + 3, 4), "(a + 3) // 4"},
      {a + b + 1, "a + b + 1"},
      {a + (b + 1), "a + (b + 1)"},
      {a * b + r, "a * b + r2"},
      {a * (b + r), "a * (b + r2)"},
      {FloorMod(a, 2) < r, "a % 2 < r2"},
      {(a < b) & (b < r), "(a < b) & (b < r2)"},
      {Where(a < b, a, Const(kIndex, -1)), "where(a < b, a, -1)"},
      {Cdiv(a, b), "cdiv(a, b)"},
      {Not(a < b), "(a < b) != true"},
      {Valid(a, a < 3), "where(a < 3, a, Invalid)"},
      {Cast(load(r) + Const(kFloat32, 1.5), kInt32), "int32(load(p1[r2]) + 1.5)"},
      {Const(kFloat32, 3.0), "3.0"},
      {Const(kFloat64, 0.1), "0.1"},
      {Const(kFloat64, 1e30), "1e+30"},
      {Const(kFloat32, -0.0), "-0.0"},
      {Const(kUInt64, -1), "18446744073709551615"},
      {UOp::Make(Op::kNeg, kIndex, {a + 1}), "-(a + 1)"},
      {UOp::Make(Op::kReduce, kFloat32, {load(r), r}, Boxed<ReduceArg>(ReduceArg{Op::kAdd, {}})),
       "sum(load(p1[r2]), r2)"},
      {UOp::Make(Op::kStore, kVoid,
                 {UOp::Make(Op::kIndex, kFloat32, {x, r, r < a}), Const(kFloat32, 1.0)}),
       "p1[r2 if r2 < a] = 1.0"},
      {UOp::Make(Op::kLane, kFloat32, {UOp::Make(Op::kStack, kFloat32.Vec(2), {load(r), load(a)})},
                 int64_t{1}),
       "[load(p1[r2]), load(p1[a])].1"},
      {UOp::Make(Op::kPermute, kFloat32, {x}, Boxed<Ints>(Ints{0})), "Permute(p1; [0])"},
      {UOp(), "null"},
  };
  for (const auto& row : rows) EXPECT_EQ(PrintExpr(row.u), row.want);
  std::ostringstream os;
  os << a + 1;
  EXPECT_EQ(os.str(), "a + 1");
}

TEST(PrintTest, DoublingIsLinear) {
  UOp a = Variable("a", 0, 1);
  for (int i = 0; i < 100; ++i) a = a + a;
  std::string expr = PrintExpr(a);
  EXPECT_LT(expr.size(), 2500u);
  EXPECT_EQ(expr.substr(0, 30), "x0 = a + a; x1 = x0 + x0; x2 =");
  EXPECT_EQ(expr.substr(expr.size() - 9), "x98 + x98");
  EXPECT_LT(PrintTree(a).size(), 25000u);
  EXPECT_LT(Print(a).size(), 4000u);
}

TEST(PrintTest, MillionDeep) {
  UOp a = Variable("a", 0, 1);
  UOp chain = a;
  for (int i = 0; i < 1000000; ++i) chain = chain + a;
  EXPECT_GT(Print(chain).size(), 20000000u);
  EXPECT_EQ(PrintExpr(chain).size(), 4000001u);
  EXPECT_GT(PrintTree(chain).size(), 20000000u);
}

}  // namespace
}  // namespace tg::ir
