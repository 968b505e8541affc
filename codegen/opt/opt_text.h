// Lists of optimisation steps as text:
//
//   SPLIT(0, 16, UPCAST), SPLIT(1, 4, THREAD, top), PADTO(0, 32), SWAP(0, 1), TC(0, 1), NOLOCALS
//
// SPLIT(axis, amount, type[, top]); amount 0 is the whole axis. See ir::Opt for the fields.
#ifndef TG_CODEGEN_OPT_OPT_TEXT_H_
#define TG_CODEGEN_OPT_OPT_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/ir/arg.h"

namespace tg::opt {

std::string ToString(const ir::Opt& opt);
std::string ToString(absl::Span<const ir::Opt> opts);

// The inverse. Blanks are ignored, the empty text is the empty list. Errors: InvalidArgument,
// "column 7: unknown axis type UPCASE".
absl::StatusOr<std::vector<ir::Opt>> ParseOpts(absl::string_view text);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_OPT_TEXT_H_
