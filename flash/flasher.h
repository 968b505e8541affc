#ifndef TG_FLASH_FLASHER_H_
#define TG_FLASH_FLASHER_H_

// Brings a range of a chip's sectors to an image: first what has to be done, then doing it.

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flash/spi_nor.h"

namespace tg::flash {

struct SectorRange {
  int start = 0;
  int count = 0;
};

// The range that two flags ask for; `count` < 0 is all that is left. InvalidArgument unless it has
// at least one sector and all are in the chip.
absl::StatusOr<SectorRange> CheckSectorRange(int start, int count, const Chip& chip);

struct FlashPlan {
  SectorRange range;
  std::vector<int> different;  // sectors of the range whose bytes are not the image's
  std::vector<int> sectors;    // sectors that will be written
  uint8_t status1 = 0, status2 = 0, status3 = 0;
  Range protected_now = {};          // bytes that the chip protects
  Range protected_without_cmp = {};  // bytes that it will still protect when CMP is clear
  bool cmp() const { return status2 & 0x40; }
};

// Called for each sector that is done; `done` of `total`. An error of its stops the work.
using SectorProgress = std::function<absl::Status(int sector, int done, int total)>;

// Reads the range and compares. `image` has the size of the chip. With `only_different`, the
// sectors that are right already are not written.
absl::StatusOr<FlashPlan> PlanFlash(SpiNor& nor, absl::Span<const uint8_t> image, SectorRange range,
                                    bool only_different, const SectorProgress& progress);

// Whether nothing protects the sectors to be written (once CMP is clear, if `clear_cmp`) and the
// operations were tried with this chip.
absl::Status CheckPlan(const FlashPlan& plan, const Chip& chip, bool clear_cmp);

// Writes the plan's sectors, each read back and compared. On an error `*next_sector` is the first
// sector that is not known to be right; otherwise it is the one after the last.
absl::Status WriteSectors(SpiNor& nor, absl::Span<const uint8_t> image,
                          const std::vector<int>& sectors, int* next_sector,
                          const SectorProgress& progress);

// Reads sectors and compares them with the image; DataLoss names the first different byte.
absl::Status VerifySectors(SpiNor& nor, absl::Span<const uint8_t> image, SectorRange range,
                           const SectorProgress& progress);

}  // namespace tg::flash

#endif  // TG_FLASH_FLASHER_H_
