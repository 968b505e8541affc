#include "tools/sqtt/encode.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/sqtt/decode.h"

namespace tg::sqtt {

Encoder::Encoder(Layout layout, int simd, int group) : layout_(layout) {
  const uint64_t code = Spec(PacketType::kLayoutHeader).code;
  if (layout == Layout::kCdna) {
    // What the driver puts before traces of gfx9, which have no header of their own.
    Write(code | 4 << 13 | 0xf << 16, 16);
    return;
  }
  const uint64_t number = layout == Layout::kRdna3 ? 3 : 4;
  Write(code | number << 7 | static_cast<uint64_t>(simd & 3) << 13 |
            static_cast<uint64_t>(group & 7) << 15 | uint64_t{6} << 28,
        16);
}

void Encoder::Write(uint64_t raw, int nibbles) {
  for (int i = 0; i < nibbles; ++i) {
    const uint8_t nibble = i < 16 ? raw >> (4 * i) & 0xf : 0;
    if (half_) {
      bytes_.back() |= nibble << 4;
    } else {
      bytes_.push_back(nibble);
    }
    half_ = !half_;
  }
}

absl::Status Encoder::Append(PacketType type, uint64_t raw) {
  const PacketSpec& spec = Spec(type);
  if (!spec.In(layout_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.name, " packets are not part of ", LayoutName(layout_), " traces"));
  }
  raw = (raw & ~Bits(~uint64_t{0}, spec.code_bits - 1, 0)) | spec.code;
  const internal::DecodeEntry& entry = internal::TableFor(layout_)[raw & 0xff];
  if (entry.type != type) {
    return absl::InvalidArgumentError(absl::StrCat("a ", spec.name, " packet with the bits 0x",
                                                   absl::Hex(raw), " reads as ",
                                                   PacketName(entry.type)));
  }
  raw &= entry.raw_mask;
  if ((raw >> entry.mark_shift & 3) != entry.mark_value) {
    time_ += (raw >> entry.delta_shift & entry.delta_mask) + entry.delta_add;
  }
  Write(raw, entry.nibbles);
  return absl::OkStatus();
}

absl::Status Encoder::Append(PacketType type,
                             std::initializer_list<std::pair<absl::string_view, uint64_t>> fields) {
  uint64_t raw = 0;
  for (const auto& [name, value] : fields) {
    const absl::Span<const Field> known = Spec(type).field_span();
    const auto f = std::find_if(known.begin(), known.end(),
                                [n = name](const Field& field) { return n == field.name; });
    if (f == known.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(PacketName(type), " packets have no field ", name));
    }
    if (Bits(value, f->hi - f->lo, 0) != value) {
      return absl::InvalidArgumentError(absl::StrCat(PacketName(type), ".", name, " has ",
                                                     f->hi - f->lo + 1, " bits: ", value,
                                                     " does not fit"));
    }
    raw |= value << f->lo;
  }
  return Append(type, raw);
}

void Encoder::Advance(uint64_t clocks) {
  auto append = [this](PacketType type, uint64_t delta) {
    Append(type, {{"delta", delta}}).IgnoreError();  // Fits by construction.
  };
  if (layout_ == Layout::kCdna) {
    for (rest_ += clocks; rest_ >= 4;) {
      const uint64_t steps = std::min<uint64_t>(rest_ / 4, 255);
      append(PacketType::kCdnaMisc, steps);
      rest_ -= 4 * steps;
    }
    return;
  }
  const bool rdna3 = layout_ == Layout::kRdna3;
  while (clocks > 0) {
    // The shortest packet that fits.
    if (clocks >= 4 && clocks < 20) {
      append(PacketType::kTsDeltaShort, clocks - 4);
      return;
    }
    const uint64_t step = std::min(clocks, uint64_t{1} << 35);
    append(rdna3 ? PacketType::kTsDeltaOrMark : PacketType::kTsDeltaOrMarkRdna4, step);
    clocks -= step;
  }
}

std::vector<uint8_t> Encoder::Finish() const {
  std::vector<uint8_t> bytes = bytes_;
  // All zeros is NOP, and MISC without a step.
  bytes.resize((bytes.size() + 8 + 31) / 32 * 32);
  return bytes;
}

}  // namespace tg::sqtt
