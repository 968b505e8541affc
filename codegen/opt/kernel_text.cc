#include "codegen/opt/kernel_text.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"

namespace tg::opt {
namespace {

struct Section {
  std::string name;
  int first_line = 0;  // the one that names it
  std::string text = {};
  bool any = false;  // something other than blanks and remarks
};

bool IsBlank(absl::string_view line) {
  const absl::string_view s = absl::StripLeadingAsciiWhitespace(line);
  return s.empty() || s[0] == '#';
}

}  // namespace

std::string PrintKernel(const KernelText& kernel) {
  TG_CHECK(!kernel.name.empty() && kernel.name.find_first_of(" \t\n") == std::string::npos);
  return absl::StrCat("kernel ", kernel.name, "\n", ir::Print(kernel.ast), "\n");
}

absl::StatusOr<std::vector<KernelText>> ParseKernels(absl::string_view text) {
  std::vector<Section> sections = {{.name = "kernel", .first_line = 0}};
  absl::flat_hash_set<std::string> names;
  int number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    absl::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (!absl::ConsumePrefix(&line, "kernel ")) {
      absl::StrAppend(&sections.back().text, line, "\n");
      sections.back().any |= !IsBlank(line);
      continue;
    }
    const std::string name(absl::StripAsciiWhitespace(line));
    if (name.empty() || name.find_first_of(" \t") != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": a kernel's name is one word"));
    }
    if (!names.insert(name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": there are two kernels named ", name));
    }
    if (sections.size() == 1 && sections[0].any) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": what stands before has no name"));
    }
    sections.push_back({.name = name, .first_line = number});
  }
  std::vector<KernelText> kernels;
  for (size_t i = 0; i < sections.size(); ++i) {
    if (i == 0 && (sections.size() > 1 || !sections[0].any)) continue;
    absl::StatusOr<ir::UOp> ast = ir::Parse(sections[i].text);
    if (!ast.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("kernel ", sections[i].name, ", after line ",
                                                     sections[i].first_line, ": ",
                                                     ast.status().message()));
    }
    kernels.push_back({std::move(sections[i].name), *std::move(ast)});
  }
  if (kernels.empty()) return absl::InvalidArgumentError("there is no kernel");
  return kernels;
}

}  // namespace tg::opt
