#include "codegen/ir/facts.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

namespace tg::ir::internal {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr Bounds kUnknown{kMin, kMax};

using Wide = __int128;

// The interval [lo, hi] if it fits `d`, else all of `d`: the value may have wrapped. For exact
// integers the ends saturate, which keeps the interval sound.
Bounds Fit(Wide lo, Wide hi, DType d) {
  if (d.scalar() == ScalarType::kWeakInt) {
    auto clamp = [](Wide v) { return v < kMin ? kMin : v > kMax ? kMax : static_cast<int64_t>(v); };
    return {clamp(lo), clamp(hi)};
  }
  if (d.scalar() == ScalarType::kUInt64) {
    // Values above INT64_MAX are held as negative numbers: only the lower half can be ordered.
    return lo >= 0 && hi <= kMax ? Bounds{static_cast<int64_t>(lo), static_cast<int64_t>(hi)}
                                 : kUnknown;
  }
  const int64_t min = d.MinInt(), max = d.MaxInt();
  if (lo < min || hi > max) return {min, max};
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

// An end of an exact integer's interval that reaches the end of int64 stands for "no bound". It is
// held as a number beyond int64, so that Fit makes it the end again whatever it is multiplied by;
// sums with it are handled apart.
constexpr Wide kBeyond = static_cast<Wide>(1) << 63;
Wide LowEnd(const Bounds& b, DType d) {
  return d.IsWeak() && b.min == kMin ? -kBeyond : static_cast<Wide>(b.min);
}
Wide HighEnd(const Bounds& b, DType d) {
  return d.IsWeak() && b.max == kMax ? kBeyond : static_cast<Wide>(b.max);
}

// [a.min + b.min, a.max + b.max]
Bounds Sum(const Bounds& a, const Bounds& b, DType d) {
  Wide lo = static_cast<Wide>(a.min) + b.min, hi = static_cast<Wide>(a.max) + b.max;
  if (d.IsWeak() && (a.min == kMin || b.min == kMin)) lo = kMin;
  if (d.IsWeak() && (a.max == kMax || b.max == kMax)) hi = kMax;
  return Fit(lo, hi, d);
}

// [-max, -min]; an exact integer's missing bound stays missing.
Bounds Negated(const Bounds& b, DType d) {
  if (!d.IsWeak()) return Fit(-static_cast<Wide>(b.max), -static_cast<Wide>(b.min), d);
  auto negate = [](int64_t v) { return v == kMax ? kMin : v == kMin ? kMax : -v; };
  return {negate(b.max), negate(b.min)};
}

Bounds All(DType d) {
  if (d.scalar() == ScalarType::kUInt64 || !(d.IsInt() || d.IsBool())) return kUnknown;
  return {d.MinInt(), d.MaxInt()};
}

bool Saturated(const Bounds& b) { return b.min == kMin || b.max == kMax; }

Wide FloorDivide(Wide a, Wide b) {
  Wide q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

template <typename F>
Bounds Corners(const Bounds& a, const Bounds& b, DType d, F f) {
  const Wide a0 = LowEnd(a, d), a1 = HighEnd(a, d), b0 = LowEnd(b, d), b1 = HighEnd(b, d);
  const Wide v[4] = {f(a0, b0), f(a0, b1), f(a1, b0), f(a1, b1)};
  return Fit(*std::min_element(v, v + 4), *std::max_element(v, v + 4), d);
}

Bounds DivBounds(Op op, const Bounds& a, const Bounds& b, DType d) {
  if (b.min <= 0 && b.max >= 0) return All(d);
  if (d.scalar() == ScalarType::kWeakInt && Saturated(a)) {
    // A saturated end stands for "unbounded"; dividing it would invent a bound.
    if (b.min > 0 && a.min >= 0) return {0, a.max};
    return kUnknown;
  }
  return Corners(a, b, d,
                 [op](Wide x, Wide y) { return op == Op::kCdiv ? x / y : FloorDivide(x, y); });
}

Bounds ModBounds(Op op, const Bounds& a, const Bounds& b, DType d) {
  if (b.min <= 0 && b.max >= 0) return All(d);
  const int64_t largest =
      std::max(b.max == kMin ? kMax : std::abs(b.max), b.min == kMin ? kMax : std::abs(b.min));
  if (op == Op::kFloorMod) {
    if (b.min == b.max && b.min > 0 && !Saturated(a)) {
      // Within one period the remainder is linear.
      const Wide qa = FloorDivide(a.min, b.min), qb = FloorDivide(a.max, b.min);
      if (qa == qb) return Fit(a.min - qa * b.min, a.max - qa * b.min, d);
    }
    if (b.min <= 0) return largest == kMax ? Bounds{kMin, 0} : Fit(-Wide{largest} + 1, 0, d);
    const int64_t most = largest == kMax ? kMax : largest - 1;
    return Fit(0, a.min >= 0 ? std::min(a.max, most) : most, d);
  }
  if (b.min == b.max && !Saturated(a)) {
    const Wide qa = static_cast<Wide>(a.min) / b.min, qb = static_cast<Wide>(a.max) / b.min;
    if (qa == qb && (a.min >= 0 || a.max <= 0)) {
      return Fit(a.min - qa * b.min, a.max - qa * b.min, d);
    }
  }
  const Wide reach = largest == kMax ? kMax : largest - 1;
  return Fit(a.min >= 0 ? 0 : -std::min<Wide>(reach, a.min == kMin ? reach : -a.min),
             a.max <= 0 ? 0 : std::min<Wide>(reach, a.max), d);
}

Bounds CompareBounds(Op op, const UOp& x, const UOp& y) {
  if (!(x.dtype().IsInt() || x.dtype().IsBool())) return {0, 1};
  const Bounds &a = x.bounds(), &b = y.bounds();
  // The upper half of uint64 is held as negative numbers.
  if (x.dtype().scalar() == ScalarType::kUInt64 && (a.min < 0 || b.min < 0)) return {0, 1};
  if (op == Op::kCmpLt) {
    const bool unbounded = x.dtype().IsWeak() && (a.min == kMin || b.max == kMax);
    return {a.max < b.min, unbounded || a.min < b.max};
  }
  const bool disjoint = a.max < b.min || b.max < a.min;
  const bool equal = a.min == a.max && b.min == b.max && a.min == b.min && !Saturated(a);
  const Congruence &ca = x.congruence(), &cb = y.congruence();
  // Different residues modulo a common divisor can never be equal.
  const int64_t g = std::gcd(ca.modulus, cb.modulus);
  const bool incongruent = g > 1 && (static_cast<Wide>(ca.remainder) - cb.remainder) % g != 0;
  const bool never = disjoint || incongruent;
  return op == Op::kCmpEq ? Bounds{equal, !never} : Bounds{never, !equal};
}

// Bounds of x & c for a non-negative mask, and of the bitwise operations on bool.
Bounds BitwiseBounds(Op op, const Bounds& a, const Bounds& b, DType d) {
  if (d.IsBool()) {
    if (op == Op::kAnd) return {a.min & b.min, a.max & b.max};
    if (op == Op::kOr) return {a.min | b.min, a.max | b.max};
    if (a.min == a.max && b.min == b.max) return {a.min ^ b.min, a.min ^ b.min};
    return {0, 1};
  }
  if (d.scalar() == ScalarType::kUInt64) return kUnknown;
  if (op == Op::kAnd) {
    if (a.min >= 0 && b.min >= 0) return {0, std::min(a.max, b.max)};
    if (b.min >= 0) return {0, b.max};
    if (a.min >= 0) return {0, a.max};
    return All(d);
  }
  if (a.min >= 0 && b.min >= 0) {
    uint64_t m = static_cast<uint64_t>(a.max | b.max);
    for (int s = 1; s < 64; s *= 2) m |= m >> s;
    return Fit(op == Op::kOr ? std::max(a.min, b.min) : 0, static_cast<Wide>(m), d);
  }
  return All(d);
}

Bounds CastBounds(const UOp& x, DType d) {
  const DType from = x.dtype();
  if (!(from.IsInt() || from.IsBool())) {
    return d.IsBool() ? Bounds{0, 1} : All(d);
  }
  if (d.IsBool()) {
    if (x.vmin() > 0 || x.vmax() < 0) return {1, 1};
    return {0, !(x.vmin() == 0 && x.vmax() == 0)};
  }
  if (from.scalar() == ScalarType::kUInt64 && x.vmin() < 0) return All(d);
  if (from.IsWeak() && Saturated(x.bounds())) return d.IsWeak() ? x.bounds() : All(d);
  return Fit(x.vmin(), x.vmax(), d);
}

}  // namespace

Bounds ComputeBounds(Op op, DType dtype, absl::Span<const UOp> src, const Arg& arg) {
  if (!(dtype.IsInt() || dtype.IsBool())) return kUnknown;
  auto b = [&src](int i) -> const Bounds& { return src[i].bounds(); };
  switch (op) {
    case Op::kConst:
      if (const int64_t* v = std::get_if<int64_t>(&arg)) return {*v, *v};
      // Invalid: the node's value does not matter there; nothing is assumed.
      return All(dtype);
    case Op::kVariable: {
      const auto& v = *std::get<Boxed<VariableArg>>(arg);
      return {v.min, v.max};
    }
    case Op::kBind:
      return b(1);
    case Op::kIota:
    case Op::kRange:
    case Op::kSpecial:
      return {0, b(0).max == kMax ? kMax : std::max<int64_t>(b(0).max - 1, 0)};
    case Op::kCast:
      return CastBounds(src[0], dtype);
    case Op::kNoop:
    case Op::kDetach:
    case Op::kContiguous:
    case Op::kReshape:
    case Op::kExpand:
    case Op::kPermute:
    case Op::kFlip:
    case Op::kShrink:
    case Op::kLane:
    case Op::kAfter:
      return src.empty() ? All(dtype) : b(0);
    case Op::kStack: {
      if (src.empty()) return All(dtype);
      Bounds r = b(0);
      for (const UOp& s : src) {
        r.min = std::min(r.min, s.vmin());
        r.max = std::max(r.max, s.vmax());
      }
      return r;
    }
    case Op::kNeg:
      if (dtype.IsBool()) return {1 - b(0).max, 1 - b(0).min};
      return Negated(b(0), dtype);
    case Op::kTrunc:
      return b(0);
    case Op::kAdd:
      if (dtype.IsBool()) return {b(0).min | b(1).min, b(0).max | b(1).max};
      return Sum(b(0), b(1), dtype);
    case Op::kSub:
      if (dtype.IsWeak()) return Sum(b(0), Negated(b(1), dtype), dtype);
      return Fit(static_cast<Wide>(b(0).min) - b(1).max, static_cast<Wide>(b(0).max) - b(1).min,
                 dtype);
    case Op::kMul:
      if (dtype.IsBool()) return {b(0).min & b(1).min, b(0).max & b(1).max};
      return Corners(b(0), b(1), dtype, [](Wide x, Wide y) { return x * y; });
    case Op::kMulAcc: {
      if (dtype.IsBool()) return {0, 1};
      return Sum(Corners(b(0), b(1), dtype, [](Wide x, Wide y) { return x * y; }), b(2), dtype);
    }
    case Op::kShl:
      if (b(1).min == b(1).max && b(1).min >= 0 && b(1).min < 63) {
        const Wide f = static_cast<Wide>(1) << b(1).min;
        return Fit(LowEnd(b(0), dtype) * f, HighEnd(b(0), dtype) * f, dtype);
      }
      return All(dtype);
    case Op::kShr:
      if (dtype.IsWeak() && Saturated(b(0))) return b(0).min >= 0 ? Bounds{0, kMax} : kUnknown;
      if (b(1).min >= 0 && b(1).max < 64 && dtype.scalar() != ScalarType::kUInt64) {
        return Corners(b(0), b(1), dtype, [](Wide x, Wide y) { return x >> static_cast<int>(y); });
      }
      return All(dtype);
    case Op::kCdiv:
    case Op::kFloorDiv:
      return dtype.scalar() == ScalarType::kUInt64 && (b(0).min < 0 || b(1).min < 0)
                 ? All(dtype)
                 : DivBounds(op, b(0), b(1), dtype);
    case Op::kCmod:
    case Op::kFloorMod:
      return dtype.scalar() == ScalarType::kUInt64 && (b(0).min < 0 || b(1).min < 0)
                 ? All(dtype)
                 : ModBounds(op, b(0), b(1), dtype);
    case Op::kMax:
      if (dtype.scalar() == ScalarType::kUInt64 && (b(0).min < 0 || b(1).min < 0)) {
        return All(dtype);
      }
      return {std::max(b(0).min, b(1).min), std::max(b(0).max, b(1).max)};
    case Op::kCmpLt:
    case Op::kCmpNe:
    case Op::kCmpEq:
      return CompareBounds(op, src[0], src[1]);
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return BitwiseBounds(op, b(0), b(1), dtype);
    case Op::kWhere:
      // Where one branch is Invalid, only the other one counts.
      if (src[2].IsInvalid()) return b(1);
      if (src[1].IsInvalid()) return b(2);
      return {std::min(b(1).min, b(2).min), std::max(b(1).max, b(2).max)};
    case Op::kReduce: {
      const ReduceArg* r = std::get_if<Boxed<ReduceArg>>(&arg) != nullptr
                               ? &*std::get<Boxed<ReduceArg>>(arg)
                               : nullptr;
      if (r != nullptr && r->op == Op::kMax) return {All(dtype).min, b(0).max};
      return All(dtype);
    }
    default:
      return All(dtype);
  }
}

Congruence ComputeCongruence(Op op, DType dtype, absl::Span<const UOp> src, const Arg& arg,
                             const Bounds& bounds) {
  static constexpr Congruence kNothing{1, 0};
  auto make = [](Wide modulus, Wide remainder) -> Congruence {
    if (modulus < 0) modulus = -modulus;
    if (modulus > kMax || modulus == 0) return kNothing;
    Wide r = remainder % modulus;
    if (r < 0) r += modulus;
    return {static_cast<int64_t>(modulus), static_cast<int64_t>(r)};
  };
  if (!dtype.IsInt()) return kNothing;
  // The upper half of uint64 is held as negative numbers.
  if (dtype.scalar() == ScalarType::kUInt64 && bounds.min < 0) return kNothing;
  if (bounds.min == bounds.max && !Saturated(bounds)) return {0, bounds.min};
  if (op == Op::kWhere) {
    if (src[2].IsInvalid()) return src[1].congruence();
    if (src[1].IsInvalid()) return src[2].congruence();
  }
  if (dtype.scalar() != ScalarType::kWeakInt) {
    // Powers of two survive wrapping, but nothing needs them at a fixed width; stay exact.
    if (op == Op::kCast && src[0].dtype().scalar() == ScalarType::kWeakInt &&
        src[0].vmin() >= dtype.MinInt() && src[0].vmax() <= dtype.MaxInt()) {
      return src[0].congruence();
    }
    // Arithmetic whose interval is within the type cannot have wrapped.
    if (dtype.scalar() == ScalarType::kUInt64 || bounds.min == dtype.MinInt() ||
        bounds.max == dtype.MaxInt()) {
      return kNothing;
    }
  }
  auto c = [&src](int i) -> const Congruence& { return src[i].congruence(); };
  switch (op) {
    case Op::kAdd:
    case Op::kSub: {
      const int64_t g = std::gcd(c(0).modulus, c(1).modulus);
      const Wide r = op == Op::kAdd ? static_cast<Wide>(c(0).remainder) + c(1).remainder
                                    : static_cast<Wide>(c(0).remainder) - c(1).remainder;
      return make(g, r);
    }
    case Op::kMul: {
      // (m0 a + r0)(m1 b + r1): every term but r0 r1 is divisible by this gcd.
      const Wide m0 = c(0).modulus, r0 = c(0).remainder, m1 = c(1).modulus, r1 = c(1).remainder;
      auto gcd = [](Wide a, Wide b) {
        if (a < 0) a = -a;
        if (b < 0) b = -b;
        while (b != 0) std::swap(a, b), b %= a;
        return a;
      };
      return make(gcd(gcd(m0 * m1, m0 * r1), m1 * r0), r0 * r1);
    }
    case Op::kShl:
      if (c(1).modulus == 0 && c(1).remainder >= 0 && c(1).remainder < 62) {
        const Wide f = static_cast<Wide>(1) << c(1).remainder;
        return make(f * c(0).modulus, f * c(0).remainder);
      }
      return kNothing;
    case Op::kFloorDiv:
      // Exact when the divisor divides both modulus and remainder.
      if (c(1).modulus == 0 && c(1).remainder > 0 && c(0).modulus % c(1).remainder == 0 &&
          c(0).modulus > 0) {
        return make(c(0).modulus / c(1).remainder, c(0).remainder / c(1).remainder);
      }
      return kNothing;
    case Op::kFloorMod:
      if (c(1).modulus == 0 && c(1).remainder > 0) {
        return make(std::gcd(c(0).modulus, c(1).remainder), c(0).remainder);
      }
      return kNothing;
    case Op::kWhere:
    case Op::kMax: {
      const int i = op == Op::kWhere ? 1 : 0;
      const Wide apart = static_cast<Wide>(c(i).remainder) - c(i + 1).remainder;
      const uint64_t distance = static_cast<uint64_t>(apart < 0 ? -apart : apart);
      const uint64_t m0 = static_cast<uint64_t>(c(i).modulus);
      const uint64_t m1 = static_cast<uint64_t>(c(i + 1).modulus);
      const Wide g = std::gcd(std::gcd(m0, m1), distance);
      return make(g, c(i).remainder);
    }
    case Op::kNoop:
    case Op::kLane:
      return src.empty() ? kNothing : c(0);
    case Op::kCast:
      return src[0].dtype().scalar() == dtype.scalar() ? c(0) : kNothing;
    default:
      (void)arg;
      return kNothing;
  }
}

}  // namespace tg::ir::internal
