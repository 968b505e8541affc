// libFuzzer target: any bytes parse to an error, or to a header whose tensors lie in the file and
// cover its data.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "tg/state/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto header = tg::state::ParseSafetensors(absl::MakeConstSpan(data, size), "fuzz");
  if (!header.ok()) return 0;
  TG_CHECK(header->data_start <= size);
  uint64_t total = 0;
  for (const tg::state::SafetensorsEntry& e : header->tensors) {
    TG_CHECK(e.offset <= size - header->data_start);
    TG_CHECK(e.size <= size - header->data_start - e.offset);
    TG_CHECK(tg::state::SafetensorsSize(e.dtype, e.shape) == e.size);
    total += e.size;
  }
  TG_CHECK(header->data_start + total == size);
  return 0;
}
