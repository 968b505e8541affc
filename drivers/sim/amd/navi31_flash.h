#ifndef TG_DRIVERS_SIM_AMD_NAVI31_FLASH_H_
#define TG_DRIVERS_SIM_AMD_NAVI31_FLASH_H_

// The part of a simulated Navi 31 (RX 7900) that leads to its SPI flash: the ROM controller of the
// SMUIO block, the pads that it shares with GPIO, and the mailbox of the PSP's boot firmware, at
// their byte offsets in BAR5.
//
// Register and field names are those of AMD's smuio_13_0_x headers in the Linux kernel:
//
//   0x58224  doorbell of the mailbox          0x5a3a0  ROM_SW_CNTL
//   0x582cc  its command and status           0x5a3a4  ROM_SW_STATUS
//   0x582d0  its data                         0x5a3a8  ROM_SW_COMMAND
//   0x5a380  ROM_CNTL                         0x5a3b0  ROM_SW_DATA, 256 bytes
//   0x5a384  PAGE_MIRROR_CNTL                 0x5a504  GPIO pads: MASK
//   0x5a390  ROM_INDEX                        0x5a508  GPIO pads: A
//   0x5a394  ROM_DATA                         0x5a510  GPIO pads: EN
//
// Any other offset, and uses of these that are not understood, are Unimplemented errors.

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drivers/sim/amd/psp_boot_mailbox.h"
#include "drivers/sim/spi/gd25lq16e.h"
#include "drivers/sim/spi/sim_clock.h"

namespace tg::sim {

// How far the card has come since it was switched on; it decides who owns the flash.
enum class Navi31Boot {
  // The boot ROM found nothing to run. The ROM_SW engine is free; the mailbox is dead.
  kRomless,
  // The PSP runs the firmware in the flash. Its mailbox answers. The engine is gated:
  // ROM_SW_STATUS reads 0x04000800 whatever is written. Writes to ROM_CNTL and ROM_INDEX arrive
  // byte-swapped.
  kFirmware,
  // A driver has started the PSP's secure OS. The ROM controller reads all ones and drops writes;
  // the mailbox rejects the commands for updates.
  kSos,
};

class Navi31Flash {
 public:
  // What this board does differently from a good one.
  struct Quirks {
    bool engine_never_done = false;  // ROM_SW_STATUS can be cleared, and then stays 0
    bool aperture_mirrored = false;  // ROM_DATA shows the first MiB twice
    int rx_rotation = 0;             // received bytes come this many too early, cyclically
  };

  // `chip` and `clock` outlive this.
  Navi31Flash(Navi31Boot boot, Gd25lq16e* chip, SimClock* clock);

  // 32-bit accesses; each takes access_ns of simulated time. InvalidArgument: not aligned.
  absl::StatusOr<uint32_t> Read32(uint32_t offset);
  absl::Status Write32(uint32_t offset, uint32_t value);

  PspBootMailbox& mailbox() { return mailbox_; }
  Quirks& quirks() { return quirks_; }
  void set_access_ns(int64_t ns) { access_ns_ = ns; }

  // The registers that a tool must leave as it found them: ROM_CNTL, PAGE_MIRROR_CNTL, ROM_INDEX,
  // GPIO MASK, A, EN, ROM_SW_CNTL.
  std::vector<uint32_t> Persistent() const;

 private:
  static constexpr uint32_t kDataSize = 0x100;

  uint32_t* Plain(uint32_t offset);
  absl::Status StartEngine();
  absl::StatusOr<uint32_t> ReadAperture();

  const Navi31Boot boot_;
  Gd25lq16e* const chip_;
  SimClock* const clock_;
  PspBootMailbox mailbox_;
  Quirks quirks_;
  int64_t access_ns_ = 1000;

  // Out of reset, as boards have them: pads driven by GPIO until somebody asks for SPI.
  uint32_t rom_cntl_ = 0x19800021;
  uint32_t page_mirror_cntl_ = 0x0a000000;
  uint32_t rom_index_ = 0;
  uint32_t aperture_at_ = 0;  // the byte that ROM_DATA shows next
  uint32_t rom_sw_cntl_ = 0;
  uint32_t rom_sw_command_ = 0;
  uint32_t gpio_mask_ = 0x780;
  uint32_t gpio_a_ = 0x080;
  uint32_t gpio_en_ = 0x100;
  bool done_ = true;
  bool armed_ = false;       // a command was written and not yet sent
  int64_t done_at_ns_ = -1;  // when the running transaction ends; -1: none
  std::array<uint8_t, kDataSize> tx_ = {};
  std::array<uint8_t, kDataSize> rx_ = {};  // what ROM_SW_DATA shows
  std::vector<uint8_t> latched_;            // what the last transaction received
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_AMD_NAVI31_FLASH_H_
