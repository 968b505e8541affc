#include "drivers/sim/amd/smu.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_format.h"

namespace tg::sim {
namespace {

constexpr uint32_t kOk = 1, kBusy = 0xfc, kRejected = 0xfd, kUnknown = 0xfe, kFailed = 0xff;
constexpr uint32_t kTestMessage = 1, kGetSmuVersion = 2;
constexpr uint32_t kVersion = 0x004e8100;
constexpr uint32_t kMetricsTableOfTransfer = 5;

// The messages whose numbers differ between firmwares.
struct Messages {
  uint32_t address_high, address_low, get_metrics;
  bool by_table;  // TransferTableSmu2Dram with the table's number; else GetMetricsTable
};
Messages MessagesOf(SmuFirmware firmware) {
  if (firmware == SmuFirmware::k13_0_0 || firmware == SmuFirmware::k14_0_2) {
    return {14, 15, 18, true};
  }
  return {13, 14, 9, false};
}

// Members of a C structure, one after the other: each at a multiple of its size, or right behind
// the one before where the structure is packed.
class Structure {
 public:
  explicit Structure(bool packed) : packed_(packed) {}
  void U8(uint64_t value, size_t count = 1) { Put(value, 1, count); }
  void U16(uint64_t value, size_t count = 1) { Put(value, 2, count); }
  void U32(uint64_t value, size_t count = 1) { Put(value, 4, count); }
  void U64(uint64_t value, size_t count = 1) { Put(value, 8, count); }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  void Put(uint64_t value, size_t size, size_t count) {
    while (!packed_ && bytes_.size() % size != 0) bytes_.push_back(0);
    for (size_t i = 0; i < size * count; ++i) {
      bytes_.push_back(static_cast<uint8_t>(value >> (8 * (i % size))));
    }
  }
  const bool packed_;
  std::vector<uint8_t> bytes_;
};

// SmuMetricsExternal_t of SMU 13.0.0 and 14.0.2.
std::vector<uint8_t> GraphicsMetrics(const SmuSensors& s, bool v14, uint32_t counter) {
  Structure t(/*packed=*/false);
  t.U32(s.gfx_mhz, v14 ? 11 : 13);  // CurrClock
  t.U16(s.gfx_mhz);                 // AverageGfxclkFrequencyTarget
  t.U16(s.gfx_mhz);                 // PreDs, PostDs
  t.U16(s.gfx_idle_mhz);
  t.U16(s.fabric_mhz);
  t.U16(s.fabric_idle_mhz);
  t.U16(s.memory_mhz);
  t.U16(s.memory_idle_mhz);
  t.U16(0, 4);  // video clocks
  t.U16(3);     // PCIeBusy
  t.U16(s.power_limit_w);
  t.U16(0);
  if (v14) t.U16(0, 16);  // moving averages
  t.U32(counter);
  const size_t planes = v14 ? 4 : 5;
  t.U16(s.gfx_mv);
  t.U16(s.soc_mv);
  t.U16(0);
  t.U16(s.memory_mv);
  if (!v14) t.U16(0);
  t.U16(0, planes);  // AvgCurrent
  t.U16(s.gfx_activity);
  t.U16(s.memory_activity);
  t.U16(s.video_activity);
  t.U16(0);
  t.U32(0);  // EnergyAccumulator
  t.U16(s.power_w);
  t.U16(s.board_power_w);
  t.U16(s.edge_c);
  t.U16(s.hotspot_c, 3);  // and of two halves
  t.U16(s.memory_c);
  t.U16(s.vr_gfx_c);
  if (v14) {
    t.U16(s.vr_soc_c);
    t.U16(s.vr_memory_c);
    t.U16(0, 4);
  } else {
    t.U16(s.vr_memory_c);
    t.U16(0);
    t.U16(s.vr_soc_c);
    t.U16(0, 4);
  }
  t.U16(0);  // AvgTemperatureFanIntake
  t.U8(4);   // PcieRate
  t.U8(16);  // PcieWidth
  t.U8(s.fan_percent);
  t.U8(0);
  t.U16(s.fan_rpm);
  t.U8(0, v14 ? 21 : 22);  // ThrottlingPercentage
  t.U8(0);
  t.U8(0, v14 ? 2 : 3);
  t.U32(0, 12);  // D3Hot entries and exits, messages
  t.U16(0, 4);
  t.U32(0x12345678, 2);  // serial number
  t.U32(0, 30 + 8);
  return t.Take();
}

// MetricsTableV0_t of SMU 13.0.6 and MetricsTable_t of 13.0.12.
std::vector<uint8_t> AcceleratorMetrics(const SmuSensors& s, bool v12, uint32_t counter) {
  const auto q10 = [](uint16_t value) {
    return value == 0xffff ? uint64_t{0xffffffff} : uint64_t{value} << 10;
  };
  Structure t(/*packed=*/true);
  if (v12) {
    t.U64(counter);
  } else {
    t.U32(counter);
  }
  t.U32(q10(s.hotspot_c));
  t.U32(q10(s.vr_gfx_c));
  t.U32(q10(s.memory_c));
  t.U64(0, 3);
  if (v12) {
    t.U32(q10(s.power_limit_w));
  } else {
    t.U32(q10(s.power_limit_w) / 2);  // SocketPowerLimit, then the largest it can be set to
    t.U32(q10(s.power_limit_w));
  }
  t.U32(q10(s.power_w));
  t.U64(0, v12 ? 5 : 6);  // Timestamp, energies
  if (!v12) t.U32(0);     // CclkFrequencyLimit
  t.U32(q10(s.gfx_mhz));  // GfxclkFrequencyLimit
  t.U32(q10(s.fabric_mhz));
  t.U32(q10(s.memory_mhz));
  t.U32(0, 16);  // SOC, video and link clocks
  t.U64(0, 8);   // GfxclkFrequencyAcc
  if (!v12) {
    t.U64(0, 96);  // CclkFrequencyAcc
    t.U32(0, 4);
    t.U32(0, 24);  // tables of clocks
  }
  t.U32(0, 4);         // link ranges, xGMI width and rate
  t.U64(0, 16);        // xGMI bandwidth
  if (!v12) t.U32(0);  // SocketC0Residency
  t.U32(q10(s.gfx_activity));
  t.U32(q10(s.memory_activity));
  t.U64(0, v12 ? 2 : 3);  // accumulated
  t.U32(0);               // MaxDramBandwidth
  t.U64(0, 5);            // utilization and PCIe bandwidth
  t.U32(0, 6);            // residencies, GfxLockXCDMak
  t.U32(q10(s.gfx_mhz), 8);
  if (!v12) t.U64(0, 24);  // serial numbers
  t.U64(0, 16);            // xGMI data
  t.U32(0, 4 + 5 + 4);     // PCIe, video
  t.U32(0, v12 ? 40 : 32);
  t.U32(4);
  t.U32(16);
  t.U32(q10(s.gfx_activity), 8);
  t.U64(0, 8);
  t.U32(0);
  t.U64(0, 32);
  if (v12) t.U32(0, 4 + 8 + 8);
  return t.Take();
}

}  // namespace

std::vector<uint8_t> Smu::Metrics() const {
  const auto counter = static_cast<uint32_t>(messages_);
  const bool graphics = MessagesOf(firmware_).by_table;
  return graphics ? GraphicsMetrics(sensors_, firmware_ == SmuFirmware::k14_0_2, counter)
                  : AcceleratorMetrics(sensors_, firmware_ == SmuFirmware::k13_0_12, counter);
}

absl::StatusOr<uint32_t> Smu::Read(int n) {
  if (fault_ == SmuFault::kAllOnes) return 0xffffffff;
  switch (n) {
    case 66:
      return 0;
    case 82:
      return argument_;
    case 90:
      if (fault_ == SmuFault::kTaken) return 0;
      if (reads_left_ > 0 && --reads_left_ == 0) response_ = after_delay_;
      return response_;
    default:
      return absl::UnimplementedError(absl::StrFormat("SMU: C2PMSG_%d is not modelled", n));
  }
}

absl::Status Smu::Write(int n, uint32_t value) {
  if (fault_ == SmuFault::kAllOnes) return absl::OkStatus();
  switch (n) {
    case 82:
      argument_ = value;
      return absl::OkStatus();
    case 90:
      response_ = value;
      return absl::OkStatus();
    case 66:
      if (response_ != 0) {
        return absl::UnimplementedError("SMU: a message while the last response still stands");
      }
      return Handle(value);
    default:
      return absl::UnimplementedError(absl::StrFormat("SMU: C2PMSG_%d is not modelled", n));
  }
}

absl::Status Smu::Handle(uint32_t message) {
  ++messages_;
  const Messages known = MessagesOf(firmware_);
  uint32_t response = kOk;
  switch (fault_) {
    case SmuFault::kNoResponse:
      return absl::OkStatus();
    case SmuFault::kBusy:
      response = kBusy;
      break;
    case SmuFault::kRejected:
      response = kRejected;
      break;
    case SmuFault::kUnknown:
      response = kUnknown;
      break;
    case SmuFault::kFailed:
      response = kFailed;
      break;
    case SmuFault::kStrange:
      response = 0x77;
      break;
    default:
      if (message == kTestMessage) {
        ++argument_;
      } else if (message == kGetSmuVersion) {
        argument_ = kVersion;
      } else if (message == known.address_high) {
        table_address_ = (table_address_ & 0xffffffff) | uint64_t{argument_} << 32;
      } else if (message == known.address_low) {
        table_address_ = (table_address_ & ~uint64_t{0xffffffff}) | argument_;
      } else if (message == known.get_metrics &&
                 argument_ == (known.by_table ? kMetricsTableOfTransfer : 0)) {
        if (absl::Status s = WriteMetrics(); !s.ok()) return s;
      } else {
        response = kUnknown;
      }
  }
  response_ = 0;
  after_delay_ = response;
  reads_left_ = delay_ + 1;
  return absl::OkStatus();
}

absl::Status Smu::WriteMetrics() {
  std::vector<uint8_t> table = Metrics();
  if (fault_ == SmuFault::kNothing) return absl::OkStatus();
  if (fault_ == SmuFault::kShort) {
    for (size_t i = table.size() / 4; i < table.size(); ++i) table[i] = 0xff;
  }
  if (fault_ == SmuFault::kOnes) table.assign(table.size(), 0xff);
  if (fault_ == SmuFault::kGarbage) {
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(i * 37 + 11);
  }
  return write_(table_address_, table);
}

}  // namespace tg::sim
