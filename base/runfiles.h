#ifndef TG_BASE_RUNFILES_H_
#define TG_BASE_RUNFILES_H_

// Files that belong to a program: test data, tables that it reads when it starts.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tg::base {

// The place of a file that a Bazel target lists in `data`, by its path in the repository, as
// "testdata/mnist/train-images.idx". Works in `bazel test`, in `bazel run`, for a binary started
// from where Bazel built it, and for an installed one: there the data lies in ../share/tg beside
// the binary's folder. NotFound names the places that were tried.
absl::StatusOr<std::string> FindRunfile(absl::string_view path);

}  // namespace tg::base

#endif  // TG_BASE_RUNFILES_H_
