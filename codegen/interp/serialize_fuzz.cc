// libFuzzer: any text is a program that keeps its contract and serializes to itself, or is refused.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "codegen/interp/interpreter.h"
#include "codegen/interp/serialize.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<tg::lower::LinearProgram> program = tg::interp::Deserialize(text);
  if (!program.ok()) return 0;
  const absl::StatusOr<std::string> first = tg::interp::Serialize(*program);
  TG_CHECK(first.ok()) << first.status();
  const absl::StatusOr<tg::lower::LinearProgram> again = tg::interp::Deserialize(*first);
  TG_CHECK(again.ok() && *tg::interp::Serialize(*again) == *first) << "does not round-trip";
  (void)tg::interp::Interpreter::Create(*program).status();
  return 0;
}
