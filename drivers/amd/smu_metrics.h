#ifndef TG_DRIVERS_AMD_SMU_METRICS_H_
#define TG_DRIVERS_AMD_SMU_METRICS_H_

// The SMU's metrics table: what an AMD GPU measures of itself. Its layout differs between SMU
// versions; here each is a list of rows.
//
// Sources, in the Linux kernel: SmuMetricsExternal_t in smu13_driver_if_v13_0_0.h (SMU 13.0.0 and
// 13.0.10) and smu14_driver_if_v14_0.h (14.0.2, 14.0.3), MetricsTableV0_t in smu_v13_0_6_pmfw.h
// (13.0.6, 13.0.14) and MetricsTable_t in smu_v13_0_12_pmfw.h (13.0.12). Messages are PPSMC_MSG_*
// of the same firmware. Tables are little-endian and packed; those of 13.0.6 and 13.0.12 hold fixed
// point numbers with 10 bits after the point.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "drivers/amd/ip_discovery.h"

namespace tg::amd {

struct MetricsField {
  const char* name;  // with the unit: "temperature_edge_c"
  const char* unit;  // "C", "W", "MHz", "mV", "%", "rpm"
  uint16_t offset;   // bytes
  uint8_t bytes;     // 1, 2 or 4
  // A sensor that is not on the board reads 0. Elsewhere 0 is a measurement.
  bool zero_is_absent = false;
  // While the block is nearly idle its clock is stopped most of the time ("deep sleep"), and then
  // the average over the whole time, from here, says more than that of the running clock. 0: none.
  uint16_t idle_offset = 0;
  uint16_t activity_offset = 0;  // u16, percent
};

struct MetricsLayout {
  const char* name;  // firmware interface: "SMU 13.0.0"
  uint32_t size;     // bytes of the table
  // The message that has the SMU write the table to the memory that its driver has named, and its
  // argument.
  const char* message_name;
  uint32_t message;
  uint32_t argument;
  double scale;            // of all fields
  uint16_t idle_activity;  // percent up to which a block is nearly idle
  absl::Span<const MetricsField> fields;
};

// The layout for a version of MP1; null where none is known.
const MetricsLayout* FindMetricsLayout(IpVersion mp1);
// All of them.
absl::Span<const MetricsLayout> MetricsLayouts();

struct Metric {
  const MetricsField* field;    // of the layout, which lives for ever
  std::optional<double> value;  // in the field's unit
  const char* absent;           // why there is no value; empty where there is one
};

// All fields of a table. InvalidArgument: fewer bytes than the layout has. Unavailable: the table
// is all ones, as memory of a card that does not answer. FailedPrecondition: all zeros, so the SMU
// has not written it. DataLoss: what stands there cannot be such a table, as a temperature of 40000
// degrees. `source` is for these errors. Fields of all ones have no value: the firmware's mark for
// what it does not measure.
absl::StatusOr<std::vector<Metric>> ParseMetrics(const MetricsLayout& layout,
                                                 absl::Span<const uint8_t> table,
                                                 absl::string_view source);

}  // namespace tg::amd

#endif  // TG_DRIVERS_AMD_SMU_METRICS_H_
