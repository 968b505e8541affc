#include "drivers/amd/smu_metrics.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tg::amd {
namespace {

constexpr bool kZeroIsAbsent = true;

// AvgTemperature[TEMP_e], AvgVoltage[SVI_PLANE_e] in the order of each header.
constexpr MetricsField kSmu13_0_0[] = {
    {"temperature_edge_c", "C", 120, 2, kZeroIsAbsent},
    {"temperature_hotspot_c", "C", 122, 2, kZeroIsAbsent},
    {"temperature_memory_c", "C", 128, 2, kZeroIsAbsent},
    {"temperature_vr_gfx_c", "C", 130, 2, kZeroIsAbsent},
    {"temperature_vr_memory_c", "C", 132, 2, kZeroIsAbsent},
    {"temperature_vr_soc_c", "C", 136, 2, kZeroIsAbsent},
    {"power_w", "W", 116, 2},
    {"power_limit_w", "W", 76, 2, kZeroIsAbsent},
    {"power_board_w", "W", 118, 2, kZeroIsAbsent},
    {"clock_gfx_mhz", "MHz", 54, 2, false, 56, 104},
    {"clock_memory_mhz", "MHz", 62, 2, false, 64, 106},
    {"clock_fabric_mhz", "MHz", 58, 2, false, 60, 106},
    {"voltage_gfx_mv", "mV", 84, 2, kZeroIsAbsent},
    {"voltage_soc_mv", "mV", 86, 2, kZeroIsAbsent},
    {"voltage_memory_mv", "mV", 90, 2, kZeroIsAbsent},
    {"fan_rpm", "rpm", 152, 2},
    {"fan_percent", "%", 150, 1},
    {"activity_gfx_percent", "%", 104, 2},
    {"activity_memory_percent", "%", 106, 2},
    {"activity_video_percent", "%", 108, 2},
};

constexpr MetricsField kSmu14_0_2[] = {
    {"temperature_edge_c", "C", 140, 2, kZeroIsAbsent},
    {"temperature_hotspot_c", "C", 142, 2, kZeroIsAbsent},
    {"temperature_memory_c", "C", 148, 2, kZeroIsAbsent},
    {"temperature_vr_gfx_c", "C", 150, 2, kZeroIsAbsent},
    {"temperature_vr_memory_c", "C", 154, 2, kZeroIsAbsent},
    {"temperature_vr_soc_c", "C", 152, 2, kZeroIsAbsent},
    {"power_w", "W", 136, 2},
    {"power_limit_w", "W", 68, 2, kZeroIsAbsent},
    {"power_board_w", "W", 138, 2, kZeroIsAbsent},
    {"clock_gfx_mhz", "MHz", 46, 2, false, 48, 124},
    {"clock_memory_mhz", "MHz", 54, 2, false, 56, 126},
    {"clock_fabric_mhz", "MHz", 50, 2, false, 52, 126},
    {"voltage_gfx_mv", "mV", 108, 2, kZeroIsAbsent},
    {"voltage_soc_mv", "mV", 110, 2, kZeroIsAbsent},
    {"voltage_memory_mv", "mV", 114, 2, kZeroIsAbsent},
    {"fan_rpm", "rpm", 170, 2},
    {"fan_percent", "%", 168, 1},
    {"activity_gfx_percent", "%", 124, 2},
    {"activity_memory_percent", "%", 126, 2},
    {"activity_video_percent", "%", 128, 2},
};

constexpr MetricsField kSmu13_0_6[] = {
    {"temperature_hotspot_c", "C", 4, 4, kZeroIsAbsent},
    {"temperature_memory_c", "C", 12, 4, kZeroIsAbsent},
    {"temperature_vr_c", "C", 8, 4, kZeroIsAbsent},
    {"power_w", "W", 48, 4},
    {"power_limit_w", "W", 44, 4, kZeroIsAbsent},
    {"clock_gfx_mhz", "MHz", 1372, 4},
    {"clock_memory_mhz", "MHz", 112, 4},
    {"clock_fabric_mhz", "MHz", 108, 4},
    {"activity_gfx_percent", "%", 1272, 4},
    {"activity_memory_percent", "%", 1276, 4},
};

constexpr MetricsField kSmu13_0_12[] = {
    {"temperature_hotspot_c", "C", 8, 4, kZeroIsAbsent},
    {"temperature_memory_c", "C", 16, 4, kZeroIsAbsent},
    {"temperature_vr_c", "C", 12, 4, kZeroIsAbsent},
    {"power_w", "W", 48, 4},
    {"power_limit_w", "W", 44, 4, kZeroIsAbsent},
    {"clock_gfx_mhz", "MHz", 468, 4},
    {"clock_memory_mhz", "MHz", 100, 4},
    {"clock_fabric_mhz", "MHz", 96, 4},
    {"activity_gfx_percent", "%", 376, 4},
    {"activity_memory_percent", "%", 380, 4},
};

// TransferTableSmu2Dram takes the firmware's number of the table, TABLE_SMU_METRICS.
constexpr char kTransfer[] = "TransferTableSmu2Dram";
constexpr uint32_t kMetricsTable = 5;
constexpr char kGetMetrics[] = "GetMetricsTable";

constexpr MetricsLayout kLayouts[] = {
    {"SMU 13.0.0", 396, kTransfer, 18, kMetricsTable, 1, 15, kSmu13_0_0},
    {"SMU 13.0.6", 2268, kGetMetrics, 9, 0, 1.0 / 1024, 0, kSmu13_0_6},
    {"SMU 13.0.12", 1284, kGetMetrics, 9, 0, 1.0 / 1024, 0, kSmu13_0_12},
    {"SMU 14.0.2", 412, kTransfer, 18, kMetricsTable, 1, 5, kSmu14_0_2},
};

struct Chip {
  IpVersion mp1;
  const MetricsLayout* layout;
};
constexpr Chip kChips[] = {
    {{13, 0, 0}, &kLayouts[0]},  {{13, 0, 10}, &kLayouts[0]}, {{13, 0, 6}, &kLayouts[1]},
    {{13, 0, 14}, &kLayouts[1]}, {{13, 0, 12}, &kLayouts[2]}, {{14, 0, 2}, &kLayouts[3]},
    {{14, 0, 3}, &kLayouts[3]},
};

uint64_t Get(absl::Span<const uint8_t> table, uint16_t offset, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | table[static_cast<size_t>(offset + i)];
  return value;
}

// What no card measures. Activity is an average that may exceed 100 a little.
double Greatest(absl::string_view unit) {
  if (unit == "C") return 200;
  if (unit == "%") return 150;
  if (unit == "W") return 5000;
  if (unit == "mV") return 5000;
  return 20000;
}

bool AllAre(absl::Span<const uint8_t> bytes, uint8_t value) {
  return std::all_of(bytes.begin(), bytes.end(), [value](uint8_t b) { return b == value; });
}

}  // namespace

