// libFuzzer: any bytes are a discovery binary, or are refused with a status.
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "drivers/amd/ip_discovery.h"

namespace {

uint16_t Get(const std::vector<uint8_t>& b, size_t at) {
  return at + 2 <= b.size() ? static_cast<uint16_t>(b[at] | b[at + 1] << 8) : 0;
}
void Set(std::vector<uint8_t>& b, size_t at, uint32_t value) {
  if (at + 2 > b.size()) return;
  b[at] = static_cast<uint8_t>(value);
  b[at + 1] = static_cast<uint8_t>(value >> 8);
}
uint32_t Sum(const std::vector<uint8_t>& b, size_t from, size_t size) {
  if (from > b.size() || size > b.size() - from) return 0;
  const auto begin = b.begin() + static_cast<ptrdiff_t>(from);
  return std::accumulate(begin, begin + static_cast<ptrdiff_t>(size), uint32_t{0});
}

// Checksums that are right let the rest of the bytes through.
void FixChecksums(std::vector<uint8_t>& b) {
  const size_t tables = Get(b, 4) >= 2 ? 16 : 12;
  const size_t ip = Get(b, tables), harvest = Get(b, tables + 16);
  Set(b, tables + 2, Sum(b, ip, Get(b, ip + 6)));
  Set(b, tables + 18, Sum(b, harvest, 136));
  Set(b, 8, Sum(b, 10, size_t{Get(b, 10)} - 10));
}

void Try(const std::vector<uint8_t>& bytes) {
  const auto discovery = tg::amd::ParseIpDiscovery(bytes, "fuzz");
  if (!discovery.ok()) return;
  TG_CHECK_LE(discovery->blocks.size(), 2 * bytes.size());
  for (const auto& block : discovery->blocks) TG_CHECK_LE(block.bases.size(), 255u);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  Try(bytes);
  FixChecksums(bytes);
  Try(bytes);
  return 0;
}
