#ifndef TG_BASE_GZIP_H_
#define TG_BASE_GZIP_H_

// Unpacks gzip and zlib data (RFC 1952, RFC 1950).

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tg::base {

// Whether the bytes start like a gzip file.
bool IsGzip(absl::Span<const uint8_t> bytes);

// The unpacked contents: one or several gzip members one after the other, or one zlib stream.
// Checksums are verified. InvalidArgument for data that is damaged, cut short or followed by
// something else; ResourceExhausted when it would unpack to more than `max_bytes`: no more than
// twice that is allocated meanwhile. `source` names the data in errors.
absl::StatusOr<std::string> Inflate(absl::Span<const uint8_t> bytes, int64_t max_bytes,
                                    absl::string_view source);

}  // namespace tg::base

#endif  // TG_BASE_GZIP_H_
