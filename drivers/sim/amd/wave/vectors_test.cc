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

// v_mul_u32_u24_e32 v0, v1, v2 in lane 0. The recording has the product of all 32 bits.
constexpr char kMultiply[] =
    R"({"h":"01050016","t":"v_mul_u32_u24_e32 v0, v1, v2","e":"VOP2","o":"V_MUL_U32_U24",)"
    R"("s":{"126":1},"v":{"1":[16777219],"2":[5]},"S":{},"V":{"0":[83886095]}})";

TEST(Vectors, RunsATransition) {
  auto results = RunVectors(Arch::kGfx1100, kAdd, {});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 1u);
  EXPECT_EQ((*results)[0].kind, Kind::kPassed) << (*results)[0].detail;
}

TEST(Vectors, NoticesAWrongExpectation) {
  std::string wrong = kAdd;
  wrong.replace(wrong.find("2147483648"), 10, "2147483649");
  auto results = RunVectors(Arch::kGfx1100, wrong, {});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].kind, Kind::kFailed);
  EXPECT_EQ((*results)[0].detail, "s_add_i32 s0, s1, s2: s0=0x80000000 want 0x80000001;");
}

Kind Outcome(const std::string& row, const std::string& list, const VectorOptions& options = {}) {
  auto justified = ParseJustifications(list);
  EXPECT_TRUE(justified.ok()) << justified.status();
  auto results = RunVectors(Arch::kGfx1100, row, *justified, options);
  EXPECT_TRUE(results.ok()) << results.status();
  return (*results)[0].kind;
}

TEST(Vectors, AJustificationHoldsForItsInstructionsOnly) {
  EXPECT_EQ(Outcome(kMultiply, ""), Kind::kFailed);
  EXPECT_EQ(Outcome(kMultiply, "* | V_MUL_* | multiply-24 | r | m"), Kind::kJustified);
  EXPECT_EQ(Outcome(kMultiply, "gfx11 | V_MUL_U32_U24 | multiply-24 | r | m"), Kind::kJustified);
  EXPECT_EQ(Outcome(kMultiply, "gfx12 | V_MUL_U32_U24 | multiply-24 | r | m"), Kind::kFailed);
  EXPECT_EQ(Outcome(kMultiply, "* | V_ADD_* | multiply-24 | r | m"), Kind::kFailed);
  EXPECT_EQ(Outcome(kMultiply, "* | * | frexp | r | m"), Kind::kFailed);
  EXPECT_EQ(Outcome(kMultiply, "* | * | multiply-24 frexp | r | m"), Kind::kFailed);
}

TEST(Vectors, AJustificationDoesNotHideAWrongResult) {
  const std::string list = "* | * | multiply-24 | r | m";
  VectorOptions wrong_product, wrong_register;
  wrong_product.tamper = [](WaveState* got, const WaveState&) { got->lane(0, 0) ^= 1; };
  wrong_register.tamper = [](WaveState* got, const WaveState&) { got->lane(7, 0) ^= 1; };
  EXPECT_EQ(Outcome(kMultiply, list), Kind::kJustified);
  EXPECT_EQ(Outcome(kMultiply, list, wrong_product), Kind::kFailed);
  EXPECT_EQ(Outcome(kMultiply, list, wrong_register), Kind::kFailed);
}

TEST(Vectors, RefusesWhatIsNoTransition) {
  EXPECT_FALSE(RunVectors(Arch::kGfx1100, "{", {}).ok());
  EXPECT_FALSE(RunVectors(Arch::kGfx1100, "{}", {}).ok());
  EXPECT_FALSE(ParseJustifications("gfx11 | S_ADD").ok());
  EXPECT_FALSE(ParseJustifications("gfx11 | S_ADD | no-such-rule | r | m").ok());
}

}  // namespace
}  // namespace tg::amd::sim
