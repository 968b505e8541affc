#include "tools/sqtt/decode.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tools/sqtt/encode.h"
#include "tools/sqtt/waves.h"

namespace tg::sqtt {
namespace {

struct Decoded {
  DecodeSummary summary;
  std::vector<Packet> packets;
};

Decoded DecodeAll(absl::Span<const uint8_t> bytes) {
  Decoded d;
  absl::StatusOr<DecodeSummary> sum =
      Decode(bytes, [&](PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
        d.packets.push_back({raw, time, offset, type});
      });
  EXPECT_TRUE(sum.ok()) << sum.status();
  if (sum.ok()) d.summary = *sum;
  return d;
}

void Put(Encoder& e, PacketType type, uint64_t raw) { ASSERT_TRUE(e.Append(type, raw).ok()); }

TEST(DecodeTest, TimeOfRdna) {
  Encoder e(Layout::kRdna3);
  Put(e, PacketType::kTsDeltaShort, 7 << 4);                       // 7 + 4
  Put(e, PacketType::kTsDeltaOrMark, uint64_t{1000} << 12);        // 1000
  Put(e, PacketType::kTsDeltaOrMark, uint64_t{5} << 12 | 2 << 8);  // The 100 MHz clock.
  Put(e, PacketType::kTsDeltaOrMark, uint64_t{6} << 12 | 3 << 8);  // pl: time passes.
  Put(e, PacketType::kValuInst, 3 << 3);
  const Decoded d = DecodeAll(e.Finish());
  const std::vector<uint64_t> times = {0, 11, 1011, 1011, 1017, 1020};
  for (size_t i = 0; i < times.size(); ++i) EXPECT_EQ(d.packets[i].time, times[i]) << i;
  EXPECT_TRUE(IsRealTimeMark(d.packets[3].type, d.packets[3].raw));
  EXPECT_FALSE(IsRealTimeMark(d.packets[4].type, d.packets[4].raw));
  EXPECT_EQ(d.summary.last_time, 1020);
  EXPECT_EQ(d.summary.packets, d.packets.size());
}

TEST(DecodeTest, TimeOfCdna) {
  Encoder e(Layout::kCdna);
  e.Advance(400);
  Put(e, PacketType::kCdnaTimestamp, uint64_t{10'000} << 16);  // Anchors: 10000 is clock 400.
  e.Advance(40);
  Put(e, PacketType::kCdnaTimestamp, uint64_t{10'103} << 16);    // (503 & ~3) - 4
  Put(e, PacketType::kCdnaTimestamp, uint64_t{1} << 16 | 0x80);  // Reserved bits: no time.
  e.Advance(8);
  const Decoded d = DecodeAll(e.Finish());
  std::vector<uint64_t> times;
  for (const Packet& p : d.packets) {
    if (p.raw != 0) times.push_back(p.time);
  }
  EXPECT_EQ(times, (std::vector<uint64_t>{0, 400, 400, 440, 496, 496, 504}));
}

TEST(DecodeTest, PacketsAtOddNibblesAndTheLongOne) {
  Encoder e(Layout::kRdna3);
  Put(e, PacketType::kNop, 0);
  Put(e, PacketType::kReg, 0xfedcba9876543210);
  Put(e, PacketType::kTsDeltaS8W3, 0xffff'ffff'ffff'f800);
  Put(e, PacketType::kInst, 0x12345 << 3);
  const Decoded d = DecodeAll(e.Finish());
  ASSERT_GT(d.packets.size(), 4);
  EXPECT_EQ(d.packets[2].raw, 0xfedcba9876543219);
  EXPECT_EQ(d.packets[2].offset, 17);
  EXPECT_EQ(d.packets[3].type, PacketType::kTsDeltaS8W3);
  EXPECT_EQ(d.packets[4].type, PacketType::kInst);
  EXPECT_EQ(d.packets[4].offset, 17 + 16 + 18);
}

TEST(DecodeTest, BytesThatAreNoTrace) {
  auto error = [](std::vector<uint8_t> bytes) {
    return std::string(DetectLayout(bytes).status().message());
  };
  EXPECT_EQ(error({}), "no thread trace: 0 bytes, a trace has at least 8");
  EXPECT_EQ(error({1, 2, 3, 4, 5, 6, 7, 8}),
            "no thread trace: it begins with 0x0807060504030201, which is no LAYOUT_HEADER packet "
            "(low bits 0x11)");
  EXPECT_EQ(
      error({0x91, 0x02, 0, 0, 0, 0, 0, 0}),
      "no thread trace that is known: its layout is 5; 3 (RDNA 3), 4 (RDNA 4) and 0 (CDNA) are");
}

TEST(DecodeTest, UnknownCodesAreReportedAndSkipped) {
  std::vector<uint8_t> bytes = Encoder(Layout::kRdna3).Finish();
  bytes[8] = 0x41;  // No packet has it.
  const Decoded d = DecodeAll(bytes);
  EXPECT_EQ(d.summary.unknown_codes, 1);
  EXPECT_EQ(d.summary.first_unknown_offset, 16);
  EXPECT_EQ(d.packets[1].type, PacketType::kNop);
}

// A trace in which every kind of packet occurs.
std::vector<uint8_t> Sample(Layout layout, int count, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Encoder e(layout);
  for (int i = 0; i < count; ++i) {
    e.Append(PacketSpecs()[rng() % kNumPacketTypes].type, rng()).IgnoreError();
  }
  return e.Finish();
}

// Wherever a trace is cut, what is left decodes to the same packets as before, as far as it goes.
TEST(DecodeTest, CutAtEveryByte) {
  for (int l = 0; l < kNumLayouts; ++l) {
    const std::vector<uint8_t> whole = Sample(static_cast<Layout>(l), 120, 5);
    const std::vector<Packet> expected = DecodeAll(whole).packets;
    for (size_t size = 8; size < whole.size(); ++size) {
      const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<int64_t>(size));
      const Decoded d = DecodeAll(cut);
      ASSERT_LE(d.packets.size(), expected.size());
      for (size_t i = 0; i < d.packets.size(); ++i) {
        ASSERT_EQ(d.packets[i].raw, expected[i].raw);
        ASSERT_EQ(d.packets[i].time, expected[i].time);
      }
      ASSERT_LT(d.summary.tail_nibbles, 16);
      if (d.packets.size() < expected.size()) {
        ASSERT_GT(expected[d.packets.size()].offset + 16, size * 2);
      }
    }
  }
}

TEST(DecodeTest, CorruptedTracesEnd) {
  std::mt19937_64 rng(9);
  for (int round = 0; round < 10'000; ++round) {
    std::vector<uint8_t> bytes = Sample(static_cast<Layout>(round % kNumLayouts), 60, round % 30);
    const int flips = 1 + static_cast<int>(rng() % 8);
    for (int i = 0; i < flips; ++i) bytes[8 + rng() % (bytes.size() - 8)] ^= 1 << rng() % 8;
    Reports reports;
    WaveCollector waves(&reports);
    uint64_t packets = 0, end = 0;
    absl::StatusOr<DecodeSummary> sum =
        Decode(bytes, [&](PacketType type, uint64_t raw, uint64_t time, uint64_t offset) {
          EXPECT_GE(offset, end);
          end = offset + static_cast<uint64_t>(Spec(type).nibbles());
          ++packets;
          waves(type, raw, time, offset);
        });
    ASSERT_TRUE(sum.ok());
    waves.Finish(sum->last_time);
    EXPECT_EQ(packets, sum->packets);
    EXPECT_LE(packets, bytes.size() * 2);
    EXPECT_LE(reports.first().size(), Reports::kMaxKept);
  }
}

}  // namespace
}  // namespace tg::sqtt
