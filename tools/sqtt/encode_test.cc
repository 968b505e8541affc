#include "tools/sqtt/encode.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tools/sqtt/decode.h"

namespace tg::sqtt {
namespace {

std::vector<Packet> DecodeAll(absl::Span<const uint8_t> bytes) {
  std::vector<Packet> packets;
  absl::StatusOr<DecodeSummary> sum =
      Decode(bytes, [&](PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
        packets.push_back({raw, time, offset, type});
      });
  EXPECT_TRUE(sum.ok()) << sum.status();
  return packets;
}

bool IsPadding(const Packet& p) {
  return p.raw == 0 && (p.type == PacketType::kNop || p.type == PacketType::kCdnaMisc);
}

TEST(EncodeTest, DecodingGivesWhatWasEncoded) {
  std::mt19937_64 rng(1);
  for (int round = 0; round < 300; ++round) {
    const Layout layout = static_cast<Layout>(round % kNumLayouts);
    Encoder encoder(layout, 1, 2);
    std::vector<Packet> expected;
    uint64_t rdna_time = 0;
    for (int i = 0; i < 200; ++i) {
      const PacketSpec& spec = PacketSpecs()[rng() % kNumPacketTypes];
      uint64_t raw = rng();
      // Absolute times move the clock; decode_test has them.
      if (spec.type == PacketType::kCdnaTimestamp) raw |= 0x80;
      const absl::Status status = encoder.Append(spec.type, raw);
      if (!spec.In(layout)) {
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
        continue;
      }
      if (!status.ok()) continue;  // Reads as another kind.
      rdna_time = encoder.time();
      raw = (raw & ~Bits(~uint64_t{0}, spec.code_bits - 1, 0)) | spec.code;
      if (spec.bits < 64) raw &= Bits(~uint64_t{0}, spec.bits - 1, 0);
      expected.push_back({raw, rdna_time, 0, spec.type});
    }
    const std::vector<Packet> packets = DecodeAll(encoder.Finish());
    ASSERT_GE(packets.size(), expected.size() + 1);
    EXPECT_EQ(packets[0].type, PacketType::kLayoutHeader);
    for (size_t i = 0; i < expected.size(); ++i) {
      const Packet& p = packets[i + 1];
      ASSERT_EQ(PacketName(p.type), PacketName(expected[i].type)) << i;
      ASSERT_EQ(p.raw, expected[i].raw) << PacketName(p.type);
      ASSERT_EQ(p.time, expected[i].time) << ToString(p);
    }
    for (size_t i = expected.size() + 1; i < packets.size(); ++i) {
      EXPECT_TRUE(IsPadding(packets[i])) << ToString(packets[i]);
    }
  }
}

TEST(EncodeTest, EveryKindIsEncodedBySomeBits) {
  for (const PacketSpec& spec : PacketSpecs()) {
    for (int l = 0; l < kNumLayouts; ++l) {
      if (!spec.In(static_cast<Layout>(l))) continue;
      Encoder encoder(static_cast<Layout>(l));
      EXPECT_TRUE(encoder.Append(spec.type, 0).ok()) << spec.name;
    }
  }
}

TEST(EncodeTest, FieldsByName) {
  Encoder e(Layout::kRdna3);
  ASSERT_TRUE(e.Append(PacketType::kWaveStart, {{"simd", 2}, {"wgp", 3}, {"wave", 17}}).ok());
  const Packet p = DecodeAll(e.Finish())[1];
  EXPECT_EQ(FieldValue(p, "simd"), 2);
  EXPECT_EQ(FieldValue(p, "wgp"), 3);
  EXPECT_EQ(FieldValue(p, "wave"), 17);
  EXPECT_EQ(FieldValue(p, "sa"), 0);
  EXPECT_EQ(e.Append(PacketType::kWaveStart, {{"simd", 4}}).message(),
            "WAVESTART.simd has 2 bits: 4 does not fit");
  EXPECT_EQ(e.Append(PacketType::kWaveStart, {{"cu", 4}}).message(),
            "WAVESTART packets have no field cu");
  EXPECT_EQ(e.Append(PacketType::kCdnaMisc, 0).message(),
            "CDNA_MISC packets are not part of RDNA 3 traces");
}

TEST(EncodeTest, TimeAdvances) {
  for (uint64_t clocks : {1u, 3u, 4u, 19u, 20u, 255u, 70000u}) {
    for (Layout layout : {Layout::kRdna3, Layout::kRdna4}) {
      Encoder e(layout);
      e.Advance(clocks);
      EXPECT_EQ(e.time(), clocks);
      EXPECT_EQ(DecodeAll(e.Finish()).back().time, clocks);
    }
  }
  Encoder e(Layout::kRdna3);
  e.Advance(uint64_t{5} << 35);
  EXPECT_EQ(DecodeAll(e.Finish()).back().time, uint64_t{5} << 35);
  Encoder cdna(Layout::kCdna);
  cdna.Advance(6);
  cdna.Advance(5000);
  EXPECT_EQ(DecodeAll(cdna.Finish()).back().time, 5004);
  cdna.Advance(2);
  EXPECT_EQ(DecodeAll(cdna.Finish()).back().time, 5008);
}

}  // namespace
}  // namespace tg::sqtt
