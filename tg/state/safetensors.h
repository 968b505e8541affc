// The safetensors file format: reading with full validation, and writing. Independent of tensors.
//
// Layout (https://huggingface.co/docs/safetensors, "Format"):
//   u64 little-endian N   length of the header, at most 100 MB
//   N bytes               UTF-8 JSON, begins with '{', may end in spaces:
//     {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
//      "__metadata__": {"key": "value", ...}}
//   the data              offsets count from here; the tensors cover it exactly, without holes or
//                         overlaps
//
// Files are foreign bytes. A file is accepted only when all of this holds, so that a reader of the
// entries needs no checks of its own; errors (InvalidArgument) name the file, the tensor and the
// field. Memory taken while parsing stays below 40 times the header's size (a header of nothing but
// empty metadata needs 32).
//
// Fields of a tensor that this version does not know are ignored, as the format's own reader does.
//
// Nothing is promised about alignment: the data may start at any byte and an f64 may lie at
// offset 1. Everything here hands out bytes; copy them (memcpy) to read elements.
#ifndef TG_STATE_SAFETENSORS_H_
#define TG_STATE_SAFETENSORS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file.h"
#include "codegen/ir/dtype.h"

namespace tg::state {

// The format's own limit on the header's length.
inline constexpr uint64_t kSafetensorsMaxHeaderBytes = 100'000'000;

// The format's name of a dtype ("F32", "BF16", "F8_E4M3", ...), empty when it has none (weak
// dtypes, vectors, pointers, the fp8 kinds without negative zero).
absl::string_view SafetensorsName(const ir::DType& dtype);

// Bytes of a tensor: the product of the dimensions times the element size. nullopt when a dimension
// is negative or the product of the non-zero ones passes 2^63, even if another is zero, since
// strides are made of such products.
std::optional<uint64_t> SafetensorsSize(const ir::DType& dtype, absl::Span<const int64_t> shape);

// One tensor of a file.
struct SafetensorsEntry {
  std::string name;
  ir::DType dtype;
  std::vector<int64_t> shape;  // empty: a scalar; dimensions may be 0
  uint64_t offset = 0;         // bytes from the start of the data
  uint64_t size = 0;           // bytes: product of shape times the element size
};

using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

// A parsed header.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // in the header's order; names are unique
  SafetensorsMetadata metadata;           // in the header's order; keys are unique
  uint64_t data_start = 0;                // bytes from the start of the file

  // The tensor of that name, or null. Linear in the number of tensors.
  const SafetensorsEntry* Find(absl::string_view name) const;
};

// Parses and validates a whole file's content. Only the header is copied; `file` is used in errors.
absl::StatusOr<SafetensorsHeader> ParseSafetensors(absl::Span<const uint8_t> content,
                                                   absl::string_view file);

// A file mapped into memory, read-only. Movable; bytes stay valid as long as it lives. Safe to read
// from several threads. A file that another program shortens while it is mapped ends this one with
// SIGBUS, as with every mapping.
class SafetensorsFile {
 public:
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const SafetensorsHeader& header() const { return header_; }
  const std::string& path() const { return path_; }

  // The bytes of one of this file's tensors, little-endian elements, row-major, at no particular
  // alignment.
  absl::Span<const uint8_t> Bytes(const SafetensorsEntry& entry) const;

 private:
  SafetensorsFile(std::string path, base::MappedFile map, SafetensorsHeader header)
      : path_(std::move(path)), map_(std::move(map)), header_(std::move(header)) {}

  std::string path_;
  base::MappedFile map_;
  SafetensorsHeader header_;
};

// A tensor to write. Does not own the bytes: little-endian elements, row-major.
struct SafetensorsTensor {
  std::string name;
  ir::DType dtype;
  std::vector<int64_t> shape;
  absl::Span<const uint8_t> bytes;
};

// Writes a file with `tensors`, listed in the header in the given order. The header is padded with
// spaces to a multiple of 8 bytes, and the data is laid out by descending element size (order kept
// among equals), so that every element is aligned to its size.
//
// The file appears whole or not at all (see base::WriteFileAtomically). InvalidArgument: a dtype
// without a name in the format, a duplicate or invalid name, bytes that disagree with the shape, a
// header over the limit; no file is touched then.
absl::Status WriteSafetensors(const std::string& path, absl::Span<const SafetensorsTensor> tensors,
                              const SafetensorsMetadata& metadata = {});

}  // namespace tg::state

#endif  // TG_STATE_SAFETENSORS_H_
