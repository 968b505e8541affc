#include "tg/data/idx.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tg/data/test_files.h"

namespace tg::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

absl::StatusOr<IdxArray> Parse(const Bytes& content) { return ParseIdx(content, "digits.idx"); }

template <typename T>
std::vector<T> Elements(const IdxArray& array) {
  std::vector<T> values(array.bytes.size() / sizeof(T));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

TEST(Idx, ReadsEveryElementTypeInHostOrder) {
  auto u8 = Parse({0, 0, 0x08, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 255});
  ASSERT_TRUE(u8.ok()) << u8.status();
  EXPECT_EQ(u8->dtype, ir::kUInt8);
  EXPECT_THAT(u8->shape, ElementsAre(1, 3));
  EXPECT_THAT(u8->bytes, ElementsAre(1, 2, 255));

  auto i8 = Parse({0, 0, 0x09, 1, 0, 0, 0, 2, 0x7f, 0x80});
  ASSERT_TRUE(i8.ok()) << i8.status();
  EXPECT_THAT(Elements<int8_t>(*i8), ElementsAre(127, -128));

  auto i16 = Parse({0, 0, 0x0B, 1, 0, 0, 0, 2, 0x01, 0x02, 0xff, 0xfe});
  ASSERT_TRUE(i16.ok()) << i16.status();
  EXPECT_EQ(i16->dtype, ir::kInt16);
  EXPECT_THAT(Elements<int16_t>(*i16), ElementsAre(0x0102, -2));

  auto i32 = Parse({0, 0, 0x0C, 1, 0, 0, 0, 1, 0x01, 0x02, 0x03, 0x04});
  ASSERT_TRUE(i32.ok()) << i32.status();
  EXPECT_THAT(Elements<int32_t>(*i32), ElementsAre(0x01020304));

  auto f32 = Parse({0, 0, 0x0D, 1, 0, 0, 0, 1, 0xc0, 0x20, 0, 0});
  ASSERT_TRUE(f32.ok()) << f32.status();
  EXPECT_THAT(Elements<float>(*f32), ElementsAre(-2.5f));

  auto f64 = Parse({0, 0, 0x0E, 1, 0, 0, 0, 1, 0xc0, 0x04, 0, 0, 0, 0, 0, 0});
  ASSERT_TRUE(f64.ok()) << f64.status();
  EXPECT_THAT(Elements<double>(*f64), ElementsAre(-2.5));
}

TEST(Idx, AcceptsEmptyArrays) {
  auto array = Parse({0, 0, 0x0D, 2, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff});
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape, ElementsAre(0, 4294967295));
  EXPECT_TRUE(array->bytes.empty());
}

// A header of `count` dimensions of 2^32 - 1.
Bytes Huge(uint8_t type, uint8_t count) {
  Bytes bytes = {0, 0, type, count};
  bytes.resize(4 + 4 * size_t{count}, 0xff);
  return bytes;
}

