// Arithmetic that the recorder does otherwise. Every rule computes the manual's result itself.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string_view>

#include "drivers/sim/amd/wave/differences.h"
#include "drivers/sim/amd/wave/float_format.h"
#include "drivers/sim/amd/wave/transition_lanes.h"

namespace tg::amd::sim {
namespace {

std::string_view NameOf(const Transition& t) { return t.inst.form->name; }
bool Has(std::string_view s, std::string_view part) {
  return s.find(part) != std::string_view::npos;
}
uint32_t Bits32(double x) { return std::bit_cast<uint32_t>(static_cast<float>(x)); }
uint64_t Bits64(double x) { return std::bit_cast<uint64_t>(x); }
int64_t Cut(double x, double lo, double hi) {
  return x != x ? 0 : static_cast<int64_t>(std::clamp(x, lo, hi));
}
// A 16-bit result in its half of the destination: RDNA keeps the other half, CDNA clears it.
bool Is16(const Transition& t, int lane, uint64_t got, uint16_t expected) {
  uint32_t old = t.in.lane(DestRow(t), lane);
  bool high = t.inst.form->Has(Mod::kOpSel) && (t.inst.Get(Mod::kOpSel) >> 3 & 1);
  const Operand& o = t.inst.operands[DestPosition(t.inst, 0)];
  high = high || (o.mods & kHigh);
  if (high) return got == ((old & 0xffff) | static_cast<uint32_t>(expected) << 16);
  return got == (IsRdna(t.isa) ? (old & 0xffff0000) | expected : expected);
}

// v_mul_*24 take 24 bits of their operands; the recorder takes all.
bool Multiply24(Transition* t) {
  std::string_view name = NameOf(*t);
  bool is_signed = Has(name, "i24"), high = Has(name, "_hi_"), mad = Has(name, "mad");
  if (!is_signed && !Has(name, "u24")) return false;
  bool clamp = t->inst.form->Has(Mod::kClamp) && t->inst.Get(Mod::kClamp);
  auto value = [&](int n, int l) {
    uint64_t x = SourceBits(*t, n, l) & 0xffffff;
    return is_signed && (x >> 23) ? static_cast<int64_t>(x) - (1 << 24) : static_cast<int64_t>(x);
  };
  return ExplainLanes(t, [&](int l, uint64_t got) {
    int64_t r = value(0, l) * value(1, l);
    uint32_t c = mad ? static_cast<uint32_t>(SourceBits(*t, 2, l)) : 0;
    r += is_signed ? static_cast<int64_t>(static_cast<int32_t>(c)) : static_cast<int64_t>(c);
    if (high) r >>= 32;
    if (clamp) {
      r = is_signed ? std::clamp<int64_t>(r, INT32_MIN, INT32_MAX)
                    : std::clamp<int64_t>(r, 0, UINT32_MAX);
    }
    return got == static_cast<uint32_t>(r);
  });
}

// Floats out of an integer's range saturate, NaN is 0; the recorder has what its host's
// conversion gives. In range it must agree.
bool ToInteger(Transition* t) {
  std::string_view name = NameOf(*t);
  auto source = [&](int n, int l) -> double {
    if (name.substr(name.size() - 3) == "f64") return SourceF64(*t, n, l);
    if (name.substr(name.size() - 3) == "f16") return SourceF16(*t, n, l);
    return SourceF32(*t, n, l);
  };
  auto cut16 = [&](double x, bool is_signed) {
    return static_cast<uint16_t>(is_signed ? Cut(std::trunc(x), -32768, 32767)
                                           : Cut(std::trunc(x), 0, 65535));
  };
  auto norm = [&](double x, bool is_signed) {
    x = x != x ? 0 : std::clamp(x, is_signed ? -1.0 : 0.0, 1.0);
    return static_cast<uint16_t>(static_cast<int>(std::nearbyint(x * (is_signed ? 32767 : 65535))));
  };
  return ExplainLanes(t, [&](int l, uint64_t got) {
    double x = source(0, l);
    bool is_signed = Has(name, "_i16") || Has(name, "_i32");
    if (Has(name, "norm")) {
      if (!Has(name, "pk")) return Is16(*t, l, got, norm(x, is_signed));
      return got ==
             (norm(x, is_signed) | static_cast<uint32_t>(norm(source(1, l), is_signed)) << 16);
    }
    if (name == "v_cvt_pk_i16_i32") {
      auto cut = [&](int n) {
        return static_cast<uint16_t>(
            std::clamp(static_cast<int32_t>(SourceBits(*t, n, l)), -32768, 32767));
      };
      return got == (cut(0) | static_cast<uint32_t>(cut(1)) << 16);
    }
    if (Has(name, "cvt_pk_")) {
      return got ==
             (cut16(x, is_signed) | static_cast<uint32_t>(cut16(source(1, l), is_signed)) << 16);
    }
    if (Has(name, "nearest") || Has(name, "rpi")) {
      x = std::floor(static_cast<float>(static_cast<float>(x) + 0.5f));
    } else if (Has(name, "floor") || Has(name, "flr")) {
      x = std::floor(x);
    } else {
      x = std::trunc(x);
    }
    if (Has(name, "i16") || Has(name, "u16")) return Is16(*t, l, got, cut16(x, is_signed));
    return got ==
           static_cast<uint32_t>(is_signed ? Cut(x, INT32_MIN, INT32_MAX) : Cut(x, 0, UINT32_MAX));
  });
}

// v_cvt_pk_rtz_f16_f32 rounds to zero; the recorder to nearest.
bool HalvesToZero(Transition* t) {
  std::string_view name = NameOf(*t);
  if (!Has(name, "rtz_f16")) return false;
  auto to_zero = [](float x) -> uint16_t {
    uint16_t h = NearestHalf(x);
    if (x != x || std::isinf(x)) return h;
    return std::fabs(HalfValue(h)) > std::fabs(static_cast<double>(x)) ? h - 1 : h;
  };
  WaveState want = t->want;
  return ExplainLanes(t, [&](int l, uint64_t got) {
    float a = SourceF32(*t, 0, l), b = SourceF32(*t, 1, l);
    uint32_t w = want.lane(DestRow(*t), l);
    bool recorder = static_cast<uint16_t>(w) == NearestHalf(a) || a != a;
    recorder = recorder && (static_cast<uint16_t>(w >> 16) == NearestHalf(b) || b != b);
    return recorder && got == (to_zero(a) | static_cast<uint32_t>(to_zero(b)) << 16);
  });
}

// v_frexp: exponent 0 for 0, infinities and NaN, and denormals normalized; the recorder takes the
// exponent's field as it is.
bool Frexp(Transition* t) {
  std::string_view name = NameOf(*t);
  if (!Has(name, "v_frexp_")) return false;
  bool f64 = Has(name, "f64"), f16 = Has(name, "f16"), exponent = Has(name, "_exp_");
  return ExplainLanes(t, [&](int l, uint64_t got) {
    double x = f64 ? SourceF64(*t, 0, l) : f16 ? SourceF16(*t, 0, l) : SourceF32(*t, 0, l);
    int e = 0;
    double m = std::isfinite(x) ? std::frexp(x, &e) : x;
    if (!exponent && t->inst.form->Has(Mod::kClamp) && t->inst.Get(Mod::kClamp)) {
      m = m > 0 ? std::fmin(m, 1) : 0;
    }
    if (exponent && f16) return Is16(*t, l, got, static_cast<uint16_t>(x == 0 ? 0 : e));
    if (exponent) return got == static_cast<uint32_t>(x == 0 ? 0 : e);
    if (f16) return Is16(*t, l, got, NearestHalf(m));
    return x != x ? std::isnan(f64 ? std::bit_cast<double>(got)
                                   : std::bit_cast<float>(static_cast<uint32_t>(got)))
                  : got == (f64 ? Bits64(m) : Bits32(m));
  });
}

// minimum and maximum give NaN when an operand is; min and max take the number. The recorder's do
// neither.
bool NansOfMinimum(Transition* t) {
  std::string_view name = NameOf(*t);
  bool propagates = Has(name, "minimum") || Has(name, "maximum"), least = Has(name, "min");
  int count = Has(name, "3") ? 3 : 2;
  bool f32 = Has(name, "f32"), packed = Has(name, "pk_");
  auto pick = [&](double a, double b) {
    if (a != a || b != b) return propagates ? NAN : a != a ? b : a;
    return least ? std::fmin(a, b) : std::fmax(a, b);
  };
  auto half = [&](int n, int l, bool high) {
    uint64_t raw = SourceBits(*t, n, l);
    bool upper = t->inst.Get(high ? Mod::kOpSelHi : Mod::kOpSel) >> n & 1;
    bool negative = t->inst.Get(high ? Mod::kNegHi : Mod::kNegLo) >> n & 1;
    return HalfValue(
        static_cast<uint16_t>((raw >> (upper ? 16 : 0) & 0xffff) ^ (negative ? 0x8000 : 0)));
  };
  auto same = [](double expected, uint16_t bits) {
    return expected != expected ? std::isnan(HalfValue(bits)) : bits == NearestHalf(expected);
  };
  return ExplainLanes(t, [&](int l, uint64_t got) {
    if (f32) {
      double r = SourceF32(*t, 0, l);
      for (int n = 1; n < count; ++n) r = pick(r, SourceF32(*t, n, l));
      return r != r ? std::isnan(std::bit_cast<float>(static_cast<uint32_t>(got)))
                    : got == Bits32(r);
    }
    if (!packed) return false;
    for (bool high : {false, true}) {
      double r = half(0, l, high);
      for (int n = 1; n < count; ++n) r = pick(r, half(n, l, high));
      if (!same(r, static_cast<uint16_t>(got >> (high ? 16 : 0)))) return false;
    }
    return true;
  });
}

// Distance in units of the last place.
uint64_t Distance(uint32_t a, uint32_t b) {
  auto order = [](uint32_t x) {
    return x >> 31 ? -static_cast<int64_t>(x & 0x7fffffff) : static_cast<int64_t>(x);
  };
  return static_cast<uint64_t>(std::abs(order(a) - order(b)));
}

// The exact function of approximating instructions.
std::optional<long double> Exact(std::string_view name, long double x) {
  const long double turn = 6.283185307179586476925286766559L;
  auto reduced = [&] { return x - std::floor(x); };
  if (Has(name, "log")) return x < 0 ? NAN : std::log2(x);
  if (Has(name, "_exp_")) return std::exp2(x);
  if (Has(name, "rsq")) return x < 0 ? NAN : 1 / std::sqrt(x);
  if (Has(name, "rcp")) return 1 / x;
  if (Has(name, "sqrt")) return x < 0 ? NAN : std::sqrt(x);
  if (Has(name, "sin")) {
    if (!std::isfinite(x)) return NAN;
    long double r = reduced();
    return r == 0 || r == 0.5L ? std::copysign(0.0L, x) : std::sin(r * turn);
  }
  if (Has(name, "cos")) {
    if (!std::isfinite(x)) return NAN;
    long double r = reduced();
    return r == 0.25L || r == 0.75L ? 0 : std::cos(r * turn);
  }
  return std::nullopt;
}

// Logarithms, exponentials, roots, reciprocals and turns: ours is the exact function's nearest
// number, or a neighbour. The recorder's argument reduction and libraries are less exact.
bool Approximation(Transition* t) {
  std::string_view name = NameOf(*t);
  bool f16 = Has(name, "f16");
  bool clamp = t->inst.form->Has(Mod::kClamp) && t->inst.Get(Mod::kClamp);
  auto f32_ok = [&](float x, uint32_t got) {
    std::optional<long double> r = Exact(name, x);
    if (!r.has_value()) return false;
    if (*r != *r) return clamp ? got == 0 : std::isnan(std::bit_cast<float>(got));
    float expected = static_cast<float>(*r);
    if (!(t->mode >> 5 & 1) && std::fpclassify(expected) == FP_SUBNORMAL) expected = 0;
    if (clamp) expected = expected > 0 ? std::fmin(expected, 1.0f) : 0;
    return Distance(got, Bits32(expected)) <= 1;
  };
  if (DestRow(*t) < 0) {  // Scalar.
    int s = t->inst.operands[DestPosition(t->inst, 0)].code;
    if (s >= 128 || f16 || !f32_ok(SourceF32(*t, 0, 0), t->got.sgprs[s])) return false;
    WaveState rest = t->got;
    rest.sgprs[s] = t->want.sgprs[s];
    if (!(rest == t->want)) return false;
    t->got = t->want;
    return true;
  }
  return ExplainLanes(t, [&](int l, uint64_t got) {
    if (!f16) return f32_ok(SourceF32(*t, 0, l), static_cast<uint32_t>(got));
    std::optional<long double> r = Exact(name, SourceF16(*t, 0, l));
    if (!r.has_value()) return false;
    if (clamp) r = *r > 0 ? std::fmin(*r, 1.0L) : 0;
    if (*r != *r) {
      bool keeps =
          !IsRdna(t->isa) || (got & 0xffff0000) == (t->in.lane(DestRow(*t), l) & 0xffff0000);
      return keeps && std::isnan(HalfValue(static_cast<uint16_t>(got)));
    }
    uint16_t nearest = NearestHalf(static_cast<double>(*r));
    return Is16(*t, l, got, nearest) || Is16(*t, l, got, nearest + 1) ||
           Is16(*t, l, got, nearest - 1);
  });
}

// Special values of v_div_fixup: 0 / 0 and infinity / infinity give a NaN with its sign set.
bool DivFixupNan(Transition* t) {
  std::string_view name = NameOf(*t);
  if (name != "v_div_fixup_f32" && name != "v_div_fixup_f64") return false;
  bool f64 = name == "v_div_fixup_f64";
  bool clamp = t->inst.form->Has(Mod::kClamp) && t->inst.Get(Mod::kClamp);
  return ExplainLanes(t, [&](int l, uint64_t got) {
    double d = f64 ? SourceF64(*t, 1, l) : SourceF32(*t, 1, l);
    double n = f64 ? SourceF64(*t, 2, l) : SourceF32(*t, 2, l);
    if (!((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n)))) return false;
    return got == (clamp ? 0 : f64 ? 0xfff8000000000000 : 0xffc00000);
  });
}

// v_ldexp_f16 scales by an integer of 16 bits; the recorder multiplies by a power that may
// overflow or vanish before the product does.
bool LdexpHalf(Transition* t) {
  if (NameOf(*t) != "v_ldexp_f16") return false;
  bool clamp = t->inst.form->Has(Mod::kClamp) && t->inst.Get(Mod::kClamp);
  return ExplainLanes(t, [&](int l, uint64_t got) {
    // The exponent is a number: signs of floats are not for it.
    double r = std::ldexp(SourceF16(*t, 0, l), static_cast<int16_t>(SourceBits(*t, 1, l)));
    if (clamp) r = r > 0 ? std::fmin(r, 1) : 0;
    return Is16(*t, l, got, NearestHalf(r));
  });
}

// v_cmp_class tells denormals from zeros, whatever MODE flushes.
bool ClassOfDenormal(Transition* t) {
  std::string_view name = NameOf(*t);
  if (name != "v_cmp_class_f32" && name != "v_cmpx_class_f32") return false;
  int p = DestPosition(t->inst, 0);
  if (p < 0 || t->inst.operands[p].code > 126) return false;
  WaveState expected = t->in;
  expected.pc = t->got.pc;
  uint64_t mask = 0;
  for (int l = 0; l < t->wave_size(); ++l) {
    if (!(t->exec() >> l & 1)) continue;
    uint32_t x = static_cast<uint32_t>(SourceBits(*t, 0, l));
    const Operand& o = t->inst.operands[SourcePosition(t->inst, 0)];
    if (o.mods & kAbs) x &= 0x7fffffff;
    if (o.mods & kNeg) x ^= 0x80000000;
    bool negative = x >> 31;
    int c;
    switch (std::fpclassify(std::bit_cast<float>(x))) {
      case FP_NAN:
        c = x >> 22 & 1 ? 1 : 0;
        break;
      case FP_INFINITE:
        c = negative ? 2 : 9;
        break;
      case FP_NORMAL:
        c = negative ? 3 : 8;
        break;
      case FP_SUBNORMAL:
        c = negative ? 4 : 7;
        break;
      default:
        c = negative ? 5 : 6;
    }
    if (SourceBits(*t, 1, l) >> c & 1) mask |= uint64_t{1} << l;
  }
  int code = t->inst.operands[p].code;
  for (int i = 0; i < t->wave_size() / 32; ++i) {
    expected.sgprs[code + i] = static_cast<uint32_t>(mask >> (32 * i));
  }
  if (!(expected == t->got)) return false;
  // The recorder's bits differ only where the number is denormal.
  for (int l = 0; l < t->wave_size(); ++l) {
    bool differs = (t->got.sgprs[code + l / 32] ^ t->want.sgprs[code + l / 32]) >> (l % 32) & 1;
    if (differs && std::fpclassify(std::bit_cast<float>(
                       static_cast<uint32_t>(SourceBits(*t, 0, l)))) != FP_SUBNORMAL) {
      return false;
    }
    if (differs) expected.sgprs[code + l / 32] ^= 1u << (l % 32);
  }
  t->got = expected;
  return true;
}

// v_mqsad_pk_u16_u8 skips bytes whose reference, in the second operand, is 0; the recorder those
// whose first is.
bool MaskedSad(Transition* t) {
  if (NameOf(*t) != "v_mqsad_pk_u16_u8") return false;
  auto sums = [&](int l, bool by_second) {
    uint64_t a = SourceBits(*t, 0, l), c = SourceBits(*t, 2, l), r = 0;
    uint32_t b = static_cast<uint32_t>(SourceBits(*t, 1, l));
    for (int i = 0; i < 4; ++i) {
      uint32_t sum = c >> (16 * i) & 0xffff;
      for (int j = 0; j < 4; ++j) {
        int p = static_cast<int>(a >> (8 * (i + j)) & 0xff),
            q = static_cast<int>(b >> (8 * j) & 0xff);
        if ((by_second ? q : p) != 0) sum += static_cast<uint32_t>(std::abs(p - q));
      }
      r |= static_cast<uint64_t>(sum & 0xffff) << (16 * i);
    }
    return r;
  };
  WaveState want = t->want;
  return ExplainLanes(t, [&](int l, uint64_t got) {
    uint64_t recorded =
        want.lane(DestRow(*t), l) | static_cast<uint64_t>(want.lane(DestRow(*t) + 1, l)) << 32;
    return got == sums(l, true) && recorded == sums(l, false);
  });
}

// v_cvt_off_f32_i4: the low four bits are a signed fraction in units of 1 / 16.
bool OffsetFraction(Transition* t) {
  if (NameOf(*t) != "v_cvt_off_f32_i4") return false;
  return ExplainLanes(t, [&](int l, uint64_t got) {
    int x = static_cast<int>(SourceBits(*t, 0, l) & 15);
    return got == Bits32((x > 7 ? x - 16 : x) / 16.0);
  });
}

// Rounding keeps the sign of a number, of a denormal that reads as 0, too.
bool SignOfZero(Transition* t) {
  if (NameOf(*t) != "v_rndne_f64") return false;
  return ExplainLanes(t, [&](int l, uint64_t got) {
    double x = SourceF64(*t, 0, l);
    return std::fabs(x) <= 0.5 && got == (std::signbit(x) ? uint64_t{1} << 63 : 0);
  });
}

// Interpolation takes its parameters from the lanes of the quad: lane 0 has P0, 1 P10, 2 P20. The
// recorder takes the lane's own.
bool QuadParameters(Transition* t) {
  std::string_view name = NameOf(*t);
  if (!Has(name, "v_interp_p")) return false;
  bool half = Has(name, "f16"), p10 = Has(name, "p10"), to_half = half && !p10;
  bool to_zero = Has(name, "rtz");
  bool clamp = t->inst.Get(Mod::kClamp);
  auto parameter = [&](int n, int lane, bool is_half) -> double {
    return is_half ? SourceF16(*t, n, lane) : SourceF32(*t, n, lane);
  };
  return ExplainLanes(t, [&](int l, uint64_t got) {
    int quad = l / 4 * 4;
    double a = parameter(0, p10 ? quad + 1 : quad + 2, half), b = parameter(1, l, false);
    double c = p10 ? parameter(2, quad, half) : parameter(2, l, false);
    // The product of two f32 is exact in double; fma rounds it and the sum once to double, which
    // is then more than twice as long as the result.
    float r = static_cast<float>(std::fma(a, b, c));
    if (std::fpclassify(r) == FP_SUBNORMAL) r = std::copysign(0.0f, r);
    if (clamp) r = r > 0 ? std::fmin(r, 1.0f) : 0;
    if (!to_half) {
      return r != r ? std::isnan(std::bit_cast<float>(static_cast<uint32_t>(got)))
                    : got == Bits32(r);
    }
    uint16_t h = NearestHalf(r);
    if (to_zero && std::isfinite(r) && std::fabs(HalfValue(h)) > std::fabs(r)) --h;
    if (r != r) return std::isnan(HalfValue(static_cast<uint16_t>(got)));
    return Is16(*t, l, got, h);
  });
}

// Dot products of floats: the sum is rounded once. The recorder rounds each step.
bool DotRounding(Transition* t) {
  std::string_view name = NameOf(*t);
  bool pair_x = Has(name, "v_dual");
  if (!Has(name, "dot2") && !Has(name, "dot4_f32")) return false;
  bool bf16 = Has(name, "bf16"), four = Has(name, "dot4");
  bool clamp = t->inst.form->Has(Mod::kClamp) && t->inst.Get(Mod::kClamp);
  auto half = [&](int n, int l, bool high) {
    uint64_t raw = SourceBits(*t, n, l);
    bool upper = high, negative = false;
    if (!pair_x) {
      upper = t->inst.Get(high ? Mod::kOpSelHi : Mod::kOpSel) >> n & 1;
      negative = t->inst.Get(high ? Mod::kNegHi : Mod::kNegLo) >> n & 1;
    }
    uint16_t bits =
        static_cast<uint16_t>((raw >> (upper ? 16 : 0) & 0xffff) ^ (negative ? 0x8000 : 0));
    return static_cast<long double>(bf16 ? Bf16Value(bits) : HalfValue(bits));
  };
  auto small = [&](int n, int l, int i) {
    bool bf8 = n == 0 ? Has(name, "f32_bf8") : name.substr(name.size() - 3) == "bf8";
    return static_cast<long double>(
        Decode(bf8 ? Bf8Of(t->isa) : Fp8Of(t->isa), SourceBits(*t, n, l) >> (8 * i) & 0xff));
  };
  return ExplainLanes(t, [&](int l, uint64_t got) {
    long double sum;
    if (pair_x || Has(name, "dot2c")) {
      sum = std::bit_cast<float>(t->in.lane(DestRow(*t), l));
    } else {
      float c = std::bit_cast<float>(static_cast<uint32_t>(SourceBits(*t, 2, l)));
      if (t->inst.Get(Mod::kNegHi) >> 2 & 1 && four) c = std::fabs(c);
      sum = t->inst.Get(Mod::kNegLo) >> 2 & 1 ? -c : c;
    }
    if (four) {
      for (int i = 0; i < 4; ++i) sum += small(0, l, i) * small(1, l, i);
    } else {
      sum += half(0, l, false) * half(1, l, false);
      sum += half(0, l, true) * half(1, l, true);
    }
    if (sum != sum)
      return std::isnan(std::bit_cast<float>(static_cast<uint32_t>(got))) || (clamp && got == 0);
    float r = static_cast<float>(sum);
    if (std::fpclassify(r) == FP_SUBNORMAL) r = std::copysign(0.0f, r);
    if (clamp) r = r > 0 ? std::fmin(r, 1.0f) : 0;
    return got == Bits32(r);
  });
}

// v_mad_co_i64_i32: the carry is bit 64 of the sum of sign-extended numbers; the recorder's is that
// of an unsigned sum.
bool SignedCarry(Transition* t) {
  if (NameOf(*t) != "v_mad_co_i64_i32") return false;
  int p = DestPosition(t->inst, 1);
  if (p < 0 || t->inst.operands[p].code > 127) return false;
  int code = t->inst.operands[p].code;
  uint32_t expected = 0;
  for (int l = 0; l < 32; ++l) {
    if (!(t->exec() >> l & 1)) continue;
    __int128 sum = static_cast<__int128>(static_cast<int32_t>(SourceBits(*t, 0, l))) *
                       static_cast<int32_t>(SourceBits(*t, 1, l)) +
                   static_cast<int64_t>(SourceBits(*t, 2, l));
    if (t->got.lane(DestRow(*t), l) != static_cast<uint32_t>(sum)) return false;
    if (sum < 0) expected |= 1u << l;
  }
  if (t->got.sgprs[code] != expected) return false;
  t->got.sgprs[code] = t->want.sgprs[code];
  return true;
}

// v_div_scale as the manuals' steps: flags are for denormal quotients and those near the largest
// number, and operands are compared with their signs. The recorder takes zeros and NaN for
// denormals and compares without signs.
bool DivScale(Transition* t) {
  std::string_view name = NameOf(*t);
  bool f64 = name == "v_div_scale_f64";
  if (!f64 && name != "v_div_scale_f32") return false;
  int p = DestPosition(t->inst, 1), row = DestRow(*t);
  if (p < 0 || row < 0 || t->inst.operands[p].code > 126) return false;
  int code = t->inst.operands[p].code;
  const int near = f64 ? 768 : 96, least = f64 ? -1022 : -126, scale = f64 ? 128 : 64;
  const int tiny = f64 ? 53 : 23, bias = f64 ? 1023 : 127;
  auto denormal = [&](__float128 x) {
    if (x < 0) x = -x;
    __float128 limit = std::ldexp(1.0, -1000);
    limit *= std::ldexp(1.0, least + 1000);
    __float128 lowest = limit * std::ldexp(1.0, f64 ? -53 : -24);
    return x < limit && x >= lowest;
  };
  auto field = [&](double x) {  // Of the exponent.
    if (!std::isfinite(x)) return 2 * bias + 1;
    return x == 0 || std::ilogb(x) < least ? 0 : std::ilogb(x) + bias;
  };
  for (int l = 0; l < t->wave_size(); ++l) {
    if (!(t->exec() >> l & 1)) continue;
    auto value = [&](int n) { return f64 ? SourceF64(*t, n, l) : SourceF32(*t, n, l); };
    double s = value(0), d = value(1), n = value(2), r = s;
    bool flag = false;
    if (n == 0 || d == 0) {
      r = NAN;
    } else if (field(n) - field(d) >= near) {
      flag = true;
      if (s == d) r = std::ldexp(s, scale);
    } else if (std::isfinite(d) && field(d) == 0) {
      r = std::ldexp(s, scale);
    } else {
      bool reciprocal = denormal(static_cast<__float128>(1) / d);
      bool quotient = denormal(static_cast<__float128>(n) / d);
      flag = quotient;
      if (reciprocal && quotient) {
        if (s == d) r = std::ldexp(s, scale);
      } else if (reciprocal) {
        r = std::ldexp(s, -scale);
      } else if (quotient) {
        if (s == n) r = std::ldexp(s, scale);
      } else if (field(n) <= tiny) {
        r = std::ldexp(s, scale);
      }
    }
    if (t->inst.form->Has(Mod::kOmod) && t->inst.Get(Mod::kOmod)) {
      static constexpr double kScales[] = {1, 2, 4, 0.5};
      r *= kScales[t->inst.Get(Mod::kOmod)];
    }
    uint64_t got = t->got.lane(row, l);
    if (f64) got |= static_cast<uint64_t>(t->got.lane(row + 1, l)) << 32;
    double ours =
        f64 ? std::bit_cast<double>(got) : std::bit_cast<float>(static_cast<uint32_t>(got));
    if (r != r ? ours == ours : ours != (f64 ? r : static_cast<float>(r))) return false;
    uint32_t bit = 1u << (l % 32);
    uint32_t& word = t->got.sgprs[code + l / 32];
    if (((word & bit) != 0) != flag) return false;
    word = (word & ~bit) | (t->want.sgprs[code + l / 32] & bit);
    for (int dword = 0; dword < DestDwords(*t); ++dword) {
      t->got.lane(row + dword, l) = t->want.lane(row + dword, l);
    }
  }
  return true;
}

// v_mad_legacy_f16: the result is a half. The recorder turns it into an integer.
bool HalfMad(Transition* t) {
  if (NameOf(*t) != "v_mad_legacy_f16") return false;
  bool clamp = t->inst.Get(Mod::kClamp);
  return ExplainLanes(t, [&](int l, uint64_t got) {
    double product =
        HalfValue(NearestHalf(static_cast<double>(SourceF16(*t, 0, l)) * SourceF16(*t, 1, l)));
    double fused = static_cast<double>(SourceF16(*t, 0, l)) * SourceF16(*t, 1, l);
    auto result = [&](double x) {
      x += SourceF16(*t, 2, l);
      if (clamp) x = x > 0 ? std::fmin(x, 1) : 0;
      return NearestHalf(x);
    };
    return Is16(*t, l, got, result(product)) || Is16(*t, l, got, result(fused));
  });
}

constexpr DifferenceRule kRules[] = {
    {"signed-carry", SignedCarry},
    {"div-scale", DivScale},
    {"half-mad", HalfMad},
    {"multiply-24", Multiply24},
    {"to-integer", ToInteger},
    {"halves-to-zero", HalvesToZero},
    {"frexp", Frexp},
    {"nans-of-minimum", NansOfMinimum},
    {"approximation", Approximation},
    {"div-fixup-nan", DivFixupNan},
    {"ldexp-half", LdexpHalf},
    {"class-of-denormal", ClassOfDenormal},
    {"masked-sad", MaskedSad},
    {"offset-fraction", OffsetFraction},
    {"sign-of-zero", SignOfZero},
    {"quad-parameters", QuadParameters},
    {"dot-rounding", DotRounding},
};

}  // namespace

absl::Span<const DifferenceRule> NumberDifferences() { return kRules; }

}  // namespace tg::amd::sim
