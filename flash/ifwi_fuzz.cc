// libFuzzer: any bytes are an image, or are refused with a status.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "flash/ifwi.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (uint32_t item = 0; item <= 0x100; ++item) {
    const auto resolved = tg::flash::ResolveIfwiItem({data, size}, item);
    if (!resolved.ok()) continue;
    TG_CHECK_LE(resolved->offset, size);
    TG_CHECK_LE(resolved->size, size - resolved->offset);
  }
  (void)tg::flash::IfwiProblems({data, size});
  return 0;
}
