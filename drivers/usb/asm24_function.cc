#include "drivers/usb/asm24_function.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drivers/pci/config_space.h"
#include "drivers/usb/asm24.h"

namespace tg::usb {
namespace {

using ::tg::pci::Width;

constexpr int kMaxBuses = 16;
// Addresses on the bus: below 4 GiB for BARs of 32 bits, above for prefetchable ones of 64.
constexpr uint64_t kMemoryBase = 0x1000'0000;
constexpr uint64_t kMemoryEnd = uint64_t{1} << 32;
constexpr uint64_t kPrefetchBase = uint64_t{32} << 30;
constexpr uint64_t kPrefetchEnd = uint64_t{1} << 48;

// Registers of bridges (7.5.1.3).
constexpr uint32_t kBridgeBuses = 0x18;
constexpr uint32_t kBridgeMemory = 0x20;          // base in the low half, limit in the high one
constexpr uint32_t kBridgePrefetch = 0x24;        // the same
constexpr uint32_t kBridgePrefetchBase32 = 0x28;  // upper halves
constexpr uint32_t kBridgePrefetchLimit32 = 0x2c;

class Asm24Region final : public pci::Region {
 public:
  Asm24Region(Asm24* bridge, const pci::Bar& bar)
      : Region(bar.size), bridge_(*bridge), address_(bar.address) {}

 private:
  absl::StatusOr<uint64_t> DoRead(uint64_t offset, Width width) override {
    if (width == Width::k64) {
      std::array<uint8_t, 8> bytes;
      const absl::Status s = bridge_.ReadStream(address_ + offset, absl::MakeSpan(bytes));
      if (!s.ok()) return s;
      return std::bit_cast<uint64_t>(bytes);
    }
    absl::StatusOr<uint32_t> value = bridge_.ReadMemory(address_ + offset, static_cast<int>(width));
    if (value.ok()) return *value;
    // As a processor sees it that reads where nobody is.
    if (absl::IsNotFound(value.status())) return pci::AllOnes(width);
    return value.status();
  }
  absl::Status DoWrite(uint64_t offset, Width width, uint64_t value) override {
    if (width == Width::k64) {
      return bridge_.WriteStream(address_ + offset, std::bit_cast<std::array<uint8_t, 8>>(value));
    }
    return bridge_.WriteMemory(address_ + offset, static_cast<int>(width),
                               static_cast<uint32_t>(value));
  }
  absl::Status DoReadBytes(uint64_t offset, absl::Span<uint8_t> bytes) override {
    return Split<absl::Span<uint8_t>>(
        offset, bytes,
        [this](uint64_t at, absl::Span<uint8_t> one) -> absl::Status {
          absl::StatusOr<uint64_t> value = DoRead(at, Width::k8);
          if (!value.ok()) return value.status();
          one[0] = static_cast<uint8_t>(*value);
          return absl::OkStatus();
        },
        [this](uint64_t at, absl::Span<uint8_t> dwords) {
          return bridge_.ReadStream(address_ + at, dwords);
        });
  }
  absl::Status DoWriteBytes(uint64_t offset, absl::Span<const uint8_t> bytes) override {
    return Split<absl::Span<const uint8_t>>(
        offset, bytes,
        [this](uint64_t at, absl::Span<const uint8_t> one) {
          return DoWrite(at, Width::k8, one[0]);
        },
        [this](uint64_t at, absl::Span<const uint8_t> dwords) {
          return bridge_.WriteStream(address_ + at, dwords);
        });
  }

  // Bytes up to the first dword, the dwords, and the bytes that are left.
  template <typename Bytes, typename One, typename Dwords>
  static absl::Status Split(uint64_t offset, Bytes bytes, One one, Dwords dwords) {
    while (!bytes.empty()) {
      size_t n = 1;
      absl::Status s;
      if (offset % 4 == 0 && bytes.size() >= 4) {
        n = bytes.size() & ~size_t{3};
        s = dwords(offset, bytes.first(n));
      } else {
        s = one(offset, bytes.first(1));
      }
      if (!s.ok()) return s;
      offset += n;
      bytes.remove_prefix(n);
    }
    return absl::OkStatus();
  }

