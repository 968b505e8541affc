// libFuzzer: any text parses to a graph that round-trips, or is refused with a status.
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<tg::ir::UOp> graph = tg::ir::Parse(text);
  if (!graph.ok()) return 0;
  const absl::StatusOr<tg::ir::UOp> again = tg::ir::Parse(tg::ir::Print(*graph));
  TG_CHECK(again.ok() && *again == *graph) << "does not round-trip";
  (void)tg::ir::PrintExpr(*graph);
  (void)tg::ir::PrintTree(*graph);
  return 0;
}
