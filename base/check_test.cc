#include "base/check.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace {

enum class Colour { kRed = 7, kBlue = 9 };

int Unreachable() { TG_FATAL() << "no value for " << 3; }

TEST(CheckTest, PassingChecksDoNotEvaluateTheMessage) {
  int evaluated = 0;
  TG_CHECK(true) << ++evaluated;
  TG_CHECK_EQ(1, 1) << ++evaluated;
  TG_CHECK_LT(1, 2) << ++evaluated;
  EXPECT_EQ(evaluated, 0);
}

TEST(CheckTest, OperandsAreEvaluatedOnce) {
  int calls = 0;
  TG_CHECK_EQ(++calls, 1);
  EXPECT_EQ(calls, 1);
}

TEST(CheckTest, IsOneStatement) {
  bool reached = false;
  if (false)
    TG_CHECK(false) << "not reached";
  else
    reached = true;
  EXPECT_TRUE(reached);
}

TEST(CheckDeathTest, PrintsPlaceConditionAndMessage) {
  EXPECT_DEATH(TG_CHECK(1 == 2) << "axis " << 4,
               "base/check_test.cc:[0-9]+: check failed: 1 == 2 axis 4");
}

TEST(CheckDeathTest, ComparisonsPrintBothValues) {
  std::vector<int> v = {1, 2, 3};
  EXPECT_DEATH(TG_CHECK_EQ(v.size(), 2u) << "why", "v.size\\(\\) == 2u \\(3 vs. 2\\) why");
  EXPECT_DEATH(TG_CHECK_NE(1, 1), "1 vs. 1");
  EXPECT_DEATH(TG_CHECK_LT(2, 1), "2 vs. 1");
  EXPECT_DEATH(TG_CHECK_LE(2, 1), "2 vs. 1");
  EXPECT_DEATH(TG_CHECK_GT(1, 2), "1 vs. 2");
  EXPECT_DEATH(TG_CHECK_GE(1, 2), "1 vs. 2");
}

TEST(CheckDeathTest, EnumsAndUnprintableValues) {
  EXPECT_DEATH(TG_CHECK_EQ(Colour::kRed, Colour::kBlue), "7 vs. 9");
  std::vector<int> a = {1}, b = {2};
  EXPECT_DEATH(TG_CHECK_EQ(a, b), "\\? vs. \\?");
}

TEST(CheckDeathTest, FatalNeedsNoReturn) { EXPECT_DEATH(Unreachable(), "fatal no value for 3"); }

}  // namespace
