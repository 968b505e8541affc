// Waves of a trace: when and where each ran.
#ifndef TG_TOOLS_SQTT_WAVES_H_
#define TG_TOOLS_SQTT_WAVES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tools/sqtt/packet.h"
#include "tools/sqtt/report.h"

namespace tg::sqtt {

// Where a wave runs within a shader engine.
struct WaveSlot {
  uint8_t sa = 0;  // Shader array; SH in CDNA.
  uint8_t cu = 0;  // RDNA: workgroup processor within the engine, wgp | sa << 3 (RDNA 4: << 4).
  uint8_t simd = 0;
  uint8_t wave = 0;  // Slot of the SIMD.

  friend bool operator==(const WaveSlot&, const WaveSlot&) = default;
};

struct Wave {
  WaveSlot slot;
  // Shader clocks. Never ends before it starts, also where a damaged trace's time goes back.
  uint64_t start = 0, end = 0;
  bool ended = false;  // Else `end` is the last clock of the trace, or of the slot.
  // RDNA: WAVESTART.id7, a number of the dispatcher. CDNA: WAVESTART.count. Traces do not say which
  // workgroup a wave belongs to.
  uint32_t id = 0;
  uint64_t start_offset = 0;  // Of its WAVESTART, in nibbles.
};

// Slot of a WAVESTART or WAVEEND packet of either layout.
WaveSlot SlotOf(PacketType type, uint64_t raw);
bool IsWaveStart(PacketType type);
bool IsWaveEnd(PacketType type);

// A visitor for Decode that collects waves in the order in which they end. Memory grows by the
// waves alone.
class WaveCollector {
 public:
  explicit WaveCollector(Reports* reports) : reports_(reports) { open_.fill(kFree); }

  void operator()(PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
    if (kIsWaveEvent[static_cast<int>(type)]) [[unlikely]]
      OnEvent(type, raw, time, offset);
  }

  // Closes what is open at the trace's end. Call once, after Decode.
  void Finish(uint64_t last_time);

  const std::vector<Wave>& waves() const { return waves_; }
  std::vector<Wave> TakeWaves() { return std::move(waves_); }

 private:
  static constexpr int32_t kFree = -1;
  static constexpr std::array<bool, kNumPacketTypes> kIsWaveEvent = [] {
    std::array<bool, kNumPacketTypes> a{};
    for (PacketType t :
         {PacketType::kWaveStart, PacketType::kWaveStartRdna4, PacketType::kCdnaWaveStart,
          PacketType::kWaveEnd, PacketType::kWaveEndRdna4, PacketType::kCdnaWaveEnd,
          PacketType::kCdnaMisc}) {
      a[static_cast<int>(t)] = true;
    }
    return a;
  }();

  void OnEvent(PacketType type, uint64_t raw, uint64_t time, uint64_t offset);

  Reports* reports_;
  // Per slot: sa 1 bit, cu 5, simd 2, wave 5.
  std::array<int32_t, 1 << 13> open_;
  std::vector<Wave> running_;  // Those that `open_` names, with holes.
  std::vector<int32_t> holes_;
  std::vector<Wave> waves_;
};

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_WAVES_H_
