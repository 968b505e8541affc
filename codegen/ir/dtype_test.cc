#include "codegen/ir/dtype.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <sstream>
#include <vector>

#include "gtest/gtest.h"

namespace tg::ir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<DType> AllTypes() {
  std::vector<DType> r;
  for (int i = 0; i < kScalarTypeCount; ++i) r.push_back(DType(static_cast<ScalarType>(i)));
  return r;
}

const std::vector<DType> kSmallFloats = {kFp8E4M3,     kFp8E5M2, kFp8E4M3Fnuz,
                                         kFp8E5M2Fnuz, kFloat16, kBFloat16};

bool Same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

TEST(DTypeTest, NamesRoundTrip) {
  for (DType d : AllTypes()) {
    for (int lanes : {1, 2, 16, 65535}) {
      EXPECT_EQ(DType::Parse(d.Vec(lanes).ToString()), d.Vec(lanes));
    }
  }
  EXPECT_EQ(kFloat32.Vec(16).ToString(), "float32x16");
  EXPECT_EQ(DType::Parse("half"), kFloat16);
  EXPECT_EQ(DType::Parse("uchar"), kUInt8);
  EXPECT_EQ(DType::Parse("longx4"), kInt64.Vec(4));
  for (const char* bad : {"", "x", "float33", "float32x", "float32x0", "float32x04",
                          "float32x65536", "float32x-1", "Float32", "float32x4x4", "float32 "}) {
    EXPECT_EQ(DType::Parse(bad), std::nullopt) << bad;
  }
  std::ostringstream os;
  os << kInt8.Vec(4);
  EXPECT_EQ(os.str(), "int8x4");
}

TEST(DTypeTest, SizesAndKinds) {
  EXPECT_EQ(kBool.bits(), 1);
  EXPECT_EQ(kBool.bytes(), 1);
  EXPECT_EQ(kFloat16.Vec(8).size(), 16);
  EXPECT_EQ(kWeakInt.bytes(), 0);
  EXPECT_EQ(kWeakFloat.bytes(), 0);
  EXPECT_TRUE(kWeakInt.IsInt() && kWeakInt.IsSigned() && kWeakInt.IsWeak());
  EXPECT_TRUE(kWeakFloat.IsFloat());
  EXPECT_FALSE(kBool.IsInt() || kBool.IsUnsigned() || kBool.IsFloat());
  EXPECT_TRUE(kUInt64.IsUnsigned());
  EXPECT_FALSE(kUInt64.IsSigned());
  EXPECT_TRUE(kFp8E5M2Fnuz.IsFp8());
  EXPECT_FALSE(kInt8.IsFp8() || kFloat16.IsFp8());
  EXPECT_EQ(kInt8.MinInt(), -128);
  EXPECT_EQ(kUInt16.MaxInt(), 65535);
  EXPECT_EQ(kUInt32.MaxInt(), 4294967295);
  EXPECT_EQ(kUInt64.MaxInt(), INT64_MAX);
  EXPECT_EQ(kInt64.MinInt(), INT64_MIN);
  EXPECT_EQ(kBool.MaxInt(), 1);
}

