// docs/isa is what the tables say.
#include "codegen/isa/amd/isa_docs.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/runfiles.h"
#include "codegen/isa/amd/table.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

std::string Read(const std::string& path) {
  const auto found = base::FindRunfile(path);
  if (!found.ok()) return "";
  std::ifstream in(*found);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::map<std::string, std::string> Docs() {
  const auto formats = base::FindRunfile("codegen/isa/amd/tables/formats.txt");
  EXPECT_TRUE(formats.ok()) << formats.status();
  return MakeIsaDocs(*formats);
}

TEST(IsaDocsTest, CommittedPagesAreCurrent) {
  const std::string readme = Read("docs/isa/README.md");
  for (const auto& [name, text] : Docs()) {
    // Not EXPECT_EQ: a page is thousands of lines.
    EXPECT_TRUE(Read(absl::StrCat("docs/isa/", name)) == text)
        << "docs/isa/" << name
        << " differs: run bazel run //codegen/isa/amd:isa_docs -- $PWD/docs/isa";
    EXPECT_TRUE(absl::StrContains(readme, absl::StrCat("(", name, ")"))) << name;
  }
}

// Every instruction of every instruction set is on some page.
TEST(IsaDocsTest, NoInstructionIsMissing) {
  std::set<std::string> words;
  for (const auto& [name, text] : Docs()) {
    for (size_t at = text.find("\n| "); at != std::string::npos; at = text.find("\n| ", at + 1)) {
      const size_t end = text.find(' ', at + 3);
      words.insert(text.substr(at + 3, end - at - 3));
    }
  }
  for (int isa = 0; isa < kNumIsas; ++isa) {
    for (const Form* form : FormsOf(static_cast<Isa>(isa))) {
      if (form->extra != Extra::kNone) continue;
      EXPECT_EQ(words.count(form->mnemonic), 1u) << form->mnemonic;
    }
  }
  EXPECT_EQ(words.count("v_add_f33"), 0u);
  EXPECT_GT(words.size(), 2400u);
}

}  // namespace
}  // namespace tg::amd