const MetricsLayout* FindMetricsLayout(IpVersion mp1) {
  for (const Chip& chip : kChips) {
    if (chip.mp1 == mp1) return chip.layout;
  }
  return nullptr;
}

absl::Span<const MetricsLayout> MetricsLayouts() { return kLayouts; }

absl::StatusOr<std::vector<Metric>> ParseMetrics(const MetricsLayout& layout,
                                                 absl::Span<const uint8_t> table,
                                                 absl::string_view source) {
  if (table.size() < layout.size) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": ", table.size(),
                                                   " bytes of a table of ", layout.name,
                                                   ", which has ", layout.size));
  }
  table = table.first(layout.size);
  if (AllAre(table, 0xff)) {
    return absl::UnavailableError(
        absl::StrCat(source, ": the metrics table is all ones: the card does not answer"));
  }
  if (AllAre(table, 0)) {
    return absl::FailedPreconditionError(
        absl::StrCat(source, ": the metrics table is all zeros: the SMU has not written it"));
  }
  std::vector<Metric> metrics;
  metrics.reserve(layout.fields.size());
  for (const MetricsField& field : layout.fields) {
    const bool idle =
        field.idle_offset != 0 && Get(table, field.activity_offset, 2) <= layout.idle_activity;
    const uint64_t raw = Get(table, idle ? field.idle_offset : field.offset, field.bytes);
    const uint64_t ones = (uint64_t{1} << (8 * field.bytes)) - 1;
    if (raw == ones) {
      metrics.push_back({&field, std::nullopt, "the SMU does not measure it"});
    } else if (raw == 0 && field.zero_is_absent) {
      metrics.push_back({&field, std::nullopt, "the SMU reports no such sensor"});
    } else {
      const double value = static_cast<double>(raw) * layout.scale;
      if (value > Greatest(field.unit)) {
        return absl::DataLossError(absl::StrCat(source, ": this is no metrics table of ",
                                                layout.name, ": ", field.name, " would be ",
                                                value));
      }
      metrics.push_back({&field, value, ""});
    }
  }
  return metrics;
}

}  // namespace tg::amd
