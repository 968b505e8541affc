// What the tests of this folder make files with.
#ifndef TG_DATA_TEST_FILES_H_
#define TG_DATA_TEST_FILES_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "zlib.h"

namespace tg::data {

// `plain` as a gzip member.
inline std::vector<uint8_t> Gzip(absl::Span<const uint8_t> plain) {
  z_stream stream = {};
  // 15 bits of window, and 16 asks for gzip instead of zlib framing.
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::vector<uint8_t> packed(deflateBound(&stream, plain.size()));
  stream.next_in = const_cast<uint8_t*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline void WriteFile(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(out.flush().good()) << path;
}

}  // namespace tg::data

#endif  // TG_DATA_TEST_FILES_H_
