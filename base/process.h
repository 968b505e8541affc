#ifndef TG_BASE_PROCESS_H_
#define TG_BASE_PROCESS_H_

// Runs other programs and waits for them. No shell: arguments are passed as they are.

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tg::base {

struct ProcessOptions {
  // Standard input; empty without it.
  absl::string_view input = {};
  // The program shares this process's standard streams instead: `input` is not used, and the result
  // has no output.
  bool share_streams = false;
  // "NAME=value", over what this process has.
  std::vector<std::string> environment = {};
  // Where it runs; empty: where this process does.
  std::string directory = {};
};

struct ProcessResult {
  int status = 0;  // What it exited with; 128 + the signal that ended it.
  int signal = 0;  // 0: it exited by itself.
  std::string out, err;
};

// Runs `arguments`, of which the first is looked up in PATH. Streams are anonymous memory: no pipe
// that could fill up, no files. NotFound: there is no such program; Internal: it could not be run.
// How it ended is no error. Thread safe.
absl::StatusOr<ProcessResult> RunProcess(const std::vector<std::string>& arguments,
                                         const ProcessOptions& options = {});

// The name of a running process, as /proc has it; "" for one that is not there.
std::string ProcessName(pid_t pid);

}  // namespace tg::base

#endif  // TG_BASE_PROCESS_H_
