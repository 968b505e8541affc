#include "flash/ifwi.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"

namespace tg::flash {
namespace {

constexpr size_t kSignaturePointer = 0x1000;
constexpr size_t kIshA = 0x12000;
constexpr size_t kEntrySize = 0x10;

constexpr uint32_t kFirstSignature = 0x82, kLastSignature = 0x88;

// Items that are always in the same place.
constexpr IfwiItem kFixed[] = {
    {0x01, 0x000000, 0x54},  {0x04, 0x010000, 0x1000}, {0x05, 0x011000, 0x1000},
    {0x06, 0x012000, 0x20},  {0x07, 0x013000, 0x20},   {0x80, 0x001000, 4},
    {0x89, 0x1f0000, 0x100},
};

constexpr uint32_t kItems[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x80,
                               0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89};

bool HasCookie(absl::Span<const uint8_t> image, size_t at, absl::string_view cookie) {
  return at <= image.size() && image.size() - at >= cookie.size() &&
         std::memcmp(image.data() + at, cookie.data(), cookie.size()) == 0;
}

absl::StatusOr<uint32_t> ReadU32(absl::Span<const uint8_t> image, uint64_t at,
                                 absl::string_view field) {
  base::ByteReader reader(image, "IFWI");
  if (absl::Status s = reader.Seek(at, field); !s.ok()) return s;
  return reader.Read<uint32_t>(field);
}

absl::StatusOr<IfwiItem> Bounded(absl::Span<const uint8_t> image, uint32_t item, uint64_t offset,
                                 uint64_t size) {
  if (offset > image.size() || size > image.size() - offset) {
    return absl::InvalidArgumentError(absl::StrFormat("item 0x%x extends beyond IFWI", item));
  }
  return IfwiItem{item, static_cast<size_t>(offset), static_cast<size_t>(size)};
}

// A directory or table is its header and as many entries as it says.
absl::StatusOr<IfwiItem> Table(absl::Span<const uint8_t> image, uint32_t item, size_t offset) {
  const absl::StatusOr<uint32_t> count = ReadU32(image, uint64_t{offset} + 8, "entry count");
  if (!count.ok()) return count.status();
  return Bounded(image, item, offset, (uint64_t{*count} + 1) * kEntrySize);
}

absl::StatusOr<size_t> SignatureTable(absl::Span<const uint8_t> image) {
  const absl::StatusOr<uint32_t> offset = ReadU32(image, kSignaturePointer, "$SGN pointer");
  if (!offset.ok()) return offset.status();
  if (!HasCookie(image, *offset, "$SGN")) {
    return absl::InvalidArgumentError("invalid $SGN table pointer");
  }
  return *offset;
}

absl::StatusOr<IfwiItem> Signature(absl::Span<const uint8_t> image, uint32_t item) {
  const absl::StatusOr<size_t> at = SignatureTable(image);
  if (!at.ok()) return at.status();
  const absl::StatusOr<IfwiItem> table = Table(image, item, *at);
  if (!table.ok()) return table.status();
  const uint32_t wanted = item - 0x81;
  std::optional<IfwiItem> found;
  bool twice = false;
  for (size_t entry = kEntrySize; entry < table->size; entry += kEntrySize) {
    base::ByteReader reader(image.subspan(table->offset + entry, kEntrySize), "IFWI");
    // The entry is inside of the table, which is inside of the image.
    const uint32_t type = *reader.Read<uint32_t>("type");
    (void)*reader.Read<uint32_t>("reserved");
    const uint32_t size = *reader.Read<uint32_t>("size");
    const uint32_t offset = *reader.Read<uint32_t>("offset");
    if (type != wanted) continue;
    twice = found.has_value();
    if (twice) break;
    found = IfwiItem{item, offset, size};
  }
  // Two are as bad as none: which one is meant?
  if (!found.has_value() || twice) {
    return absl::InvalidArgumentError(absl::StrFormat("missing $SGN type %d", wanted));
  }
  return Bounded(image, item, found->offset, found->size);
}

}  // namespace

absl::Span<const uint32_t> IfwiItems() { return kItems; }

absl::StatusOr<IfwiItem> ResolveIfwiItem(absl::Span<const uint8_t> image, uint32_t item) {
  for (const IfwiItem& fixed : kFixed) {
    if (fixed.item == item) return Bounded(image, item, fixed.offset, fixed.size);
  }
  if (item == 0x02 || item == 0x03) {
    const size_t offset = item == 0x02 ? 0x2000 : 0x3000;
    if (!HasCookie(image, offset, "$PSP")) {
      return absl::InvalidArgumentError(absl::StrFormat("invalid PSP directory at 0x%x", offset));
    }
    return Table(image, item, offset);
  }
  if (item == 0x08) {
    // The payload that the first ISH descriptor points to.
    const absl::StatusOr<uint32_t> offset = ReadU32(image, kIshA + 0x10, "ISH payload offset");
    if (!offset.ok()) return offset.status();
    const absl::StatusOr<uint32_t> size = ReadU32(image, kIshA + 0x18, "ISH payload size");
    if (!size.ok()) return size.status();
    return Bounded(image, item, *offset, *size);
  }
  if (item == 0x81) {
    const absl::StatusOr<size_t> offset = SignatureTable(image);
    if (!offset.ok()) return offset.status();
    return Table(image, item, *offset);
  }
  if (item >= kFirstSignature && item <= kLastSignature) return Signature(image, item);
  return absl::InvalidArgumentError(
      absl::StrFormat("IFWI resolver does not yet support requested item 0x%x", item));
}

std::vector<std::string> IfwiProblems(absl::Span<const uint8_t> image) {
  std::vector<std::string> problems;
  if (image.size() != kIfwiSize) {
    problems.push_back(absl::StrFormat("size is 0x%x, not 0x%x", image.size(), kIfwiSize));
  }
  if (!image.empty() && (image[0] == 0x00 || image[0] == 0xff) &&
      std::all_of(image.begin(), image.end(), [&](uint8_t b) { return b == image[0]; })) {
    problems.push_back(image[0] == 0 ? "all bytes are zero" : "all bytes are ones: it is blank");
    return problems;
  }
  if (!HasCookie(image, 0, "\xaa\x55\xaa\x55")) {
    problems.push_back("does not begin with aa 55 aa 55");
  }
  for (uint32_t item : kItems) {
    const absl::StatusOr<IfwiItem> resolved = ResolveIfwiItem(image, item);
    if (!resolved.ok()) problems.push_back(std::string(resolved.status().message()));
  }
  // Several items fail for one reason.
  problems.erase(std::unique(problems.begin(), problems.end()), problems.end());
  return problems;
}

}  // namespace tg::flash
