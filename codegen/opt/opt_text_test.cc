#include "codegen/opt/opt_text.h"

#include <random>

#include "gtest/gtest.h"

namespace tg::opt {
namespace {

using ir::AxisType;
using ir::Opt;
using ir::OptOp;

TEST(OptText, Prints) {
  EXPECT_EQ(ToString({.op = OptOp::kSplit, .axis = 1, .amount = 16}), "SPLIT(1, 16, UPCAST)");
  EXPECT_EQ(ToString({.op = OptOp::kSplit, .amount = 4, .type = AxisType::kThread, .top = true}),
            "SPLIT(0, 4, THREAD, top)");
  EXPECT_EQ(ToString({.op = OptOp::kNoLocals}), "NOLOCALS");
  EXPECT_EQ(ToString(absl::Span<const Opt>()), "");
}

TEST(OptText, RoundTrip) {
  constexpr char kText[] =
      "SPLIT(0, 16, UPCAST), SPLIT(1, 4, THREAD, top), PADTO(0, 32), SWAP(0, 1), TC(0, 1), "
      "NOLOCALS, "
      "SPLIT(2, 0, GROUP_REDUCE)";
  const auto opts = ParseOpts(kText);
  ASSERT_TRUE(opts.ok()) << opts.status();
  EXPECT_EQ(opts->size(), 7u);
  EXPECT_EQ(ToString(*opts), kText);
  EXPECT_EQ(
      (*opts)[1],
      (Opt{.op = OptOp::kSplit, .axis = 1, .amount = 4, .type = AxisType::kThread, .top = true}));
  EXPECT_EQ(ToString(*ParseOpts(" SPLIT ( 0,16 ,\tUPCAST )\n")), "SPLIT(0, 16, UPCAST)");
  EXPECT_TRUE(ParseOpts("  ")->empty());
}

TEST(OptText, Errors) {
  const std::pair<const char*, const char*> cases[] = {
      {"SPLAT(0, 1)", "column 1: unknown step 'SPLAT'"},
      {"SPLIT", "takes arguments"},
      {"SPLIT(0, 16, UPCASE)", "column 14: unknown axis type 'UPCASE'"},
      {"SPLIT(0, 16)", "takes an axis type"},
      {"SPLIT(0, 16, UPCAST, bottom)", "'top' was expected"},
      {"SPLIT(-1, 16, UPCAST)", "an axis number was expected"},
      {"SPLIT(99999999999, 16, UPCAST)", "an axis number was expected"},
      {"PADTO(0)", "a comma and a number"},
      {"PADTO(0, x)", "a comma and a number"},
      {"PADTO(0, 32", "closing parenthesis"},
      {"NOLOCALS NOLOCALS", "a comma or the end"},
      {"NOLOCALS,", "unknown step"},
  };
  for (const auto& [text, message] : cases) {
    const auto opts = ParseOpts(text);
    ASSERT_FALSE(opts.ok()) << text;
    EXPECT_NE(opts.status().message().find(message), absl::string_view::npos)
        << text << ": " << opts.status();
  }
}

TEST(OptText, RandomTextDoesNotCrash) {
  std::mt19937 random(1);
  const std::string alphabet = "SPLITUAC(),0123456789 topSWAPDNR_-\n";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned n = random() % 30; n > 0; --n) text += alphabet[random() % alphabet.size()];
    const auto opts = ParseOpts(text);
    if (!opts.ok()) continue;
    EXPECT_EQ(ToString(*ParseOpts(ToString(*opts))), ToString(*opts));
  }
}

}  // namespace
}  // namespace tg::opt
