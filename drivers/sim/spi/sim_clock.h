#ifndef TG_DRIVERS_SIM_SPI_SIM_CLOCK_H_
#define TG_DRIVERS_SIM_SPI_SIM_CLOCK_H_

// Time in simulated hardware.

#include <cstdint>

namespace tg::sim {

// Nanoseconds since the simulated hardware was switched on. Time passes only when somebody says
// so: a bus for each access, a driver's sleep. A chip that is busy for 70 ms of this time costs no
// real time. Not thread safe.
class SimClock {
 public:
  int64_t now_ns() const { return now_ns_; }
  void Advance(int64_t ns) { now_ns_ += ns; }

 private:
  int64_t now_ns_ = 0;
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_SPI_SIM_CLOCK_H_
