#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/gzip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kCap = 1 << 16;
  const auto unpacked = tg::base::Inflate({data, size}, kCap, "input");
  if (unpacked.ok()) TG_CHECK_LE(unpacked->size(), static_cast<size_t>(kCap));
  return 0;
}
