#include "codegen/ir/simplify/clause.h"

#include <algorithm>

namespace tg::ir {
namespace {

using Wide = __int128;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t FloorQuotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); }

// -form; false on overflow.
bool Negate(LinearForm& form) {
  if (form.constant == kMin) return false;
  form.constant = -form.constant;
  for (LinearTerm& t : form.terms) {
    if (t.coef == kMin) return false;
    t.coef = -t.coef;
  }
  return true;
}

bool IsExactCompare(const UOp& u, Op op) {
  return u.Is(op) && u.src(0).dtype().scalar() == ScalarType::kWeakInt;
}

// positive terms (0), negated negative terms (1).
void SplitSigns(const LinearForm& form, LinearForm parts[2]) {
  for (const LinearTerm& t : form.terms) {
    parts[t.coef < 0].terms.push_back({t.term, t.coef < 0 ? -t.coef : t.coef});
  }
}

DType TypeOf(const LinearForm& form) { return form.terms[0].term.dtype(); }

// The constant divisor of a term t // c, or 0.
int64_t QuotientDivisor(const UOp& t) {
  return t.Is(Op::kFloorDiv) && t.src(1).IsConst() && !t.src(1).IsInvalid() ? t.src(1).const_int()
                                                                            : 0;
}

// form*c; false on overflow.
bool Scale(LinearForm& form, int64_t c) {
  for (LinearTerm& t : form.terms) {
    if (__builtin_mul_overflow(t.coef, c, &t.coef)) return false;
  }
  return !__builtin_mul_overflow(form.constant, c, &form.constant);
}

// y // c + rest < 0 is y < -rest*c, that is y + rest*c < 0, since y // c < n is y < n*c for
// integers n and c > 0. -(y // c) + rest < 0 is y // c >= rest + 1, that is y >= (rest + 1)*c, that
// is -y + rest*c + c - 1 < 0. Done where at most one other term is multiplied.
bool RemoveQuotient(LinearForm& form) {
  if (form.terms.size() > 2) return false;
  for (size_t i = 0; i < form.terms.size(); ++i) {
    const int64_t c = QuotientDivisor(form.terms[i].term);
    const int64_t sign = form.terms[i].coef;
    if (c <= 0 || (sign != 1 && sign != -1)) continue;
    LinearForm rest = form;
    rest.terms.erase(rest.terms.begin() + static_cast<int64_t>(i));
    if (!rest.terms.empty() && QuotientDivisor(rest.terms[0].term) != 0) continue;
    if (!Scale(rest, c)) continue;
    if (sign < 0 && __builtin_add_overflow(rest.constant, c - 1, &rest.constant)) continue;
    std::optional<LinearForm> r = AddForms(rest, SumTerms(form.terms[i].term.src(0)), sign);
    if (!r.has_value()) continue;
    form = *std::move(r);
    return true;
  }
  return false;
}

// d*s + rest < 0 with k*d <= rest < (k+1)*d is s + k < 0: floor of both sides divided by d.
bool DropWithinPeriod(LinearForm& form) {
  for (const LinearTerm& candidate : form.terms) {
    const int64_t d = candidate.coef < 0 ? -candidate.coef : candidate.coef;
    if (d <= 1) continue;
    LinearForm s, rest;
    rest.constant = form.constant;
    for (const LinearTerm& t : form.terms) {
      if (t.coef % d == 0) {
        s.terms.push_back({t.term, t.coef / d});
      } else {
        rest.terms.push_back(t);
      }
    }
    const std::optional<WideBounds> b = FormBounds(rest);
    if (!b.has_value() || b->min < kMin || b->max > kMax) continue;
    const int64_t k = FloorQuotient(static_cast<int64_t>(b->min), d);
    if (k != FloorQuotient(static_cast<int64_t>(b->max), d)) continue;
    s.constant = k;
    form = std::move(s);
    return true;
  }
  return false;
}

// The sign of a form with ranges of symbolic size, by what their sizes say: negative, not negative,
// or unknown.
std::optional<bool> NegativeBySizes(const LinearForm& form) {
  const bool symbolic = std::any_of(form.terms.begin(), form.terms.end(), [](const LinearTerm& t) {
    return t.term.Is(Op::kMul) || (t.term.Is(Op::kRange) && !t.term.src(0).IsConst());
  });
  if (!symbolic) return std::nullopt;
  if (const std::optional<LinearForm> upper = ExtremeForm(form, true)) {
    const std::optional<WideBounds> b = FormBounds(*upper);
    if (b.has_value() && b->max < 0) return true;
  }
  if (const std::optional<LinearForm> lower = ExtremeForm(form, false)) {
    const std::optional<WideBounds> b = FormBounds(*lower);
    if (b.has_value() && b->min >= 0) return false;
  }
  return std::nullopt;
}

bool HasMinCoef(const LinearForm& form) {
  return std::any_of(form.terms.begin(), form.terms.end(),
                     [](const LinearTerm& t) { return t.coef == kMin; });
}

}  // namespace

