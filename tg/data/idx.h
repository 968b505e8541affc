// IDX files: the array format of the MNIST digits and their relatives.
//
// Layout (http://yann.lecun.com/exdb/mnist, "the IDX file format"), all numbers big-endian:
//   byte 0, 1   zero
//   byte 2      element type: 08 u8, 09 i8, 0B i16, 0C i32, 0D f32, 0E f64
//   byte 3      number of dimensions, at least 1
//   u32 each    the dimensions, slowest first
//   the elements, row-major, up to the end of the file
//
// Files are foreign bytes: every field is checked before it is used, and errors name the file and
// the field. Memory stays below three times what the header declares, and the header is only
// believed up to the file's size (1032 times that for gzip: no deflate stream expands more).
#ifndef TG_DATA_IDX_H_
#define TG_DATA_IDX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/ir/dtype.h"

namespace tg::data {

// A dense row-major array in memory.
struct IdxArray {
  ir::DType dtype;             // u8, i8, i16, i32, f32 or f64
  std::vector<int64_t> shape;  // rank 1 to 255; a dimension may be 0
  std::vector<uint8_t>
      bytes;  // elements in host byte order; size is the product of shape times the element size
};

// Parses the content of an IDX file, plain or gzip (told by its first bytes, not by its name).
// `file` is only used in errors, all of which are InvalidArgument.
absl::StatusOr<IdxArray> ParseIdx(absl::Span<const uint8_t> content, absl::string_view file);

// Reads and parses the file at `path`. Errors of the file system keep their code (NotFound,
// PermissionDenied, ...).
absl::StatusOr<IdxArray> ReadIdxFile(const std::string& path);

// The plain IDX form of `array`, whose dtype, rank (1 to 255), dimensions (below 2^32) and size
// must fit the format.
absl::StatusOr<std::vector<uint8_t>> EncodeIdx(const IdxArray& array);

}  // namespace tg::data

#endif  // TG_DATA_IDX_H_
