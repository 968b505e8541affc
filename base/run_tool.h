#ifndef TG_BASE_RUN_TOOL_H_
#define TG_BASE_RUN_TOOL_H_

// Command-line tools in tests.

#include <string>

#include "absl/strings/string_view.h"
#include "base/process.h"

namespace tg::base {

// Runs a tool that the test lists in `data`, by its path in the repository, with arguments that
// spaces part. It resolves paths against where it runs, whatever Bazel says of where the user was.
// Aborts when it cannot be run.
ProcessResult RunTool(absl::string_view runfile, absl::string_view arguments,
                      ProcessOptions options = {});

}  // namespace tg::base

#endif  // TG_BASE_RUN_TOOL_H_