TEST(DTypeTest, Promotion) {
  EXPECT_EQ(LeastUpperDType({}), kVoid);
  EXPECT_EQ(LeastUpperDType({kBool, kBool}), kBool);
  EXPECT_EQ(LeastUpperDType({kBool, kWeakInt}), kWeakInt);
  EXPECT_EQ(LeastUpperDType({kWeakInt, kInt8}), kInt8);
  EXPECT_EQ(LeastUpperDType({kInt8, kUInt8}), kInt16);
  EXPECT_EQ(LeastUpperDType({kInt8, kUInt16}), kInt32);
  EXPECT_EQ(LeastUpperDType({kInt32, kUInt32}), kInt64);
  EXPECT_EQ(LeastUpperDType({kInt64, kUInt64}), kWeakFloat);
  EXPECT_EQ(LeastUpperDType({kInt64, kUInt64, kFloat16}), kFloat16);
  EXPECT_EQ(LeastUpperDType({kInt64, kWeakFloat}), kWeakFloat);
  EXPECT_EQ(LeastUpperDType({kInt64, kFp8E4M3}), kFp8E4M3);
  EXPECT_EQ(LeastUpperDType({kWeakFloat, kFp8E5M2}), kFp8E5M2);
  EXPECT_EQ(LeastUpperDType({kFp8E4M3, kFp8E5M2}), kFloat16);
  EXPECT_EQ(LeastUpperDType({kFp8E4M3, kFp8E4M3Fnuz}), kFloat16);
  EXPECT_EQ(LeastUpperDType({kFloat16, kBFloat16}), kFloat32);
  EXPECT_EQ(LeastUpperDType({kFloat16, kInt64}), kFloat16);
  EXPECT_EQ(LeastUpperDType({kFloat32.Vec(4), kFloat64}), kFloat64);
  EXPECT_EQ(LeastUpperFloat(kInt8), kFloat32);
  EXPECT_EQ(LeastUpperFloat(kInt8, kFloat16), kFloat16);
  EXPECT_EQ(LeastUpperFloat(kFloat64, kFloat16), kFloat64);
  EXPECT_EQ(SumAccDType(kBool), kInt32);
  EXPECT_EQ(SumAccDType(kInt8), kInt32);
  EXPECT_EQ(SumAccDType(kUInt8), kUInt32);
  EXPECT_EQ(SumAccDType(kUInt64), kUInt64);
  EXPECT_EQ(SumAccDType(kFloat16), kFloat32);
  EXPECT_EQ(SumAccDType(kFloat16, kFloat16), kFloat16);
  EXPECT_EQ(SumAccDType(kFloat64), kFloat64);
}

// Two kinds of fp8 have two least upper bounds, float16 and bfloat16; the order is then not
// associative, which is why LeastUpperDType takes all of its types at once.
TEST(DTypeTest, PromotionIsAJoin) {
  for (DType a : AllTypes()) {
    EXPECT_EQ(LeastUpperDType({a}), a);
    EXPECT_EQ(LeastUpperDType({a, a}), a);
    for (DType b : AllTypes()) {
      DType ab = LeastUpperDType({a, b});
      EXPECT_EQ(ab, LeastUpperDType({b, a}));
      EXPECT_EQ(LeastUpperDType({ab, a}), ab);
      for (DType c : AllTypes()) {
        int fp8 = 0;
        for (DType d : std::set<ScalarType>{a.scalar(), b.scalar(), c.scalar()}) fp8 += d.IsFp8();
        if (fp8 > 1) continue;
        EXPECT_EQ(LeastUpperDType({ab, c}), LeastUpperDType({a, b, c})) << a << b << c;
      }
    }
  }
}

// By exhaustion: every value of the 8- and 16-bit types survives the round trip exactly when
// CanLosslessCast says so.
TEST(DTypeTest, LosslessCastAgreesWithValues) {
  std::vector<DType> from = {kBool, kInt8, kUInt8, kInt16, kUInt16};
  from.insert(from.end(), kSmallFloats.begin(), kSmallFloats.end());
  for (DType f : from) {
    for (DType t : AllTypes()) {
      if (t.IsVoid() || t.IsWeak()) continue;
      bool lossless = true;
      for (int bits = 0; bits < (1 << f.bits()); ++bits) {
        double v = f.IsFloat() ? DecodeFloat(bits, f) : IntToDouble(WrapToInt(bits, f), f);
        double w = t.IsFloat() ? RoundToFloat(v, t) : IntToDouble(FloatToInt(v, t), t);
        if (!Same(v, w)) lossless = false;
      }
      EXPECT_EQ(CanLosslessCast(f, t), lossless) << f << " to " << t;
    }
  }
  EXPECT_TRUE(CanLosslessCast(kInt32, kFloat64));
  EXPECT_FALSE(CanLosslessCast(kInt32, kFloat32));
  EXPECT_FALSE(CanLosslessCast(kInt64, kFloat64));
  EXPECT_TRUE(CanLosslessCast(kUInt32, kInt64));
  EXPECT_FALSE(CanLosslessCast(kUInt64, kInt64));
  EXPECT_FALSE(CanLosslessCast(kFloat32, kFloat32.Vec(2)));
}

