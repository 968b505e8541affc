#include "drivers/sim/amd/wave/vectors.h"

#include <string>

#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

using Kind = VectorResult::Kind;

// s_add_i32 s0, s1, s2: the largest number and 1.
constexpr char kAdd[] =
    R"({"h":"01020081","t":"s_add_i32 s0, s1, s2","e":"SOP2","o":"S_ADD_I32","s":{"1":2147483647,"2":1},)"
    R"("S":{"0":2147483648,"253":1},"V":{}})";

TEST(Vectors, RunsATransition) {
  auto results = RunVectors(Arch::kGfx1100, kAdd, {});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 1u);
  EXPECT_EQ((*results)[0].kind, Kind::kPassed) << (*results)[0].detail;
}

TEST(Vectors, NoticesAWrongExpectationUnlessItIsJustified) {
  std::string wrong = kAdd;
  wrong.replace(wrong.find("2147483648"), 10, "2147483649");
  auto results = RunVectors(Arch::kGfx1100, wrong, {});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].kind, Kind::kFailed);
  EXPECT_EQ((*results)[0].detail, "s_add_i32 s0, s1, s2: s0=0x80000000 want 0x80000001;");
  auto justified = ParseJustifications("gfx11 | S_ADD* | any | because");
  ASSERT_TRUE(justified.ok());
  results = RunVectors(Arch::kGfx1100, wrong, *justified);
  EXPECT_EQ((*results)[0].kind, Kind::kJustified);
  justified = ParseJustifications("gfx12 | S_ADD* | any | because");
  results = RunVectors(Arch::kGfx1100, wrong, *justified);
  EXPECT_EQ((*results)[0].kind, Kind::kFailed);
}

TEST(Vectors, RefusesWhatIsNoTransition) {
  EXPECT_FALSE(RunVectors(Arch::kGfx1100, "{", {}).ok());
  EXPECT_FALSE(RunVectors(Arch::kGfx1100, "{}", {}).ok());
  EXPECT_FALSE(ParseJustifications("gfx11 | S_ADD").ok());
}

}  // namespace
}  // namespace tg::amd::sim
