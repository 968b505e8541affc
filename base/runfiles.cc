#include "base/runfiles.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tg::base {
namespace {

std::string Executable() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length == sizeof path) return "";
  return std::string(path, length);
}

// Folders in which the repository's paths may start, most specific first.
std::vector<std::string> Roots() {
  std::vector<std::string> roots;
  for (const char* variable : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
    // A relative one is relative to where Bazel started the test, which is gone after a chdir.
    if (const char* folder = getenv(variable); folder != nullptr && *folder != '\0') {
      roots.push_back(absl::StrCat(folder, "/tg"));
    }
  }
  const std::string executable = Executable();
  if (!executable.empty()) {
    roots.push_back(absl::StrCat(executable, ".runfiles/tg"));
    // A tool that is itself in another program's runfiles.
    const size_t inside = executable.find(".runfiles/");
    if (inside != std::string::npos) {
      roots.push_back(absl::StrCat(executable.substr(0, inside), ".runfiles/tg"));
    }
    const std::string folder = executable.substr(0, executable.rfind('/'));
    roots.push_back(absl::StrCat(folder, "/../share/tg"));
  }
  return roots;
}

}  // namespace

absl::StatusOr<std::string> FindRunfile(absl::string_view path) {
  const std::vector<std::string> roots = Roots();
  for (const std::string& root : roots) {
    std::string candidate = absl::StrCat(root, "/", path);
    if (access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  return absl::NotFoundError(absl::StrCat(path, ": not among the program's files; looked in ",
                                          absl::StrJoin(roots, ", ")));
}

}  // namespace tg::base