TEST(Idx, RejectsPlainAndCompressed) {
  struct Case {
    const char* name;
    Bytes content;
    const char* error;
  };
  Bytes zero_beside_overflow = Huge(8, 3);
  zero_beside_overflow[3] = 4;
  zero_beside_overflow.resize(20, 0);
  const Case kCases[] = {
      {"empty", {}, "magic: 0 bytes"},
      {"three bytes", {0, 0, 8}, "magic: 3 bytes"},
      {"text", {'<', 'h', 't', 'm', 'l', '>'}, "magic: begins with bytes 3c 68"},
      {"little-endian magic", {3, 8, 0, 0, 0, 0, 0, 0}, "magic: begins with bytes 03 08"},
      {"no dimensions", {0, 0, 8, 0, 1}, "number of dimensions: 0"},
      {"type 0", {0, 0, 0, 1, 0, 0, 0, 1, 1}, "element type: unknown code 0x00"},
      {"type 0A", {0, 0, 0x0A, 1, 0, 0, 0, 1, 1}, "element type: unknown code 0x0a"},
      {"type 0F", {0, 0, 0x0F, 1, 0, 0, 0, 1, 1}, "element type: unknown code 0x0f"},
      {"ends in the dimensions",
       {0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0},
       "dimensions: 2 declared, the file ends"},
      {"255 dimensions, none there", {0, 0, 8, 255}, "dimensions: 255 declared, the file ends"},
      {"too few elements", {0, 0, 8, 1, 0, 0, 0, 3, 1, 2}, "is 3 bytes, the file has 2"},
      {"no elements", {0, 0, 8, 1, 0, 0, 0, 3}, "is 3 bytes, the file has 0"},
      {"too many elements", {0, 0, 8, 1, 0, 0, 0, 1, 1, 2}, "is 1 bytes, the file has 2"},
      {"half an element", {0, 0, 0x0B, 1, 0, 0, 0, 1, 1}, "is 2 bytes, the file has 1"},
      {"elements of an empty array", {0, 0, 8, 1, 0, 0, 0, 0, 1}, "is 0 bytes, the file has 1"},
      {"4 GiB promised", Huge(8, 1), "is 4294967295 bytes"},
      {"size wraps", Huge(8, 2), "overflows"},
      {"size times element size wraps", Huge(0x0E, 2), "overflows"},
      {"many dimensions", Huge(8, 255), "overflows"},
      {"overflow beside a zero", zero_beside_overflow, "overflows"},
  };
  for (const Case& c : kCases) {
    const absl::Status plain = Parse(c.content).status();
    EXPECT_EQ(plain.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_THAT(std::string(plain.message()), HasSubstr(c.error)) << c.name;
    EXPECT_THAT(std::string(plain.message()), HasSubstr("digits.idx: ")) << c.name;
    // Compressed, the same file fails too; texts may differ, as sizes are not known before the end.
    const absl::Status packed = Parse(Gzip(c.content)).status();
    EXPECT_EQ(packed.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_THAT(std::string(packed.message()), HasSubstr("digits.idx: ")) << c.name;
  }
}

TEST(Idx, ReadsGzip) {
  Bytes plain = {0, 0, 0x0B, 2, 0, 0, 1, 0, 0, 0, 2, 0};
  for (uint32_t i = 0; i < 2 * 256 * 512; ++i) plain.push_back(static_cast<uint8_t>(i * i >> 7));
  auto expected = Parse(plain);
  auto array = Parse(Gzip(plain));
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->dtype, expected->dtype);
  EXPECT_EQ(array->shape, expected->shape);
  EXPECT_EQ(array->bytes, expected->bytes);
}

TEST(Idx, GzipIsWholeOrRejected) {
  Bytes plain = {0, 0, 8, 1, 0, 0, 4, 0};
  std::mt19937 random(3);
  for (int i = 0; i < 1024; ++i) plain.push_back(static_cast<uint8_t>(random()));
  const Bytes packed = Gzip(plain);
  ASSERT_TRUE(Parse(packed).ok());
  for (size_t n = 0; n < packed.size(); n += 1 + n / 64) {
    EXPECT_FALSE(Parse(Bytes(packed.begin(), packed.begin() + n)).ok()) << n;
  }
  EXPECT_FALSE(Parse(Bytes(packed.begin(), packed.end() - 1)).ok());
  Bytes bad_checksum = packed;
  bad_checksum[packed.size() - 8] ^= 1;
  EXPECT_FALSE(Parse(bad_checksum).ok());
}

// 64 MiB of zeros in 64 KiB, behind a header that declares three bytes: an error after three bytes.
TEST(Idx, GzipBombs) {
  Bytes bomb = {0, 0, 8, 1, 0, 0, 0, 3};
  bomb.resize(64 << 20);
  const Bytes packed = Gzip(bomb);
  ASSERT_LT(packed.size(), 100u << 10);
  EXPECT_THAT(std::string(Parse(packed).status().message()), HasSubstr("more bytes than"));
  // A header that declares what no stream of that length can hold fails before anything is
  // allocated for it.
  EXPECT_THAT(std::string(Parse(Gzip(Huge(8, 1))).status().message()), HasSubstr("cannot hold"));
}

TEST(Idx, RejectsEveryTruncation) {
  const Bytes good = {0, 0, 0x0C, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(Parse(good).ok());
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(Parse(Bytes(good.begin(), good.begin() + n)).ok()) << n;
  }
}

TEST(Idx, SurvivesDamage) {
  const Bytes plain = {0, 0, 0x0B, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8};
  std::mt19937 random(11);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes bad = i % 2 == 0 ? plain : Gzip(plain);
    for (uint32_t k = random() % 3; k < 3; ++k) {
      bad[random() % bad.size()] = static_cast<uint8_t>(random());
      if (random() % 8 == 0) bad.resize(1 + random() % bad.size());
    }
    auto array = Parse(bad);
    if (!array.ok()) continue;
    ++accepted;
    uint64_t size = static_cast<uint64_t>(array->dtype.bytes());
    for (int64_t d : array->shape) size *= static_cast<uint64_t>(d);
    EXPECT_EQ(array->bytes.size(), size);
  }
  EXPECT_GT(accepted, 0);
}

TEST(Idx, EncodesWhatItReads) {
  for (ir::DType dtype :
       {ir::kUInt8, ir::kInt8, ir::kInt16, ir::kInt32, ir::kFloat32, ir::kFloat64}) {
    IdxArray array{dtype, {2, 3}, {}};
    for (int i = 0; i < 6 * dtype.bytes(); ++i) array.bytes.push_back(static_cast<uint8_t>(17 * i));
    auto encoded = EncodeIdx(array);
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    auto back = Parse(*encoded);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->dtype, array.dtype);
    EXPECT_EQ(back->shape, array.shape);
    EXPECT_EQ(back->bytes, array.bytes);
  }
  EXPECT_FALSE(EncodeIdx({ir::kUInt16, {1}, {0, 0}}).ok());
  EXPECT_FALSE(EncodeIdx({ir::kUInt8, {}, {0}}).ok());
  EXPECT_FALSE(EncodeIdx({ir::kUInt8, {2}, {0}}).ok());
  EXPECT_FALSE(EncodeIdx({ir::kUInt8, {-1}, {}}).ok());
  EXPECT_FALSE(EncodeIdx({ir::kUInt8, {0, int64_t{1} << 32}, {}}).ok());
  EXPECT_FALSE(EncodeIdx({ir::kUInt8, std::vector<int64_t>(256, 1), {0}}).ok());
}

TEST(Idx, ReadsFiles) {
  const std::string path = ::testing::TempDir() + "/array";
  WriteFile(path, {0, 0, 8, 1, 0, 0, 0, 2, 5, 6});
  auto array = ReadIdxFile(path);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->bytes, ElementsAre(5, 6));
  WriteFile(path, {});
  EXPECT_THAT(std::string(ReadIdxFile(path).status().message()),
              HasSubstr(path + ": magic: 0 bytes"));
  const absl::Status missing = ReadIdxFile(path + ".missing").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr(".missing"));
}

}  // namespace
}  // namespace tg::data
