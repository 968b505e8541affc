#include "drivers/sim/amd/queue/gpu.h"

#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace tg::amd::sim {
namespace {

// Instructions that all waves of a simulated GPU run in a tick of its clock. Any number would do
// that lets longer kernels take longer.
constexpr uint64_t kInstructionsPerTick = 64;

// What launches say about accesses that miss: "... read of 4 bytes at 0x7f00: ...".
std::optional<MemoryFault> FaultOf(absl::string_view message) {
  for (bool write : {false, true}) {
    absl::string_view word = write ? "write of " : "read of ";
    size_t at = message.find(word);
    if (at == absl::string_view::npos) continue;
    size_t hex = message.find(" at 0x", at);
    if (hex == absl::string_view::npos) continue;
    absl::string_view digits = message.substr(hex + 6);
    digits = digits.substr(0, digits.find_first_not_of("0123456789abcdef"));
    uint64_t address;
    if (absl::SimpleHexAtoi(digits, &address)) return MemoryFault{address, write};
  }
  return std::nullopt;
}

}  // namespace

uint32_t RegisterFile::Engine() const {
  auto it = values_.find({kGrbmGfxIndex, kAllEngines});
  // Without a value, or with SE_BROADCAST_WRITES: all of them.
  if (it == values_.end() || it->second >> 31 != 0) return kAllEngines;
  return it->second >> 16 & 0xff;
}

void RegisterFile::Write(uint32_t index, uint32_t value) {
  if (index == kHdpFlushReq) values_[{kHdpFlushDone, kAllEngines}] = value;
  uint32_t engine = index == kGrbmGfxIndex ? kAllEngines : Engine();
  if (engine == kAllEngines) {
    values_.erase(values_.lower_bound({index, 0}), values_.lower_bound({index, kAllEngines}));
  }
  values_[{index, engine}] = value;
}

uint32_t RegisterFile::Read(uint32_t index) const {
  for (uint32_t engine : {index == kGrbmGfxIndex ? kAllEngines : Engine(), kAllEngines}) {
    auto it = values_.find({index, engine});
    if (it != values_.end()) return it->second;
  }
  return 0;
}

uint8_t* Gpu::Bytes(uint64_t address, uint64_t size, bool write) {
  const Allocation* r = memory_->Find(address, size);
  if (r != nullptr && (!write || r->writable)) return r->host + (address - r->address);
  // The first byte that is missing: what a page fault would report, but for its page.
  if (r == nullptr) {
    const Allocation* first = memory_->Find(address, 1);
    if (first != nullptr) address = first->address + first->size;
  }
  SetFault(address, write);
  return nullptr;
}

absl::Status Gpu::Read(uint64_t address, void* out, uint64_t size, uint64_t alignment) {
  if (address % alignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("address 0x%x is not a multiple of %u", address, alignment));
  }
  const uint8_t* bytes = Bytes(address, size, false);
  if (bytes == nullptr) {
    return absl::AbortedError(
        absl::StrCat("memory fault: read of ", size, " bytes at ", memory_->Describe(address)));
  }
  std::memcpy(out, bytes, size);
  return absl::OkStatus();
}

absl::Status Gpu::Write(uint64_t address, const void* data, uint64_t size, uint64_t alignment) {
  if (address % alignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("address 0x%x is not a multiple of %u", address, alignment));
  }
  uint8_t* bytes = Bytes(address, size, true);
  if (bytes == nullptr) {
    return absl::AbortedError(
        absl::StrCat("memory fault: write of ", size, " bytes at ", memory_->Describe(address)));
  }
  std::memcpy(bytes, data, size);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> Gpu::Read32(uint64_t address) {
  uint32_t value;
  absl::Status status = Read(address, &value, 4, 4);
  if (!status.ok()) return status;
  return value;
}

absl::StatusOr<uint64_t> Gpu::Read64(uint64_t address) {
  uint64_t value;
  absl::Status status = Read(address, &value, 8, 8);
  if (!status.ok()) return status;
  return value;
}

absl::Status Gpu::Run(const Dispatch& dispatch) {
  double workgroups = 1;  // As a float it cannot wrap.
  for (int i = 0; i < 3; ++i) {
    workgroups *= dispatch.block[i] == 0 ? 1 : 1.0 * dispatch.grid[i] / dispatch.block[i];
  }
  if (workgroups > static_cast<double>(max_workgroups_)) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("a dispatch of %.0f workgroups; the limit of this simulation is %u",
                        workgroups, max_workgroups_));
  }
  LaunchOptions options = options_;
  if (!options.clock) options.clock = [this] { return clock_->Read(); };
  absl::StatusOr<LaunchStats> stats = Launch(dispatch, memory_, options);
  if (!stats.ok()) {
    std::optional<MemoryFault> fault = FaultOf(stats.status().message());
    if (fault.has_value() && stats.status().code() == absl::StatusCode::kAborted) fault_ = fault;
    return stats.status();
  }
  stats_.Add(*stats);
  clock_->Advance(1 + stats->instructions / kInstructionsPerTick);
  return absl::OkStatus();
}

std::optional<MemoryFault> Gpu::TakeFault() { return std::exchange(fault_, std::nullopt); }

}  // namespace tg::amd::sim
