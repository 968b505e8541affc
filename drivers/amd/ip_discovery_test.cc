#include "drivers/amd/ip_discovery.h"

#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drivers/sim/amd/discovery_image.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tg::amd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

sim::DiscoveryImage Image() {
  sim::DiscoveryImage image;
  image.dies = {{{kIpGc, 0, 11, 0, 0, {0x1260, 0xa000}}, {kIpMp1, 0, 13, 0, 10, {0x16000}}},
                {{kIpGc, 1, 11, 0, 0, {0x2260, 0xb000}}, {42, 0, 6, 0, 0, {}}}};
  return image;
}

std::string Error(const std::vector<uint8_t>& bytes) {
  const auto parsed = ParseIpDiscovery(bytes, "card");
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(parsed.status().message());
}

TEST(IpDiscovery, Blocks) {
  for (uint16_t version : {1, 2}) {
    for (bool wide : {false, true}) {
      sim::DiscoveryImage image = Image();
      image.binary_version = version;
      image.wide_bases = wide;
      if (wide) image.dies[0][0].bases[1] = 0x12'3456'789a;
      const IpDiscovery d = ParseIpDiscovery(image.Build(), "card").value();
      ASSERT_EQ(d.blocks.size(), 4);
      EXPECT_EQ(d.blocks[0].id, kIpGc);
      EXPECT_EQ(d.blocks[0].version.ToString(), "11.0.0");
      EXPECT_THAT(d.blocks[0].bases, ElementsAre(0x1260, wide ? 0x12'3456'789a : 0xa000));
      EXPECT_EQ(d.blocks[2].die, 1);
      EXPECT_EQ(d.blocks[2].instance, 1);
      EXPECT_EQ(d.Find(kIpMp1)->version, (IpVersion{13, 0, 10}));
      EXPECT_EQ(d.Find(kIpMp1)->bases[0], 0x16000u);
      EXPECT_EQ(d.Find(kIpMmhub), nullptr);
    }
  }
}

TEST(IpDiscovery, Harvested) {
  sim::DiscoveryImage image = Image();
  image.harvested = {{kIpGc, 0}, {77, 1}};
  const IpDiscovery d = ParseIpDiscovery(image.Build(), "card").value();
  EXPECT_TRUE(d.blocks[0].harvested);
  EXPECT_FALSE(d.blocks[2].harvested);
  EXPECT_EQ(d.Find(kIpGc), &d.blocks[2]);
}

TEST(IpDiscovery, EveryTruncation) {
  sim::DiscoveryImage image = Image();
  image.harvested = {{kIpGc, 0}};
  const std::vector<uint8_t> whole = image.Build();
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(ParseIpDiscovery({whole.data(), n}, "card").ok()) << n;
  }
  std::vector<uint8_t> longer = whole;
  longer.resize(10 << 10, 0xab);  // what follows is not looked at
  EXPECT_TRUE(ParseIpDiscovery(longer, "card").ok());
}

TEST(IpDiscovery, EveryFlippedBitOfWhatCountsIsNoticed) {
  const std::vector<uint8_t> whole = Image().Build();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    if (bit / 8 >= 4 && bit / 8 < 8) continue;  // versions of the binary are before the checksum
    std::vector<uint8_t> bytes = whole;
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(ParseIpDiscovery(bytes, "card").ok()) << bit;
  }
}

TEST(IpDiscovery, Says) {
  EXPECT_THAT(Error({}), HasSubstr("card: signature at byte 0: needs 4 bytes, 0 are left"));
  EXPECT_THAT(Error(std::vector<uint8_t>(10240, 0xff)),
              HasSubstr("0xffffffff, not 0x28211407: this is no discovery binary"));
  std::vector<uint8_t> bytes = Image().Build();
  bytes[100] ^= 1;
  EXPECT_THAT(Error(bytes), HasSubstr("checksum"));
}

TEST(IpDiscovery, RandomBytesWithTheRightBeginning) {
  std::mt19937 random(7);
  const std::vector<uint8_t> whole = Image().Build();
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (int n = 0; n < 4; ++n) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    // The checksum of the whole is right again, so the rest has to be.
    uint32_t sum = 0;
    for (size_t b = 10; b < bytes.size(); ++b) sum += bytes[b];
    bytes[8] = static_cast<uint8_t>(sum);
    bytes[9] = static_cast<uint8_t>(sum >> 8);
    const auto parsed = ParseIpDiscovery(bytes, "card");
    if (!parsed.ok()) continue;
    EXPECT_LE(parsed->blocks.size(), 2 * bytes.size());
  }
}

}  // namespace
}  // namespace tg::amd
