#ifndef TG_DRIVERS_SIM_AMD_SMU_H_
#define TG_DRIVERS_SIM_AMD_SMU_H_

// A simulated system management unit: the mailbox of MP1 (MP1_SMN_C2PMSG_66 message, 82 argument,
// 90 response) and the messages about the metrics table. Written from the firmware's interfaces in
// the Linux kernel: smu_v13_0_0_ppsmc.h, smu_v13_0_6_ppsmc.h, smu_v14_0_2_ppsmc.h, and the
// structures SmuMetrics_t, MetricsTableV0_t, MetricsTable_t, whose members are written one after
// the other. Messages that are not modelled are unknown commands, as with firmware that does not
// have them.

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tg::sim {

enum class SmuFirmware { k13_0_0, k13_0_6, k13_0_12, k14_0_2 };

// What the card measures, in whole units. 0xffff: not measured.
struct SmuSensors {
  uint16_t edge_c = 61, hotspot_c = 78, memory_c = 72;
  uint16_t vr_gfx_c = 55, vr_memory_c = 58, vr_soc_c = 54;
  uint16_t power_w = 287, power_limit_w = 355, board_power_w = 321;
  uint16_t gfx_mhz = 2431, gfx_idle_mhz = 31;
  uint16_t memory_mhz = 1249, memory_idle_mhz = 96;
  uint16_t fabric_mhz = 2003, fabric_idle_mhz = 120;
  uint16_t gfx_mv = 1087, soc_mv = 902, memory_mv = 1350;
  uint16_t fan_rpm = 1740, fan_percent = 42;
  uint16_t gfx_activity = 97, memory_activity = 44, video_activity = 0;
};

enum class SmuFault {
  kNone,
  kNoResponse,  // takes the message and never answers
  kTaken,       // somebody else's message is under way for ever
  kBusy,        // answers that it is busy
  kRejected,
  kUnknown,
  kFailed,
  kStrange,  // a response that no document has
  kAllOnes,  // its registers read as those of a card that is gone
  kNothing,  // says OK and writes no table
  kShort,    // writes the first quarter of the table; the rest is all ones
  kOnes,     // writes all ones
  kGarbage,  // writes bytes that are no table
};

class Smu {
 public:
  // Writes to the card's memory, by the address that the driver has given.
  using WriteMemory = std::function<absl::Status(uint64_t address, absl::Span<const uint8_t>)>;

  Smu(SmuFirmware firmware, WriteMemory write) : firmware_(firmware), write_(std::move(write)) {}

  SmuSensors& sensors() { return sensors_; }
  void set_fault(SmuFault fault) { fault_ = fault; }
  // How many reads of the response see a message under way before it is done.
  void set_delay(int reads) { delay_ = reads; }

  // Registers by n of C2PMSG_n. Unimplemented: not one of the mailbox.
  absl::StatusOr<uint32_t> Read(int n);
  absl::Status Write(int n, uint32_t value);

  int messages() const { return messages_; }

 private:
  absl::Status Handle(uint32_t message);
  absl::Status WriteMetrics();
  std::vector<uint8_t> Metrics() const;

  const SmuFirmware firmware_;
  const WriteMemory write_;
  SmuSensors sensors_;
  SmuFault fault_ = SmuFault::kNone;
  int delay_ = 0;
  int reads_left_ = 0;
  int messages_ = 0;
  uint32_t argument_ = 0;
  uint32_t response_ = 1;
  uint32_t after_delay_ = 1;
  uint64_t table_address_ = 0;
};

}  // namespace tg::sim

#endif  // TG_DRIVERS_SIM_AMD_SMU_H_
