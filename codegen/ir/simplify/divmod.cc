#include "codegen/ir/simplify/divmod.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tg::ir {
namespace {

using Wide = __int128;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Wide WideQuotient(Wide a, Wide b) {
  const Wide q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
int64_t FloorQuotient(int64_t a, int64_t b) { return static_cast<int64_t>(WideQuotient(a, b)); }
int64_t FloorRemainder(int64_t a, int64_t b) {
  return static_cast<int64_t>(a - static_cast<Wide>(FloorQuotient(a, b)) * b);
}

bool Fits(Wide v) { return v == static_cast<int64_t>(v); }

// The constant divisor of a quotient or remainder node (positive), or 0.
int64_t DivisorOf(const UOp& u, Op op) {
  if (!u.Is(op) || !u.src(1).IsConst() || u.src(1).IsInvalid()) return 0;
  return std::max<int64_t>(u.src(1).const_int(), 0);
}

// The k with k*c <= value < (k+1)*c for each value of the form, if one exists.
std::optional<int64_t> PeriodOf(const LinearForm& form, int64_t c) {
  const std::optional<WideBounds> b = FormBounds(form);
  if (!b.has_value()) return std::nullopt;
  const Wide k = WideQuotient(b->min, c);
  if (k != WideQuotient(b->max, c) || !Fits(k)) return std::nullopt;
  return static_cast<int64_t>(k);
}

// Whether the form, computed at `d`, cannot wrap. An exact integer with unbounded terms is taken to
// stay within int64, as it must anyway.
bool FitsType(const LinearForm& form, DType d) {
  const std::optional<WideBounds> b = FormBounds(form);
  if (d.IsWeak()) return !b.has_value() || (Fits(b->min) && Fits(b->max));
  return b.has_value() && b->min >= d.MinInt() && b->max <= d.MaxInt();
}

UOp DivConst(const UOp& x, int64_t c) { return FloorDiv(x, Const(x.dtype(), c)); }
UOp ModConst(const UOp& x, int64_t c) { return FloorMod(x, Const(x.dtype(), c)); }

bool IsAtom(const LinearForm& form) {
  return form.constant == 0 && form.terms.size() == 1 && form.terms[0].coef == 1;
}

// A form as c*quotient + rest.
struct Split {
  LinearForm quotient;
  LinearForm rest;
};

// Terms whose coefficient `d` divides go to the quotient, the constant to the rest.
Split SplitBy(const LinearForm& form, int64_t d) {
  Split s;
  for (const LinearTerm& t : form.terms) {
    if (t.coef % d == 0) {
      s.quotient.terms.push_back({t.term, t.coef / d});
    } else {
      s.rest.terms.push_back(t);
    }
  }
  s.rest.constant = form.constant;
  return s;
}

// A split of the form by c whose rest stays within one period of c; `period` is its number.
//
// Any t*a may be written as t*(c*q) + t*(a - c*q). The rest is tried with the coefficients as they
// are, then with each of the first few coefficients reduced to [0, c) or to [-c, 0).
std::optional<Split> SplitWithinPeriod(const LinearForm& form, int64_t c, int64_t* period) {
  Split s = SplitBy(form, c);
  if (std::optional<int64_t> k = PeriodOf(s.rest, c)) {
    *period = *k;
    return s;
  }
  constexpr size_t kMaxChoices = 4;
  const size_t n = s.rest.terms.size();
  if (n > kMaxChoices) return std::nullopt;
  for (unsigned choice = 0; choice < (1u << n); ++choice) {
    Split candidate = s;
    for (size_t i = 0; i < n; ++i) {
      LinearTerm& t = candidate.rest.terms[i];
      int64_t q = FloorQuotient(t.coef, c);
      if ((choice >> i & 1) != 0) ++q;
      if (q == 0) continue;
      t.coef = static_cast<int64_t>(t.coef - static_cast<Wide>(q) * c);
      candidate.quotient.terms.push_back({t.term, q});
    }
    if (std::optional<int64_t> k = PeriodOf(candidate.rest, c)) {
      *period = *k;
      if (!Normalize(candidate.quotient)) return std::nullopt;
      return candidate;
    }
  }
  return std::nullopt;
}

// Divisors of c, largest first, that divide some coefficients of the form, c and 1 excluded.
absl::InlinedVector<int64_t, 4> CommonDivisors(const LinearForm& form, int64_t c) {
  absl::InlinedVector<int64_t, 4> r;
  for (const LinearTerm& t : form.terms) {
    if (t.coef == kMin) continue;
    const int64_t g = std::gcd(t.coef, c);
    if (g > 1 && g < c && std::find(r.begin(), r.end(), g) == r.end()) r.push_back(g);
  }
  std::sort(r.begin(), r.end(), std::greater<int64_t>());
  return r;
}

bool AllNegative(const LinearForm& form) {
  return !form.terms.empty() && std::all_of(form.terms.begin(), form.terms.end(),
                                            [](const LinearTerm& t) { return t.coef < 0; });
}

// constant - form; false on overflow.
bool Negate(LinearForm& form, int64_t constant) {
  for (LinearTerm& t : form.terms) {
    if (t.coef == kMin) return false;
    t.coef = -t.coef;
  }
  return !__builtin_sub_overflow(constant, form.constant, &form.constant);
}

// Quotients of a node that is no sum.
UOp DivideAtom(const UOp& x, int64_t c) {
  // (y // a) // c = y // (a*c): floor(floor(y/a) / c) = floor(y / (a*c)) for positive integers
  // a and c, since floor(z / c) = floor(floor(z) / c) for every real z.
  if (const int64_t a = DivisorOf(x, Op::kFloorDiv); a > 0) {
    int64_t product;
    if (__builtin_mul_overflow(a, c, &product)) return UOp();
    if (!x.dtype().IsWeak() && product > x.dtype().MaxInt()) return UOp();
    return DivConst(x.src(0), product);
  }
  // (y % (k*c)) // c = (y // c) % k: with y = q*(k*c) + r, y // c = q*k + r // c and r // c < k.
  if (const int64_t m = DivisorOf(x, Op::kFloorMod); m > 0 && m % c == 0) {
    return ModConst(DivConst(x.src(0), c), m / c);
  }
  return UOp();
}

UOp RemainderOfAtom(const UOp& x, int64_t c) {
  // (y % (k*c)) % c = y % c: they differ by a multiple of k*c.
  if (const int64_t m = DivisorOf(x, Op::kFloorMod); m > 0 && m % c == 0) {
    return ModConst(x.src(0), c);
  }
  return UOp();
}

}  // namespace

UOp SimplifyFloorDiv(const UOp& x, int64_t c) {
  const DType d = x.dtype();
  const std::optional<LinearForm> exact = ExactTerms(x);
  if (!exact.has_value()) return UOp();
  const LinearForm& form = *exact;
  if (IsAtom(form)) {
    if (UOp r = DivideAtom(form.terms[0].term, c)) return r;
  }

  // x = c*q + r and k*c <= r < (k+1)*c: x // c = q + k.
  int64_t k;
  if (std::optional<Split> s = SplitWithinPeriod(form, c, &k)) {
    if (__builtin_add_overflow(s->quotient.constant, k, &s->quotient.constant)) return UOp();
    return FromTerms(s->quotient, d);
  }

  // x = g*q + r, g divides c, k*g <= r < (k+1)*g: x // c = (x // g) // (c/g) = (q + k) // (c/g).
  for (const int64_t g : CommonDivisors(form, c)) {
    Split s = SplitBy(form, g);
    if (std::optional<int64_t> period = PeriodOf(s.rest, g)) {
      s.quotient.constant = *period;
      if (!FitsType(s.quotient, d)) return UOp();
      return DivConst(FromTerms(s.quotient, d), c / g);
    }
  }

  // x = c*q + r: x // c = q + r // c.
  Split s = SplitBy(form, c);
  s.quotient.constant = FloorQuotient(form.constant, c);
  s.rest.constant = FloorRemainder(form.constant, c);
  if ((!s.quotient.terms.empty() || s.quotient.constant != 0) && FitsType(s.rest, d)) {
    const UOp rest = DivConst(FromTerms(s.rest, d), c);
    s.quotient.terms.push_back({rest, 1});
    return Normalize(s.quotient) ? FromTerms(s.quotient, d) : UOp();
  }

  // (y // a + b) // c = ((y + a*b) // a) // c = (y + a*b) // (a*c).
  if (form.terms.size() == 1 && form.terms[0].coef == 1) {
    const UOp& term = form.terms[0].term;
    if (const int64_t a = DivisorOf(term, Op::kFloorDiv); a > 0) {
      int64_t shift, product;
      if (!__builtin_mul_overflow(a, form.constant, &shift) &&
          !__builtin_mul_overflow(a, c, &product) && (d.IsWeak() || product <= d.MaxInt())) {
        if (std::optional<LinearForm> y = ExactTerms(term.src(0))) {
          if (!__builtin_add_overflow(y->constant, shift, &y->constant) && FitsType(*y, d)) {
            return DivConst(FromTerms(*y, d), product);
          }
        }
      }
    }
  }

  // floor(-n / c) = -ceil(n / c) = -floor((n + c-1) / c): positive dividends divide faster.
  if (AllNegative(form)) {
    LinearForm n = form;
    if (Negate(n, c - 1) && FitsType(n, d)) return DivConst(FromTerms(n, d), c) * -1;
  }
  return UOp();
}

UOp SimplifyFloorMod(const UOp& x, int64_t c) {
  const DType d = x.dtype();
  const std::optional<LinearForm> exact = ExactTerms(x);
  if (!exact.has_value()) return UOp();
  const LinearForm& form = *exact;
  if (IsAtom(form)) {
    if (UOp r = RemainderOfAtom(form.terms[0].term, c)) return r;
  }

  // x = c*q + r and k*c <= r < (k+1)*c: x % c = r - k*c.
  int64_t k;
  if (std::optional<Split> s = SplitWithinPeriod(form, c, &k)) {
    int64_t shift;
    if (__builtin_mul_overflow(k, c, &shift) ||
        __builtin_sub_overflow(s->rest.constant, shift, &s->rest.constant)) {
      return UOp();
    }
    return FromTerms(s->rest, d);
  }

  // x = g*q + r, g divides c, k*g <= r < (k+1)*g. With p = q + k: x = g*p + (r - k*g), where the
  // last part is in [0, g), so x % c = g*(p % (c/g)) + (r - k*g).
  for (const int64_t g : CommonDivisors(form, c)) {
    Split s = SplitBy(form, g);
    if (std::optional<int64_t> period = PeriodOf(s.rest, g)) {
      s.quotient.constant = *period;
      int64_t shift;
      if (!FitsType(s.quotient, d) || __builtin_mul_overflow(*period, g, &shift) ||
          __builtin_sub_overflow(s.rest.constant, shift, &s.rest.constant)) {
        return UOp();
      }
      s.rest.terms.push_back({ModConst(FromTerms(s.quotient, d), c / g), g});
      return Normalize(s.rest) ? FromTerms(s.rest, d) : UOp();
    }
  }

  // Modulo c: multiples of c vanish, and t % m is t where c divides its coefficient times m.
  LinearForm reduced;
  reduced.constant = FloorRemainder(form.constant, c);
  bool unnested = false;
  for (const LinearTerm& t : form.terms) {
    if (t.coef % c == 0) continue;
    const int64_t m = DivisorOf(t.term, Op::kFloorMod);
    if (m > 0 && static_cast<Wide>(t.coef) * m % c == 0) {
      if (std::optional<LinearForm> inner = ExactTerms(t.term.src(0))) {
        std::optional<LinearForm> sum = AddForms(reduced, *inner, t.coef);
        if (!sum.has_value()) return UOp();
        reduced = *std::move(sum);
        unnested = true;
        continue;
      }
    }
    std::optional<LinearForm> sum = AddForms(reduced, LinearForm{.terms = {t}, .constant = 0});
    if (!sum.has_value()) return UOp();
    reduced = *std::move(sum);
  }
  if (unnested) {
    return FitsType(reduced, d) ? ModConst(FromTerms(reduced, d), c) : UOp();
  }

  // (-n) % c = c-1 - (n + c-1) % c: with n + c-1 = c*q + r, -n = -c*q - r + c-1 and
  // 0 <= c-1 - r < c.
  if (AllNegative(reduced)) {
    LinearForm n = reduced;
    if (!Negate(n, c - 1)) return UOp();
    n.constant = FloorRemainder(n.constant, c);
    if (FitsType(n, d)) return ModConst(FromTerms(n, d), c) * -1 + (c - 1);
  }

  // Coefficients in [0, c).
  for (LinearTerm& t : reduced.terms) t.coef = FloorRemainder(t.coef, c);
  const bool same = reduced.constant == form.constant &&
                    std::equal(form.terms.begin(), form.terms.end(), reduced.terms.begin(),
                               reduced.terms.end(), [](const LinearTerm& a, const LinearTerm& b) {
                                 return a.term == b.term && a.coef == b.coef;
                               });
  if (same || !FitsType(reduced, d)) return UOp();
  return ModConst(FromTerms(reduced, d), c);
}

namespace {

// A product without one of its factors `f` (1 if it is f itself), or null.
UOp WithoutFactor(const UOp& product, const UOp& f) {
  if (product == f) return Const(f.dtype(), 1);
  if (!product.Is(Op::kMul)) return UOp();
  if (product.src(1) == f) return product.src(0);
  UOp left = WithoutFactor(product.src(0), f);
  if (!left) return UOp();
  return left.IsConstInt(1) ? product.src(1) : left * product.src(1);
}

// 0 <= form < divisor for all values.
bool WithinDivisor(const LinearForm& form, const UOp& divisor) {
  const std::optional<WideBounds> b = FormBounds(form);
  if (!b.has_value() || b->min < 0) return false;
  const std::optional<LinearForm> upper = ExtremeForm(form, true);
  if (!upper.has_value()) return false;
  const std::optional<LinearForm> slack = AddForms(SumTerms(divisor), *upper, -1);
  if (!slack.has_value()) return false;
  const std::optional<WideBounds> s = FormBounds(*slack);
  return s.has_value() && s->min > 0;
}

// x = divisor*quotient + rest by the terms that have the divisor as a factor.
Split SplitBySymbol(const LinearForm& form, const UOp& divisor) {
  Split s;
  const LinearForm by = SumTerms(divisor);
  const bool single = by.terms.size() == 1 && by.constant == 0;
  const UOp& factor = single ? by.terms[0].term : divisor;
  const int64_t scale = single ? by.terms[0].coef : 1;
  for (const LinearTerm& t : form.terms) {
    const bool divides = t.coef != kMin && t.coef % scale == 0;
    UOp q = divides ? WithoutFactor(t.term, factor) : UOp();
    if (!q) {
      s.rest.terms.push_back(t);
    } else if (q.IsConst()) {
      // At most one term is the divisor itself.
      s.quotient.constant = t.coef / scale;
    } else {
      s.quotient.terms.push_back({q, t.coef / scale});
    }
  }
  s.rest.constant = form.constant;
  return s;
}

// The common divisor of the form's numbers and the divisor's, 1 if none.
int64_t SharedGcd(const LinearForm& form, const LinearForm& divisor) {
  if (form.constant == kMin || divisor.constant == kMin) return 1;
  int64_t g = std::gcd(CoefGcd(form), CoefGcd(divisor));
  return std::gcd(std::gcd(g, form.constant), divisor.constant);
}

LinearForm Divided(LinearForm form, int64_t g) {
  for (LinearTerm& t : form.terms) t.coef /= g;
  form.constant /= g;
  return form;
}

}  // namespace

UOp SimplifyFloorDiv(const UOp& x, const UOp& divisor) {
  if (divisor.vmin() <= 0 || x.dtype().scalar() != ScalarType::kWeakInt) return UOp();
  const LinearForm form = SumTerms(x);
  // n > 0: (n*q + r) // n = q + r // n.
  Split s = SplitBySymbol(form, divisor);
  if (WithinDivisor(s.rest, divisor)) {
    return Normalize(s.quotient) ? FromTerms(s.quotient, x.dtype()) : UOp();
  }
  if (!s.quotient.terms.empty() || s.quotient.constant != 0) {
    s.quotient.terms.push_back({FloorDiv(FromTerms(s.rest, x.dtype()), divisor), 1});
    return Normalize(s.quotient) ? FromTerms(s.quotient, x.dtype()) : UOp();
  }
  // (g*y) // (g*n) = y // n for g > 0.
  const LinearForm by = SumTerms(divisor);
  if (const int64_t g = SharedGcd(form, by); g > 1) {
    return FloorDiv(FromTerms(Divided(form, g), x.dtype()), FromTerms(Divided(by, g), x.dtype()));
  }
  return UOp();
}

UOp SimplifyFloorMod(const UOp& x, const UOp& divisor) {
  if (divisor.vmin() <= 0 || x.dtype().scalar() != ScalarType::kWeakInt) return UOp();
  const LinearForm form = SumTerms(x);
  // n > 0: (n*q + r) % n = r % n.
  const Split s = SplitBySymbol(form, divisor);
  if (WithinDivisor(s.rest, divisor)) return FromTerms(s.rest, x.dtype());
  if (!s.quotient.terms.empty() || s.quotient.constant != 0) {
    return FloorMod(FromTerms(s.rest, x.dtype()), divisor);
  }
  // (g*y) % (g*n) = g*(y % n) for g > 0.
  const LinearForm by = SumTerms(divisor);
  if (const int64_t g = SharedGcd(form, by); g > 1) {
    return FloorMod(FromTerms(Divided(form, g), x.dtype()), FromTerms(Divided(by, g), x.dtype())) *
           g;
  }
  return UOp();
}

namespace {

// Whether u = v (mod d): the same node, or exact integers whose forms differ by multiples of d.
bool Congruent(const UOp& u, const UOp& v, int64_t d) {
  if (u == v) return true;
  if (u.dtype().scalar() != ScalarType::kWeakInt) return false;
  const std::optional<LinearForm> diff = AddForms(SumTerms(u), SumTerms(v), -1);
  return diff.has_value() && diff->constant % d == 0 &&
         std::all_of(diff->terms.begin(), diff->terms.end(),
                     [d](const LinearTerm& t) { return t.coef % d == 0; });
}

// What quotient*d + remainder is, where `remainder` is v % d; null if nothing simpler.
UOp Join(const UOp& quotient, const UOp& remainder, int64_t d) {
  const UOp& v = remainder.src(0);
  if (const int64_t e = DivisorOf(quotient, Op::kFloorDiv); e > 0) {
    const UOp& u = quotient.src(0);
    // u // d * d + u % d = u, and v % d = u % d.
    if (e == d && Congruent(u, v, d)) return u;
    // v = w // f and u // e = (w // f) // d where e = f*d, since nested quotients are flattened.
    const int64_t f = DivisorOf(v, Op::kFloorDiv);
    if (f > 0 && u == v.src(0) && static_cast<Wide>(f) * d == e) return v;
  }
  if (const int64_t m = DivisorOf(quotient, Op::kFloorMod); m > 0) {
    // (u // d) % m * d + u % d = u % (m*d).
    const UOp& inner = quotient.src(0);
    const int64_t e = DivisorOf(inner, Op::kFloorDiv);
    int64_t product;
    if (e == 0 || __builtin_mul_overflow(m, d, &product) ||
        (!v.dtype().IsWeak() && product > v.dtype().MaxInt())) {
      return UOp();
    }
    if (e == d && Congruent(inner.src(0), v, d)) return ModConst(inner.src(0), product);
    const int64_t f = DivisorOf(v, Op::kFloorDiv);
    if (f > 0 && inner.src(0) == v.src(0) && static_cast<Wide>(f) * d == e) {
      return ModConst(v, product);
    }
  }
  return UOp();
}

}  // namespace

bool RecombineDivMod(LinearForm& form) {
  for (size_t r = 0; r < form.terms.size(); ++r) {
    const LinearTerm remainder = form.terms[r];
    const int64_t d = DivisorOf(remainder.term, Op::kFloorMod);
    int64_t wanted;
    if (d == 0 || __builtin_mul_overflow(remainder.coef, d, &wanted)) continue;
    for (size_t q = 0; q < form.terms.size(); ++q) {
      if (q == r || form.terms[q].coef != wanted) continue;
      const UOp joined = Join(form.terms[q].term, remainder.term, d);
      if (!joined) continue;
      LinearForm rest = form;
      rest.terms.erase(rest.terms.begin() + static_cast<int64_t>(std::max(q, r)));
      rest.terms.erase(rest.terms.begin() + static_cast<int64_t>(std::min(q, r)));
      std::optional<LinearForm> sum = AddForms(rest, SumTerms(joined), remainder.coef);
      if (!sum.has_value()) continue;
      form = *std::move(sum);
      return true;
    }
  }
  return false;
}

}  // namespace tg::ir
