#include "drivers/sim/pci/sim_function.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"

namespace tg::sim {
namespace {

using ::tg::pci::Width;

constexpr uint32_t kResizableAt = pci::kConfigExtended;
constexpr uint64_t kLargestAllocation = uint64_t{1} << 30;

int Bytes(Width width) { return static_cast<int>(width); }

}  // namespace

class SimFunction::BarRegion final : public pci::Region {
 public:
  BarRegion(SimFunction* function, int index, uint64_t size)
      : Region(size), function_(function), index_(index) {}

 private:
  absl::StatusOr<uint64_t> DoRead(uint64_t offset, Width width) override {
    return function_->ReadBar(index_, offset, width);
  }
  absl::Status DoWrite(uint64_t offset, Width width, uint64_t value) override {
    return function_->WriteBar(index_, offset, width, value);
  }

  SimFunction* const function_;
  const int index_;
};

class SimFunction::HostMemory final : public pci::DmaMemory {
 public:
  HostMemory(SimFunction* function, uint64_t size, std::vector<uint64_t> pages)
      : DmaMemory(size, std::move(pages)), function_(function), bytes_(size) {
    for (size_t i = 0; i < this->pages().size(); ++i) {
      function_->host_pages_[this->pages()[i]] = bytes_.data() + i * kPageSize;
    }
  }
  ~HostMemory() override {
    for (uint64_t page : pages()) function_->host_pages_.erase(page);
  }
  volatile uint8_t* direct() override { return bytes_.data(); }

 private:
  absl::Status DoRead(uint64_t offset, absl::Span<uint8_t> bytes) override {
    std::memcpy(bytes.data(), bytes_.data() + offset, bytes.size());
    return absl::OkStatus();
  }
  absl::Status DoWrite(uint64_t offset, absl::Span<const uint8_t> bytes) override {
    std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
    return absl::OkStatus();
  }

  SimFunction* const function_;
  std::vector<uint8_t> bytes_;
};

class SimFunction::MsiInterrupt final : public pci::Interrupt {
 public:
  explicit MsiInterrupt(SimFunction* function) : function_(function) {}
  absl::StatusOr<uint64_t> Wait(absl::Duration timeout) override {
    // Nothing can happen in a simulation while its only thread waits.
    if (function_->interrupts_ == 0) {
      return absl::DeadlineExceededError(
          absl::StrCat("no interrupt within ", absl::FormatDuration(timeout)));
    }
    return std::exchange(function_->interrupts_, 0);
  }

