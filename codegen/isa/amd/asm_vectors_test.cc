// All test vectors of the folder that TG_SHARED names: both texts of each row assemble to its
// bytes.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "codegen/isa/amd/asm.h"
#include "codegen/isa/amd/decode.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

std::string Hex(const std::vector<uint8_t>& bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// What the text assembles to, or its error.
std::string Assembled(const std::string& text, Arch arch) {
  const Assembly assembly = Assemble(text + "\n", arch);
  return assembly.ok() ? Hex(assembly.text) : assembly.errors[0].message;
}

class AsmVectorsTest : public testing::TestWithParam<std::pair<const char*, Arch>> {};

TEST_P(AsmVectorsTest, BothTextsGiveTheBytes) {
  const char* shared = std::getenv("TG_SHARED");
  if (shared == nullptr || *shared == '\0') GTEST_SKIP() << "TG_SHARED is not set: no vectors";
  const auto& [name, arch] = GetParam();
  std::ifstream in(absl::StrCat(shared, "/data/isa/vectors_", name, ".tsv"));
  ASSERT_TRUE(in) << name;
  int good = 0;
  int bad = 0;
  int lossy = 0;
  int skipped = 0;
  std::map<std::string, int> shown;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    ASSERT_GE(columns.size(), 5u) << line;
    // Texts that LLVM itself does not turn back into the bytes; words that one LLVM refuses.
    const bool refused = columns.size() > 5 && columns[5] == "!";
    if (columns[4] == "0" || refused) {
      ++skipped;
      continue;
    }
    const bool two = columns.size() > 5 && columns[5] != "=";
    std::vector<std::string> texts = {columns[1]};
    if (two) texts.push_back(columns[5]);
    for (const std::string& text : texts) {
      const std::string result = Assembled(text, arch);
      if (result == columns[0]) {
        ++good;
        continue;
      }
      // LLVM 22 leaves bits that hardware ignores out of some texts: the sign of an integer source,
      // a literal's upper half. From those nothing can give the bytes back; the other text does.
      if (text != columns[1] && result.size() == columns[0].size() &&
          Assembled(columns[1], arch) == columns[0]) {
        ++lossy;
        continue;
      }
      ++bad;
      // A few of each kind say enough.
      if (++shown[columns[2] + result.substr(result.find(':') + 1)] > 3) continue;
      ADD_FAILURE() << columns[2] << ": " << text << "\n  " << result << "\n  expected "
                    << columns[0];
    }
  }
  std::printf("%s: %d texts assemble to their bytes, %d do not, %d lack bits, %d rows skipped\n",
              name, good, bad, lossy, skipped);
  EXPECT_EQ(bad, 0);
  EXPECT_GT(good, 100);
  EXPECT_LT(lossy, good / 100);
  // The negative control: a text with one register changed gives other bytes.
  EXPECT_NE(Assembled("s_mov_b32 s1, s2", arch), Assembled("s_mov_b32 s1, s3", arch));
}

// Bugs of other assemblers: processor, "asm", "reject" or "disreject", input, expected bytes, ...
TEST(AsmBugsTest, OthersBugsAreNotOurs) {
  const char* shared = std::getenv("TG_SHARED");
  if (shared == nullptr || *shared == '\0') GTEST_SKIP() << "TG_SHARED is not set: no vectors";
  std::ifstream in(absl::StrCat(shared, "/data/asm_vectors.tsv"));
  ASSERT_TRUE(in);
  int checked = 0;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    if (columns.size() < 4) continue;
    const std::optional<Arch> arch = FindArch(columns[0]);
    if (!arch.has_value()) continue;
    if (columns[1] == "asm") {
      EXPECT_EQ(Assembled(columns[2], *arch), columns[3]) << line;
    } else if (columns[1] == "reject") {
      EXPECT_FALSE(Assemble(columns[2], *arch).ok()) << line;
    } else {
      const std::string bytes = absl::HexStringToBytes(columns[2]);
      EXPECT_FALSE(
          Decode({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, *arch).ok())
          << line;
    }
    ++checked;
  }
  EXPECT_GE(checked, 8);
}

INSTANTIATE_TEST_SUITE_P(
    All, AsmVectorsTest,
    testing::Values(std::pair("gfx1100", Arch::kGfx1100), std::pair("gfx1150_only", Arch::kGfx1150),
                    std::pair("gfx1201", Arch::kGfx1201), std::pair("gfx942", Arch::kGfx942),
                    std::pair("gfx950", Arch::kGfx950), std::pair("true16_gfx1100", Arch::kGfx1100),
                    std::pair("true16_gfx1201", Arch::kGfx1201)),
    [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace tg::amd
