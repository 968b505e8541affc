#ifndef TG_DRIVERS_AMD_IP_DISCOVERY_H_
#define TG_DRIVERS_AMD_IP_DISCOVERY_H_

// The IP discovery binary: AMD GPUs' own list of the blocks that they are made of, with versions
// and register bases. The PSP leaves it 64 KiB before the end of the card's memory; images of the
// card's flash have it, too.
//
// Source: drivers/gpu/drm/amd/include/discovery.h in the Linux kernel. All numbers are
// little-endian. Binary header: u32 signature 0x28211407, u16 version major and minor, u16
// checksum, u16 size; up to version 1 six table entries follow, from 2 on u16 count, u16 padding
// and that many entries. A table entry is u16 offset (0: no such table), checksum, size, padding.
// Checksums are sums of bytes modulo 2^16: the binary's of all that follows the field, a table's of
// its bytes.
//
// Table 0 ("IPDS"): u32 signature, u16 version, u16 size, u32 id, u16 dies, 16 times {u16 die, u16
// offset in the binary}, u8 flags (version 4: bit 0, bases have 64 bits). At each die's offset: u16
// die, u16 blocks, and for each block u16 id, u8 instance, u8 bases, u8 major, minor, revision,
// flags, and the bases. Table 2 ("HARV") has an entry {u16 id, u8 instance, u8} for each block that
// is fused off, 32 at most, ended by id 0.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tg::amd {

struct IpVersion {
  uint8_t major = 0, minor = 0, revision = 0;
  bool operator==(const IpVersion& o) const {
    return std::tie(major, minor, revision) == std::tie(o.major, o.minor, o.revision);
  }
  // "13.0.6"
  std::string ToString() const;
};

// Ids of blocks that somebody here uses (include/soc15_hw_ip.h).
inline constexpr uint16_t kIpMp1 = 1;     // the system management unit, SMU
inline constexpr uint16_t kIpGc = 11;     // graphics and compute
inline constexpr uint16_t kIpMmhub = 34;  // memory hub
inline constexpr uint16_t kIpNbif = 108;  // bus interface
inline constexpr uint16_t kIpMp0 = 255;   // the security processor, PSP

struct IpBlock {
  uint16_t id = 0;
  uint8_t die = 0;
  uint8_t instance = 0;
  IpVersion version;
  bool harvested = false;
  // Where its segments of registers begin, in dwords. Registers are named by segment and offset.
  std::vector<uint64_t> bases;
};

struct IpDiscovery {
  std::vector<IpBlock> blocks;  // in the order of the binary

  // The first instance that is there; null when there is none.
  const IpBlock* Find(uint16_t id) const;
};

inline constexpr uint64_t kDiscoveryFromEnd = 64 << 10;
inline constexpr uint64_t kDiscoverySize = 10 << 10;

// `source` is for error messages. InvalidArgument: these bytes are no whole discovery binary, with
// the field and its place. The result has at most two blocks for each byte.
absl::StatusOr<IpDiscovery> ParseIpDiscovery(absl::Span<const uint8_t> bytes,
                                             absl::string_view source);

}  // namespace tg::amd

#endif  // TG_DRIVERS_AMD_IP_DISCOVERY_H_
