// All inputs of 8- and 16-bit conversions and of unary instructions on f16, against arithmetic in
// higher precision.
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/isa/amd/table.h"
#include "drivers/sim/amd/wave/float_format.h"
#include "drivers/sim/amd/wave/transition.h"
#include "drivers/sim/amd/wave/transition_lanes.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

// Runs an instruction with one source in v0, 32 inputs at a time, and gives v4 and v5.
class Unary {
 public:
  Unary(Isa isa, const std::string& mnemonic) {
    auto forms = FormsNamed(mnemonic, isa);
    if (forms.empty()) return;
    form_ = forms[0];
    t_.isa = isa;
    t_.mode = 0xf0;
    t_.in.rows.assign(512 * 64, 0);
    t_.in.sgprs.assign(128, 0);
    t_.in.sgprs[126] = t_.in.sgprs[127] = 0xffffffff;
    t_.inst = Inst(*form_);
    t_.inst.num_operands = form_->num_operands;
    t_.inst.size = 4;
    for (int i = 0; i < form_->num_operands; ++i) {
      bool dest = form_->specs[i].role == Role::kDst || form_->specs[i].role == Role::kDstSrc;
      t_.inst.operands[i] = Vgpr(dest ? 4 : sources_++, form_->specs[i].dwords);
    }
  }
  bool exists() const { return form_ != nullptr; }
  Inst& inst() { return t_.inst; }
  // Other sources: the same in every lane.
  void Set(int source, uint32_t bits) {
    for (int l = 0; l < 64; ++l) t_.in.lane(source, l) = bits;
  }
  std::vector<uint64_t> Run(const std::vector<uint32_t>& in) {
    std::vector<uint64_t> out;
    for (size_t at = 0; at < in.size(); at += 32) {
      for (size_t l = 0; l < 32 && at + l < in.size(); ++l) {
        t_.in.lane(0, static_cast<int>(l)) = in[at + l];
      }
      WaveState got;
      EXPECT_EQ(RunTransition(t_, t_.inst, &got), "");
      for (size_t l = 0; l < 32 && at + l < in.size(); ++l) {
        int lane = static_cast<int>(l);
        out.push_back(got.lane(4, lane) | static_cast<uint64_t>(got.lane(5, lane)) << 32);
      }
    }
    return out;
  }

 private:
  const Form* form_ = nullptr;
  Transition t_;
  int sources_ = 0;
};

std::vector<uint32_t> AllHalves() {
  std::vector<uint32_t> all;
  for (uint32_t x = 0; x < 0x10000; ++x) all.push_back(x);
  return all;
}