  Asm24& bridge_;
  const uint64_t address_;
};

// Memory in the bridge that both sides see: the page in XDATA.
class Asm24Page final : public pci::DmaMemory {
 public:
  Asm24Page(Asm24* bridge, bool* taken)
      : DmaMemory(Asm24::kSharedMemorySize, {Asm24::kSharedMemoryOnBus}),
        bridge_(*bridge),
        taken_(*taken) {
    taken_ = true;
  }
  ~Asm24Page() override { taken_ = false; }

 private:
  absl::Status DoRead(uint64_t offset, absl::Span<uint8_t> bytes) override {
    return bridge_.ReadXdata(static_cast<uint16_t>(Asm24::kSharedMemory + offset), bytes);
  }
  absl::Status DoWrite(uint64_t offset, absl::Span<const uint8_t> bytes) override {
    return bridge_.WriteXdata(static_cast<uint16_t>(Asm24::kSharedMemory + offset), bytes);
  }

  Asm24& bridge_;
  bool& taken_;
};

// The bridge's SRAM, of which `slots` are used. Transfers begin with a slot and have whole sectors:
// what stands around the bytes that are written is read before and written with them.
class Asm24Sram final : public pci::DmaMemory {
 public:
  Asm24Sram(Asm24* bridge, uint32_t slots, bool* taken)
      : DmaMemory(slots * Asm24::kSramSlot, Pages(slots)), bridge_(*bridge), taken_(*taken) {
    taken_ = true;
  }
  ~Asm24Sram() override { taken_ = false; }

 private:
  static std::vector<uint64_t> Pages(uint32_t slots) {
    std::vector<uint64_t> pages;
    for (uint64_t at = 0; at < slots * Asm24::kSramSlot; at += kPageSize) {
      pages.push_back(Asm24::kSramOnBus + at);
    }
    return pages;
  }

  absl::Status DoRead(uint64_t offset, absl::Span<uint8_t> bytes) override {
    const auto slot = static_cast<uint32_t>(offset / Asm24::kSramSlot);
    const uint64_t before = offset % Asm24::kSramSlot;
    std::vector<uint8_t> sectors(Sectors(before + bytes.size()));
    absl::Status s = bridge_.ReadSram(slot, absl::MakeSpan(sectors));
    if (!s.ok()) return s;
    std::copy_n(sectors.begin() + static_cast<ptrdiff_t>(before), bytes.size(), bytes.begin());
    return absl::OkStatus();
  }
  absl::Status DoWrite(uint64_t offset, absl::Span<const uint8_t> bytes) override {
    const auto slot = static_cast<uint32_t>(offset / Asm24::kSramSlot);
    const uint64_t before = offset % Asm24::kSramSlot;
    if (before == 0 && bytes.size() % Asm24::kSramSector == 0) {
      return bridge_.WriteSram(slot, bytes);
    }
    std::vector<uint8_t> sectors(Sectors(before + bytes.size()));
    absl::Status s = bridge_.ReadSram(slot, absl::MakeSpan(sectors));
    if (!s.ok()) return s;
    std::copy(bytes.begin(), bytes.end(), sectors.begin() + static_cast<ptrdiff_t>(before));
    return bridge_.WriteSram(slot, sectors);
  }
  static uint64_t Sectors(uint64_t bytes) {
    return (bytes + Asm24::kSramSector - 1) / Asm24::kSramSector * Asm24::kSramSector;
  }

  Asm24& bridge_;
  bool& taken_;
};

class Asm24Function final : public pci::Function {
 public:
  Asm24Function(std::unique_ptr<Transport> transport, std::string name, pci::DeviceLock lock)
      : transport_(std::move(transport)),
        name_(std::move(name)),
        lock_(std::move(lock)),
        bridge_(transport_.get()) {}

