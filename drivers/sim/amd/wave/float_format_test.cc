#include "drivers/sim/amd/wave/float_format.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

constexpr FloatFormat kAll[] = {kE4M3Fn, kE5M2, kE4M3Fnuz, kE5M2Fnuz, kE2M3,
                                kE3M2,   kE2M1, kF16,      kBf16};

// Every code of every format comes back, but for the payload of NaNs.
TEST(FloatFormat, CodesRoundTrip) {
  for (const FloatFormat& f : kAll) {
    for (uint32_t code = 0; code < 1u << f.bits(); ++code) {
      float x = Decode(f, code);
      if (x != x) {
        float again = Decode(f, Encode(f, x));
        EXPECT_NE(again, again);
      } else {
        EXPECT_EQ(Encode(f, x), code) << f.bits();
      }
    }
  }
}

TEST(FloatFormat, KnownValues) {
  EXPECT_EQ(Decode(kE4M3Fn, 0x7e), 448.0f);
  EXPECT_EQ(Decode(kE4M3Fnuz, 0x7f), 240.0f);
  EXPECT_EQ(Decode(kE5M2, 0x7b), 57344.0f);
  EXPECT_EQ(Decode(kE5M2Fnuz, 0x7f), 57344.0f);
  EXPECT_EQ(Decode(kE2M3, 0x1f), 7.5f);
  EXPECT_EQ(Decode(kE3M2, 0x1f), 28.0f);
  EXPECT_EQ(Decode(kE2M1, 0x7), 6.0f);
  EXPECT_TRUE(std::isnan(Decode(kE4M3Fnuz, 0x80)));
  EXPECT_TRUE(std::isinf(Decode(kE5M2, 0x7c)));
  EXPECT_EQ(Encode(kE4M3Fn, 1e9f), 0x7fu);
  EXPECT_EQ(Encode(kE4M3Fn, 1e9f, Rounding::kNearestEven, true), 0x7eu);
  EXPECT_EQ(Encode(kE5M2, -1e9f), 0xfcu);
  EXPECT_EQ(Encode(kE2M1, 1e9f), 0x7u);
}

// Against a search among all codes: to nearest, ties to the even code.
TEST(FloatFormat, RoundsToNearestEven) {
  std::mt19937 random(7);
  for (const FloatFormat& f : kAll) {
    if (f.bits() > 8) continue;
    std::vector<double> values;
    for (uint32_t code = 0; code < 1u << (f.bits() - 1); ++code) {
      double v = Decode(f, code);
      if (std::isfinite(v)) values.push_back(v);
    }
    std::uniform_real_distribution<float> uniform(0, static_cast<float>(values.back()));
    for (int i = 0; i < 20000; ++i) {
      float x = i % 2 == 0 ? uniform(random)
                           : uniform(random) * std::ldexp(1.0f, -static_cast<int>(random() % 12));
      size_t best = 0;
      for (size_t c = 1; c < values.size(); ++c) {
        double d = std::fabs(values[c] - x), e = std::fabs(values[best] - x);
        if (d < e || (d == e && c % 2 == 0)) best = c;
      }
      ASSERT_EQ(Encode(f, x), best) << x << " in " << f.bits() << " bits";
    }
  }
}

TEST(FloatFormat, StochasticRoundingLiesBetweenItsNeighbours) {
  for (uint32_t noise : {0u, 0x7fffffffu, 0xffffffffu}) {
    float x = 1.0f + 1.0f / 16;  // Half way between two values of three bits.
    uint32_t code = Encode(kE4M3Fn, x, Rounding::kStochastic, false, noise);
    EXPECT_EQ(code, noise > 0x80000000u ? 0x39u : 0x38u);
  }
}

}  // namespace
}  // namespace tg::amd::sim
