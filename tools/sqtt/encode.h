// Writes traces: for tests, and for simulators that show what their waves did.
#ifndef TG_TOOLS_SQTT_ENCODE_H_
#define TG_TOOLS_SQTT_ENCODE_H_

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tools/sqtt/packet.h"

namespace tg::sqtt {

// A trace in the making. Begins with the layout's LAYOUT_HEADER. Decoding what Finish gives yields
// the packets that were appended, then padding (NOP; MISC without a step in CDNA). Not thread safe.
class Encoder {
 public:
  // `simd` and `group` are those of the header: what is traced in detail.
  explicit Encoder(Layout layout, int simd = 0, int group = 0);

  // A packet with these bits; its code is filled in and bits beyond its length are dropped.
  // InvalidArgument for kinds that the layout does not have and for bits that read as another kind;
  // then nothing is appended.
  absl::Status Append(PacketType type, uint64_t raw);

  // A packet by its fields, the others are 0. InvalidArgument also for unknown fields and values
  // that do not fit.
  absl::Status Append(PacketType type,
                      std::initializer_list<std::pair<absl::string_view, uint64_t>> fields);

  // Lets time pass with the packets that hardware uses for it. CDNA counts in steps of 4 clocks:
  // the rest is kept for the next call.
  void Advance(uint64_t clocks);

  // Shader clocks so far, as a decoder counts them from the deltas.
  uint64_t time() const { return time_; }
  Layout layout() const { return layout_; }

  // The bytes, padded to multiples of 32 with at least a window of 64 bits behind the last packet.
  std::vector<uint8_t> Finish() const;

 private:
  void Write(uint64_t raw, int nibbles);

  const Layout layout_;
  std::vector<uint8_t> bytes_;
  bool half_ = false;  // The last byte's upper nibble is free.
  uint64_t time_ = 0;
  uint64_t rest_ = 0;
};

}  // namespace tg::sqtt

#endif  // TG_TOOLS_SQTT_ENCODE_H_
