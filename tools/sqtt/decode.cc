#include "tools/sqtt/decode.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tg::sqtt {
namespace internal {
namespace {

const Field* FindField(const PacketSpec& spec, absl::string_view name) {
  for (const Field& f : spec.field_span()) {
    if (name == f.name) return &f;
  }
  return nullptr;
}

DecodeEntry MakeEntry(const PacketSpec& spec) {
  DecodeEntry e{};
  e.raw_mask = spec.bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << spec.bits) - 1;
  e.type = spec.type;
  e.nibbles = static_cast<uint8_t>(spec.nibbles());
  e.mark_value = 0xff;
  if (const Field* delta = FindField(spec, "delta"); delta != nullptr) {
    e.delta_shift = delta->lo;
    e.delta_mask = Bits(~uint64_t{0}, delta->hi - delta->lo, 0);
  }
  switch (spec.type) {
    case PacketType::kTsDeltaShort:  // Shorter steps fit the packets themselves.
      e.delta_add = 4;
      break;
    case PacketType::kTsDeltaOrMark:
      e.mark_shift = 8;
      e.mark_value = 2;
      break;
    case PacketType::kTsDeltaOrMarkRdna4:
      e.mark_shift = 7;
      e.mark_value = 1;
      break;
    case PacketType::kCdnaMisc:  // Counts in units of 4 clocks.
      e.delta_shift -= 2;
      e.delta_mask <<= 2;
      break;
    default:
      break;
  }
  return e;
}

DecodeTable MakeTable(Layout layout) {
  DecodeTable table;
  for (int low = 0; low < 256; ++low) {
    const PacketSpec* best = nullptr;
    for (const PacketSpec& spec : PacketSpecs()) {
      if (!spec.In(layout) || (low & ((1 << spec.code_bits) - 1)) != spec.code) continue;
      if (best == nullptr || spec.code_bits > best->code_bits) best = &spec;
    }
    table[low] = MakeEntry(best != nullptr ? *best : Spec(PacketType::kNop));
    table[low].unknown = best == nullptr;
  }
  return table;
}

}  // namespace

const DecodeTable& TableFor(Layout layout) {
  static const DecodeTable tables[kNumLayouts] = {
      MakeTable(Layout::kRdna3), MakeTable(Layout::kRdna4), MakeTable(Layout::kCdna)};
  return tables[static_cast<int>(layout)];
}

}  // namespace internal

absl::StatusOr<Layout> DetectLayout(absl::Span<const uint8_t> bytes) {
  if (bytes.size() < 8) {
    return absl::DataLossError(
        absl::StrCat("no thread trace: ", bytes.size(), " bytes, a trace has at least 8"));
  }
  const uint64_t first = internal::Load64(bytes.data());
  const PacketSpec& header = Spec(PacketType::kLayoutHeader);
  if (Bits(first, header.code_bits - 1, 0) != header.code) {
    return absl::DataLossError(absl::StrCat("no thread trace: it begins with 0x",
                                            absl::Hex(first, absl::kZeroPad16),
                                            ", which is no LAYOUT_HEADER packet (low bits 0x11)"));
  }
  switch (Bits(first, 12, 7)) {
    case 3:
      return Layout::kRdna3;
    case 4:
      return Layout::kRdna4;
    case 0:  // The driver puts a header of this form before traces of gfx9.
      return Layout::kCdna;
    default:
      return absl::DataLossError(absl::StrCat("no thread trace that is known: its layout is ",
                                              Bits(first, 12, 7),
                                              "; 3 (RDNA 3), 4 (RDNA 4) and 0 (CDNA) are"));
  }
}

}  // namespace tg::sqtt
