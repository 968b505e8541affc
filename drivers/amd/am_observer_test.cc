#include "drivers/amd/am_observer.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drivers/sim/amd/am_card.h"
#include "drivers/sim/amd/discovery_image.h"
#include "drivers/sim/pci/faulty_function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;
using Options = sim::AmCard::Options;

constexpr uint64_t kLarge = 2 << 20, kSmall = 4096;

std::map<std::string, double> Values(const AmObservation& seen) {
  std::map<std::string, double> values;
  for (const Metric& m : seen.metrics.value()) {
    if (m.value.has_value()) values[m.field->name] = *m.value;
  }
  return values;
}

TEST(AmObserver, EveryChip) {
  for (const std::string& chip : sim::AmCard::Chips()) {
    for (bool small_bar : {false, true}) {
      const auto card = sim::AmCard::Create({.chip = chip, .small_bar = small_bar}).value();
      const AmObservation seen = ObserveAmCard(&card->function()).value();
      EXPECT_EQ(seen.vram_bytes, card->vram_bytes());
      EXPECT_EQ(seen.vram_mapped.value(), 3 * kLarge + kSmall) << chip;
      const sim::SmuSensors s = card->smu().sensors();
      std::map<std::string, double> values = Values(seen);
      EXPECT_EQ(values["temperature_hotspot_c"], s.hotspot_c) << chip;
      EXPECT_EQ(values["temperature_memory_c"], s.memory_c);
      EXPECT_EQ(values["power_w"], s.power_w);
      EXPECT_EQ(values["power_limit_w"], s.power_limit_w);
      EXPECT_EQ(values["clock_gfx_mhz"], s.gfx_mhz);
      EXPECT_EQ(values["clock_memory_mhz"], s.memory_mhz);
      EXPECT_EQ(values["clock_fabric_mhz"], s.fabric_mhz);
      EXPECT_EQ(values["activity_gfx_percent"], s.gfx_activity);
      EXPECT_EQ(values["activity_memory_percent"], s.memory_activity);
      const double vr = values.count("temperature_vr_c") != 0 ? values["temperature_vr_c"]
                                                              : values["temperature_vr_gfx_c"];
      EXPECT_EQ(vr, s.vr_gfx_c);
      if (chip == "gfx942" || chip == "gfx950") continue;
      EXPECT_EQ(values["temperature_edge_c"], s.edge_c);
      EXPECT_EQ(values["temperature_vr_memory_c"], s.vr_memory_c);
      EXPECT_EQ(values["temperature_vr_soc_c"], s.vr_soc_c);
      EXPECT_EQ(values["power_board_w"], s.board_power_w);
      EXPECT_EQ(values["voltage_gfx_mv"], s.gfx_mv);
      EXPECT_EQ(values["voltage_soc_mv"], s.soc_mv);
      EXPECT_EQ(values["voltage_memory_mv"], s.memory_mv);
      EXPECT_EQ(values["fan_rpm"], s.fan_rpm);
      EXPECT_EQ(values["fan_percent"], s.fan_percent);
    }
  }
}

TEST(AmObserver, AnIdleCard) {
  const auto card = sim::AmCard::Create({.chip = "gfx1201"}).value();
  card->smu().sensors().gfx_activity = 5;
  card->smu().sensors().memory_activity = 6;
  std::map<std::string, double> values = Values(ObserveAmCard(&card->function()).value());
  EXPECT_EQ(values["clock_gfx_mhz"], card->smu().sensors().gfx_idle_mhz);
  EXPECT_EQ(values["clock_memory_mhz"], card->smu().sensors().memory_mhz);
}

TEST(AmObserver, CardsThatAreNotToBeLookedAt) {
  const auto refused = [](const Options& options, Code code, const char* text) {
    const auto card = sim::AmCard::Create(options).value();
    const int before = card->smu().messages();
    const absl::Status s = ObserveAmCard(&card->function()).status();
    EXPECT_EQ(s.code(), code) << s;
    EXPECT_THAT(std::string(s.message()), HasSubstr(text));
    EXPECT_EQ(card->smu().messages(), before) << "its SMU was disturbed";
  };
  refused({.started = false}, Code::kFailedPrecondition, "SCRATCH_REG7 is 0x00000000");
  refused({.virtual_function = true}, Code::kFailedPrecondition, "is a virtual function");
  refused({.fault = sim::SmuFault::kAllOnes}, Code::kUnavailable, "does not answer");
}

