#include "tg/data/idx.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/gzip.h"
#include "zlib.h"

namespace tg::data {
namespace {

constexpr size_t kMagicBytes = 4;
constexpr size_t kDimBytes = 4;

struct TypeCode {
  uint8_t code;
  ir::ScalarType scalar;
};
constexpr TypeCode kTypeCodes[] = {
    {0x08, ir::ScalarType::kUInt8},   {0x09, ir::ScalarType::kInt8},
    {0x0B, ir::ScalarType::kInt16},   {0x0C, ir::ScalarType::kInt32},
    {0x0D, ir::ScalarType::kFloat32}, {0x0E, ir::ScalarType::kFloat64},
};

// What the first bytes of a file declare.
struct Header {
  ir::DType dtype;
  std::vector<int64_t> shape;
  uint64_t data_bytes = 0;
};

// Bytes of an array; nullopt when the product of the non-zero dimensions overflows, even if another
// dimension is zero, since strides are made of such products.
std::optional<uint64_t> SizeOf(ir::DType dtype, absl::Span<const int64_t> shape) {
  uint64_t bytes = static_cast<uint64_t>(dtype.bytes());
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes) ||
               bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return std::nullopt;
    }
  }
  return empty ? 0 : bytes;
}

template <typename... Args>
absl::Status Invalid(absl::string_view file, const Args&... why) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", why...));
}

// Checks the first four bytes and returns how long the whole header is.
absl::StatusOr<size_t> HeaderBytes(absl::Span<const uint8_t> magic, absl::string_view file) {
  if (magic.size() < kMagicBytes) {
    return Invalid(file, "magic: ", magic.size(), " bytes, an IDX file has at least 8",
                   magic.empty() ? " (an empty file)" : "");
  }
  if (magic[0] != 0 || magic[1] != 0) {
    return Invalid(file,
                   absl::StrFormat("magic: begins with bytes %02x %02x, not 00 00: no IDX file",
                                   magic[0], magic[1]));
  }
  if (magic[3] == 0) return Invalid(file, "number of dimensions: 0, at least 1 expected");
  return kMagicBytes + kDimBytes * magic[3];
}

// `bytes` is the whole header.
absl::StatusOr<Header> ParseHeader(absl::Span<const uint8_t> bytes, absl::string_view file) {
  Header header;
  for (const TypeCode& row : kTypeCodes) {
    if (row.code == bytes[2]) header.dtype = ir::DType(row.scalar);
  }
  if (header.dtype.IsVoid()) {
    return Invalid(file, absl::StrFormat("element type: unknown code 0x%02x", bytes[2]));
  }
  for (size_t at = kMagicBytes; at < bytes.size(); at += kDimBytes) {
    header.shape.push_back(int64_t{bytes[at]} << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 |
                           bytes[at + 3]);
  }
  const std::optional<uint64_t> size = SizeOf(header.dtype, header.shape);
  if (!size) {
    return Invalid(file, "dimensions: [", absl::StrJoin(header.shape, ", "), "] of ",
                   header.dtype.ToString(), ": the number of bytes overflows");
  }
  header.data_bytes = *size;
  return header;
}

// The first bytes, at most `most`, that a gzip file unpacks to; fewer when it is damaged or short,
// which base::Inflate reports.
std::vector<uint8_t> UnpackStart(absl::Span<const uint8_t> packed, size_t most) {
  std::vector<uint8_t> start(most);
  z_stream stream = {};
  // 15 bits of window, and 16 asks for gzip framing.
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return {};
  stream.next_in = const_cast<uint8_t*>(packed.data());
  stream.avail_in =
      static_cast<uInt>(std::min<size_t>(packed.size(), std::numeric_limits<uInt>::max()));
  stream.next_out = start.data();
  stream.avail_out = static_cast<uInt>(most);
  inflate(&stream, Z_SYNC_FLUSH);
  start.resize(stream.total_out);
  inflateEnd(&stream);
  return start;
}

// Turns big-endian elements of `size` bytes into host order and back.
void SwapElements(std::vector<uint8_t>& bytes, size_t size) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  if (size == 1) return;
  for (size_t i = 0; i + size <= bytes.size(); i += size) {
    std::reverse(bytes.begin() + i, bytes.begin() + i + size);
  }
}