bool SameHalf(uint16_t got, double want) {
  return want != want ? std::isnan(HalfValue(got)) : got == NearestHalf(want);
}
float FloatOf(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

// The value of a small float, from its definition.
double SmallValue(int exponent_bits, int mantissa_bits, int bias, Special special, uint32_t code) {
  int e = static_cast<int>(code >> mantissa_bits & ((1u << exponent_bits) - 1));
  int m = static_cast<int>(code & ((1u << mantissa_bits) - 1));
  bool negative = code >> (exponent_bits + mantissa_bits) & 1;
  int last = (1 << exponent_bits) - 1, full = (1 << mantissa_bits) - 1;
  if (special == Special::kFnuz && negative && e == 0 && m == 0) return NAN;
  if (special == Special::kFn && e == last && m == full) return NAN;
  double x = special == Special::kIeee && e == last ? (m ? NAN : INFINITY)
             : e == 0                               ? m * std::pow(2.0, 1 - bias - mantissa_bits)
                      : (1 + m / std::pow(2.0, mantissa_bits)) * std::pow(2.0, e - bias);
  return negative ? -x : x;
}

struct Format8 {
  const char* type;
  Isa isa;
  int exponent_bits, mantissa_bits, bias;
  Special special;
};
constexpr Format8 kFormats8[] = {{"fp8", Isa::kGfx12, 4, 3, 7, Special::kFn},
                                 {"bf8", Isa::kGfx12, 5, 2, 15, Special::kIeee},
                                 {"fp8", Isa::kGfx942, 4, 3, 8, Special::kFnuz},
                                 {"bf8", Isa::kGfx942, 5, 2, 16, Special::kFnuz},
                                 {"fp8", Isa::kGfx950, 4, 3, 7, Special::kFn},
                                 {"bf8", Isa::kGfx950, 5, 2, 15, Special::kIeee}};

TEST(Exhaustive, EightBitFloatsWiden) {
  for (const Format8& f : kFormats8) {
    Unary op(f.isa, std::string("v_cvt_f32_") + f.type + "_e32");
    ASSERT_TRUE(op.exists()) << f.type;
    std::vector<uint32_t> in;
    for (uint32_t c = 0; c < 256; ++c) in.push_back(c | 0xa5a5a500);
    std::vector<uint64_t> out = op.Run(in);
    for (uint32_t c = 0; c < 256; ++c) {
      double want = SmallValue(f.exponent_bits, f.mantissa_bits, f.bias, f.special, c);
      float got = FloatOf(out[c]);
      EXPECT_TRUE(want != want ? got != got
                               : got == want && std::signbit(got) == std::signbit(want))
          << f.type << " " << c << ": " << got << " is not " << want;
    }
  }
}

// Every f32 whose lower half is 0, 1, 8000 or ffff: all bf16 values, and both sides of each.
TEST(Exhaustive, EightBitFloatsAreTheNearest) {
  for (const Format8& f : kFormats8) {
    Unary op(f.isa, std::string("v_cvt_pk_") + f.type + "_f32_e64");
    if (!op.exists()) op = Unary(f.isa, std::string("v_cvt_pk_") + f.type + "_f32");
    ASSERT_TRUE(op.exists()) << f.type;
    std::vector<double> values;
    for (uint32_t c = 0; c < 128; ++c) {
      values.push_back(SmallValue(f.exponent_bits, f.mantissa_bits, f.bias, f.special, c));
    }
    std::vector<uint32_t> in;
    for (uint32_t high = 0; high < 0x10000; ++high) {
      for (uint32_t low : {0u, 1u, 0x8000u, 0xffffu}) in.push_back(high << 16 | low);
    }
    std::vector<uint64_t> out = op.Run(in);
    uint32_t largest = 0;
    for (uint32_t c = 0; c < 128; ++c) {
      if (std::isfinite(values[c])) largest = c;
    }
    // Behind the largest number as if there were a next one.
    double limit = values[largest] + (values[largest] - values[largest - 1]) / 2;
    int wrong = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      double x = FloatOf(in[i]), magnitude = std::fabs(x);
      uint32_t got = out[i] & 0xff;
      double value = SmallValue(f.exponent_bits, f.mantissa_bits, f.bias, f.special, got);
      bool ok;
      bool overflows = magnitude > limit || (magnitude == limit && largest % 2 == 1);
      if (x != x || overflows) {
        bool infinite = f.special == Special::kIeee && x == x;
        ok =
            infinite ? std::isinf(value) && std::signbit(value) == std::signbit(x) : value != value;
      } else {
        // No code is nearer, and of two that are as near this one is even.
        double distance = std::fabs(std::fabs(value) - magnitude);
        ok = std::isfinite(value);
        for (uint32_t c = 0; c <= largest; ++c) {
          double other = std::fabs(values[c] - magnitude);
          if (other < distance) ok = false;
          if (other == distance && values[c] != std::fabs(value) && (got & 1)) ok = false;
        }
        bool zero = value == 0 && f.special == Special::kFnuz;
        ok = ok && (zero || std::signbit(value) == std::signbit(x));
      }
      if (!ok && ++wrong <= 3) ADD_FAILURE() << f.type << ": " << x << " is not " << value;
    }
    EXPECT_EQ(wrong, 0) << f.type;
  }
}

TEST(Exhaustive, HalvesWiden) {
  for (Isa isa : {Isa::kGfx11, Isa::kGfx12, Isa::kGfx942, Isa::kGfx950}) {
    Unary op(isa, "v_cvt_f32_f16_e32");
    ASSERT_TRUE(op.exists());
    std::vector<uint64_t> out = op.Run(AllHalves());
    for (uint32_t x = 0; x < 0x10000; ++x) {
      double want = HalfValue(static_cast<uint16_t>(x));
      float got = FloatOf(out[x]);
      ASSERT_TRUE(want != want ? got != got : got == want) << x;
    }
  }
}

