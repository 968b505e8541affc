// Runs a compiler as a child process: source on its standard input, result on its standard output.
#ifndef TG_CODEGEN_RENDER_CSTYLE_COMPILER_PROCESS_H_
#define TG_CODEGEN_RENDER_CSTYLE_COMPILER_PROCESS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tg::render {

// Runs `arguments` as base::RunProcess does and returns what it writes to standard output. Errors:
// NotFound, no such program; Internal, it could not be run, died, or exited with another status
// than 0; its standard error (at most 16 KiB of it) is in the message. Thread safe.
absl::StatusOr<std::string> RunCompiler(const std::vector<std::string>& arguments,
                                        absl::string_view input);

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_CSTYLE_COMPILER_PROCESS_H_
