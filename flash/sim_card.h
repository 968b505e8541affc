#ifndef TG_FLASH_SIM_CARD_H_
#define TG_FLASH_SIM_CARD_H_

// A simulated card whose flash is in memory that somebody else keeps: a test's, or an image file.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "drivers/sim/amd/navi31_flash.h"
#include "drivers/sim/spi/gd25lq16e.h"
#include "drivers/sim/spi/sim_clock.h"
#include "flash/fault_registers.h"
#include "flash/registers.h"

namespace tg::flash {

// Simulated time as a Clock: sleeping takes no real time.
class SimTime final : public Clock {
 public:
  explicit SimTime(sim::SimClock* clock) : clock_(*clock) {}
  absl::Duration Now() override { return absl::Nanoseconds(clock_.now_ns()); }
  void Sleep(absl::Duration duration) override {
    clock_.Advance(absl::ToInt64Nanoseconds(duration));
  }

 private:
  sim::SimClock& clock_;
};

class SimCard {
 public:
  // `flash` is Gd25lq16e::kSize bytes that outlive the card.
  SimCard(sim::Navi31Boot boot, absl::Span<uint8_t> flash)
      : time_(&clock_),
        chip_(flash, &clock_),
        navi31_(boot, &chip_, &clock_),
        plain_(&navi31_),
        link_(&plain_) {}
  SimCard(const SimCard&) = delete;
  SimCard& operator=(const SimCard&) = delete;

  FaultRegisters& registers() { return link_; }
  SimTime& clock() { return time_; }
  sim::Gd25lq16e& chip() { return chip_; }
  sim::Navi31Flash& navi31() { return navi31_; }

 private:
  class Plain final : public Registers {
   public:
    explicit Plain(sim::Navi31Flash* card) : card_(*card) {}
    absl::StatusOr<uint32_t> Read32(uint32_t offset) override { return card_.Read32(offset); }
    absl::Status Write32(uint32_t offset, uint32_t value) override {
      return card_.Write32(offset, value);
    }

   private:
    sim::Navi31Flash& card_;
  };

  sim::SimClock clock_;
  SimTime time_;
  sim::Gd25lq16e chip_;
  sim::Navi31Flash navi31_;
  Plain plain_;
  FaultRegisters link_;
};

}  // namespace tg::flash

#endif  // TG_FLASH_SIM_CARD_H_
