// Texts that must not assemble, at least two for each format, each with the place and words of its
// error.
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "codegen/isa/amd/asm.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

// processor, format, text, column, message; separated by tabs.
TEST(AsmErrorsTest, EachTextNamesItsError) {
  std::ifstream in("codegen/isa/amd/testdata/asm_errors.tsv");
  ASSERT_TRUE(in);
  std::map<std::string, int> per_format;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    ASSERT_EQ(columns.size(), 5u) << line;
    const std::optional<Arch> arch = FindArch(columns[0]);
    ASSERT_TRUE(arch.has_value()) << line;
    const Assembly assembly = Assemble(columns[2], *arch);
    ASSERT_EQ(assembly.errors.size(), 1u) << line;
    EXPECT_EQ(assembly.errors[0].message, columns[4]) << line;
    uint32_t column = 0;
    ASSERT_TRUE(absl::SimpleAtoi(columns[3], &column)) << line;
    EXPECT_EQ(assembly.errors[0].column, column) << line;
    EXPECT_TRUE(assembly.text.empty() || columns[1] == "SOPP") << line;
    ++per_format[columns[1]];
  }
  EXPECT_GE(per_format.size(), 24u);
  for (const auto& [format, count] : per_format) EXPECT_GE(count, 2) << format;
}

}  // namespace
}  // namespace tg::amd
