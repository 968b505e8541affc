#ifndef TG_FLASH_ROM_SW_H_
#define TG_FLASH_ROM_SW_H_

// Navi 31's ROM_SW engine as an SPI bus: direct access to the flash of a card whose boot firmware
// does not run ("romless"). Where the firmware runs, the engine is gated, and cannot be opened.
//
// Registers and fields after AMD's smuio_13_0_x headers in the Linux kernel. Two things that those
// do not say: data to send goes into the window as big-endian dwords, data that was received comes
// as little-endian ones; and the window shows what the *preceding* transaction received, so
// commands that return data are sent twice.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flash/registers.h"
#include "flash/spi_bus.h"

namespace tg::flash {

class RomSw final : public SpiBus {
 public:
  // Takes the engine: remembers ROM_CNTL, PAGE_MIRROR_CNTL and the pads, then sets the clock
  // prescaler (0..15; larger is slower). Unavailable when the card does not answer,
  // FailedPrecondition when its firmware runs; nothing was written then. Both arguments outlive the
  // bus.
  static absl::StatusOr<std::unique_ptr<RomSw>> Open(Registers* registers, Clock* clock,
                                                     int prescale);
  // Closes, if that was not done.
  ~RomSw() override;

  size_t max_data() const override { return 256; }

  // One command (two transactions when it returns data). Each transaction takes the pads for SPI
  // and gives them back, also when it fails; if giving back fails as well, the error says which
  // registers are left changed and what they were.
  absl::Status Transfer(const SpiCommand& command, absl::Span<uint8_t> in) override;

  // Puts ROM_CNTL back as it was before Open and checks that all registers are as they were.
  // An error names each register that is not, with the value it had.
  absl::Status Close();

 private:
  struct Saved {
    uint32_t gpio_mask, gpio_a, gpio_en, page_mirror_cntl, rom_cntl;
    bool operator==(const Saved&) const = default;
  };

  RomSw(Registers* registers, Clock* clock) : registers_(*registers), clock_(*clock) {}

  absl::StatusOr<Saved> Save();
  // `*left`: names of the registers that could not be written.
  absl::Status Restore(const Saved& saved, std::string* left);
  absl::Status Transact(const SpiCommand& command, absl::Span<uint8_t> in);
  absl::Status Engine(const Saved& saved, const SpiCommand& command, absl::Span<uint8_t> in);

  Registers& registers_;
  Clock& clock_;
  Saved found_ = {};
  bool open_ = false;
};

}  // namespace tg::flash

#endif  // TG_FLASH_ROM_SW_H_