 private:
  SimFunction* const function_;
};

SimFunction::SimFunction(std::string bus, const pci::Identity& identity) : bus_(std::move(bus)) {
  SetConfig(pci::kConfigVendor, Width::k16, identity.vendor);
  SetConfig(pci::kConfigDevice, Width::k16, identity.device);
  SetConfig(pci::kConfigClass, Width::k32, identity.class_code << 8 | identity.revision);
  SetConfig(pci::kConfigSubsystemVendor, Width::k16, identity.subsystem_vendor);
  SetConfig(pci::kConfigSubsystem, Width::k16, identity.subsystem);
  SetConfig(pci::kConfigCommand, Width::k16, pci::kCommandMemory, 0x0547);
  SetConfig(pci::kConfigStatus, Width::k16, pci::kStatusCapabilities);
  // Power management, then PCI Express: an endpoint.
  SetConfig(pci::kConfigCapabilities, Width::k8, 0x40);
  SetConfig(0x40, Width::k32, 0x0003'0000 | 0x50 << 8 | pci::kCapabilityPowerManagement);
  SetConfig(0x44, Width::k16, 0, 0x0003);
  SetConfig(0x50, Width::k32, 0x0002'0000 | pci::kCapabilityExpress);
}

SimFunction::~SimFunction() = default;

void SimFunction::SetConfig(uint32_t offset, Width width, uint32_t value, uint32_t writable) {
  TG_CHECK_LE(offset + Bytes(width), kConfigSize);
  for (int b = 0; b < Bytes(width); ++b) {
    config_[offset + b] = static_cast<uint8_t>(value >> (8 * b));
    writable_[offset + b] = static_cast<uint8_t>(writable >> (8 * b));
  }
}

void SimFunction::SetBar(int index, uint64_t size, uint32_t flags) {
  TG_CHECK(std::has_single_bit(size) && size >= 16);
  const uint64_t address = (next_address_ + size - 1) & ~(size - 1);
  next_address_ = address + size;
  const uint32_t at = pci::kConfigBar0 + 4 * static_cast<uint32_t>(index);
  SetConfig(at, Width::k32, static_cast<uint32_t>(address) | flags);
  if (flags & pci::kBar64) SetConfig(at + 4, Width::k32, static_cast<uint32_t>(address >> 32));
  SetBarMask(index, size);
}

void SimFunction::SetBarMask(int index, uint64_t size) {
  BarState& bar = bars_[static_cast<size_t>(index)];
  bar.size = size;
  const uint32_t at = pci::kConfigBar0 + 4 * static_cast<uint32_t>(index);
  for (uint32_t b = 0; b < (bar.is_64bit ? 8u : 4u); ++b) {
    const auto mask = static_cast<uint8_t>(~(size - 1) >> (8 * b));
    writable_[at + b] = mask;
    config_[at + b] &= b == 0 ? mask | pci::kBarFlags : mask;
  }
}

void SimFunction::AddMemoryBar(int index, uint64_t size, bool is_64bit) {
  TG_CHECK(index >= 0 && index + (is_64bit ? 1 : 0) < kBars);
  bars_[index].is_64bit = is_64bit;
  bars_[index].memory.resize(size);
  SetBar(index, size, pci::kBarPrefetchable | (is_64bit ? pci::kBar64 : 0));
}

void SimFunction::AddRegisterBar(int index, uint64_t size, Registers registers, bool is_64bit) {
  TG_CHECK(index >= 0 && index + (is_64bit ? 1 : 0) < kBars);
  bars_[index].is_64bit = is_64bit;
  bars_[index].registers = std::move(registers);
  SetBar(index, size, is_64bit ? pci::kBar64 : 0);
}

void SimFunction::MakeResizable(int index, uint64_t sizes) {
  BarState& bar = bars_[index];
  TG_CHECK(!bar.memory.empty() && sizes != 0);
  SetConfig(kResizableAt, Width::k32, 0x0001'0000 | pci::kExtendedResizableBar);
  SetConfig(kResizableAt + 4, Width::k32, static_cast<uint32_t>(sizes) << 4);
  const auto now = static_cast<uint32_t>(std::countr_zero(bar.size) - 20);
  SetConfig(
      kResizableAt + 8, Width::k32,
      static_cast<uint32_t>(sizes >> 28) << 16 | now << 8 | 1 << 5 | static_cast<uint32_t>(index),
      0x3f00);
  bar.memory.resize(std::bit_floor(sizes) << 20);
  resizable_ = index;
  sizes_ = sizes;
}

absl::Span<uint8_t> SimFunction::memory(int index) { return absl::MakeSpan(bars_[index].memory); }

absl::Status SimFunction::CheckMaster() {
  if (config_[pci::kConfigCommand] & pci::kCommandMaster) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(bus_, " is not a bus master"));
}

uint8_t* SimFunction::HostByte(uint64_t address) {
  const auto page = host_pages_.find(address & ~(pci::DmaMemory::kPageSize - 1));
  if (page == host_pages_.end()) return nullptr;
  return page->second + address % pci::DmaMemory::kPageSize;
}

absl::Status SimFunction::ReadHost(uint64_t address, absl::Span<uint8_t> bytes) {
  if (absl::Status s = CheckMaster(); !s.ok()) return s;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint8_t* from = HostByte(address + i);
    if (from == nullptr) {
      return absl::OutOfRangeError(
          absl::StrFormat("%s reads host memory at 0x%x, which is not its", bus_, address + i));
    }
    bytes[i] = *from;
  }
  return absl::OkStatus();
}

absl::Status SimFunction::WriteHost(uint64_t address, absl::Span<const uint8_t> bytes) {
  if (absl::Status s = CheckMaster(); !s.ok()) return s;
  for (size_t i = 0; i < bytes.size(); ++i) {
    uint8_t* to = HostByte(address + i);
    if (to == nullptr) {
      return absl::OutOfRangeError(
          absl::StrFormat("%s writes host memory at 0x%x, which is not its", bus_, address + i));
    }
    *to = bytes[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<pci::DmaMemory>> SimFunction::AllocateDma(uint64_t size,
                                                                         bool contiguous) {
  if (size == 0 || size > kLargestAllocation) {
    return absl::ResourceExhaustedError(absl::StrCat("DMA memory: no ", size, " bytes"));
  }
  const uint64_t count = (size + pci::DmaMemory::kPageSize - 1) / pci::DmaMemory::kPageSize;
  std::vector<uint64_t> pages(count);
  for (uint64_t& page : pages) {
    page = next_host_page_;
    next_host_page_ += pci::DmaMemory::kPageSize;
  }
  if (!contiguous) std::reverse(pages.begin(), pages.end());
  return std::make_unique<HostMemory>(this, count * pci::DmaMemory::kPageSize, std::move(pages));
}

absl::Status SimFunction::Reset() {
  // As Linux does it: the addresses of BARs are put back afterwards.
  SetConfig(pci::kConfigCommand, Width::k16, pci::kCommandMemory, 0x0547);
  for (BarState& bar : bars_) std::fill(bar.memory.begin(), bar.memory.end(), uint8_t{0});
  interrupts_ = 0;
  if (on_reset_) on_reset_();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<pci::Interrupt>> SimFunction::EnableInterrupt() {
  return std::make_unique<MsiInterrupt>(this);
}

absl::StatusOr<uint32_t> SimFunction::DoReadConfig(uint32_t offset, Width width) {
  uint32_t value = 0;
  for (int b = 0; b < Bytes(width); ++b) value |= uint32_t{config_[offset + b]} << (8 * b);
  return value;
}

absl::Status SimFunction::DoWriteConfig(uint32_t offset, Width width, uint32_t value) {
  for (int b = 0; b < Bytes(width); ++b) {
    const uint8_t mask = writable_[offset + b];
    uint8_t& byte = config_[offset + b];
    byte = static_cast<uint8_t>((byte & ~mask) | (static_cast<uint8_t>(value >> (8 * b)) & mask));
  }
  ApplyChosenSize();
  return absl::OkStatus();
}

void SimFunction::ApplyChosenSize() {
  if (resizable_ < 0) return;
  BarState& bar = bars_[static_cast<size_t>(resizable_)];
  const int n = config_[kResizableAt + 9] & 0x3f;
  const uint64_t size = n < 43 ? uint64_t{1} << (n + 20) : 0;
  if (size == bar.size || size > bar.memory.size() || (sizes_ >> n & 1) == 0) return;
  SetBarMask(resizable_, size);
}

uint64_t SimFunction::BarAddress(int index) const {
  uint64_t address = 0;
  const uint32_t at = pci::kConfigBar0 + 4 * static_cast<uint32_t>(index);
  for (int b = bars_[index].is_64bit ? 7 : 3; b >= 0; --b) address = address << 8 | config_[at + b];
  return address & ~uint64_t{pci::kBarFlags};
}

absl::StatusOr<pci::Bar> SimFunction::DoGetBar(int index) {
  const BarState& state = bars_[index];
  pci::Bar bar;
  if (state.size == 0) return bar;
  bar.address = BarAddress(index);
  bar.size = state.size;
  bar.prefetchable = !state.memory.empty();
  bar.is_64bit = state.is_64bit;
  return bar;
}

absl::StatusOr<std::unique_ptr<pci::Region>> SimFunction::DoMapBar(int index, const pci::Bar& bar) {
  return std::make_unique<BarRegion>(this, index, bar.size);
}

absl::Status SimFunction::DoResizeBar(int index, uint64_t size) {
  if (absl::Status s = pci::SelectBarSize(*this, index, size); !s.ok()) return s;
  SetBar(index, size, pci::kBarPrefetchable | (bars_[index].is_64bit ? pci::kBar64 : 0));
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> SimFunction::ReadBar(int index, uint64_t offset, Width width) {
  BarState& bar = bars_[index];
  if ((config_[pci::kConfigCommand] & pci::kCommandMemory) == 0 || offset >= bar.size) {
    return pci::AllOnes(width);
  }
  if (bar.registers.read) return bar.registers.read(offset, width);
  uint64_t value = 0;
  for (int b = 0; b < Bytes(width); ++b) value |= uint64_t{bar.memory[offset + b]} << (8 * b);
  return value;
}

absl::Status SimFunction::WriteBar(int index, uint64_t offset, Width width, uint64_t value) {
  BarState& bar = bars_[index];
  if ((config_[pci::kConfigCommand] & pci::kCommandMemory) == 0 || offset >= bar.size) {
    return absl::OkStatus();
  }
  if (bar.registers.write) return bar.registers.write(offset, width, value);
  for (int b = 0; b < Bytes(width); ++b) {
    bar.memory[offset + b] = static_cast<uint8_t>(value >> (8 * b));
  }
  return absl::OkStatus();
}

}  // namespace tg::sim
