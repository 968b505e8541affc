#ifndef TG_FLASH_FLASH_RUN_H_
#define TG_FLASH_FLASH_RUN_H_

// For tests: a whole flash of a simulated card that meets one fault, and the recovery from it.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "flash/flasher.h"
#include "flash/sim_card.h"

namespace tg::flash {

struct FlashOutcome {
  absl::Status status;
  int next_sector = 0;
  FlashPlan plan;
};

// What the tool does: open, identify, plan, check, write, compare, close.
FlashOutcome FlashOnce(SimCard& card, const std::vector<uint8_t>& image, SectorRange range,
                       bool only_different, bool clear_cmp = false);

// 2 MiB, none of it blank.
std::vector<uint8_t> Noise(uint32_t seed);

// What strikes in a run: at the link, or in the chip.
struct RunFault {
  LinkFault link = LinkFault::kNone;
  bool in_chip = false;
  sim::SpiFault chip = sim::SpiFault::kDropProgram;
  int64_t at = 0;  // the access to the link, or the operation of the chip
};

// Runs flashes of one range of sectors from old contents to an image.
class FaultRuns {
 public:
  explicit FaultRuns(SectorRange range);

  // One flash with the fault. Empty when
  //  * success is only claimed when the flash is the image's,
  //  * after an error everything before the sector to resume at is right,
  //  * the card's registers are as they were found, or the error says that they are not,
  //  * the same flash with the link back, written where it differs, succeeds and restores them,
  //  * nothing outside of the range was touched;
  // otherwise what is wrong. `*struck`: whether the run came as far as the fault.
  std::string Check(const RunFault& fault, bool cmp, bool* struck);

  // Indices of the register accesses that begin a transaction of the engine in a run without
  // fault; the last element is the number of accesses.
  std::vector<int64_t> TransactionStarts(bool cmp);

 private:
  const SectorRange range_;
  const std::vector<uint8_t> image_, old_;
  std::vector<uint8_t> flash_;
};

}  // namespace tg::flash

#endif  // TG_FLASH_FLASH_RUN_H_