absl::StatusOr<IdxArray> ParsePlain(absl::Span<const uint8_t> content, absl::string_view file) {
  absl::StatusOr<size_t> header_bytes = HeaderBytes(content, file);
  if (!header_bytes.ok()) return header_bytes.status();
  if (content.size() < *header_bytes) {
    return Invalid(file, "dimensions: ", int{content[3]}, " declared, the file ends within them");
  }
  absl::StatusOr<Header> header = ParseHeader(content.subspan(0, *header_bytes), file);
  if (!header.ok()) return header.status();
  const absl::Span<const uint8_t> data = content.subspan(*header_bytes);
  if (data.size() != header->data_bytes) {
    return Invalid(file, "elements: [", absl::StrJoin(header->shape, ", "), "] of ",
                   header->dtype.ToString(), " is ", header->data_bytes, " bytes, the file has ",
                   data.size(), data.size() < header->data_bytes ? " (truncated?)" : "");
  }
  IdxArray array{header->dtype, std::move(header->shape), {data.begin(), data.end()}};
  SwapElements(array.bytes, static_cast<size_t>(array.dtype.bytes()));
  return array;
}

// Unpacks no more than the header declares.
absl::StatusOr<IdxArray> ParseGzip(absl::Span<const uint8_t> content, absl::string_view file) {
  constexpr size_t kLongestHeader = kMagicBytes + kDimBytes * 255;
  const std::vector<uint8_t> start = UnpackStart(content, kLongestHeader);
  uint64_t allowed = kLongestHeader;
  absl::StatusOr<size_t> header_bytes = HeaderBytes(start, file);
  if (start.size() >= kMagicBytes && !header_bytes.ok()) return header_bytes.status();
  if (header_bytes.ok() && start.size() >= *header_bytes) {
    absl::StatusOr<Header> header =
        ParseHeader(absl::MakeConstSpan(start).subspan(0, *header_bytes), file);
    if (!header.ok()) return header.status();
    // 258 bytes in two bits is the densest that deflate can be: 1032 to 1.
    if (header->data_bytes / 1032 > content.size()) {
      return Invalid(file, "elements: [", absl::StrJoin(header->shape, ", "), "] of ",
                     header->dtype.ToString(), " is ", header->data_bytes, " bytes, which ",
                     content.size(), " compressed bytes cannot hold");
    }
    allowed = *header_bytes + header->data_bytes;
  }
  absl::StatusOr<std::string> plain = base::Inflate(content, static_cast<int64_t>(allowed), file);
  if (absl::IsResourceExhausted(plain.status())) {
    return Invalid(file, "elements: the file unpacks to more bytes than the header declares (",
                   allowed, " with it)");
  }
  if (!plain.ok()) return plain.status();
  return ParsePlain(base::AsBytes(*plain), file);
}

}  // namespace

absl::StatusOr<IdxArray> ParseIdx(absl::Span<const uint8_t> content, absl::string_view file) {
  return base::IsGzip(content) ? ParseGzip(content, file) : ParsePlain(content, file);
}

absl::StatusOr<IdxArray> ReadIdxFile(const std::string& path) {
  absl::StatusOr<base::MappedFile> map = base::MappedFile::Open(path);
  if (!map.ok()) return map.status();
  return ParseIdx(map->bytes(), path);
}

absl::StatusOr<std::vector<uint8_t>> EncodeIdx(const IdxArray& array) {
  uint8_t code = 0;
  for (const TypeCode& row : kTypeCodes) {
    if (array.dtype == ir::DType(row.scalar)) code = row.code;
  }
  auto fail = [&](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "IDX of ", array.dtype.ToString(), " [", absl::StrJoin(array.shape, ", "), "]: ", why...));
  };
  if (code == 0) return fail("the format has no such element type");
  if (array.shape.empty() || array.shape.size() > 255) return fail("the rank must be 1 to 255");
  for (int64_t dim : array.shape) {
    if (dim < 0 || dim > std::numeric_limits<uint32_t>::max()) {
      return fail("a dimension must be 0 to 2^32 - 1");
    }
  }
  const std::optional<uint64_t> size = SizeOf(array.dtype, array.shape);
  if (!size || *size != array.bytes.size()) return fail(array.bytes.size(), " bytes given");

  std::vector<uint8_t> elements = array.bytes;
  SwapElements(elements, static_cast<size_t>(array.dtype.bytes()));
  std::vector<uint8_t> out = {0, 0, code, static_cast<uint8_t>(array.shape.size())};
  for (int64_t dim : array.shape) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(dim >> shift));
  }
  out.insert(out.end(), elements.begin(), elements.end());
  return out;
}

}  // namespace tg::data
