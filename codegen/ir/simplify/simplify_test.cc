#include "codegen/ir/simplify/simplify.h"

#include <sstream>
#include <string>

#include "codegen/ir/print.h"
#include "gtest/gtest.h"

namespace tg::ir {
namespace {

std::string S(const UOp& u) { return PrintExpr(Simplify(u)); }

UOp R(int64_t size, int id) { return Range(size, id); }
UOp V(const char* name, int64_t min, int64_t max) { return Variable(name, min, max); }

// --- Shapes of index arithmetic
// -------------------------------------------------------------------

TEST(IndexTest, Reshape) {
  const UOp flat = R(28, 0) * 28 + R(28, 1);
  EXPECT_EQ(S(FloorMod(FloorDiv(flat, 28), 28)), "r0");
  EXPECT_EQ(S(FloorMod(flat, 28)), "r1");
  EXPECT_EQ(S(FloorDiv(flat, 784)), "0");
  EXPECT_EQ(S(FloorDiv(R(28, 0) * 4 + R(28, 1), 4)), "r0 + r1 // 4");
  EXPECT_EQ(S(FloorMod(R(28, 0) * 4 + R(28, 1), 4)), "r1 % 4");
  EXPECT_EQ(S(FloorMod(R(28, 0) * 4 + R(4, 1), 4)), "r1");
  EXPECT_EQ(S(FloorDiv(R(8, 0) * 4 + R(4, 1), 8)), "r0 // 2");
  EXPECT_EQ(S(FloorMod(R(8, 0) * 4 + R(4, 1), 8)), "r1 + r0 % 2 * 4");
}

// (a, b, c) -> flat -> (a, b, c), and -> (a*b, c), (a, b*c).
TEST(IndexTest, ReshapeRoundTrip) {
  const UOp a = R(3, 0), b = R(5, 1), c = R(7, 2);
  const UOp flat = a * 35 + b * 7 + c;
  EXPECT_EQ(S(FloorDiv(flat, 35)), "r0");
  EXPECT_EQ(S(FloorMod(FloorDiv(flat, 7), 5)), "r1");
  EXPECT_EQ(S(FloorMod(flat, 7)), "r2");
  EXPECT_EQ(S(FloorDiv(flat, 7)), "r0 * 5 + r1");
  EXPECT_EQ(S(FloorMod(flat, 35)), "r1 * 7 + r2");
  // Taken apart and put together again in other shapes.
  const UOp x = FloorDiv(flat, 21), y = FloorMod(FloorDiv(flat, 3), 7), z = FloorMod(flat, 3);
  EXPECT_EQ(S(x * 21 + y * 3 + z), "r0 * 35 + r1 * 7 + r2");
}

TEST(IndexTest, SplitRangesMerge) {
  const UOp r = R(784, 0);
  EXPECT_EQ(S(FloorDiv(r, 28) * 28 + FloorMod(r, 28)), "r0");
  EXPECT_EQ(S(FloorMod(FloorDiv(r, 28), 7) * 28 + FloorMod(r, 28)), "r0 % 196");
  EXPECT_EQ(S(FloorDiv(r, 196) * 196 + FloorMod(FloorDiv(r, 28), 7) * 28 + FloorMod(r, 28)), "r0");
  EXPECT_EQ(S(FloorDiv(r, 28) * 56 + FloorMod(r, 28) * 2 + 3), "r0 * 2 + 3");
}

TEST(IndexTest, Permute) {
  const UOp i = R(6, 0), j = R(10, 1);
  const UOp flat = j * 6 + i;  // transposed (6, 10) read as (10, 6)
  EXPECT_EQ(S(FloorDiv(flat, 6) + FloorMod(flat, 6) * 10), "r0 * 10 + r1");
}

TEST(IndexTest, Flip) {
  EXPECT_EQ(S(FloorDiv(R(8, 0) * -1 + 7, 4)), "r0 // 4 * -1 + 1");
  EXPECT_EQ(S(FloorMod(R(8, 0) * -1 + 7, 4)), "r0 % 4 * -1 + 3");
  EXPECT_EQ(S(R(8, 0) * -1 + 7 + (R(8, 0) * -1 + 7) * 8), "r0 * -9 + 63");
}

// A window of 3 with stride 2 and padding 1 over 28.
TEST(IndexTest, Windows) {
  const UOp o = R(14, 0), k = R(3, 1);
  const UOp at = o * 2 + k - 1;
  const UOp valid = Not(at < 0) & (at < 28);
  const UOp index = Valid(at, valid);
  EXPECT_EQ(S(index), "where((r0 * 2 + r1 < 1) != true, r0 * 2 + r1 + -1, Invalid)");
  // What follows from the bounds of the ranges alone does not stay.
  EXPECT_EQ(S(Valid(o * 2 + k, (o * 2 + k < 29) & Not(o * 2 + k < 0))), "r0 * 2 + r1");
}

TEST(IndexTest, ValidityMovesToTheTop) {
  const UOp r = R(10, 0), q = R(4, 1);
  const UOp padded = Valid(r - 2, Not(r < 2) & (r < 8));
  EXPECT_EQ(S(padded * 4 + q), "where((r0 < 8) & ((r0 < 2) != true), r0 * 4 + r1 + -8, Invalid)");
  EXPECT_EQ(S(Valid(padded * 4 + q, q < 3)),
            "where((r0 < 8) & (r1 < 3) & ((r0 < 2) != true), r0 * 4 + r1 + -8, Invalid)");
  EXPECT_EQ(S(Valid(r, Const(kBool, true))), "r0");
}

TEST(IndexTest, GivenValidity) {
  const UOp r = R(10, 0), q = R(10, 1);
  EXPECT_EQ(PrintExpr(SimplifyGiven(FloorDiv(r, 5), r < 5)), "0");
  EXPECT_EQ(PrintExpr(SimplifyGiven(FloorMod(r, 5), r < 5)), "r0");
  EXPECT_EQ(PrintExpr(SimplifyGiven(FloorMod(r, 5), Not(r < 5))), "r0 + -5");
  EXPECT_EQ(PrintExpr(SimplifyGiven(FloorDiv(r + q, 7), r + q < 7)), "0");
  EXPECT_EQ(PrintExpr(SimplifyGiven(FloorMod(r + q - 3, 7), Not(r + q < 3) & (r + q < 10))),
            "r0 + r1 + -3");
  EXPECT_EQ(PrintExpr(SimplifyGiven(r < 7, r < 5)), "true");
  EXPECT_EQ(PrintExpr(SimplifyGiven(FloorDiv(r, 3), r + q * 2 < 3)), "0");
  EXPECT_EQ(PrintExpr(SimplifyGiven(r, CmpEq(r, IndexConst(4)))), "4");
  // Redundant clauses.
  EXPECT_EQ(S(Valid(r * 2, (r < 5) & (r < 7))), "where(r0 < 5, r0 * 2, Invalid)");
  EXPECT_EQ(S(Valid(r * 2, (r < 5) & (r + q < 14) & (q < 10))), "where(r0 < 5, r0 * 2, Invalid)");
}

TEST(IndexTest, SymbolicSizes) {
  const UOp n = V("n", 1, 100), r = Range(n, 0), q = R(8, 1);
  EXPECT_EQ(S(FloorDiv(q * n + r, n)), "r1");
  EXPECT_EQ(S(FloorMod(q * n + r, n)), "r0");
  EXPECT_EQ(S(FloorDiv(n * 4, n)), "4");
  const UOp m = n * 4;
  const UOp s = Range(m, 2);
  EXPECT_EQ(S(FloorDiv(s, m)), "0");
  EXPECT_EQ(S(FloorDiv(q * m + s, m)), "r1");
  EXPECT_EQ(S(FloorMod(r * 4 + R(4, 3), m)), "r0 * 4 + r3");
  EXPECT_TRUE(ProvablyTrue(n < n + 1));
  EXPECT_TRUE(ProvablyTrue(Not(n * 3 < n * 2)));
  EXPECT_TRUE(ProvablyTrue(r < n));
  EXPECT_TRUE(ProvablyTrue(q * n + r < n * 8));
  EXPECT_FALSE(ProvablyTrue(q * n + r < n * 7));
  EXPECT_FALSE(ProvablyTrue(r < 50));
}

// --- Sums, products
// -------------------------------------------------------------------------------

TEST(SumTest, Exact) {
  const UOp a = V("a", 0, 9), b = V("b", -5, 5);
  EXPECT_EQ(S(a + a), "a * 2");
  EXPECT_EQ(S(a * 2 + a * 3), "a * 5");
  EXPECT_EQ(S(a + b * -1 + a * -1), "b * -1");
  EXPECT_EQ(S((a + 3) * 4 + (b - 1) * 2), "a * 4 + b * 2 + 10");
  EXPECT_EQ(S(a - a), "0");
  EXPECT_EQ(Simplify(b + a), Simplify(a + b));
  EXPECT_EQ(Simplify((b + a) + 3), Simplify(IndexConst(3) + (a + (b + 0))));
  EXPECT_EQ(S(a * b - b * a), "0");
  EXPECT_EQ(S(Max(a + 3, a)), "a + 3");
  EXPECT_EQ(S(Max(a, b - 5)), "a");
}

TEST(SumTest, FixedWidthWraps) {
  const UOp a = Cast(V("a", 0, 255), kUInt8);
  EXPECT_EQ(S(a + 250 + 250), "uint8(a) + 244");
  EXPECT_EQ(S(a + a), "uint8(a) * 2");
  EXPECT_EQ(S(a * 128 + a * 128), "0");
  // Conditions on indices are conditions on exact integers, where nothing wraps.
  EXPECT_EQ(S(a + 10 < 20), "uint8(a) + 10 < 20");
  EXPECT_EQ(S(Cast(V("s", 0, 100), kUInt8) + 10 < 20), "s < 10");
  EXPECT_EQ(S(CmpEq(a + 10, Const(kUInt8, 5))), "a == 251");
}

TEST(SumTest, FloatsKeepTheirOrder) {
  const UOp x = Cast(V("x", 0, 9), kFloat32), y = Cast(V("y", 0, 9), kFloat32);
  const UOp z = Cast(V("z", 0, 9), kFloat32);
  EXPECT_EQ(Simplify((x + y) + z), (x + y) + z);
  EXPECT_EQ(Simplify(z + (x + y)), (x + y) + z);  // the same sum
  EXPECT_EQ(Simplify((x + y) + (z + x)), (x + y) + (x + z));
  EXPECT_EQ(S(x + Const(kFloat32, 0) + Const(kFloat32, 1) + Const(kFloat32, 2)),
            "float32(x) + 1.0 + 2.0");
  EXPECT_EQ(Simplify(x * Const(kFloat32, 0)), x * Const(kFloat32, 0));
  EXPECT_EQ(Simplify(CmpEq(x, x)), CmpEq(x, x));
  EXPECT_EQ(S((x * -1) * -1), "float32(x)");
}

// --- Conditions
// -----------------------------------------------------------------------------------

TEST(CompareTest, Exact) {
  const UOp a = V("a", 0, 9), b = V("b", 0, 5);
  EXPECT_EQ(S(a < 10), "true");
  EXPECT_EQ(S(a < 0), "false");
  EXPECT_EQ(S(a + 3 < 7), "a < 4");
  EXPECT_EQ(S(a * 4 < 7), "a < 2");
  EXPECT_EQ(S(a * 4 + R(4, 0) < 16), "a < 4");
  EXPECT_EQ(S(FloorDiv(a, 3) < 2), "a < 6");
  EXPECT_EQ(S(a * -1 < -3), "(a < 4) != true");
  EXPECT_EQ(S(IndexConst(3) < a), "(a < 4) != true");
  EXPECT_EQ(S(a + b < a + 3), "b < 3");
  EXPECT_EQ(S(a < b), "a < b");
  EXPECT_EQ(S(a * 2 + b * 4 < 7), "a + b * 2 < 4");
  EXPECT_EQ(S(CmpEq(a * 2, IndexConst(5))), "false");
  EXPECT_EQ(S(CmpEq(a * 2 + 4, b * 2)), "a == b + -2");
  EXPECT_EQ(S(CmpNe(a, a)), "false");
}

TEST(LogicTest, Chains) {
  const UOp a = V("a", 0, 9), b = V("b", 0, 9);
  const UOp p = a < 5, q = b < 3;
  EXPECT_EQ(Simplify(p & q), Simplify(q & p));
  EXPECT_EQ(S(p & q & p), "(a < 5) & (b < 3)");
  EXPECT_EQ(S(p & Not(p)), "false");
  EXPECT_EQ(S(p | Not(p)), "true");
  EXPECT_EQ(S((a < 5) & (a < 3)), "a < 3");
  EXPECT_EQ(S((a < 5) | (a < 3)), "a < 5");
  EXPECT_EQ(S((a < 3) & Not(a < 5)), "false");
  EXPECT_EQ(S((a < 5) | Not(a < 3)), "true");
  EXPECT_EQ(S(Not(Not(p))), "a < 5");
  EXPECT_EQ(S(Not(CmpEq(a, b))), "a != b");
}

TEST(WhereTest, Choices) {
  const UOp a = V("a", 0, 9), b = V("b", 0, 9), p = a < 5;
  EXPECT_EQ(S(Where(p, b, b)), "b");
  EXPECT_EQ(S(Where(p, Where(p, a, b), b)), "where(a < 5, a, b)");
  EXPECT_EQ(S(Where(Not(p), a, b)), "where(a < 5, b, a)");
  EXPECT_EQ(S(Where(a < b, b, a)), "max(a, b)");
  EXPECT_EQ(S(CmpEq(Where(p, IndexConst(1), IndexConst(0)), IndexConst(1))), "a < 5");
  EXPECT_EQ(S(Cast(Cast(p, kFloat32), kBool)), "a < 5");
}

TEST(CastTest, Chains) {
  const UOp a = V("a", 0, 300);
  EXPECT_EQ(S(Cast(Cast(a, kInt32), kIndex)), "a");
  EXPECT_EQ(S(Cast(Cast(a, kInt64), kInt8)), "int8(a)");
  EXPECT_EQ(S(Cast(Cast(a, kUInt8), kInt32)), "int32(uint8(a))");
  // Arithmetic on converted indices that cannot wrap is index arithmetic.
  EXPECT_EQ(S(Cast(Cast(a, kInt32) * 2 + 1, kIndex)), "a * 2 + 1");
  EXPECT_EQ(S(Cast(Cast(a, kInt32) * 4, kInt32) < 17), "a < 5");
  EXPECT_EQ(S(Cast(Cast(R(200, 0), kUInt8) + 100, kIndex)), "weakint(uint8(r0) + 100)");
  const UOp h = Cast(a, kFloat16);
  EXPECT_EQ(Simplify(Cast(Cast(h, kFloat32), kFloat16)), h);
}

TEST(DivisionTest, Truncating) {
  const UOp a = V("a", 0, 99), b = V("b", -99, 99);
  EXPECT_EQ(S(Cdiv(a, IndexConst(4))), "a // 4");
  EXPECT_EQ(S(Cmod(a, IndexConst(4))), "a % 4");
  EXPECT_EQ(S(Cdiv(b, IndexConst(4))), "cdiv(b, 4)");
  EXPECT_EQ(S(Cdiv(Cdiv(b, IndexConst(4)), IndexConst(3))), "cdiv(b, 12)");
  EXPECT_EQ(S(Cdiv(b * 8, IndexConst(4))), "b * 2");
  EXPECT_EQ(S(FloorDiv(FloorDiv(b, 4), 3)), "b // 12");
  EXPECT_EQ(S(FloorDiv(b, IndexConst(0))), "b // 0");
}

// --- Graphs
// ---------------------------------------------------------------------------------------

TEST(SimplifyTest, MillionNodes) {
  UOp u = V("a", 0, 9);
  for (int n = 0; n < 1'000'000; ++n) u = u + 1;
  EXPECT_EQ(S(u), "a + 1000000");
  // Nothing to simplify.
  UOp f = Cast(V("a", 0, 9), kFloat32);
  for (int n = 0; n < 200'000; ++n) f = UOp::Make(Op::kSqrt, kFloat32, {f}) + 1;
  EXPECT_EQ(Simplify(f), f);
}

TEST(SimplifyTest, SharedNodesStayShared) {
  UOp i = V("a", 0, 9), f = Cast(i, kFloat32), u = Cast(i, kUInt32);
  for (int n = 0; n < 100; ++n) i = i + i, f = f + f, u = u + u;
  EXPECT_LE(Toposort(Simplify(i)).size(), 300u);
  EXPECT_LE(Toposort(Simplify(f)).size(), 300u);
  EXPECT_EQ(S(u), "0");
}

TEST(SimplifyTest, ManyTerms) {
  UOp u = IndexConst(0);
  for (int n = 0; n < 2000; ++n) u = u + R(7, n) * n;
  const UOp s = Simplify(u);
  EXPECT_EQ(Simplify(s), s);
}

TEST(LinearTest, SumTerms) {
  const UOp a = R(4, 0), b = R(5, 1), c = FloorDiv(R(6, 2), 2);
  const LinearForm f = SumTerms((a * 5 + (b + 3)) * 4 + c);
  ASSERT_EQ(f.terms.size(), 3u);
  EXPECT_EQ(f.Coef(a), 20);
  EXPECT_EQ(f.Coef(b), 4);
  EXPECT_EQ(f.Coef(c), 1);
  EXPECT_EQ(f.constant, 12);
  EXPECT_EQ(PrintExpr(FromTerms(f, kIndex)), "r0 * 20 + r1 * 4 + r2 // 2 + 12");
  EXPECT_EQ(SumTerms(R(1, 3)).terms.size(), 0u);
}

}  // namespace
}  // namespace tg::ir
