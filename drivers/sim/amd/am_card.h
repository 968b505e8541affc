#ifndef TG_DRIVERS_SIM_AMD_AM_CARD_H_
#define TG_DRIVERS_SIM_AMD_AM_CARD_H_

// A simulated AMD card as a user-space driver leaves it: started, with memory in BAR 0 that holds
// the discovery binary and page tables, and an SMU behind BAR 5. What is modelled are the registers
// that observers need; others are Unimplemented errors.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drivers/pci/function.h"
#include "drivers/sim/amd/smu.h"
#include "drivers/sim/pci/sim_function.h"

namespace tg::sim {

class AmCard {
 public:
  struct Options {
    std::string chip = "gfx1100";
    bool small_bar = false;  // BAR 0 shows 256 MiB of the card's memory, not all of it
    bool started = true;     // by a user-space driver
    bool virtual_function = false;
    SmuFault fault = SmuFault::kNone;
  };

  // Chips that there are: "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1201".
  static std::vector<std::string> Chips();
  // InvalidArgument: `chip` is none of them.
  static absl::StatusOr<std::unique_ptr<AmCard>> Create(const Options& options);

  pci::Function& function() { return function_; }
  Smu& smu() { return smu_; }

  // Page tables as a driver leaves them that has mapped `pages` pages of 2 MiB (at most 512) and
  // one of 4 KiB of the card's memory, and one page of the host.
  void MapPages(int pages);

  // The card's memory, also where BAR 0 does not reach. Bytes at an address within it.
  uint64_t vram_bytes() const;
  void Put(uint64_t address, absl::Span<const uint8_t> bytes);
  void PutEntry(uint64_t table, uint64_t index, uint64_t entry);

 private:
  struct Chip;

  AmCard(const Chip& chip, const Options& options);
  uint8_t Byte(uint64_t address) const;
  absl::StatusOr<uint64_t> ReadMemory(uint64_t offset, pci::Width width);
  absl::StatusOr<uint64_t> ReadRegister(uint64_t offset, pci::Width width);
  absl::Status WriteRegister(uint64_t offset, pci::Width width, uint64_t value);

  static const Chip kChips[];

  const Chip& chip_;
  const Options options_;
  std::unordered_map<uint64_t, std::array<uint8_t, 4096>> pages_;  // those that are not all zeros
  SimFunction function_;
  Smu smu_;
  uint32_t mm_index_ = 0, mm_index_hi_ = 0;
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_AMD_AM_CARD_H_
