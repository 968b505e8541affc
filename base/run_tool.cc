#include "base/run_tool.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/runfiles.h"

namespace tg::base {

ProcessResult RunTool(absl::string_view runfile, absl::string_view arguments,
                      ProcessOptions options) {
  const absl::StatusOr<std::string> tool = FindRunfile(runfile);
  TG_CHECK(tool.ok()) << tool.status().message();
  std::vector<std::string> command = {std::filesystem::absolute(*tool).string()};
  for (absl::string_view word : absl::StrSplit(arguments, ' ', absl::SkipEmpty())) {
    command.emplace_back(word);
  }
  options.environment.push_back("BUILD_WORKING_DIRECTORY=");
  absl::StatusOr<ProcessResult> result = RunProcess(command, options);
  TG_CHECK(result.ok()) << result.status().message();
  return *std::move(result);
}

}  // namespace tg::base
