#include "base/bytes.h"

#include "absl/strings/str_cat.h"

namespace tg::base {

absl::StatusOr<absl::Span<const uint8_t>> ByteReader::ReadBytes(uint64_t size,
                                                                absl::string_view field) {
  if (absl::Status status = Need(size, field); !status.ok()) return status;
  const absl::Span<const uint8_t> result = bytes_.subspan(offset_, size);
  offset_ += size;
  return result;
}

absl::StatusOr<absl::string_view> ByteReader::ReadText(uint64_t size, absl::string_view field) {
  absl::StatusOr<absl::Span<const uint8_t>> bytes = ReadBytes(size, field);
  if (!bytes.ok()) return bytes.status();
  return absl::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

absl::Status ByteReader::Skip(uint64_t size, absl::string_view field) {
  return ReadBytes(size, field).status();
}

absl::Status ByteReader::Seek(uint64_t offset, absl::string_view field) {
  if (offset > bytes_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(source_, ": ", field, " at byte ", offset,
                                                   ": beyond the end at byte ", bytes_.size()));
  }
  offset_ = offset;
  return absl::OkStatus();
}

absl::Status ByteReader::Align(uint64_t alignment, absl::string_view field) {
  if (alignment == 0) return Invalid(field, "alignment is 0");
  const uint64_t over = offset_ % alignment;
  return over == 0 ? absl::OkStatus() : Skip(alignment - over, field);
}

absl::Status ByteReader::Invalid(absl::string_view field, absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(source_, ": ", field, " at byte ", offset_, ": ", what));
}

absl::Status ByteReader::TooShort(uint64_t size, absl::string_view field) const {
  return Invalid(field, absl::StrCat("needs ", size, size == 1 ? " byte, " : " bytes, ",
                                     remaining(), remaining() == 1 ? " is left" : " are left"));
}

}  // namespace tg::base
