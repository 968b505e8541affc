#ifndef TG_DRIVERS_SIM_SPI_GD25LQ16E_H_
#define TG_DRIVERS_SIM_SPI_GD25LQ16E_H_

// A simulated GigaDevice GD25LQ16E: 2 MiB of SPI NOR flash, as it is soldered next to GPUs.
//
// Written from the data sheet's command and status register chapters ("GD25LQ16E, 1.8V Uniform
// Sector Dual and Quad Serial Flash") and JEDEC JESD216 for SFDP; it knows nothing of the drivers
// that are tested with it. One data line in each direction: the dual and quad commands, suspend,
// security registers and deep power-down are not modelled, and asking for them is an Unimplemented
// error rather than a plausible answer.

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "drivers/sim/spi/sim_clock.h"

namespace tg::sim {

// What can go wrong inside of the chip, or between it and the one who asks. A fault strikes once,
// except kStuckBusy, which lasts until the power is cycled.
enum class SpiFault {
  kDropProgram,  // accepted, busy, and nothing was programmed
  kHalfProgram,  // only the first half of the bytes got there
  kFlipProgram,  // one bit that should be 1 became 0 as well
  kDropErase,    // accepted, busy, and nothing was erased
  kHalfErase,    // only the first half of the block is blank
  kDropEnable,   // a write enable command is not heard
  kDropStatus,   // a status register write is not heard
  kFlipRead,     // one bit of a data read is wrong
  kStuckBusy,    // a program or erase never ends
};

class Gd25lq16e {
 public:
  static constexpr size_t kSize = 0x200000;

  // Times of the data sheet's AC characteristics, typical.
  struct Timing {
    int64_t page_program_ns = 500'000;
    int64_t sector_erase_ns = 70'000'000;
    int64_t block32_erase_ns = 160'000'000;
    int64_t block64_erase_ns = 250'000'000;
    int64_t chip_erase_ns = 7'000'000'000;
    int64_t write_status_ns = 5'000'000;
  };

  // `array` holds the chip's contents, kSize bytes that outlive it; so does `clock`.
  Gd25lq16e(absl::Span<uint8_t> array, const SimClock* clock);

  // One selection of the chip: `out` (command, address, data) is clocked in, then `in` is clocked
  // out, then the chip is released. Where the chip does not drive its output, `in` reads 0xff.
  // What real chips ignore (writes without write enable, to protected areas, anything but status
  // reads while busy) is ignored here, and counted. Unimplemented: a command that is not modelled.
  absl::Status Transfer(absl::Span<const uint8_t> out, absl::Span<uint8_t> in);

  // The `nth` operation from now that `fault` can strike, counted from 0, will be struck. One
  // fault at a time.
  void Inject(SpiFault fault, int64_t nth);
  // Whether a fault still waits for its operation.
  bool fault_armed() const { return fault_armed_; }

  // Off and on: volatile state is gone, a stuck operation ends where it was.
  void PowerCycle();

  // Status registers as they are, without a command. The setter is what a board's factory did.
  uint8_t status(int index) const { return status_[static_cast<size_t>(index)]; }
  void set_status(int index, uint8_t value) { status_[static_cast<size_t>(index)] = value; }
  bool busy() const { return clock_->now_ns() < busy_until_ns_; }

  // Counters since the chip was made.
  struct Counters {
    int64_t transfers = 0;
    int64_t erases = 0;
    int64_t programs = 0;
    int64_t ignored = 0;
  };
  const Counters& counters() const { return counters_; }

  void set_timing(const Timing& timing) { timing_ = timing; }

 private:
  struct Area {
    size_t begin, end;
  };

  bool Strike(SpiFault fault);
  bool TakeEnable();
  absl::Status CheckProtection(Area area, bool* is_protected) const;
  void StartBusy(int64_t ns);
  void ReadStatus(int index, absl::Span<uint8_t> in) const;
  absl::Status WriteStatus(absl::Span<const uint8_t> data);
  absl::Status Read(absl::Span<const uint8_t> out, absl::Span<uint8_t> in, bool dummy);
  void ReadSfdp(absl::Span<const uint8_t> out, absl::Span<uint8_t> in) const;
  absl::Status Program(absl::Span<const uint8_t> out);
  absl::Status Erase(absl::Span<const uint8_t> out, size_t size, int64_t ns);

  const absl::Span<uint8_t> array_;
  const SimClock* const clock_;
  Timing timing_;
  std::array<uint8_t, 3> status_ = {};  // without WIP, which follows from the clock
  int64_t busy_until_ns_ = 0;
  Counters counters_;
  bool fault_armed_ = false;
  SpiFault fault_ = SpiFault::kDropProgram;
  int64_t fault_countdown_ = 0;
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_SPI_GD25LQ16E_H_
