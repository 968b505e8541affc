#include "codegen/ir/rewrite.h"

#include "gtest/gtest.h"

namespace tg::ir {
namespace {

using namespace tg::ir::pattern;  // NOLINT: rules are written with its names

const UOp kV = Variable("v", 0, 10);
const UOp kU = Variable("u", 0, 10);

TEST(PatternTest, LiteralAndWildcard) {
  const RuleSet rules = {x + 0 >> x, x * 1 >> x, x * 0 >> 0};
  EXPECT_EQ(rules.Rewrite(kV + 0), kV);
  EXPECT_EQ(rules.Rewrite(kV * 0), IndexConst(0));
  EXPECT_FALSE(rules.Rewrite(kV + 1));
  const UOp fl = Cast(kV, kFloat32);
  EXPECT_EQ(rules.Rewrite(fl + Const(kFloat32, 0)), fl);
  EXPECT_FALSE(rules.Rewrite(fl + Const(kFloat32, -0.0)));
}

TEST(PatternTest, FoldAndDTypes) {
  const RuleSet rules = {(x + c0) + c1 >> x + Fold(c0 + c1)};
  EXPECT_EQ(rules.Rewrite(kV + 3 + 4), kV + 7);
  const UOp u8 = Cast(kV, kUInt8);
  EXPECT_EQ(rules.Rewrite(u8 + 250 + 10), u8 + 4);
}

TEST(PatternTest, CommutativeOperandsMatchInBothOrders) {
  const RuleSet rules = {x * y + x * z >> x * (y + z)};
  const UOp r = Range(4, 0);
  EXPECT_EQ(rules.Rewrite(kV * kU + kV * r), kV * (kU + r));
  EXPECT_EQ(rules.Rewrite(kU * kV + r * kV), kV * (kU + r));
  EXPECT_FALSE(rules.Rewrite(kU * kU + r * kV));
}

TEST(PatternTest, RepeatedWildcardAndCondition) {
  const RuleSet rules = {
      Where(t, x, x) >> x,
      (FloorMod(i, c0) >> i).If([](const Match& m) {
        return m[i].vmin() >= 0 && m[i].vmax() < m[c0].const_int();
      }),
  };
  EXPECT_EQ(rules.Rewrite(Where(kV < kU, kV, kV)), kV);
  EXPECT_FALSE(rules.Rewrite(Where(kV < kU, kV, kU)));
  EXPECT_EQ(rules.Rewrite(FloorMod(kV, 11)), kV);
  EXPECT_FALSE(rules.Rewrite(FloorMod(kV, 10)));
}

TEST(PatternTest, RulesNameThemselves) {
  EXPECT_EQ((x + 0 >> x).name(), "(x + 0) >> x");
  EXPECT_EQ((x + 0 >> x).Named("zero").name(), "zero");
}

const RuleSet kSimple = {x + 0 >> x, x * 1 >> x, (x + c0) + c1 >> x + Fold(c0 + c1)};

TEST(GraphRewriteTest, RunsToAFixedPointInEachOrder) {
  const UOp g = ((kV + 1) + 2 + 3) * 1 + 0;
  EXPECT_EQ(GraphRewrite(g, kSimple), kV + 6);
  EXPECT_EQ(GraphRewrite(g, kSimple, {.order = RewriteOrder::kTopDown}), kV + 6);
  EXPECT_EQ(GraphRewrite(g, kSimple, {.order = RewriteOrder::kWalk}), kV + 6);
}

TEST(GraphRewriteTest, MillionNodes) {
  UOp u = kV;
  for (int n = 0; n < 1'000'000; ++n) u = u + 1;
  EXPECT_EQ(GraphRewrite(u, kSimple), kV + 1'000'000);
}

TEST(GraphRewriteTest, SharedNodesAreRewrittenOnce) {
  int calls = 0;
  const RuleSet rules = {On<int>(
      {Op::kVariable},
      [](const UOp&, int& count) {
        ++count;
        return UOp();
      },
      "count")};
  UOp a = kV;
  for (int n = 0; n < 100; ++n) a = a + a;
  GraphRewrite(a, rules, {.ctx = &calls});
  EXPECT_EQ(calls, 1);
}

TEST(GraphRewriteTest, CycleIsReportedWithItsRules) {
  const RuleSet rules = {(x + y >> y + x).Named("swap"), x * 1 >> x};
  absl::StatusOr<UOp> r = TryGraphRewrite((kV + kU) * 1, rules);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.status().message().find("[swap]"), absl::string_view::npos);
  EXPECT_EQ(r.status().message().find("x * 1"), absl::string_view::npos);
}

TEST(GraphRewriteTest, GrowthIsBounded) {
  const RuleSet rules = {(x + c0 >> (x + Fold(c0 + 1)) * 2).Named("grow")};
  absl::StatusOr<UOp> r = TryGraphRewrite(kV + 1, rules);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.status().message().find("[grow]"), absl::string_view::npos);
}

}  // namespace
}  // namespace tg::ir
