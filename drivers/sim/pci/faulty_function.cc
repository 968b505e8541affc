#include "drivers/sim/pci/faulty_function.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"

namespace tg::sim {

using ::tg::pci::Width;

bool FaultyFunction::Due() { return transactions_++ >= at_; }

void FaultyFunction::Arm(PciFault fault, int64_t at, uint64_t seed) {
  fault_ = fault;
  at_ = at;
  seed_ = seed;
  transactions_ = 0;
  happened_ = false;
  stuck_ = {-1, 0};
}

template <typename Read>
absl::StatusOr<uint64_t> FaultyFunction::ReadOne(Place place, Width width, Read read) {
  const bool due = Due();
  if (due && fault_ == PciFault::kLinkLoss) {
    happened_ = true;
    return pci::AllOnes(width);
  }
  const bool first = due && !happened_;
  if (first && fault_ == PciFault::kError) {
    happened_ = true;
    return absl::UnavailableError(absl::StrCat("injected: transaction ", at_, " failed"));
  }
  absl::StatusOr<uint64_t> value = read();
  if (!value.ok()) return value;
  if (first && fault_ == PciFault::kFlipBit) {
    happened_ = true;
    return *value ^ uint64_t { 1 } << std::mt19937_64(seed_)() % (8 * static_cast<uint64_t>(width));
  }
  if (first && fault_ == PciFault::kStuck) {
    happened_ = true;
    stuck_ = place;
    stuck_value_ = *value;
  }
  return place == stuck_ ? stuck_value_ & pci::AllOnes(width) : *value;
}

template <typename Write>
absl::Status FaultyFunction::WriteOne(Write write) {
  const bool due = Due();
  if (due && fault_ == PciFault::kLinkLoss) {
    happened_ = true;
    return absl::OkStatus();
  }
  if (due && !happened_ && (fault_ == PciFault::kError || fault_ == PciFault::kDropWrite)) {
    happened_ = true;
    if (fault_ == PciFault::kDropWrite) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("injected: transaction ", at_, " failed"));
  }
  return write();
}

class FaultyFunction::FaultyRegion final : public pci::Region {
 public:
  FaultyRegion(FaultyFunction* function, int index, std::unique_ptr<pci::Region> region)
      : Region(region->size()), function_(*function), index_(index), region_(std::move(region)) {}

 private:
  absl::StatusOr<uint64_t> DoRead(uint64_t offset, Width width) override {
    return function_.ReadOne({index_, offset}, width, [&] { return region_->Read(offset, width); });
  }
  absl::Status DoWrite(uint64_t offset, Width width, uint64_t value) override {
    return function_.WriteOne([&] { return region_->Write(offset, width, value); });
  }
  absl::Status DoReadBytes(uint64_t offset, absl::Span<uint8_t> bytes) override {
    const bool due = function_.Due();
    const PciFault fault = function_.fault_;
    if (due && fault == PciFault::kLinkLoss) {
      function_.happened_ = true;
      std::fill(bytes.begin(), bytes.end(), uint8_t{0xff});
      return absl::OkStatus();
    }
    const bool first = due && !function_.happened_;
    if (first && (fault == PciFault::kError || fault == PciFault::kShortRead)) {
      function_.happened_ = true;
      if (fault == PciFault::kError) {
        return absl::UnavailableError(
            absl::StrCat("injected: transaction ", function_.at_, " failed"));
      }
      const size_t half = bytes.size() / 2;
      if (absl::Status s = region_->ReadBytes(offset, bytes.first(half)); !s.ok()) return s;
      return absl::DataLossError(
          absl::StrCat("injected: ", half, " of ", bytes.size(), " bytes came"));
    }
    if (absl::Status s = region_->ReadBytes(offset, bytes); !s.ok()) return s;
    if (first && fault == PciFault::kFlipBit) {
      function_.happened_ = true;
      const uint64_t bit = std::mt19937_64(function_.seed_)() % (8 * bytes.size());
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
    return absl::OkStatus();
  }
  absl::Status DoWriteBytes(uint64_t offset, absl::Span<const uint8_t> bytes) override {
    return function_.WriteOne([&] { return region_->WriteBytes(offset, bytes); });
  }

  FaultyFunction& function_;
  const int index_;
  const std::unique_ptr<pci::Region> region_;
};

absl::StatusOr<uint32_t> FaultyFunction::DoReadConfig(uint32_t offset, Width width) {
  absl::StatusOr<uint64_t> value =
      ReadOne({kBars, offset}, width, [&]() -> absl::StatusOr<uint64_t> {
        absl::StatusOr<uint32_t> word = function_.ReadConfig(offset, width);
        if (!word.ok()) return word.status();
        return *word;
      });
  if (!value.ok()) return value.status();
  return static_cast<uint32_t>(*value);
}

absl::Status FaultyFunction::DoWriteConfig(uint32_t offset, Width width, uint32_t value) {
  return WriteOne([&] { return function_.WriteConfig(offset, width, value); });
}

absl::StatusOr<std::unique_ptr<pci::Region>> FaultyFunction::DoMapBar(int index, const pci::Bar&) {
  absl::StatusOr<std::unique_ptr<pci::Region>> region = function_.MapBar(index);
  if (!region.ok()) return region.status();
  return std::make_unique<FaultyRegion>(this, index, *std::move(region));
}

}  // namespace tg::sim
