#include "flash/flash_run.h"

#include <algorithm>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flash/registers.h"
#include "flash/rom_sw.h"
#include "flash/spi_nor.h"

namespace tg::flash {
namespace {

absl::Status Go(int, int, int) { return absl::OkStatus(); }

auto SectorAt(const std::vector<uint8_t>& bytes, int sector) {
  return bytes.begin() + sector * 0x1000;
}

bool Same(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, int begin, int end) {
  return std::equal(SectorAt(a, begin), SectorAt(a, end), SectorAt(b, begin));
}

constexpr int kSectors = sim::Gd25lq16e::kSize / 0x1000;

// Notes where transactions begin: each is the only one to write ROM_SW_COMMAND.
class TransactionRecorder final : public Registers {
 public:
  explicit TransactionRecorder(Registers* card) : card_(*card) {}
  absl::StatusOr<uint32_t> Read32(uint32_t offset) override {
    ++count_;
    return card_.Read32(offset);
  }
  absl::Status Write32(uint32_t offset, uint32_t value) override {
    if (offset == 0x5a3a8) starts.push_back(count_);
    ++count_;
    return card_.Write32(offset, value);
  }
  int64_t count() const { return count_; }
  std::vector<int64_t> starts;

 private:
  Registers& card_;
  int64_t count_ = 0;
};

FlashOutcome FlashOver(Registers& registers, Clock& clock, const std::vector<uint8_t>& image,
                       SectorRange range, bool only_different, bool clear_cmp) {
  FlashOutcome outcome;
  outcome.next_sector = range.start;
  absl::StatusOr<std::unique_ptr<RomSw>> bus = RomSw::Open(&registers, &clock, 8);
  if (!bus.ok()) {
    outcome.status = bus.status();
    return outcome;
  }
  outcome.status = [&]() -> absl::Status {
    absl::StatusOr<SpiNor> nor = SpiNor::Probe(bus->get(), &clock);
    if (!nor.ok()) return nor.status();
    absl::StatusOr<FlashPlan> plan = PlanFlash(*nor, image, range, only_different, Go);
    if (!plan.ok()) return plan.status();
    outcome.plan = *plan;
    if (absl::Status s = CheckPlan(*plan, nor->chip(), clear_cmp); !s.ok()) return s;
    if (plan->cmp() && clear_cmp) {
      if (absl::StatusOr<bool> s = nor->ClearCmp(); !s.ok()) return s.status();
    }
    if (absl::Status s = WriteSectors(*nor, image, plan->sectors, &outcome.next_sector, Go);
        !s.ok()) {
      return s;
    }
    return VerifySectors(*nor, image, range, Go);
  }();
  const absl::Status closed = (*bus)->Close();
  if (!closed.ok()) {
    outcome.status = outcome.status.ok() ? closed
                                         : absl::Status(outcome.status.code(),
                                                        std::string(outcome.status.message()) +
                                                            "; " + std::string(closed.message()));
  }
  return outcome;
}

}  // namespace

FlashOutcome FlashOnce(SimCard& card, const std::vector<uint8_t>& image, SectorRange range,
                       bool only_different, bool clear_cmp) {
  return FlashOver(card.registers(), card.clock(), image, range, only_different, clear_cmp);
}

std::vector<uint8_t> Noise(uint32_t seed) {
  std::vector<uint8_t> bytes(sim::Gd25lq16e::kSize);
  for (uint8_t& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(seed >> 24);
  }
  return bytes;
}

FaultRuns::FaultRuns(SectorRange range)
    : range_(range), image_(Noise(1)), old_(Noise(2)), flash_(old_) {}

std::vector<int64_t> FaultRuns::TransactionStarts(bool cmp) {
  std::copy(SectorAt(old_, range_.start), SectorAt(old_, range_.start + range_.count),
            flash_.begin() + range_.start * 0x1000);
  SimCard card(sim::Navi31Boot::kRomless, absl::MakeSpan(flash_));
  card.chip().set_status(1, cmp ? 0x40 : 0);
  TransactionRecorder recorder(&card.registers());
  const FlashOutcome outcome =
      FlashOver(recorder, card.clock(), image_, range_, false, /*clear_cmp=*/true);
  if (!outcome.status.ok()) return {};
  recorder.starts.push_back(recorder.count());
  return recorder.starts;
}

std::string FaultRuns::Check(const RunFault& fault, bool cmp, bool* struck) {
  const int begin = range_.start, end = range_.start + range_.count;
  std::copy(SectorAt(old_, begin), SectorAt(old_, end), flash_.begin() + begin * 0x1000);
  SimCard card(sim::Navi31Boot::kRomless, absl::MakeSpan(flash_));
  card.chip().set_status(1, cmp ? 0x40 : 0);
  const std::vector<uint32_t> found = card.navi31().Persistent();
  if (fault.in_chip) {
    card.chip().Inject(fault.chip, fault.at);
  } else {
    card.registers().Inject(fault.link, fault.at);
  }
  const FlashOutcome outcome = FlashOnce(card, image_, range_, false, /*clear_cmp=*/true);
  *struck = fault.in_chip ? !card.chip().fault_armed() : card.registers().count() > fault.at;
  const std::string message(outcome.status.message());
  if (outcome.status.ok()) {
    if (!Same(image_, flash_, begin, end)) return "success is claimed and not there";
  } else {
    if (message.empty()) return "an error without a text";
    if (!outcome.plan.sectors.empty() && !Same(image_, flash_, begin, outcome.next_sector)) {
      return absl::StrCat("resuming at ", outcome.next_sector, " leaves wrong sectors");
    }
  }
  if (card.navi31().Persistent() != found && !absl::StrContains(message, "cannot be restored") &&
      !absl::StrContains(message, "do not keep what is restored")) {
    return absl::StrCat("registers are changed and the error does not say so: ", message);
  }
  // The link is back, and the card's power was off: a new card over the same flash.
  SimCard again(sim::Navi31Boot::kRomless, absl::MakeSpan(flash_));
  again.chip().set_status(0, card.chip().status(0) & 0xfd);
  again.chip().set_status(1, card.chip().status(1));
  const FlashOutcome second = FlashOnce(again, image_, range_, true, /*clear_cmp=*/true);
  if (!second.status.ok()) {
    return absl::StrCat("the second run fails: ", std::string(second.status.message()));
  }
  if (!Same(image_, flash_, begin, end)) return "the second run claims success and has none";
  if (again.navi31().Persistent() != found) return "the second run leaves registers changed";
  if (!Same(old_, flash_, 0, begin) || !Same(old_, flash_, end, kSectors)) {
    return "sectors outside of the range were touched";
  }
  return "";
}

}  // namespace tg::flash
