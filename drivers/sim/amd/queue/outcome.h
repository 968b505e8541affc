// What a packet processor tells the queue that it executes for.
#ifndef TG_DRIVERS_SIM_AMD_QUEUE_OUTCOME_H_
#define TG_DRIVERS_SIM_AMD_QUEUE_OUTCOME_H_

#include <cstdint>
#include <string>

namespace tg::amd::sim {

struct Outcome {
  enum class Kind : uint8_t {
    kNext,   // The packet is done.
    kWait,   // What it waits for is not there: to be executed again later. `reason` says what.
    kCall,   // An indirect buffer of `dwords` at `address` comes before the next packet.
    kChain,  // That buffer takes the place of the rest of this one.
    kSkip,   // `dwords` after the packet are left out.
  };
  Kind kind = Kind::kNext;
  uint64_t address = 0;
  uint32_t dwords = 0;
  std::string reason = {};
};

// The comparisons of WAIT_REG_MEM and POLL_REGMEM, by their FUNC field.
constexpr bool Compare(uint32_t function, uint64_t value, uint64_t reference) {
  switch (function) {
    case 0:
      return true;
    case 1:
      return value < reference;
    case 2:
      return value <= reference;
    case 3:
      return value == reference;
    case 4:
      return value != reference;
    case 5:
      return value >= reference;
    default:
      return value > reference;
  }
}
inline constexpr const char* kComparisons[] = {"anything", "<", "<=", "==", "!=", ">=", ">"};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_QUEUE_OUTCOME_H_
