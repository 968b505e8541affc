#ifndef TG_BASE_BYTES_H_
#define TG_BASE_BYTES_H_

// Reads binary formats without trusting them.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tg::base {

// A position in a block of bytes. Every read is checked; one that does not fit is an
// InvalidArgument error that names the source, the field and its offset, and leaves the position
// where it was:
//
//   model.safetensors: header size at byte 0: needs 8 bytes, 3 are left
//
// Refers to the bytes, which must live on. Not thread safe; copy it to read in two places.
class ByteReader {
 public:
  // `source` is the file's name or another text for error messages.
  ByteReader(absl::Span<const uint8_t> bytes, absl::string_view source)
      : bytes_(bytes), source_(source) {}

  // A little-endian integer or IEEE floating point number.
  template <typename T>
  absl::StatusOr<T> Read(absl::string_view field) {
    return ReadNumber<T>(field, std::endian::native != std::endian::little);
  }

  // A big-endian one.
  template <typename T>
  absl::StatusOr<T> ReadBigEndian(absl::string_view field) {
    return ReadNumber<T>(field, std::endian::native != std::endian::big);
  }

  // The next `size` bytes, in place.
  absl::StatusOr<absl::Span<const uint8_t>> ReadBytes(uint64_t size, absl::string_view field);
  absl::StatusOr<absl::string_view> ReadText(uint64_t size, absl::string_view field);

  absl::Status Skip(uint64_t size, absl::string_view field);
  // Up to and including the end is fine.
  absl::Status Seek(uint64_t offset, absl::string_view field);
  // To the next multiple of `alignment`, counted from the start of the bytes.
  absl::Status Align(uint64_t alignment, absl::string_view field);

  // An error in the same form about a value that was read and makes no sense.
  absl::Status Invalid(absl::string_view field, absl::string_view what) const;

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  bool done() const { return remaining() == 0; }
  const std::string& source() const { return source_; }

 private:
  absl::Status Need(uint64_t size, absl::string_view field) const {
    if (size <= remaining()) [[likely]]
      return absl::OkStatus();
    return TooShort(size, field);
  }
  absl::Status TooShort(uint64_t size, absl::string_view field) const;

  template <typename T>
  absl::StatusOr<T> ReadNumber(absl::string_view field, bool swap) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8);
    if (absl::Status status = Need(sizeof(T), field); !status.ok()) return status;
    uint8_t raw[sizeof(T)];
    std::memcpy(raw, bytes_.data() + offset_, sizeof(T));
    if (swap) {
      for (size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(raw[i], raw[sizeof(T) - 1 - i]);
    }
    T value;
    std::memcpy(&value, raw, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  absl::Span<const uint8_t> bytes_;
  std::string source_;
  uint64_t offset_ = 0;
};

}  // namespace tg::base

#endif  // TG_BASE_BYTES_H_
