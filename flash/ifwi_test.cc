#include "flash/ifwi.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flash/test_image.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::flash {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Error(const std::vector<uint8_t>& image, uint32_t item) {
  const absl::StatusOr<IfwiItem> resolved = ResolveIfwiItem(image, item);
  return resolved.ok() ? "" : std::string(resolved.status().message());
}

TEST(IfwiTest, EveryItem) {
  const std::vector<uint8_t> image = TestImage(1);
  const struct {
    uint32_t item;
    size_t offset, size;
  } expected[] = {
      {0x01, 0x0, 0x54},       {0x02, 0x2000, 0xd0},    {0x03, 0x3000, 0xd0},
      {0x04, 0x10000, 0x1000}, {0x05, 0x11000, 0x1000}, {0x06, 0x12000, 0x20},
      {0x07, 0x13000, 0x20},   {0x08, 0x30000, 0x8000}, {0x80, 0x1000, 4},
      {0x81, 0x4000, 0x80},    {0x82, 0x5800, 0x100},   {0x83, 0x6000, 0x200},
      {0x84, 0x6800, 0x300},   {0x85, 0x7000, 0x400},   {0x86, 0x7800, 0x500},
      {0x87, 0x8000, 0x600},   {0x88, 0x8800, 0x700},   {0x89, 0x1f0000, 0x100},
  };
  ASSERT_EQ(IfwiItems().size(), std::size(expected));
  for (const auto& e : expected) {
    const absl::StatusOr<IfwiItem> item = ResolveIfwiItem(image, e.item);
    ASSERT_TRUE(item.ok()) << item.status();
    EXPECT_EQ(item->offset, e.offset) << e.item;
    EXPECT_EQ(item->size, e.size) << e.item;
  }
  for (uint32_t item : {0x00u, 0x09u, 0x7fu, 0x8au, 0xffu, 0x100u, 0xffffffffu}) {
    EXPECT_THAT(Error(image, item), HasSubstr("does not yet support requested item"));
  }
  EXPECT_THAT(IfwiProblems(image), IsEmpty());
}

TEST(IfwiTest, Cookies) {
  std::vector<uint8_t> image = TestImage(1);
  image[0x3000] ^= 1;
  EXPECT_EQ(Error(image, 0x03), "invalid PSP directory at 0x3000");
  image[0x4003] ^= 1;
  for (uint32_t item : {0x81u, 0x82u, 0x88u}) {
    EXPECT_EQ(Error(image, item), "invalid $SGN table pointer");
  }
  image[1] = 0;
  EXPECT_THAT(IfwiProblems(image),
              ElementsAre("does not begin with aa 55 aa 55", "invalid PSP directory at 0x3000",
                          "invalid $SGN table pointer"));
}

TEST(IfwiTest, SignaturesAreThereOnce) {
  std::vector<uint8_t> image = TestImage(1);
  PutU32(image, 0x4020, 9);  // type 2 is gone
  EXPECT_EQ(Error(image, 0x83), "missing $SGN type 2");
  PutU32(image, 0x4020, 1);  // and type 1 is there twice
  EXPECT_EQ(Error(image, 0x82), "missing $SGN type 1");
  EXPECT_EQ(Error(image, 0x84), "");
}

TEST(IfwiTest, NothingPointsOutside) {
  std::vector<uint8_t> image = TestImage(1);
  PutU32(image, 0x2008, 0xffffffff);
  EXPECT_EQ(Error(image, 0x02), "item 0x2 extends beyond IFWI");
  PutU32(image, 0x12010, 0xffffffff);
  EXPECT_EQ(Error(image, 0x08), "item 0x8 extends beyond IFWI");
  PutU32(image, 0x12010, 0x1fffff);
  PutU32(image, 0x12018, 2);
  EXPECT_EQ(Error(image, 0x08), "item 0x8 extends beyond IFWI");
  PutU32(image, 0x12018, 1);
  EXPECT_EQ(Error(image, 0x08), "");
  PutU32(image, 0x4018, 0xfffffff0);
  EXPECT_EQ(Error(image, 0x82), "item 0x82 extends beyond IFWI");
  PutU32(image, 0x4008, 0x0fffffff);
  EXPECT_EQ(Error(image, 0x83), "item 0x83 extends beyond IFWI");
  // A table at the very end, whose count is outside.
  PutU32(image, 0x1000, 0x1ffffc);
  image[0x1ffffc] = '$', image[0x1ffffd] = 'S', image[0x1ffffe] = 'G', image[0x1fffff] = 'N';
  EXPECT_THAT(Error(image, 0x81), HasSubstr("entry count"));
  PutU32(image, 0x1000, 0xfffffffe);
  EXPECT_EQ(Error(image, 0x81), "invalid $SGN table pointer");
}

TEST(IfwiTest, TruncatedAnywhere) {
  const std::vector<uint8_t> image = TestImage(1);
  for (size_t size : {0ul, 1ul, 3ul, 0x53ul, 0x1003ul, 0x2003ul, 0x2008ul, 0x200bul, 0x4004ul,
                      0x12010ul, 0x1f00fful, 0x1ffffful}) {
    const absl::Span<const uint8_t> cut = absl::MakeSpan(image).first(size);
    for (uint32_t item : IfwiItems()) {
      const absl::StatusOr<IfwiItem> resolved = ResolveIfwiItem(cut, item);
      EXPECT_TRUE(!resolved.ok() || resolved->offset + resolved->size <= size) << item;
    }
    EXPECT_FALSE(IfwiProblems(cut).empty());
  }
}

TEST(IfwiTest, BlankImages) {
  EXPECT_THAT(IfwiProblems(std::vector<uint8_t>(kIfwiSize, 0xff)),
              ElementsAre("all bytes are ones: it is blank"));
  EXPECT_THAT(IfwiProblems(std::vector<uint8_t>(kIfwiSize, 0)), ElementsAre("all bytes are zero"));
}

}  // namespace
}  // namespace tg::flash
