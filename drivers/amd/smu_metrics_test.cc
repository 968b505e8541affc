#include "drivers/amd/smu_metrics.h"

#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tg::amd {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

std::optional<double> Value(const std::vector<Metric>& metrics, const std::string& name) {
  for (const Metric& m : metrics) {
    if (m.field->name == name) return m.value;
  }
  ADD_FAILURE() << "no " << name;
  return std::nullopt;
}

TEST(SmuMetrics, LayoutsAreSound) {
  for (const MetricsLayout& layout : MetricsLayouts()) {
    std::set<std::string> names;
    for (const MetricsField& f : layout.fields) {
      EXPECT_TRUE(names.insert(f.name).second) << layout.name << " " << f.name;
      EXPECT_LE(f.offset + f.bytes, layout.size);
      EXPECT_EQ(f.offset % f.bytes, 0);
      EXPECT_LE(f.idle_offset + f.bytes, layout.size);
      EXPECT_EQ(f.idle_offset != 0, f.activity_offset != 0);
    }
  }
  EXPECT_EQ(FindMetricsLayout({13, 0, 10}), FindMetricsLayout({13, 0, 0}));
  EXPECT_EQ(FindMetricsLayout({13, 0, 7}), nullptr);
  EXPECT_EQ(FindMetricsLayout({11, 0, 0}), nullptr);
}

TEST(SmuMetrics, ClocksOfABlockThatIsIdle) {
  const MetricsLayout& layout = *FindMetricsLayout({13, 0, 0});
  std::vector<uint8_t> table(layout.size);
  table[54] = 200;  // running
  table[56] = 20;   // over all time
  table[104] = 16;
  EXPECT_EQ(Value(ParseMetrics(layout, table, "card").value(), "clock_gfx_mhz"), 200);
  table[104] = 15;
  EXPECT_EQ(Value(ParseMetrics(layout, table, "card").value(), "clock_gfx_mhz"), 20);
}

TEST(SmuMetrics, WhatIsAbsent) {
  const MetricsLayout& layout = *FindMetricsLayout({13, 0, 0});
  std::vector<uint8_t> table(layout.size);
  table[122] = 70;
  table[152] = table[153] = 0xff;
  const auto metrics = ParseMetrics(layout, table, "card").value();
  for (const Metric& m : metrics) {
    EXPECT_EQ(m.value.has_value(), std::string(m.absent).empty()) << m.field->name;
  }
  EXPECT_EQ(Value(metrics, "temperature_hotspot_c"), 70);
  EXPECT_EQ(Value(metrics, "temperature_edge_c"), std::nullopt);
  EXPECT_EQ(Value(metrics, "fan_rpm"), std::nullopt);
  EXPECT_EQ(Value(metrics, "activity_gfx_percent"), 0) << "a measurement";
}

TEST(SmuMetrics, WhatIsNoTable) {
  for (const MetricsLayout& layout : MetricsLayouts()) {
    const auto code = [&](const std::vector<uint8_t>& table) {
      return ParseMetrics(layout, table, "card").status().code();
    };
    for (size_t n : {size_t{0}, size_t{1}, size_t{layout.size} - 1}) {
      EXPECT_EQ(code(std::vector<uint8_t>(n, 1)), Code::kInvalidArgument);
    }
    EXPECT_EQ(code(std::vector<uint8_t>(layout.size, 0xff)), Code::kUnavailable);
    EXPECT_EQ(code(std::vector<uint8_t>(layout.size, 0)), Code::kFailedPrecondition);
    EXPECT_EQ(code(std::vector<uint8_t>(layout.size, 0x7f)), Code::kDataLoss);
    std::mt19937 random(3);
    for (int i = 0; i < 1000; ++i) {
      std::vector<uint8_t> table(layout.size);
      for (uint8_t& b : table) b = static_cast<uint8_t>(random() >> random() % 24);
      (void)code(table);
    }
  }
}

