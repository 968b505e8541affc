#include <algorithm>
#include <vector>

#include "codegen/ir/simplify/clause.h"
#include "codegen/ir/simplify/order.h"
#include "codegen/ir/simplify/rules.h"

namespace tg::ir {
namespace {

using namespace tg::ir::pattern;  // NOLINT: rules are written with its names

// Longer chains are left as they are: the work stays linear.
constexpr size_t kMaxClauses = 24;

bool Complements(const UOp& a, const UOp& b) {
  bool na, nb;
  const UOp x = StripNot(a, &na), y = StripNot(b, &nb);
  if (x == y && na != nb) return true;
  const bool eq = (x.Is(Op::kCmpEq) && y.Is(Op::kCmpNe)) || (x.Is(Op::kCmpNe) && y.Is(Op::kCmpEq));
  return !na && !nb && eq && x.src(0) == y.src(0) && x.src(1) == y.src(1);
}

// Whether one of two clauses on the same expression is implied by the other. `keep_second` says
// which stays. Of a conjunction the stronger, of a disjunction the weaker. `decided`: together
// they are never true (and), always true (or).
enum class Relation { kUnrelated, kKeepFirst, kKeepSecond, kDecided };
Relation Relate(const Interval& a, const Interval& b, bool conjunction) {
  if (!SameExpr(a, b)) return Relation::kUnrelated;
  const bool a_in_b = b.lo <= a.lo && a.hi <= b.hi, b_in_a = a.lo <= b.lo && b.hi <= a.hi;
  if (conjunction) {
    if (std::max(a.lo, b.lo) > std::min(a.hi, b.hi)) return Relation::kDecided;
    return a_in_b ? Relation::kKeepFirst : b_in_a ? Relation::kKeepSecond : Relation::kUnrelated;
  }
  if (a_in_b) return Relation::kKeepSecond;
  if (b_in_a) return Relation::kKeepFirst;
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  auto covers = [](const Interval& up, const Interval& down) {
    return up.lo == kMin && down.hi == kMax && up.hi != kMax && down.lo <= up.hi + 1;
  };
  return covers(a, b) || covers(b, a) ? Relation::kDecided : Relation::kUnrelated;
}

// A chain of & or | in canonical order, each operand once, without those that another implies.
UOp CanonicalChain(const UOp& u, void*) {
  if (!u.dtype().IsBool()) return UOp();
  const bool conjunction = u.Is(Op::kAnd);
  std::vector<UOp> parts = SplitChain(u, u.op());
  if (parts.size() > kMaxClauses) return UOp();
  std::sort(parts.begin(), parts.end(), OrderLess);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  const UOp absorbing = Const(u.dtype(), !conjunction), neutral = Const(u.dtype(), conjunction);
  std::vector<std::optional<Interval>> intervals;
  for (const UOp& p : parts) intervals.push_back(ParseInterval(p));
  std::vector<bool> dropped(parts.size());
  for (size_t a = 0; a < parts.size(); ++a) {
    if (parts[a] == absorbing) return absorbing;
    if (parts[a] == neutral) dropped[a] = true;
    for (size_t b = 0; b < a; ++b) {
      if (dropped[a] || dropped[b]) continue;
      if (Complements(parts[a], parts[b])) return absorbing;
      if (!intervals[a].has_value() || !intervals[b].has_value()) continue;
      switch (Relate(*intervals[a], *intervals[b], conjunction)) {
        case Relation::kUnrelated:
          break;
        case Relation::kDecided:
          return absorbing;
        case Relation::kKeepFirst:
          dropped[b] = true;
          break;
        case Relation::kKeepSecond:
          dropped[a] = true;
          break;
      }
    }
  }
  UOp r;
  for (size_t a = 0; a < parts.size(); ++a) {
    if (!dropped[a]) r = r ? Alu(u.op(), {r, parts[a]}) : parts[a];
  }
  return r ? r : neutral;
}

// x & ~0 and x | ~0: the constant with all bits set, at any width.
bool IsAllOnes(const UOp& c) {
  return c.dtype().IsInt() && c.const_int() == WrapToInt(-1, c.dtype().Scalar());
}
auto AllOnes() {
  return [](const Match& m) { return IsAllOnes(m[c0]); };
}

}  // namespace

const RuleSet& LogicRules() {
  static const RuleSet& rules = *new RuleSet{
      // Bits.
      (i & 0) >> 0,
      (i | 0) >> i,
      (i ^ 0) >> i,
      ((i & c0) >> i).If(AllOnes()),
      ((i | c0) >> c0).If(AllOnes()),
      (i & i) >> i,
      (i | i) >> i,
      (i ^ i) >> 0,
      ((i & c0) & c1) >> (i & Fold(c0 & c1)),
      ((i | c0) | c1) >> (i | Fold(c0 | c1)),
      ((i ^ c0) ^ c1) >> (i ^ Fold(c0 ^ c1)),
      // Conditions.
      (t ^ f) >> (t != f),
      (t & (t | f)) >> t,
      (t | (t & f)) >> t,
      On({Op::kAnd, Op::kOr}, CanonicalChain, "canonical_chain"),
  };
  return rules;
}

}  // namespace tg::ir
