#include "base/terminal.h"

#include "gtest/gtest.h"

namespace tg::base {
namespace {

TEST(TerminalTest, AFileIsNoTerminal) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(IsTerminal(file));
  EXPECT_FALSE(UseColor(file));
  EXPECT_EQ(TerminalWidth(file), 80);
  std::fclose(file);
}

TEST(TerminalTest, PaintWrapsOnlyWhenEnabled) {
  EXPECT_EQ(Paint("x", Color::kRed, true), "\033[31mx\033[0m");
  EXPECT_EQ(Paint("x", Color::kRed, false), "x");
  EXPECT_EQ(Paint("x", Color::kNone, true), "x");
}

TEST(TerminalTest, WidthCountsWhatIsSeen) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("größe µs"), 8);
  EXPECT_EQ(DisplayWidth(Paint("ok", Color::kGreen, true)), 2);
  EXPECT_EQ(DisplayWidth("a\033["), 1);
  EXPECT_EQ(DisplayWidth("a\033[12"), 1);
}

}  // namespace
}  // namespace tg::base