  absl::Status BringUp() {
    if (absl::Status s = bridge_.BringLinkUp(); !s.ok()) {
      return absl::Status(s.code(), absl::StrCat(name_, ": ", s.message()));
    }
    if (absl::Status s = FindDevice(); !s.ok()) return s;
    if (absl::Status s = OpenWindows(); !s.ok()) return s;
    if (absl::Status s = AssignBars(); !s.ok()) return s;
    return pci::EnableCommand(*this, pci::kCommandMemory | pci::kCommandMaster);
  }

  const std::string& bus() const override { return name_; }

  // The page for what fits and is free: single bytes of it are written alone.
  absl::StatusOr<std::unique_ptr<pci::DmaMemory>> AllocateDma(uint64_t size, bool) override {
    std::unique_ptr<pci::DmaMemory> memory;
    if (size != 0 && size <= Asm24::kSharedMemorySize && !page_taken_) {
      memory = std::make_unique<Asm24Page>(&bridge_, &page_taken_);
    } else if (size != 0 && size <= Asm24::kSramSize && !sram_taken_) {
      const uint64_t slots = (size + Asm24::kSramSlot - 1) / Asm24::kSramSlot;
      memory = std::make_unique<Asm24Sram>(&bridge_, static_cast<uint32_t>(slots), &sram_taken_);
    } else {
      return absl::ResourceExhaustedError(
          absl::StrCat(name_, ": no ", size, " bytes: the bridge shares a page of ",
                       Asm24::kSharedMemorySize, page_taken_ ? " (taken)" : "",
                       " and one block of ", Asm24::kSramSize, sram_taken_ ? " (taken)" : ""));
    }
    const std::vector<uint8_t> zeros(memory->size());
    if (absl::Status s = memory->Write(0, zeros); !s.ok()) return s;
    return memory;
  }

  absl::Status Reset() override {
    if (absl::Status s = bridge_.SetPower(false); !s.ok()) return s;
    if (absl::Status s = bridge_.SetPower(true); !s.ok()) return s;
    return BringUp();
  }

  absl::StatusOr<std::unique_ptr<pci::Interrupt>> EnableInterrupt() override {
    return absl::UnimplementedError(
        absl::StrCat(name_, ": no interrupts through the bridge; poll the device's memory"));
  }

 private:
  absl::StatusOr<uint32_t> DoReadConfig(uint32_t offset, Width width) override {
    absl::StatusOr<uint32_t> value = bridge_.ReadConfig(bus_, offset, static_cast<int>(width));
    if (absl::IsNotFound(value.status())) return static_cast<uint32_t>(pci::AllOnes(width));
    return value;
  }
  absl::Status DoWriteConfig(uint32_t offset, Width width, uint32_t value) override {
    const absl::Status s = bridge_.WriteConfig(bus_, offset, static_cast<int>(width), value);
    return absl::IsNotFound(s) ? absl::OkStatus() : s;
  }
  absl::StatusOr<pci::Bar> DoGetBar(int index) override {
    return bars_[static_cast<size_t>(index)];
  }
  absl::StatusOr<std::unique_ptr<pci::Region>> DoMapBar(int, const pci::Bar& bar) override {
    return std::make_unique<Asm24Region>(&bridge_, bar);
  }
  absl::Status DoResizeBar(int index, uint64_t size) override {
    if (absl::Status s = pci::SelectBarSize(*this, index, size); !s.ok()) return s;
    return AssignBars();
  }

  // Each bridge has one device behind it. Sets bus_ to the first one that is no bridge.
  absl::Status FindDevice() {
    for (bus_ = 0; bus_ < kMaxBuses; ++bus_) {
      absl::StatusOr<uint32_t> id = ReadConfig(pci::kConfigVendor, Width::k32);
      if (!id.ok()) return id.status();
      if (*id == pci::AllOnes(Width::k32)) {
        return absl::UnavailableError(
            absl::StrCat(name_, ": no device answers behind the bridge (bus ", bus_, ")"));
      }
      absl::StatusOr<uint32_t> kind = ReadConfig(pci::kConfigHeaderType, Width::k8);
      if (!kind.ok()) return kind.status();
      if ((*kind & 0x7f) == 0) return absl::OkStatus();
      // The three numbers go into one write: the bridge passes nothing on in between.
      const auto bus = static_cast<uint32_t>(bus_);
      const uint32_t numbers = bus | (bus + 1) << 8 | uint32_t{kMaxBuses - 1} << 16;
      if (absl::Status s = WriteConfig(kBridgeBuses, Width::k32, numbers); !s.ok()) return s;
    }
    return absl::UnavailableError(absl::StrCat(name_, ": more than ", kMaxBuses, " bridges"));
  }

