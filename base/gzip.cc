#include "base/gzip.h"

#include <algorithm>
#include <limits>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "zlib.h"

namespace tg::base {

bool IsGzip(absl::Span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

absl::StatusOr<std::string> Inflate(absl::Span<const uint8_t> bytes, int64_t max_bytes,
                                    absl::string_view source) {
  z_stream stream = {};
  // 15 bits of window; 32 more: gzip or zlib, by the header.
  if (inflateInit2(&stream, 15 + 32) != Z_OK) {
    return absl::ResourceExhaustedError(absl::StrCat(source, ": no memory to unpack"));
  }
  const absl::Cleanup end = [&stream] { inflateEnd(&stream); };
  const auto damaged = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": compressed data at byte ",
                                                   stream.next_in - bytes.data(), ": ", what));
  };

  const bool gzip = IsGzip(bytes);
  const size_t cap = static_cast<size_t>(std::max<int64_t>(max_bytes, 0));
  constexpr size_t kMost = std::numeric_limits<uInt>::max();
  std::string out;
  size_t size = 0;
  stream.next_in = const_cast<Bytef*>(bytes.data());
  const uint8_t* const last = bytes.data() + bytes.size();
  while (true) {
    if (size == out.size()) {
      // One byte more than the cap tells "exactly as much" from "too much".
      out.resize(std::min(std::max<size_t>(out.size() * 2, 16384), cap + 1));
    }
    stream.avail_in = static_cast<uInt>(std::min<size_t>(last - stream.next_in, kMost));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + size);
    stream.avail_out = static_cast<uInt>(std::min(out.size() - size, kMost));
    const int result = inflate(&stream, Z_NO_FLUSH);
    size = reinterpret_cast<char*>(stream.next_out) - out.data();
    if (size > cap) {
      return absl::ResourceExhaustedError(
          absl::StrCat(source, ": unpacks to more than the ", max_bytes, " bytes allowed"));
    }
    if (result == Z_STREAM_END) {
      if (stream.next_in == last) {
        out.resize(size);
        return out;
      }
      if (!gzip || !IsGzip({stream.next_in, static_cast<size_t>(last - stream.next_in)})) {
        return damaged(absl::StrCat(last - stream.next_in, " bytes of something else follow"));
      }
      inflateReset(&stream);
      continue;
    }
    if (result == Z_BUF_ERROR ||
        (result == Z_OK && stream.next_in == last && stream.avail_out > 0)) {
      if (stream.next_in == last && stream.avail_out > 0) return damaged("ends too early");
      continue;
    }
    if (result == Z_NEED_DICT) return damaged("needs a dictionary");
    if (result == Z_MEM_ERROR) {
      return absl::ResourceExhaustedError(absl::StrCat(source, ": no memory to unpack"));
    }
    if (result != Z_OK) return damaged(stream.msg != nullptr ? stream.msg : "not valid");
  }
}

}  // namespace tg::base
