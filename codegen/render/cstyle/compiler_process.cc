#include "codegen/render/cstyle/compiler_process.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/process.h"

namespace tg::render {
namespace {

constexpr size_t kMaxMessage = 16 << 10;

}  // namespace

absl::StatusOr<std::string> RunCompiler(const std::vector<std::string>& arguments,
                                        absl::string_view input) {
  absl::StatusOr<base::ProcessResult> result = base::RunProcess(arguments, {.input = input});
  if (!result.ok()) return result.status();
  if (result->status != 0) {
    if (result->err.size() > kMaxMessage) result->err.resize(kMaxMessage);
    const std::string how = result->signal != 0
                                ? absl::StrCat("died of signal ", result->signal)
                                : absl::StrCat("failed with status ", result->status);
    return absl::InternalError(absl::StrCat(arguments[0], " ", how, ":\n", result->err));
  }
  return std::move(result->out);
}

}  // namespace tg::render
