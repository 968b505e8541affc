// All recorded transitions pass or differ in a known way; and no known way hides a wrong result.
//
// The recordings are no part of the project: without TG_SHARED there is nothing to run.
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/runfiles.h"
#include "drivers/sim/amd/wave/vectors.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

using Kind = VectorResult::Kind;

struct Recording {
  const char* file;
  Arch arch;
};
constexpr Recording kRecordings[] = {{"emu_rdna3.jsonl", Arch::kGfx1100},
                                     {"emu_rdna4.jsonl", Arch::kGfx1201},
                                     {"emu_cdna.jsonl", Arch::kGfx950}};

class RecordedVectors : public testing::TestWithParam<Recording> {
 protected:
  void SetUp() override {
    const char* shared = std::getenv("TG_SHARED");
    if (shared == nullptr || *shared == '\0') GTEST_SKIP() << "TG_SHARED is not set";
    auto text = base::ReadFile(absl::StrCat(shared, "/data/isa/", GetParam().file));
    ASSERT_TRUE(text.ok()) << text.status();
    text_ = *text;
    auto path = base::FindRunfile("drivers/sim/amd/wave/justified.txt");
    ASSERT_TRUE(path.ok()) << path.status();
    auto list = base::ReadFile(*path);
    ASSERT_TRUE(list.ok()) << list.status();
    auto justified = ParseJustifications(*list);
    ASSERT_TRUE(justified.ok()) << justified.status();
    justified_ = *justified;
  }
  std::vector<VectorResult> Run(const VectorOptions& options = {}) {
    auto results = RunVectors(GetParam().arch, text_, justified_, options);
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? *results : std::vector<VectorResult>{};
  }

  std::string text_;
  std::vector<Justification> justified_;
};

TEST_P(RecordedVectors, PassOrDifferInAKnownWay) {
  int passed = 0;
  for (const VectorResult& r : Run()) {
    EXPECT_NE(r.kind, Kind::kFailed) << "line " << r.line << ": " << r.op << ": " << r.detail;
    passed += r.kind == Kind::kPassed;
  }
  EXPECT_GT(passed, 1000);
}

// Whatever the simulator changes or has different from the recording turns into its complement.
TEST_P(RecordedVectors, AWrongResultIsNeverJustified) {
  VectorOptions wrong;
  wrong.tamper = [](WaveState* got, const WaveState& want) {
    for (size_t i = 0; i < got->rows.size(); ++i) {
      if (got->rows[i] != want.rows[i]) got->rows[i] = ~got->rows[i];
    }
    for (size_t i = 0; i < got->sgprs.size(); ++i) {
      if (got->sgprs[i] != want.sgprs[i]) got->sgprs[i] = ~got->sgprs[i];
    }
    for (size_t i = 0; i < got->lds.size(); ++i) {
      if (got->lds[i] != want.lds[i]) got->lds[i] = static_cast<uint8_t>(~got->lds[i]);
    }
  };
  for (const VectorResult& r : Run(wrong)) {
    if (absl::StartsWith(r.op, "S_CMP")) continue;  // They change SCC alone.
    EXPECT_NE(r.kind, Kind::kJustified) << "line " << r.line << ": " << r.op << ": " << r.detail;
  }
}

// A register that the instruction does not name.
TEST_P(RecordedVectors, AStrayWriteIsNeverJustified) {
  VectorOptions wrong;
  wrong.tamper = [](WaveState* got, const WaveState&) { got->lane(251, 0) ^= 1; };
  for (const VectorResult& r : Run(wrong)) {
    EXPECT_EQ(r.kind, Kind::kFailed) << "line " << r.line << ": " << r.op << ": " << r.detail;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordedVectors, testing::ValuesIn(kRecordings),
                         [](const auto& info) {
                           return std::string(info.param.file).substr(4, 5) == "rdna3"   ? "Rdna3"
                                  : std::string(info.param.file).substr(4, 5) == "rdna4" ? "Rdna4"
                                                                                         : "Cdna";
                         });

}  // namespace
}  // namespace tg::amd::sim