TEST(DTypeTest, Finfo) {
  EXPECT_EQ(Finfo(kFloat32)->mantissa_bits, 23);
  EXPECT_EQ(Finfo(kFloat64)->exponent_bits, 11);
  EXPECT_EQ(Finfo(kBFloat16)->exponent_bits, 8);
  EXPECT_EQ(Finfo(kFp8E4M3)->mantissa_bits, 3);
  EXPECT_FALSE(Finfo(kInt32).has_value());
  EXPECT_FALSE(Finfo(kWeakFloat).has_value());
}

TEST(EncodingTest, EveryCodeRoundTrips) {
  for (DType d : kSmallFloats) {
    for (uint64_t code = 0; code < (uint64_t{1} << d.bits()); ++code) {
      double v = DecodeFloat(code, d);
      if (std::isnan(v)) {
        EXPECT_TRUE(std::isnan(DecodeFloat(EncodeFloat(v, d), d)));
        continue;
      }
      EXPECT_EQ(EncodeFloat(v, d), code) << d;
      EXPECT_TRUE(Same(RoundToFloat(v, d), v)) << d << " " << v;
    }
  }
}

TEST(EncodingTest, KnownValues) {
  struct {
    DType d;
    uint64_t code;
    double v;
  } rows[] = {
      {kFp8E4M3, 0x7E, 448},
      {kFp8E4M3, 0x01, 0x1p-9},
      {kFp8E4M3, 0x38, 1},
      {kFp8E4M3, 0x7F, kNan},
      {kFp8E4M3, 0x80, -0.0},
      {kFp8E5M2, 0x7B, 57344},
      {kFp8E5M2, 0x7C, kInf},
      {kFp8E5M2, 0x7D, kNan},
      {kFp8E5M2, 0xFC, -kInf},
      {kFp8E5M2, 0x01, 0x1p-16},
      {kFp8E4M3Fnuz, 0x7F, 240},
      {kFp8E4M3Fnuz, 0x80, kNan},
      {kFp8E4M3Fnuz, 0x01, 0x1p-10},
      {kFp8E5M2Fnuz, 0x7F, 57344},
      {kFp8E5M2Fnuz, 0x80, kNan},
      {kFp8E5M2Fnuz, 0x01, 0x1p-17},
      {kFloat16, 0x3C00, 1},
      {kFloat16, 0x7BFF, 65504},
      {kFloat16, 0x7C00, kInf},
      {kFloat16, 0x0001, 0x1p-24},
      {kBFloat16, 0x3F80, 1},
      {kBFloat16, 0x0001, 0x1p-133},
      {kBFloat16, 0x7F80, kInf},
      {kFloat32, 0x3F800000, 1},
      {kFloat64, 0x4000000000000000, 2},
  };
  for (const auto& r : rows) EXPECT_TRUE(Same(DecodeFloat(r.code, r.d), r.v)) << r.d << r.code;
}

TEST(EncodingTest, OverflowAndNonFinite) {
  EXPECT_EQ(RoundToFloat(65519.99, kFloat16), 65504);
  EXPECT_EQ(RoundToFloat(65520, kFloat16), kInf);
  EXPECT_EQ(RoundToFloat(-1e300, kBFloat16), -kInf);
  EXPECT_EQ(RoundToFloat(1e39, kFloat32), kInf);
  EXPECT_EQ(RoundToFloat(1e300, kFloat64), 1e300);
  EXPECT_EQ(RoundToFloat(1e300, kWeakFloat), 1e300);
  EXPECT_EQ(RoundToFloat(1e300, kFp8E4M3), 448);
  EXPECT_EQ(RoundToFloat(-1e300, kFp8E5M2), -57344);
  EXPECT_EQ(RoundToFloat(460, kFp8E4M3), 448);
  EXPECT_EQ(RoundToFloat(1e9, kFp8E4M3Fnuz), 240);
  EXPECT_EQ(EncodeFloat(kInf, kFp8E5M2), 0x7C);
  EXPECT_EQ(EncodeFloat(kNan, kFp8E5M2) & 0x7F, 0x7F);
  EXPECT_EQ(EncodeFloat(kInf, kFp8E4M3) & 0x7F, 0x7F);
  EXPECT_EQ(EncodeFloat(kInf, kFp8E4M3Fnuz), 0x80);
  EXPECT_EQ(EncodeFloat(-kInf, kFp8E5M2Fnuz), 0x80);
  EXPECT_EQ(EncodeFloat(-0.0, kFp8E4M3Fnuz), 0);
  EXPECT_EQ(EncodeFloat(-1e-30, kFp8E5M2Fnuz), 0);
  EXPECT_EQ(EncodeFloat(-1e-30, kFloat16), 0x8000);
}