bool SameExpr(const Interval& a, const Interval& b) {
  return std::equal(a.expr.terms.begin(), a.expr.terms.end(), b.expr.terms.begin(),
                    b.expr.terms.end(), [](const LinearTerm& x, const LinearTerm& y) {
                      return x.term == y.term && x.coef == y.coef;
                    });
}

UOp StripNot(const UOp& cond, bool* negated) {
  *negated = cond.Is(Op::kCmpNe) && cond.src(1).IsConstInt(1) && cond.src(0).dtype().IsBool();
  return *negated ? cond.src(0) : cond;
}

std::optional<Interval> ParseInterval(const UOp& cond) {
  bool negated;
  const UOp c = StripNot(cond, &negated);
  const bool less = IsExactCompare(c, Op::kCmpLt);
  const bool equal = IsExactCompare(c, Op::kCmpEq) && !negated;
  if (!less && !equal) return std::nullopt;
  std::optional<LinearForm> form = AddForms(SumTerms(c.src(0)), SumTerms(c.src(1)), -1);
  if (!form.has_value() || form->terms.empty()) return std::nullopt;
  Interval r;
  // low <= form <= high
  Wide low = less && !negated ? kMin : 0, high = equal ? 0 : negated ? kMax : -1;
  const int64_t g = CoefGcd(*form);
  const bool flip = form->terms[0].coef < 0;
  const Wide b = form->constant;
  // form = sign*g*expr + b
  auto floor_div = [](Wide x, Wide y) { return x / y - (x % y != 0 && x < 0 ? 1 : 0); };
  if (low != kMin) low = -floor_div(-(low - b), g);  // ceiling
  if (high != kMax) high = floor_div(high - b, g);
  if (flip) {
    std::swap(low, high);
    low = low == kMax ? static_cast<Wide>(kMin) : -low;
    high = high == kMin ? static_cast<Wide>(kMax) : -high;
  }
  if (low < kMin || low > kMax || high < kMin || high > kMax) return std::nullopt;
  r.lo = static_cast<int64_t>(low);
  r.hi = static_cast<int64_t>(high);
  r.expr = *std::move(form);
  r.expr.constant = 0;
  for (LinearTerm& t : r.expr.terms) t.coef = t.coef / g * (flip ? -1 : 1);
  return r;
}

UOp LessThanZero(LinearForm form) {
  for (bool again = true; again;) {
    again = false;
    if (HasMinCoef(form)) return UOp();
    if (const std::optional<WideBounds> b = FormBounds(form)) {
      if (b->max < 0) return Const(kBool, true);
      if (b->min >= 0) return Const(kBool, false);
    }
    if (form.terms.empty()) return Const(kBool, form.constant < 0);
    // g*s + b < 0 is s + floor(b/g) < 0.
    if (const int64_t g = CoefGcd(form); g > 1) {
      for (LinearTerm& t : form.terms) t.coef /= g;
      form.constant = FloorQuotient(form.constant, g);
    }
    again = DropWithinPeriod(form) || RemoveQuotient(form);
  }
  if (const std::optional<bool> negative = NegativeBySizes(form)) return Const(kBool, *negative);
  const DType d = TypeOf(form);
  LinearForm parts[2];
  SplitSigns(form, parts);
  if (form.constant == kMin) return UOp();
  if (parts[0].terms.empty()) {
    // 0 < N - b is !(N < b + 1).
    int64_t bound;
    if (__builtin_add_overflow(form.constant, 1, &bound)) return UOp();
    return Not(FromTerms(parts[1], d) < Const(d, bound));
  }
  parts[1].constant = -form.constant;
  return FromTerms(parts[0], d) < FromTerms(parts[1], d);
}

UOp EqualToZero(LinearForm form, bool negated) {
  if (HasMinCoef(form)) return UOp();
  if (const std::optional<WideBounds> b = FormBounds(form); b && (b->min > 0 || b->max < 0)) {
    return Const(kBool, negated);
  }
  if (form.terms.empty()) return Const(kBool, (form.constant == 0) != negated);
  const int64_t g = CoefGcd(form);
  if (form.constant % g != 0) return Const(kBool, negated);
  for (LinearTerm& t : form.terms) t.coef /= g;
  form.constant /= g;
  if (form.terms[0].coef < 0 && !Negate(form)) return UOp();
  if (form.constant == kMin) return UOp();
  const DType d = TypeOf(form);
  LinearForm parts[2];
  SplitSigns(form, parts);
  parts[1].constant = -form.constant;
  return Alu(negated ? Op::kCmpNe : Op::kCmpEq, {FromTerms(parts[0], d), FromTerms(parts[1], d)});
}

std::vector<UOp> SplitChain(const UOp& u, Op op) {
  std::vector<UOp> parts, pending = {u};
  while (!pending.empty()) {
    UOp p = std::move(pending.back());
    pending.pop_back();
    if (p.Is(op)) {
      pending.push_back(p.src(1));
      pending.push_back(p.src(0));
    } else {
      parts.push_back(std::move(p));
    }
  }
  return parts;
}

}  // namespace tg::ir