// The numbers halfway between halves and both sides of them, and all bf16 values.
TEST(Exhaustive, FloatsRoundToHalves) {
  std::vector<uint32_t> in;
  for (uint32_t h = 0; h < 0x7bff; ++h) {
    float middle = static_cast<float>(
        (HalfValue(static_cast<uint16_t>(h)) + HalfValue(static_cast<uint16_t>(h + 1))) / 2);
    uint32_t bits = std::bit_cast<uint32_t>(middle);
    for (uint32_t x : {bits - 1, bits, bits + 1}) in.push_back(x), in.push_back(x | 0x80000000);
  }
  for (uint32_t high = 0; high < 0x10000; ++high) in.push_back(high << 16);
  for (Isa isa : {Isa::kGfx11, Isa::kGfx950}) {
    Unary op(isa, "v_cvt_f16_f32_e32");
    ASSERT_TRUE(op.exists());
    std::vector<uint64_t> out = op.Run(in);
    for (size_t i = 0; i < in.size(); ++i) {
      ASSERT_TRUE(SameHalf(static_cast<uint16_t>(out[i]), FloatOf(in[i]))) << std::hex << in[i];
    }
  }
}

double Saturated(double x, double least, double greatest) {
  return x != x ? 0 : std::trunc(x < least ? least : x > greatest ? greatest : x);
}

TEST(Exhaustive, HalvesAndIntegersOf16Bits) {
  struct Case {
    const char* name;
    std::function<uint16_t(uint16_t)> want;
  };
  auto half = [](uint16_t x) { return HalfValue(x); };
  const Case kCases[] = {
      {"v_cvt_f16_i16_e32", [](uint16_t x) { return NearestHalf(static_cast<int16_t>(x)); }},
      {"v_cvt_f16_u16_e32", [](uint16_t x) { return NearestHalf(x); }},
      {"v_cvt_i16_f16_e32",
       [&](uint16_t x) {
         return static_cast<uint16_t>(static_cast<int>(Saturated(half(x), -32768, 32767)));
       }},
      {"v_cvt_u16_f16_e32",
       [&](uint16_t x) { return static_cast<uint16_t>(Saturated(half(x), 0, 65535)); }},
      {"v_cvt_norm_i16_f16_e32",
       [&](uint16_t x) {
         double v = half(x) != half(x) ? 0 : std::fmax(-1, std::fmin(1, half(x)));
         return static_cast<uint16_t>(static_cast<int>(std::nearbyint(v * 32767)));
       }},
      {"v_cvt_norm_u16_f16_e32",
       [&](uint16_t x) {
         double v = half(x) != half(x) ? 0 : std::fmax(0, std::fmin(1, half(x)));
         return static_cast<uint16_t>(std::nearbyint(v * 65535));
       }},
  };
  for (Isa isa : {Isa::kGfx11, Isa::kGfx12, Isa::kGfx942}) {
    for (const Case& c : kCases) {
      Unary op(isa, c.name);
      ASSERT_TRUE(op.exists()) << c.name;
      std::vector<uint64_t> out = op.Run(AllHalves());
      int wrong = 0;
      for (uint32_t x = 0; x < 0x10000; ++x) {
        uint16_t want = c.want(static_cast<uint16_t>(x)), got = static_cast<uint16_t>(out[x]);
        if (got != want && ++wrong <= 3) {
          ADD_FAILURE() << c.name << std::hex << " of " << x << " is " << got << ", not " << want;
        }
      }
      EXPECT_EQ(wrong, 0) << c.name;
    }
  }
}

