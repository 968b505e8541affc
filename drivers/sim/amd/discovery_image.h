#ifndef TG_DRIVERS_SIM_AMD_DISCOVERY_IMAGE_H_
#define TG_DRIVERS_SIM_AMD_DISCOVERY_IMAGE_H_

// The IP discovery binary of a simulated GPU, as discovery.h of the Linux kernel lays it out.

#include <cstdint>
#include <utility>
#include <vector>

namespace tg::sim {

struct DiscoveryBlock {
  uint16_t id = 0;
  uint8_t instance = 0;
  uint8_t major = 0, minor = 0, revision = 0;
  std::vector<uint64_t> bases;  // in dwords
};

struct DiscoveryImage {
  std::vector<std::vector<DiscoveryBlock>> dies;             // at most 16
  std::vector<std::pair<uint16_t, uint8_t>> harvested = {};  // id and instance; at most 32
  uint16_t binary_version = 1;                               // 1 or 2
  bool wide_bases = false;                                   // 64 bits

  // With all checksums.
  std::vector<uint8_t> Build() const;
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_AMD_DISCOVERY_IMAGE_H_