// Between each pair of neighbours: below, at and above the midpoint.
TEST(EncodingTest, RoundsToNearestEven) {
  for (DType d : kSmallFloats) {
    uint64_t half_codes = uint64_t{1} << (d.bits() - 1);
    for (uint64_t code = 0; code + 1 < half_codes; ++code) {
      double lo = DecodeFloat(code, d), hi = DecodeFloat(code + 1, d);
      if (!std::isfinite(lo) || !std::isfinite(hi)) continue;
      double mid = (lo + hi) / 2;
      double even = code % 2 == 0 ? lo : hi;
      for (double sign : {1.0, -1.0}) {
        EXPECT_EQ(RoundToFloat(sign * mid, d), sign * even) << d << " " << mid;
        EXPECT_EQ(RoundToFloat(sign * std::nextafter(mid, 0.0), d), sign * lo) << d << " " << mid;
        EXPECT_EQ(RoundToFloat(sign * std::nextafter(mid, kInf), d), sign * hi) << d << " " << mid;
      }
    }
  }
}

// No second rounding through float32: 1 + 2^-11 + 2^-40 is above the midpoint of two halves, but
// float32 cannot tell.
TEST(EncodingTest, RoundsOnceFromDouble) {
  EXPECT_EQ(RoundToFloat(1 + 0x1p-11 + 0x1p-40, kFloat16), 1 + 0x1p-10);
  EXPECT_EQ(RoundToFloat(1 + 0x1p-11, kFloat16), 1);
}

TEST(ConversionTest, FloatToInt) {
  EXPECT_EQ(FloatToInt(-1.5, kUInt8), 255);
  EXPECT_EQ(FloatToInt(-1.5, kInt8), -1);
  EXPECT_EQ(FloatToInt(300.9, kUInt8), 44);
  EXPECT_EQ(FloatToInt(200, kInt8), -56);
  EXPECT_EQ(FloatToInt(kNan, kInt32), 0);
  EXPECT_EQ(FloatToInt(kInf, kInt32), 0);
  EXPECT_EQ(FloatToInt(0x1p63, kInt64), 0);
  EXPECT_EQ(FloatToInt(-0x1p62, kInt64), -(int64_t{1} << 62));
  EXPECT_EQ(FloatToInt(0x1p63, kUInt64), INT64_MIN);
  EXPECT_EQ(FloatToInt(-0x1p63 - 4096, kUInt64), INT64_MAX - 4095);
  EXPECT_EQ(FloatToInt(-1.0, kUInt64), -1);
  EXPECT_EQ(FloatToInt(0x1p64, kUInt64), 0);
  EXPECT_EQ(FloatToInt(0x1p40 + 7, kInt32), 7);
  EXPECT_EQ(FloatToInt(0.5, kBool), 1);
  EXPECT_EQ(FloatToInt(-0.0, kBool), 0);
}

TEST(ConversionTest, WrapAndIntToDouble) {
  EXPECT_EQ(WrapToInt(128, kInt8), -128);
  EXPECT_EQ(WrapToInt(-1, kUInt32), 4294967295);
  EXPECT_EQ(WrapToInt(7, kBool), 1);
  EXPECT_EQ(WrapToInt(-5, kWeakInt), -5);
  EXPECT_EQ(IntToDouble(-1, kUInt64), 0x1p64);
  EXPECT_EQ(IntToDouble(-1, kInt64), -1);
  std::mt19937_64 rng(1);
  for (int i = 0; i < 100000; ++i) {
    int64_t v = static_cast<int64_t>(rng()) >> (rng() % 64);
    EXPECT_EQ(WrapToInt(v, kInt16), static_cast<int16_t>(v));
    EXPECT_EQ(WrapToInt(WrapToInt(v, kUInt16), kInt16), WrapToInt(v, kInt16));
  }
}

}  // namespace
}  // namespace tg::ir