TEST(AmObserver, FaultsOfTheSmuLeaveTheRest) {
  using F = sim::SmuFault;
  for (const auto& [fault, code] :
       {std::pair{F::kNoResponse, Code::kDeadlineExceeded},
        std::pair{F::kTaken, Code::kUnavailable}, std::pair{F::kBusy, Code::kUnavailable},
        std::pair{F::kRejected, Code::kFailedPrecondition},
        std::pair{F::kUnknown, Code::kUnimplemented}, std::pair{F::kFailed, Code::kInternal},
        std::pair{F::kStrange, Code::kInternal}, std::pair{F::kNothing, Code::kFailedPrecondition},
        std::pair{F::kOnes, Code::kUnavailable}, std::pair{F::kGarbage, Code::kDataLoss}}) {
    const auto card = sim::AmCard::Create({.fault = fault}).value();
    const auto seen = ObserveAmCard(&card->function());
    ASSERT_TRUE(seen.ok()) << seen.status();
    EXPECT_EQ(seen->metrics.status().code(), code) << seen->metrics.status();
    EXPECT_EQ(seen->vram_mapped.value(), 3 * kLarge + kSmall);
  }
  // A table that ends early: what is not there has no value.
  const auto card = sim::AmCard::Create({.fault = F::kShort}).value();
  const AmObservation seen = ObserveAmCard(&card->function()).value();
  std::map<std::string, double> values = Values(seen);
  EXPECT_EQ(values["clock_gfx_mhz"], card->smu().sensors().gfx_mhz);
  EXPECT_EQ(values.count("temperature_hotspot_c"), 0);
  EXPECT_EQ(values.count("fan_rpm"), 0);
}

TEST(AmObserver, BrokenDiscovery) {
  const auto at = [](const sim::AmCard& card) { return card.vram_bytes() - (64 << 10); };
  auto card = sim::AmCard::Create({}).value();
  card->Put(at(*card) + 150, std::vector<uint8_t>{0xaa, 0x55});
  EXPECT_EQ(ObserveAmCard(&card->function()).status().code(), Code::kInvalidArgument);
  // Whole, but without what is looked for; or with registers that are nowhere.
  sim::DiscoveryImage image;
  image.dies = {{{kIpGc, 0, 11, 0, 0, {1}}}};
  card->Put(at(*card), image.Build());
  EXPECT_EQ(ObserveAmCard(&card->function()).status().code(), Code::kUnimplemented);
  for (uint64_t base : {~uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0} >> 2}) {
    image.wide_bases = true;
    image.dies = {{{kIpGc, 0, 11, 0, 0, {1, base}}, {kIpMp1, 0, 13, 0, 0, {base}}}};
    card->Put(at(*card), image.Build());
    EXPECT_FALSE(ObserveAmCard(&card->function()).ok());
  }
  image.dies = {{{kIpGc, 0, 11, 0, 0, {1, 0xa000}}, {kIpMp1, 0, 13, 0, 7, {0x16000}}}};
  card->Put(at(*card), image.Build());
  const AmObservation seen = ObserveAmCard(&card->function()).value();
  EXPECT_THAT(std::string(seen.metrics.status().message()),
              HasSubstr("the metrics table of SMU 13.0.7 is not known"));
}

TEST(AmObserver, PageTables) {
  const auto card = sim::AmCard::Create({}).value();
  card->MapPages(500);
  EXPECT_EQ(ObserveAmCard(&card->function())->vram_mapped.value(), 500 * kLarge + kSmall);
  card->PutEntry(0, 100, card->vram_bytes() | 1);  // a table behind the end
  EXPECT_EQ(ObserveAmCard(&card->function())->vram_mapped.status().code(), Code::kOutOfRange);
  for (uint64_t i = 0; i < 512; ++i) card->PutEntry(0, i, 1);  // the root, as its own child
  EXPECT_EQ(ObserveAmCard(&card->function())->vram_mapped.status().code(),
            Code::kResourceExhausted);
  card->PutEntry(0, 0, ~uint64_t{0});
  EXPECT_EQ(ObserveAmCard(&card->function())->vram_mapped.status().code(), Code::kUnavailable);
  // A card of a group, whose tables are in another one.
  const auto member = sim::AmCard::Create({.chip = "gfx942"}).value();
  member->PutEntry(0, 1, 0x1000 | 1);
  EXPECT_EQ(ObserveAmCard(&member->function())->vram_mapped.status().code(), Code::kOutOfRange);
}

// Each transaction of a look in turn goes wrong, each time with a new card. It must end, and what
// it shows is the card's or an error.
TEST(AmObserver, EveryTransactionFails) {
  const auto whole = sim::AmCard::Create({}).value();
  sim::FaultyFunction counted(&whole->function());
  counted.Arm(sim::PciFault::kNone, 0);
  const std::map<std::string, double> right = Values(ObserveAmCard(&counted).value());
  const int64_t count = counted.transactions();
  EXPECT_GT(count, 10);
  int noticed = 0;
  for (sim::PciFault fault : {sim::PciFault::kError, sim::PciFault::kDropWrite,
                              sim::PciFault::kShortRead, sim::PciFault::kLinkLoss}) {
    for (int64_t k = 0; k < count; ++k) {
      const auto card = sim::AmCard::Create({}).value();
      sim::FaultyFunction faulty(&card->function());
      faulty.Arm(fault, k);
      const auto seen = ObserveAmCard(&faulty);
      if (!seen.ok() || !seen->metrics.ok() || !seen->vram_mapped.ok()) ++noticed;
      if (seen.ok() && seen->metrics.ok()) {
        EXPECT_EQ(Values(*seen), right) << static_cast<int>(fault) << " at " << k;
      }
      if (seen.ok() && seen->vram_mapped.ok()) {
        EXPECT_EQ(*seen->vram_mapped, 3 * kLarge + kSmall) << static_cast<int>(fault) << " " << k;
      }
    }
  }
  // Errors and a lost link always.
  EXPECT_GE(noticed, 2 * count);
}

}  // namespace
}  // namespace tg::amd