// Exact functions must be exact; approximations may be a unit off.
TEST(Exhaustive, UnaryInstructionsOnHalves) {
  const long double kTurn = 6.283185307179586476925286766559L;
  struct Case {
    const char* name;
    int units;
    std::function<long double(long double)> f;
  };
  auto turns = [](long double x) { return x - std::floor(x); };
  const Case kCases[] = {
      {"v_ceil_f16_e32", 0, [](long double x) { return std::ceil(x); }},
      {"v_floor_f16_e32", 0, [](long double x) { return std::floor(x); }},
      {"v_trunc_f16_e32", 0, [](long double x) { return std::trunc(x); }},
      {"v_rndne_f16_e32", 0, [](long double x) { return std::nearbyint(x); }},
      {"v_fract_f16_e32", 1, [](long double x) { return std::isinf(x) ? NAN : x - std::floor(x); }},
      {"v_frexp_mant_f16_e32", 0,
       [](long double x) {
         int e;
         return std::isfinite(x) ? std::frexp(x, &e) : x;
       }},
      {"v_sqrt_f16_e32", 1, [](long double x) { return std::sqrt(x); }},
      {"v_rcp_f16_e32", 1, [](long double x) { return 1 / x; }},
      {"v_rsq_f16_e32", 1,
       [](long double x) {
         return x == 0 ? std::copysign(INFINITY, static_cast<double>(x)) : 1 / std::sqrt(x);
       }},
      {"v_log_f16_e32", 1, [](long double x) { return std::log2(x); }},
      {"v_exp_f16_e32", 1, [](long double x) { return std::exp2(x); }},
      {"v_sin_f16_e32", 1,
       [&](long double x) { return std::isinf(x) ? NAN : std::sin(turns(x) * kTurn); }},
      {"v_cos_f16_e32", 1,
       [&](long double x) { return std::isinf(x) ? NAN : std::cos(turns(x) * kTurn); }},
  };
  for (Isa isa : {Isa::kGfx11, Isa::kGfx950}) {
    for (const Case& c : kCases) {
      Unary op(isa, c.name);
      ASSERT_TRUE(op.exists()) << c.name;
      std::vector<uint64_t> out = op.Run(AllHalves());
      int wrong = 0;
      for (uint32_t x = 0; x < 0x10000; ++x) {
        double in = HalfValue(static_cast<uint16_t>(x));
        double want = in != in ? in : static_cast<double>(c.f(in));
        uint16_t got = static_cast<uint16_t>(out[x]), nearest = NearestHalf(want);
        bool ok = SameHalf(got, want);
        if (!ok && c.units == 1 && want == want) {
          // A neighbour; sines near their zeros are no better than their argument.
          ok = std::abs(static_cast<int>(got) - static_cast<int>(nearest)) <= 1 ||
               std::fabs(HalfValue(got) - want) < 1e-7;
        }
        if (!ok && ++wrong <= 3) {
          ADD_FAILURE() << c.name << std::hex << " of " << x << " is " << got << ", not "
                        << nearest;
        }
      }
      EXPECT_EQ(wrong, 0) << c.name;
    }
    Unary exponent(isa, "v_frexp_exp_i16_f16_e32");
    ASSERT_TRUE(exponent.exists());
    std::vector<uint64_t> out = exponent.Run(AllHalves());
    for (uint32_t x = 0; x < 0x10000; ++x) {
      double in = HalfValue(static_cast<uint16_t>(x));
      int e = 0;
      if (std::isfinite(in) && in != 0) std::frexp(in, &e);
      ASSERT_EQ(static_cast<int16_t>(out[x]), e) << x;
    }
  }
}

// Scaled conversions: all codes, through some scales.
TEST(Exhaustive, ScaledSmallFloats) {
  struct Case {
    const char* name;
    int exponent_bits, mantissa_bits, bias;
    Special special;
  };
  constexpr Case kCases[] = {{"fp8", 4, 3, 7, Special::kFn},
                             {"bf8", 5, 2, 15, Special::kIeee},
                             {"fp4", 2, 1, 1, Special::kNone}};
  for (const Case& c : kCases) {
    int bits = 1 + c.exponent_bits + c.mantissa_bits;
    Unary op(Isa::kGfx950, std::string("v_cvt_scalef32_pk_f32_") + c.name);
    if (!op.exists())
      op = Unary(Isa::kGfx950, std::string("v_cvt_scalef32_pk_f32_") + c.name + "_e64");
    ASSERT_TRUE(op.exists()) << c.name;
    for (float scale : {1.0f, 0.25f, 1024.0f}) {
      // Only the exponent counts.
      op.Set(1, std::bit_cast<uint32_t>(scale) | 0x2aaaaa);
      std::vector<uint32_t> in;
      for (uint32_t code = 0; code < (1u << bits); ++code) in.push_back(code | code << bits);
      std::vector<uint64_t> out = op.Run(in);
      for (uint32_t code = 0; code < (1u << bits); ++code) {
        double want = scale * SmallValue(c.exponent_bits, c.mantissa_bits, c.bias, c.special, code);
        for (uint64_t got : {out[code], out[code] >> 32}) {
          ASSERT_TRUE(want != want ? FloatOf(got) != FloatOf(got) : FloatOf(got) == want)
              << c.name << " " << code << " * " << scale;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tg::amd::sim
