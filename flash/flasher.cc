#include "flash/flasher.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tg::flash {
namespace {

bool Overlaps(Range range, uint32_t begin, uint32_t end) {
  return range.begin < end && begin < range.end;
}

}  // namespace

absl::StatusOr<SectorRange> CheckSectorRange(int start, int count, const Chip& chip) {
  const int sectors = static_cast<int>(chip.size / chip.sector);
  if (start < 0 || start >= sectors || count == 0 || count > sectors - start) {
    return absl::InvalidArgumentError(
        absl::StrFormat("invalid sector range: start %d, count %d; the chip has sectors 0 to %d",
                        start, count, sectors - 1));
  }
  return SectorRange{start, count < 0 ? sectors - start : count};
}

absl::StatusOr<FlashPlan> PlanFlash(SpiNor& nor, absl::Span<const uint8_t> image, SectorRange range,
                                    bool only_different, const SectorProgress& progress) {
  const Chip& chip = nor.chip();
  if (image.size() != chip.size) {
    return absl::InvalidArgumentError(
        absl::StrFormat("image must be exactly 0x%x bytes", chip.size));
  }
  FlashPlan plan;
  plan.range = range;
  for (auto [value, status] :
       {std::pair{&plan.status1, nor.Status1()}, std::pair{&plan.status2, nor.Status2()},
        std::pair{&plan.status3, nor.Status3()}}) {
    if (!status.ok()) return status.status();
    *value = *status;
  }
  plan.protected_now = ProtectedRange(chip, plan.status1, plan.status2);
  plan.protected_without_cmp =
      ProtectedRange(chip, plan.status1, static_cast<uint8_t>(plan.status2 & ~0x40));
  std::vector<uint8_t> now(chip.sector);
  for (int i = 0; i < range.count; ++i) {
    const int sector = range.start + i;
    const uint32_t address = static_cast<uint32_t>(sector) * chip.sector;
    if (absl::Status s = nor.Read(address, absl::MakeSpan(now)); !s.ok()) return s;
    const bool different = !std::equal(now.begin(), now.end(), image.begin() + address);
    if (different) plan.different.push_back(sector);
    if (different || !only_different) plan.sectors.push_back(sector);
    if (absl::Status s = progress(sector, i + 1, range.count); !s.ok()) return s;
  }
  return plan;
}

absl::Status CheckPlan(const FlashPlan& plan, const Chip& chip, bool clear_cmp) {
  if (plan.sectors.empty()) return absl::OkStatus();
  if (chip.erase == Tried::kUntested || chip.program == Tried::kUntested) {
    return absl::FailedPreconditionError(
        absl::StrCat("erasing and programming were never tried with a ", chip.vendor, " ",
                     chip.name, "; refusing to write to it"));
  }
  if (plan.cmp() && !clear_cmp) {
    const bool all = plan.protected_now == Range{0, chip.size};
    return absl::FailedPreconditionError(absl::StrCat(
        "CMP protects ", all ? "the full array" : "part of the array", "; rerun with --clear-cmp"));
  }
  const Range guarded = plan.cmp() ? plan.protected_without_cmp : plan.protected_now;
  for (int sector : plan.sectors) {
    const uint32_t address = static_cast<uint32_t>(sector) * chip.sector;
    if (Overlaps(guarded, address, address + chip.sector)) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "sector %d is protected: block protection bits (SR1=0x%02x) cover 0x%x to 0x%x; this "
          "tool "
          "does not change them; leave these sectors out with --start-sector and --sector-count",
          sector, plan.status1, guarded.begin, guarded.end - 1));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteSectors(SpiNor& nor, absl::Span<const uint8_t> image,
                          const std::vector<int>& sectors, int* next_sector,
                          const SectorProgress& progress) {
  const uint32_t size = nor.chip().sector;
  int done = 0;
  for (int sector : sectors) {
    *next_sector = sector;
    const uint32_t address = static_cast<uint32_t>(sector) * size;
    if (absl::Status s = nor.WriteSector(address, image.subspan(address, size)); !s.ok()) return s;
    *next_sector = sector + 1;
    if (absl::Status s = progress(sector, ++done, static_cast<int>(sectors.size())); !s.ok()) {
      return s;
    }
  }
  return absl::OkStatus();
}

absl::Status VerifySectors(SpiNor& nor, absl::Span<const uint8_t> image, SectorRange range,
                           const SectorProgress& progress) {
  std::vector<uint8_t> now(nor.chip().sector);
  for (int i = 0; i < range.count; ++i) {
    const int sector = range.start + i;
    const uint32_t address = static_cast<uint32_t>(sector) * nor.chip().sector;
    if (absl::Status s = nor.Read(address, absl::MakeSpan(now)); !s.ok()) return s;
    for (uint32_t at = 0; at < now.size(); ++at) {
      if (now[at] != image[address + at]) {
        return Mismatch(address + at, now[at], image[address + at]);
      }
    }
    if (absl::Status s = progress(sector, i + 1, range.count); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace tg::flash
