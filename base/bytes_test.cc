#include "base/bytes.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tg::base {
namespace {

const std::vector<uint8_t> kBytes = {1, 2, 3, 4, 5, 6, 7, 0x80};

TEST(ByteReaderTest, BothByteOrders) {
  ByteReader little(kBytes, "t");
  EXPECT_EQ(little.Read<uint8_t>("a").value(), 1);
  EXPECT_EQ(little.Read<uint16_t>("b").value(), 0x0302);
  EXPECT_EQ(little.Read<uint32_t>("c").value(), 0x07060504u);
  EXPECT_EQ(little.Read<int8_t>("d").value(), -128);
  EXPECT_TRUE(little.done());

  ByteReader big(kBytes, "t");
  EXPECT_EQ(big.ReadBigEndian<uint32_t>("a").value(), 0x01020304u);
  EXPECT_EQ(big.ReadBigEndian<int16_t>("b").value(), 0x0506);
  EXPECT_EQ(ByteReader(kBytes, "t").Read<int64_t>("a").value(),
            static_cast<int64_t>(0x8007060504030201u));
}

TEST(ByteReaderTest, FloatingPoint) {
  const std::vector<uint8_t> bytes = {0, 0, 0x80, 0x3f, 0x40, 0x10, 0, 0, 0, 0, 0, 0};
  ByteReader reader(bytes, "t");
  EXPECT_EQ(reader.Read<float>("a").value(), 1.0f);
  EXPECT_EQ(reader.ReadBigEndian<double>("b").value(), 4.0);
}

TEST(ByteReaderTest, ErrorsNameSourceFieldAndOffsetAndChangeNothing) {
  ByteReader reader(kBytes, "model.bin");
  ASSERT_TRUE(reader.Skip(5, "head").ok());
  const auto value = reader.Read<uint32_t>("size");
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(value.status().message(), "model.bin: size at byte 5: needs 4 bytes, 3 are left");
  EXPECT_EQ(reader.offset(), 5u);
  EXPECT_EQ(reader.Read<uint16_t>("next").value(), 0x0706);
  EXPECT_EQ(reader.ReadText(2, "name").status().message(),
            "model.bin: name at byte 7: needs 2 bytes, 1 is left");
  EXPECT_EQ(reader.Invalid("kind", "is 7, expected 1 or 2").message(),
            "model.bin: kind at byte 7: is 7, expected 1 or 2");
}

TEST(ByteReaderTest, HugeSizesDoNotWrap) {
  ByteReader reader(kBytes, "t");
  ASSERT_TRUE(reader.Skip(4, "x").ok());
  for (uint64_t size : {uint64_t{5}, std::numeric_limits<uint64_t>::max(),
                        std::numeric_limits<uint64_t>::max() - 3, uint64_t{1} << 63}) {
    EXPECT_FALSE(reader.ReadBytes(size, "x").ok()) << size;
    EXPECT_FALSE(reader.Skip(size, "x").ok()) << size;
  }
  EXPECT_FALSE(reader.Seek(9, "x").ok());
  EXPECT_FALSE(reader.Seek(std::numeric_limits<uint64_t>::max(), "x").ok());
  EXPECT_EQ(reader.offset(), 4u);
  EXPECT_TRUE(reader.Seek(8, "x").ok());
  EXPECT_TRUE(reader.done());
}

TEST(ByteReaderTest, Align) {
  ByteReader reader(kBytes, "t");
  EXPECT_TRUE(reader.Align(4, "x").ok());
  EXPECT_EQ(reader.offset(), 0u);
  ASSERT_TRUE(reader.Skip(1, "x").ok());
  EXPECT_TRUE(reader.Align(4, "x").ok());
  EXPECT_EQ(reader.offset(), 4u);
  ASSERT_TRUE(reader.Skip(1, "x").ok());
  EXPECT_FALSE(reader.Align(16, "x").ok());
  EXPECT_FALSE(reader.Align(0, "x").ok());
}

TEST(ByteReaderTest, EmptyInput) {
  ByteReader reader({}, "t");
  EXPECT_FALSE(reader.Read<uint8_t>("x").ok());
  EXPECT_TRUE(reader.ReadBytes(0, "x").ok());
  EXPECT_TRUE(reader.done());
}

TEST(ByteReaderTest, RandomWalkStaysInside) {
  std::mt19937_64 random(20240607);
  for (int round = 0; round < 2000; ++round) {
    const std::vector<uint8_t> bytes(random() % 40);
    ByteReader reader(bytes, "t");
    for (int step = 0; step < 20; ++step) {
      const uint64_t before = reader.offset();
      const uint64_t size = random() % 3 == 0 ? random() : random() % 16;
      bool ok = false;
      switch (random() % 4) {
        case 0:
          ok = reader.Read<uint64_t>("x").ok();
          break;
        case 1:
          ok = reader.ReadBytes(size, "x").ok();
          break;
        case 2:
          ok = reader.Align(size, "x").ok();
          break;
        case 3:
          ok = reader.Seek(size, "x").ok();
          break;
      }
      ASSERT_LE(reader.offset(), bytes.size());
      if (!ok) {
        ASSERT_EQ(reader.offset(), before);
      }
    }
  }
}

}  // namespace
}  // namespace tg::base
