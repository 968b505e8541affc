// Reads the packets of a trace, one after the other.
//
//   absl::StatusOr<DecodeSummary> summary =
//       Decode(bytes, [&](PacketType type, uint64_t raw, uint64_t time, uint64_t offset) { ... });
//
// A visitor may return bool: false ends the reading. Nothing is allocated: memory stays flat
// whatever the trace's size. Any bytes end: a packet takes at least a nibble.
#ifndef TG_TOOLS_SQTT_DECODE_H_
#define TG_TOOLS_SQTT_DECODE_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/sqtt/packet.h"

namespace tg::sqtt {

struct DecodeSummary {
  Layout layout = Layout::kRdna3;
  uint64_t packets = 0;
  uint64_t last_time = 0;
  // Nibbles with a code that no packet has. They are passed to the visitor as NOP, and reading goes
  // on at the next nibble (word in CDNA, where all codes are taken). Hardware writes none.
  uint64_t unknown_codes = 0;
  uint64_t first_unknown_offset = 0;  // In nibbles.
  // At the end, not read: a packet counts only where a whole window of 64 bits follows its start.
  // Hardware pads traces so that no packet is lost by that; in a trace that was cut the last one is
  // incomplete anyway.
  uint64_t tail_nibbles = 0;
  bool stopped = false;  // By the visitor.
};

// The layout by the first packet, a LAYOUT_HEADER. DataLoss when there is none: these bytes are no
// thread trace, or one whose beginning is lost.
absl::StatusOr<Layout> DetectLayout(absl::Span<const uint8_t> bytes);

namespace internal {

// What to do with a packet, by its low 8 bits.
struct DecodeEntry {
  uint64_t raw_mask;    // Bits of the packet.
  uint64_t delta_mask;  // (raw >> delta_shift) & delta_mask is its time step,
  uint8_t delta_shift;
  uint8_t delta_add;  // plus this,
  // unless (raw >> mark_shift & 3) == mark_value: then there is none.
  uint8_t mark_shift;
  uint8_t mark_value;
  PacketType type;
  uint8_t nibbles;
  uint8_t unknown;
};
using DecodeTable = std::array<DecodeEntry, 256>;
const DecodeTable& TableFor(Layout layout);

// Whether to go on.
template <typename Visitor>
inline bool Visit(Visitor& visit, PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
  if constexpr (std::is_same_v<decltype(visit(type, raw, time, offset)), bool>) {
    return visit(type, raw, time, offset);
  } else {
    visit(type, raw, time, offset);
    return true;
  }
}

inline uint64_t Load64(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

// RDNA: all packets that start in [pos, stop), in nibbles. The caller sees to it that bytes up to
// 9 after a packet's first one can be read.
template <typename Visitor>
inline void DecodeNibbles(const uint8_t* p, uint64_t& pos, uint64_t stop, uint64_t base,
                          const DecodeTable& table, DecodeSummary& sum, Visitor& visit) {
  uint64_t time = sum.last_time, packets = 0, unknown = 0;
  while (pos < stop) {
    const uint64_t byte = pos >> 1;
    const int odd = static_cast<int>(pos & 1) * 4;
    const uint64_t low = Load64(p + byte);
    // The next packet depends on nothing but these bits.
    const DecodeEntry& e = table[low >> odd & 0xff];
    const uint64_t window = low >> odd | static_cast<uint64_t>(p[byte + 8]) << 4 << (60 - odd);
    const uint64_t raw = window & e.raw_mask;
    const bool mark = (window >> e.mark_shift & 3) == e.mark_value;
    time += mark ? 0 : (window >> e.delta_shift & e.delta_mask) + e.delta_add;
    if (e.unknown != 0) [[unlikely]] {
      if (sum.unknown_codes + unknown == 0) sum.first_unknown_offset = base + pos;
      ++unknown;
    }
    ++packets;
    if (!Visit(visit, e.type, raw, time, base + pos)) {
      sum.stopped = true;
      break;
    }
    pos += e.nibbles;
  }
  sum.last_time = time;
  sum.packets += packets;
  sum.unknown_codes += unknown;
}

// CDNA: the same in steps of whole words. Time is relative to the first absolute TIMESTAMP.
struct CdnaClock {
  bool anchored = false;
  uint64_t offset = 0;
};
template <typename Visitor>
inline void DecodeWords(const uint8_t* p, uint64_t& pos, uint64_t stop, uint64_t base,
                        const DecodeTable& table, DecodeSummary& sum, CdnaClock& clock,
                        Visitor& visit) {
  uint64_t time = sum.last_time, packets = 0;
  while (pos < stop) {
    const uint64_t window = Load64(p + (pos >> 1));
    const DecodeEntry& e = table[window & 0xff];
    time += window >> e.delta_shift & e.delta_mask;
    if (e.type == PacketType::kCdnaTimestamp && (window >> 4 & 0xfff) == 0) [[unlikely]] {
      const uint64_t t = window >> 16;
      if (clock.anchored) {
        // Steps of MISC count from 4 clocks before an anchor.
        time = ((t - clock.offset) & ~uint64_t{3}) - 4;
      } else {
        clock = {true, t - time};
      }
    }
    ++packets;
    if (!Visit(visit, e.type, window & e.raw_mask, time, base + pos)) {
      sum.stopped = true;
      break;
    }
    pos += e.nibbles;
  }
  sum.last_time = time;
  sum.packets += packets;
}

}  // namespace internal

// Calls visit(PacketType, uint64_t raw, uint64_t time, uint64_t offset) for each packet, in order;
// the values are those of Packet. Fails as DetectLayout does.
template <typename Visitor>
absl::StatusOr<DecodeSummary> Decode(absl::Span<const uint8_t> bytes, Visitor&& visit) {
  absl::StatusOr<Layout> layout = DetectLayout(bytes);
  if (!layout.ok()) return layout.status();
  DecodeSummary sum;
  sum.layout = *layout;
  const internal::DecodeTable& table = internal::TableFor(*layout);
  internal::CdnaClock clock;
  auto run = [&](const uint8_t* p, uint64_t& pos, uint64_t stop, uint64_t base) {
    if (*layout == Layout::kCdna) {
      internal::DecodeWords(p, pos, stop, base, table, sum, clock, visit);
    } else {
      internal::DecodeNibbles(p, pos, stop, base, table, sum, visit);
    }
  };
  const uint64_t nibbles = uint64_t{bytes.size()} * 2;
  uint64_t pos = 0;
  // The last packets are read from a copy with zeros behind it, so that the loop need not look
  // where the bytes end.
  constexpr uint64_t kTail = 16;
  if (bytes.size() > kTail) run(bytes.data(), pos, nibbles - 2 * kTail, 0);
  if (sum.stopped) return sum;
  const uint64_t first = pos / 2;
  uint8_t tail[2 * kTail + 16] = {};
  std::memcpy(tail, bytes.data() + first, bytes.size() - first);
  uint64_t tail_pos = pos - 2 * first;
  const uint64_t length = nibbles - 2 * first;
  if (length >= 16) run(tail, tail_pos, length - 15, 2 * first);
  if (sum.stopped) return sum;
  // The last packet may be longer than the window.
  sum.tail_nibbles = length > tail_pos ? length - tail_pos : 0;
  return sum;
}

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_DECODE_H_
