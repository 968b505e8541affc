// libFuzzer target: any bytes parse to an error, or to an array whose encoding parses to the same
// array.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "tg/data/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = tg::data::ParseIdx(absl::MakeConstSpan(data, size), "fuzz");
  if (!array.ok()) return 0;
  const auto encoded = tg::data::EncodeIdx(*array);
  TG_CHECK(encoded.ok()) << encoded.status();
  const auto again = tg::data::ParseIdx(*encoded, "fuzz");
  TG_CHECK(again.ok()) << again.status();
  TG_CHECK(again->dtype == array->dtype);
  TG_CHECK(again->shape == array->shape);
  TG_CHECK(again->bytes == array->bytes);
  return 0;
}