  // All bridges pass on all that is for the device.
  absl::Status OpenWindows() {
    for (int bus = 0; bus < bus_; ++bus) {
      const std::pair<uint32_t, uint32_t> registers[] = {
          {kBridgeMemory, uint32_t{kMemoryBase >> 16} | 0xfff0'0000},
          {kBridgePrefetch, uint32_t{(kPrefetchBase >> 16 & 0xfff0) | 0xfff0'0000}},
          {kBridgePrefetchBase32, uint32_t{kPrefetchBase >> 32}},
          {kBridgePrefetchLimit32, uint32_t{(kPrefetchEnd - 1) >> 32}},
      };
      for (const auto& [at, value] : registers) {
        if (absl::Status s = bridge_.WriteConfig(bus, at, 4, value); !s.ok()) return s;
      }
      if (absl::Status s =
              bridge_.WriteConfig(bus, pci::kConfigCommand, 2,
                                  pci::kCommandIo | pci::kCommandMemory | pci::kCommandMaster);
          !s.ok()) {
        return s;
      }
    }
    const absl::StatusOr<uint64_t> sizes = pci::ResizableBarSizes(*this, 0);
    if (absl::IsNotFound(sizes.status())) return absl::OkStatus();
    if (!sizes.ok()) return sizes.status();
    return *sizes == 0 ? absl::OkStatus()
                       : pci::SelectBarSize(*this, 0, std::bit_floor(*sizes) << 20);
  }

  absl::Status AssignBars() {
    uint64_t memory = kMemoryBase, prefetch = kPrefetchBase;
    for (int i = 0; i < kBars; ++i) {
      absl::StatusOr<pci::Bar> bar = pci::ProbeBar(*this, i);
      if (!bar.ok()) return bar.status();
      bars_[static_cast<size_t>(i)] = {};
      if (bar->size == 0) continue;
      const bool high = bar->is_64bit && bar->prefetchable;
      uint64_t& next = high ? prefetch : memory;
      const uint64_t end = high ? kPrefetchEnd : kMemoryEnd;
      bar->address = (next + bar->size - 1) & ~(bar->size - 1);
      if (bar->size > end - next || bar->address > end - bar->size) {
        return absl::ResourceExhaustedError(
            absl::StrCat(name_, ": no addresses for the ", bar->size, " bytes of BAR ", i));
      }
      next = bar->address + bar->size;
      const uint32_t at = pci::kConfigBar0 + 4 * static_cast<uint32_t>(i);
      absl::Status s = WriteConfig(at, Width::k32, static_cast<uint32_t>(bar->address));
      if (s.ok() && bar->is_64bit) {
        s = WriteConfig(at + 4, Width::k32, static_cast<uint32_t>(bar->address >> 32));
      }
      if (!s.ok()) return s;
      bars_[static_cast<size_t>(i)] = *bar;
      if (bar->is_64bit) bars_[static_cast<size_t>(++i)] = {};
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<Transport> transport_;
  const std::string name_;
  const pci::DeviceLock lock_;
  Asm24 bridge_;
  int bus_ = 0;
  std::array<pci::Bar, kBars> bars_;
  bool page_taken_ = false;
  bool sram_taken_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<pci::Function>> OpenAsm24Function(
    std::unique_ptr<Transport> transport, const std::string& name, pci::DeviceLock lock) {
  auto function = std::make_unique<Asm24Function>(std::move(transport), name, std::move(lock));
  if (absl::Status s = function->BringUp(); !s.ok()) return s;
  return function;
}

}  // namespace tg::usb
