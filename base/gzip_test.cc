#include "base/gzip.h"

#include <random>
#include <string>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "zlib.h"

namespace tg::base {
namespace {

using ::testing::HasSubstr;

// window_bits: 31 gzip, 15 zlib, -15 raw.
std::string Pack(absl::string_view text, int window_bits = 31) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = text.size();
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = out.size();
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

absl::StatusOr<std::string> Unpack(absl::string_view packed, int64_t cap = 1 << 24) {
  return Inflate(AsBytes(packed), cap, "x.gz");
}

std::string Text(size_t size) {
  std::mt19937 random(7);
  std::string text(size, ' ');
  for (char& c : text) c = "abcdefgh"[random() % 8];
  return text;
}

TEST(InflateTest, RoundTrip) {
  for (size_t size : {0, 1, 100, 16384, 16385, 1000000}) {
    for (int bits : {31, 15}) {
      const std::string text = Text(size);
      const auto unpacked = Unpack(Pack(text, bits));
      ASSERT_TRUE(unpacked.ok()) << unpacked.status();
      EXPECT_EQ(*unpacked, text) << size;
    }
  }
}

TEST(InflateTest, SeveralMembers) {
  EXPECT_EQ(Unpack(Pack("one ") + Pack("") + Pack("two")).value(), "one two");
}

TEST(InflateTest, CapIsExactAndStopsBombs) {
  const std::string packed = Pack(Text(5000));
  EXPECT_TRUE(Unpack(packed, 5000).ok());
  EXPECT_EQ(Unpack(packed, 4999).status().code(), absl::StatusCode::kResourceExhausted);
  const std::string bomb = Pack(std::string(50 << 20, '\0'));
  EXPECT_LT(bomb.size(), 100000u);
  EXPECT_EQ(Unpack(bomb, 1 << 20).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Unpack(Pack("x"), 0).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Unpack(Pack(""), 0).ok());
}

TEST(InflateTest, EveryTruncationIsAnError) {
  const std::string packed = Pack(Text(300));
  for (size_t size = 0; size < packed.size(); ++size) {
    const auto result = Unpack(absl::string_view(packed).substr(0, size));
    ASSERT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("x.gz: compressed data"));
  }
}

TEST(InflateTest, TrailingBytesAreAnError) {
  EXPECT_THAT(std::string(Unpack(Pack("a") + "zz").status().message()), HasSubstr("2 bytes of"));
  EXPECT_FALSE(Unpack(Pack("a", 15) + Pack("a")).ok());
}

TEST(InflateTest, FlippedBitsNeverChangeTheTextUnnoticed) {
  const std::string text = Text(2000);
  const std::string packed = Pack(text);
  std::mt19937 random(11);
  int rejected = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string flipped = packed;
    flipped[random() % flipped.size()] ^= 1 << (random() % 8);
    const auto result = Unpack(flipped);
    if (result.ok()) {
      EXPECT_EQ(*result, text);  // a field of the header that says nothing about the contents
    } else {
      ++rejected;
    }
  }
  EXPECT_GT(rejected, 1900);
}

TEST(InflateTest, RandomBytes) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (i % 2 && bytes.size() > 2) {
      bytes[0] = '\x1f';
      bytes[1] = '\x8b';
      bytes[2] = 8;
    }
    EXPECT_FALSE(Unpack(bytes, 1 << 16).ok());
  }
}

}  // namespace
}  // namespace tg::base
