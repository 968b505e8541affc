#include "drivers/sim/amd/discovery_image.h"

#include <cstddef>

#include "base/check.h"

namespace tg::sim {
namespace {

class Bytes {
 public:
  size_t size() const { return bytes_.size(); }
  void Put(uint64_t value, size_t count) {
    for (size_t i = 0; i < count; ++i) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  void Pad(size_t end) { bytes_.resize(end); }
  void Set16(size_t at, uint64_t value) {
    bytes_[at] = static_cast<uint8_t>(value);
    bytes_[at + 1] = static_cast<uint8_t>(value >> 8);
  }
  uint32_t Sum(size_t from, size_t to) const {
    uint32_t sum = 0;
    for (size_t i = from; i < to; ++i) sum += bytes_[i];
    return sum;
  }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace

std::vector<uint8_t> DiscoveryImage::Build() const {
  TG_CHECK(dies.size() <= 16 && harvested.size() <= 32);
  Bytes out;
  out.Put(0x28211407, 4);
  out.Put(binary_version, 2);
  out.Put(0, 2);
  const size_t checksum_at = out.size();
  out.Put(0, 2);
  const size_t size_at = out.size();
  out.Put(0, 2);
  if (binary_version >= 2) {
    out.Put(6, 2);
    out.Put(0, 2);
  }
  const size_t tables_at = out.size();
  out.Pad(tables_at + 6 * 8);

  const size_t ip_at = out.size();
  out.Put(0x53445049, 4);
  out.Put(4, 2);
  const size_t ip_size_at = out.size();
  out.Put(0, 2);
  out.Put(0, 4);
  out.Put(dies.size(), 2);
  const size_t dies_at = out.size();
  out.Pad(dies_at + 16 * 4);
  out.Put(wide_bases ? 1 : 0, 1);
  out.Put(0, 1);
  for (size_t d = 0; d < dies.size(); ++d) {
    out.Set16(dies_at + 4 * d, d);
    out.Set16(dies_at + 4 * d + 2, out.size());
    out.Put(d, 2);
    out.Put(dies[d].size(), 2);
    for (const DiscoveryBlock& block : dies[d]) {
      out.Put(block.id, 2);
      out.Put(block.instance, 1);
      out.Put(block.bases.size(), 1);
      out.Put(block.major, 1);
      out.Put(block.minor, 1);
      out.Put(block.revision, 1);
      out.Put(0, 1);
      for (uint64_t base : block.bases) out.Put(base, wide_bases ? 8 : 4);
    }
  }
  const size_t ip_size = out.size() - ip_at;
  out.Set16(ip_size_at, ip_size);
  out.Set16(tables_at, ip_at);
  out.Set16(tables_at + 2, out.Sum(ip_at, out.size()));
  out.Set16(tables_at + 4, ip_size);

  if (!harvested.empty()) {
    const size_t at = out.size();
    out.Put(0x56524148, 4);
    out.Put(0, 4);
    for (const auto& [id, instance] : harvested) {
      out.Put(id, 2);
      out.Put(instance, 1);
      out.Put(0, 1);
    }
    out.Pad(at + 8 + 32 * 4);
    out.Set16(tables_at + 2 * 8, at);
    out.Set16(tables_at + 2 * 8 + 2, out.Sum(at, out.size()));
    out.Set16(tables_at + 2 * 8 + 4, out.size() - at);
  }
  out.Set16(size_at, out.size());
  out.Set16(checksum_at, out.Sum(size_at, out.size()));
  return out.Take();
}

}  // namespace tg::sim