// Against a description of the firmware's structures that was made from the kernel's headers.
TEST(SmuMetrics, OffsetsAreThoseOfTheStructures) {
  const char* shared = std::getenv("TG_SHARED");
  if (shared == nullptr || *shared == '\0') GTEST_SKIP() << "TG_SHARED is not set";
  const auto text = base::ReadFile(absl::StrCat(shared, "/data/hw/am/smu.json"));
  if (!text.ok()) GTEST_SKIP() << text.status();
  const auto json = nlohmann::json::parse(*text);
  const auto check = [&](IpVersion version, const char* structure, uint32_t beyond,
                         const std::map<std::string, std::pair<std::string, int>>& members) {
    const MetricsLayout& layout = *FindMetricsLayout(version);
    const auto& described = json["layouts"][structure];
    EXPECT_EQ(layout.size, described["size"].get<uint32_t>() + beyond);
    for (const auto& [name, member] : members) {
      int offset = -1;
      for (const auto& field : described["fields"]) {
        if (field[0] == member.first) offset = field[1].get<int>();
      }
      ASSERT_GE(offset, 0) << member.first;
      bool found = false;
      for (const MetricsField& f : layout.fields) {
        if (name != f.name) continue;
        found = true;
        EXPECT_EQ(f.offset, offset + member.second * f.bytes) << layout.name << " " << name;
      }
      EXPECT_TRUE(found) << name;
    }
  };
  check({13, 0, 0}, "SmuMetrics_t", (30 + 8) * 4,
        {{"temperature_edge_c", {"AvgTemperature", 0}},
         {"temperature_hotspot_c", {"AvgTemperature", 1}},
         {"temperature_memory_c", {"AvgTemperature", 4}},
         {"temperature_vr_gfx_c", {"AvgTemperature", 5}},
         {"temperature_vr_memory_c", {"AvgTemperature", 6}},
         {"temperature_vr_soc_c", {"AvgTemperature", 8}},
         {"power_w", {"AverageSocketPower", 0}},
         {"power_limit_w", {"dGPU_W_MAX", 0}},
         {"power_board_w", {"AverageTotalBoardPower", 0}},
         {"clock_gfx_mhz", {"AverageGfxclkFrequencyPreDs", 0}},
         {"clock_memory_mhz", {"AverageMemclkFrequencyPreDs", 0}},
         {"clock_fabric_mhz", {"AverageFclkFrequencyPreDs", 0}},
         {"voltage_gfx_mv", {"AvgVoltage", 0}},
         {"voltage_soc_mv", {"AvgVoltage", 1}},
         {"voltage_memory_mv", {"AvgVoltage", 3}},
         {"fan_rpm", {"AvgFanRpm", 0}},
         {"fan_percent", {"AvgFanPwm", 0}},
         {"activity_gfx_percent", {"AverageGfxActivity", 0}},
         {"activity_memory_percent", {"AverageUclkActivity", 0}},
         {"activity_video_percent", {"Vcn0ActivityPercentage", 0}}});
  for (const auto& [version, structure, limit] :
       {std::tuple{IpVersion{13, 0, 6}, "MetricsTableV0_t", "MaxSocketPowerLimit"},
        std::tuple{IpVersion{13, 0, 12}, "MetricsTable_t", "SocketPowerLimit"}}) {
    check(version, structure, 0,
          {{"temperature_hotspot_c", {"MaxSocketTemperature", 0}},
           {"temperature_memory_c", {"MaxHbmTemperature", 0}},
           {"temperature_vr_c", {"MaxVrTemperature", 0}},
           {"power_w", {"SocketPower", 0}},
           {"power_limit_w", {limit, 0}},
           {"clock_gfx_mhz", {"GfxclkFrequency", 0}},
           {"clock_memory_mhz", {"UclkFrequency", 0}},
           {"clock_fabric_mhz", {"FclkFrequency", 0}},
           {"activity_gfx_percent", {"SocketGfxBusy", 0}},
           {"activity_memory_percent", {"DramBandwidthUtilization", 0}}});
  }
  EXPECT_EQ(FindMetricsLayout({14, 0, 2})->size,
            json["layouts"]["SmuMetricsExternal_t"]["size"].get<uint32_t>());
}

}  // namespace
}  // namespace tg::amd
