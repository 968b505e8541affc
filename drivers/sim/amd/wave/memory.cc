#include "drivers/sim/amd/wave/memory.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tg::amd::sim {
namespace {

constexpr uint64_t kGap = 1 << 16;
constexpr uint64_t kMaxTotal = uint64_t{64} << 30;

}  // namespace

size_t Memory::Upper(uint64_t address) const {
  return std::upper_bound(ranges_.begin(), ranges_.end(), address,
                          [](uint64_t a, const Allocation& r) { return a < r.address; }) -
         ranges_.begin();
}

absl::StatusOr<uint64_t> Memory::Allocate(uint64_t size, std::string name) {
  if (size == 0) return absl::InvalidArgumentError("an allocation of no bytes");
  if (size > kMaxTotal || total_ + size > kMaxTotal) {
    return absl::ResourceExhaustedError(absl::StrCat("simulated memory: ", size, " more bytes"));
  }
  std::unique_ptr<uint8_t[]> host(new (std::nothrow) uint8_t[size]());
  if (host == nullptr) return absl::ResourceExhaustedError(absl::StrCat(size, " bytes of memory"));
  uint64_t address = next_;
  absl::Status status = Map(address, size, host.get(), std::move(name));
  if (!status.ok()) return status;
  next_ += (size + kGap + 4095) / 4096 * 4096;
  total_ += size;
  owned_.emplace_back(address, std::move(host));
  return address;
}

absl::Status Memory::Map(uint64_t address, uint64_t size, void* host, std::string name,
                         bool writable) {
  if (size == 0 || address + size < address) {
    return absl::InvalidArgumentError(
        absl::StrFormat("mapping of %u bytes at 0x%x", size, address));
  }
  size_t at = Upper(address);
  if ((at > 0 && ranges_[at - 1].address + ranges_[at - 1].size > address) ||
      (at < ranges_.size() && ranges_[at].address < address + size)) {
    return absl::AlreadyExistsError(
        absl::StrFormat("mapping of %u bytes at 0x%x overlaps another", size, address));
  }
  ranges_.insert(ranges_.begin() + at,
                 {address, size, static_cast<uint8_t*>(host), std::move(name), writable});
  return absl::OkStatus();
}

absl::Status Memory::Free(uint64_t address) {
  size_t at = Upper(address);
  if (at == 0 || ranges_[at - 1].address != address) {
    return absl::NotFoundError(absl::StrFormat("nothing was allocated at 0x%x", address));
  }
  for (size_t i = 0; i < owned_.size(); ++i) {
    if (owned_[i].first != address) continue;
    total_ -= ranges_[at - 1].size;
    owned_.erase(owned_.begin() + i);
    break;
  }
  ranges_.erase(ranges_.begin() + (at - 1));
  return absl::OkStatus();
}

const Allocation* Memory::Find(uint64_t address, uint64_t size) const {
  size_t at = Upper(address);
  if (at == 0) return nullptr;
  const Allocation& r = ranges_[at - 1];
  uint64_t offset = address - r.address;
  return offset < r.size && size <= r.size - offset ? &r : nullptr;
}

absl::Status Memory::Read(uint64_t address, void* out, uint64_t size) const {
  const Allocation* r = Find(address, size);
  if (r == nullptr) return absl::OutOfRangeError(absl::StrCat("read at ", Describe(address)));
  std::memcpy(out, r->host + (address - r->address), size);
  return absl::OkStatus();
}

absl::Status Memory::Write(uint64_t address, const void* data, uint64_t size) {
  const Allocation* r = Find(address, size);
  if (r == nullptr || !r->writable) {
    return absl::OutOfRangeError(absl::StrCat("write at ", Describe(address)));
  }
  std::memcpy(r->host + (address - r->address), data, size);
  return absl::OkStatus();
}

std::string Memory::Describe(uint64_t address) const {
  std::string text = absl::StrFormat("0x%x", address);
  if (ranges_.empty()) return text + ": nothing is allocated";
  size_t at = Upper(address);
  auto name = [](const Allocation& r) {
    return absl::StrFormat("'%s' [0x%x, 0x%x)", r.name, r.address, r.address + r.size);
  };
  if (at > 0) {
    const Allocation& r = ranges_[at - 1];
    uint64_t end = r.address + r.size;
    if (address < end) {
      return absl::StrFormat("%s: %u bytes before the end of %s%s", text, end - address, name(r),
                             r.writable ? "" : ", which is read-only");
    }
    if (at == ranges_.size() || address - end <= ranges_[at].address - address) {
      return absl::StrFormat("%s: %u bytes behind the end of %s", text, address - end, name(r));
    }
  }
  return absl::StrFormat("%s: %u bytes before the start of %s", text, ranges_[at].address - address,
                         name(ranges_[at]));
}

}  // namespace tg::amd::sim
