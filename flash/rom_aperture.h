#ifndef TG_FLASH_ROM_APERTURE_H_
#define TG_FLASH_ROM_APERTURE_H_

// Reads the flash through ROM_INDEX and ROM_DATA, which work while the boot firmware runs.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flash/registers.h"

namespace tg::flash {

// All 2 MiB. `progress` is called after every 64 KiB with the bytes that are done; an error of its
// ends the reading. ROM_INDEX and ROM_CNTL are put back, whatever happens; the error says so when
// that fails.
absl::StatusOr<std::vector<uint8_t>> ReadRomAperture(
    Registers& registers, const std::function<absl::Status(size_t done)>& progress);

// Whether these bytes are a plain image of the flash: right size, boot header, and not one MiB
// shown twice. DataLoss says what is wrong.
absl::Status CheckRomDump(absl::Span<const uint8_t> dump);

}  // namespace tg::flash

#endif  // TG_FLASH_ROM_APERTURE_H_
