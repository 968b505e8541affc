#include "tools/sqtt/waves.h"

#include <algorithm>
#include <utility>

namespace tg::sqtt {
namespace {

int Index(const WaveSlot& s) { return s.sa << 12 | s.cu << 7 | s.simd << 5 | s.wave; }

uint32_t IdOf(PacketType type, uint64_t raw) {
  switch (type) {
    case PacketType::kWaveStart:
      return static_cast<uint32_t>(Bits(raw, 31, 18));
    case PacketType::kWaveStartRdna4:
      return static_cast<uint32_t>(Bits(raw, 31, 20));
    default:
      return static_cast<uint32_t>(Bits(raw, 28, 22));
  }
}

}  // namespace

bool IsWaveStart(PacketType type) {
  return type == PacketType::kWaveStart || type == PacketType::kWaveStartRdna4 ||
         type == PacketType::kCdnaWaveStart;
}

bool IsWaveEnd(PacketType type) {
  return type == PacketType::kWaveEnd || type == PacketType::kWaveEndRdna4 ||
         type == PacketType::kCdnaWaveEnd;
}

WaveSlot SlotOf(PacketType type, uint64_t raw) {
  auto bits = [raw](int hi, int lo) { return static_cast<uint8_t>(Bits(raw, hi, lo)); };
  WaveSlot s;
  switch (type) {
    case PacketType::kWaveStart:
      s = {bits(7, 7), bits(12, 10), bits(9, 8), bits(17, 13)};
      s.cu |= s.sa << 3;
      return s;
    case PacketType::kWaveEnd:
      s = {bits(8, 8), bits(13, 11), bits(10, 9), bits(19, 15)};
      s.cu |= s.sa << 3;
      return s;
    case PacketType::kWaveStartRdna4:
      s = {bits(7, 7), bits(13, 10), bits(9, 8), bits(19, 15)};
      s.cu |= s.sa << 4;
      return s;
    case PacketType::kWaveEndRdna4:
      s = {bits(8, 8), bits(14, 11), bits(10, 9), bits(19, 15)};
      s.cu |= s.sa << 4;
      return s;
    default:  // CDNA_WAVESTART, CDNA_WAVEEND, CDNA_WAVEALLOC.
      return {bits(5, 5), bits(9, 6), bits(15, 14), bits(13, 10)};
  }
}

void WaveCollector::OnEvent(PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
  if (type == PacketType::kCdnaMisc) {
    if (Bits(raw, 15, 13) == kMiscPacketLost) reports_->Add(Problem::kPacketLost, offset, time);
    return;
  }
  const WaveSlot slot = SlotOf(type, raw);
  int32_t& open = open_[Index(slot)];
  auto close = [&](bool ended) {
    Wave& w = running_[open];
    w.end = std::max(w.start, time);
    w.ended = ended;
    waves_.push_back(w);
    holes_.push_back(open);
    open = kFree;
  };
  if (IsWaveStart(type)) {
    if (open != kFree) {
      reports_->Add(Problem::kWaveStartTwice, offset, time, slot.wave);
      close(false);
    }
    Wave w{.slot = slot, .start = time, .id = IdOf(type, raw), .start_offset = offset};
    if (holes_.empty()) {
      open = static_cast<int32_t>(running_.size());
      running_.push_back(w);
    } else {
      open = holes_.back();
      holes_.pop_back();
      running_[open] = w;
    }
  } else if (open == kFree) {
    reports_->Add(Problem::kWaveEndAlone, offset, time, slot.wave);
  } else {
    close(true);
  }
}

void WaveCollector::Finish(uint64_t last_time) {
  std::vector<Wave> left;
  for (int32_t& open : open_) {
    if (open == kFree) continue;
    left.push_back(running_[open]);
    open = kFree;
  }
  running_.clear();
  holes_.clear();
  std::sort(left.begin(), left.end(),
            [](const Wave& a, const Wave& b) { return a.start_offset < b.start_offset; });
  for (Wave& w : left) {
    w.end = std::max(w.start, last_time);
    reports_->Add(Problem::kWaveNotEnded, w.start_offset, w.start, w.slot.wave);
    waves_.push_back(w);
  }
}

}  // namespace tg::sqtt
