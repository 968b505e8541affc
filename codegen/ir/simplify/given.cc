#include "codegen/ir/simplify/given.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "codegen/ir/simplify/clause.h"

namespace tg::ir {
namespace {

using Wide = __int128;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Conditions with more clauses than this are taken as they are.
constexpr size_t kMaxClauses = 12;

// What an expression costs: first operations that are not affine, then nodes.
struct Cost {
  int hard = 0;
  int nodes = 0;
  bool operator<(const Cost& o) const { return std::tie(hard, nodes) < std::tie(o.hard, o.nodes); }
};

bool IsHard(Op op) {
  return op == Op::kFloorDiv || op == Op::kFloorMod || op == Op::kCdiv || op == Op::kCmod ||
         op == Op::kMax || op == Op::kWhere || IsComparison(op);
}

// The nodes of an expression, each once; empty where it is large. Loads and ranges are leaves. The
// handles belong to the expression.
using Nodes = absl::InlinedVector<const UOp*, 48>;
Nodes NodesOf(const UOp& x) {
  constexpr size_t kMaxNodes = 256;
  Nodes nodes = {&x};
  for (size_t i = 0; i < nodes.size(); ++i) {
    const UOp& u = *nodes[i];
    if (!IsElementwise(u.op())) continue;
    for (const UOp& s : u.src()) {
      if (std::none_of(nodes.begin(), nodes.end(), [&s](const UOp* n) { return *n == s; })) {
        nodes.push_back(&s);
      }
    }
    if (nodes.size() > kMaxNodes) return {};
  }
  return nodes;
}

bool Contains(const Nodes& nodes, const UOp& u) {
  return std::any_of(nodes.begin(), nodes.end(), [&u](const UOp* n) { return *n == u; });
}

bool AnyHard(const Nodes& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const UOp* n) { return IsHard(n->op()); });
}

Cost CostOf(const UOp& x) {
  Cost c;
  for (const UOp* u : NodesOf(x)) {
    c.hard += IsHard(u->op());
    c.nodes += !u->IsConst();
  }
  return c;
}

// `x` with the keys of `map` replaced in the expression. Loads, and the sizes of ranges, which are
// part of what a range is, stay.
UOp Replace(const UOp& x, const UOpMap& map) {
  UOpMap done;
  std::vector<UOp> src;
  auto enter = [&map](const UOp& u) { return IsElementwise(u.op()) && !map.contains(u); };
  for (const UOp& u : Toposort(x, enter)) {
    if (auto it = map.find(u); it != map.end()) {
      done.emplace(u, it->second);
      continue;
    }
    if (!IsElementwise(u.op())) continue;
    bool changed = false;
    src.clear();
    for (const UOp& s : u.src()) {
      auto it = done.find(s);
      src.push_back(it == done.end() ? s : it->second);
      changed |= it != done.end();
    }
    if (changed) done.emplace(u, u.WithSrc(src));
  }
  auto it = done.find(x);
  return it == done.end() ? x : it->second;
}

// A term and the interval that the assumption leaves it.
struct Known {
  UOp term;
  int64_t lo, hi;
};

class Assumption {
 public:
  explicit Assumption(const UOp& valid) {
    clauses_ = SplitChain(valid, Op::kAnd);
    if (clauses_.size() > kMaxClauses) clauses_.resize(kMaxClauses);
    for (const UOp& c : clauses_) {
      if (std::optional<Interval> i = ParseInterval(c)) AddInterval(*std::move(i));
    }
    // A second round carries what the first one found from clause to clause.
    for (int round = 0; round < 2; ++round) {
      for (const Interval& i : intervals_) Propagate(i);
    }
  }

  const std::vector<UOp>& clauses() const { return clauses_; }
  const std::vector<Interval>& intervals() const { return intervals_; }
  const std::vector<Known>& known() const { return known_; }
  // No values satisfy it.
  bool impossible() const {
    return std::any_of(known_.begin(), known_.end(), [](const Known& k) { return k.lo > k.hi; });
  }

  Bounds BoundsOf(const UOp& term) const {
    for (const Known& k : known_) {
      if (k.term == term) return {k.lo, k.hi};
    }
    return term.bounds();
  }

 private:
  void AddInterval(Interval i) {
    for (Interval& other : intervals_) {
      if (!SameExpr(i, other)) continue;
      other.lo = std::max(other.lo, i.lo);
      other.hi = std::min(other.hi, i.hi);
      return;
    }
    intervals_.push_back(std::move(i));
  }

  // lo <= sum a_j t_j <= hi bounds each a_i t_i by the least and largest the other terms can be.
  void Propagate(const Interval& interval) {
    const auto& terms = interval.expr.terms;
    for (size_t i = 0; i < terms.size(); ++i) {
      Wide others_min = 0, others_max = 0;
      bool bounded = true;
      for (size_t j = 0; j < terms.size(); ++j) {
        if (j == i) continue;
        const Bounds b = BoundsOf(terms[j].term);
        bounded &= b.min != kMin && b.max != kMax;
        const Wide x = static_cast<Wide>(b.min) * terms[j].coef;
        const Wide y = static_cast<Wide>(b.max) * terms[j].coef;
        others_min += std::min(x, y);
        others_max += std::max(x, y);
      }
      if (!bounded) continue;
      const Wide a = terms[i].coef;
      // least <= a*t <= largest
      const bool has_lo = interval.lo != kMin, has_hi = interval.hi != kMax;
      const Wide least = interval.lo - others_max, largest = interval.hi - others_min;
      auto floor_div = [](Wide x, Wide y) {
        const Wide q = x / y;
        return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
      };
      auto ceil_div = [floor_div](Wide x, Wide y) { return -floor_div(-x, y); };
      Wide lo = kMin, hi = kMax;
      if (a > 0) {
        if (has_lo) lo = ceil_div(least, a);
        if (has_hi) hi = floor_div(largest, a);
      } else {
        if (has_hi) lo = ceil_div(largest, a);
        if (has_lo) hi = floor_div(least, a);
      }
      Narrow(terms[i].term, lo, hi);
    }
  }

  void Narrow(const UOp& term, Wide lo, Wide hi) {
    const Bounds old = BoundsOf(term);
    if (lo <= old.min && hi >= old.max) return;
    // An end outside of int64 says nothing, or that nothing satisfies the condition.
    if (lo > kMax || hi < kMin) return;
    const Known k{term, static_cast<int64_t>(std::max<Wide>(lo, old.min)),
                  static_cast<int64_t>(std::min<Wide>(hi, old.max))};
    for (Known& other : known_) {
      if (other.term == term) {
        other = k;
        return;
      }
    }
    known_.push_back(k);
  }

  std::vector<UOp> clauses_;
  std::vector<Interval> intervals_;
  std::vector<Known> known_;
};

// A stand-in with known bounds. Its name cannot be a user's.
UOp StandIn(int index, int64_t lo, int64_t hi) {
  return lo == hi ? IndexConst(lo) : Variable(absl::StrCat("\x01given", index), lo, hi);
}

// x with `from` replaced by stand-ins, simplified, and the stand-ins replaced by what they stand
// for; x itself unless that is simpler.
UOp Through(const UOp& x, const UOpMap& from, const UOpMap& back, SimplifyFunction simplify) {
  const UOp changed = Replace(x, from);
  if (changed == x) return x;
  const UOp simple = simplify(changed);
  if (simple == changed && from.size() == back.size()) return x;
  UOp r = simplify(Replace(simple, back));
  return CostOf(r) < CostOf(x) ? r : x;
}

// Conditions inside of x that the assumption decides by itself.
UOp ReplaceClauses(const UOp& x, const Assumption& given, const Nodes& nodes,
                   SimplifyFunction simplify) {
  UOpMap map;
  for (const UOp& c : given.clauses()) {
    bool negated;
    const UOp inner = StripNot(c, &negated);
    if (Contains(nodes, c)) map.emplace(c, Const(kBool, true));
    if (negated && Contains(nodes, inner)) map.emplace(inner, Const(kBool, false));
  }
  return map.empty() ? x : simplify(Replace(x, map));
}

UOp NarrowTerms(const UOp& x, const Assumption& given, const Nodes& nodes,
                SimplifyFunction simplify) {
  UOpMap from, back;
  int index = 0;
  for (const Known& k : given.known()) {
    if (!Contains(nodes, k.term)) continue;
    const UOp v = StandIn(index++, k.lo, k.hi);
    from.emplace(k.term, v);
    if (!v.IsConst()) back.emplace(v, k.term);
  }
  return from.empty() ? x : Through(x, from, back, simplify);
}

// A bounded sum a + b: a is replaced by v - b, so that v stands where x has the sum.
UOp NarrowSum(const UOp& x, const Assumption& given, const Interval& sum, const Nodes& nodes,
              SimplifyFunction simplify) {
  const std::optional<WideBounds> own = FormBounds(sum.expr);
  Wide lo = sum.lo, hi = sum.hi;
  if (own.has_value()) {
    lo = std::max(lo, own->min);
    hi = std::min(hi, own->max);
  }
  if (lo <= kMin || hi >= kMax || lo > hi) return x;
  const UOp v = StandIn(0, static_cast<int64_t>(lo), static_cast<int64_t>(hi));
  for (const LinearTerm& t : sum.expr.terms) {
    if ((t.coef != 1 && t.coef != -1) || !Contains(nodes, t.term)) continue;
    // t*s + rest = v, s = +-1: t = s*v - s*rest.
    LinearForm rest;
    for (const LinearTerm& other : sum.expr.terms) {
      if (!(other.term == t.term)) rest.terms.push_back(other);
    }
    const std::optional<LinearForm> value = AddForms(SumTerms(v * t.coef), rest, -t.coef);
    if (!value.has_value()) continue;
    UOpMap from, back;
    from.emplace(t.term, FromTerms(*value, kIndex));
    if (!v.IsConst()) back.emplace(v, FromTerms(sum.expr, kIndex));
    // The other terms keep the bounds that the assumption gives them.
    int index = 1;
    for (const Known& k : given.known()) {
      if (k.term == t.term || !Contains(nodes, k.term)) continue;
      const UOp stand_in = StandIn(index++, k.lo, k.hi);
      from.emplace(k.term, stand_in);
      if (!stand_in.IsConst()) back.emplace(stand_in, k.term);
    }
    // Substitute does not search values: the terms in `value` are narrowed too.
    UOpMap others = from;
    others.erase(t.term);
    from[t.term] = Replace(from[t.term], others);
    const UOp r = Through(x, from, back, simplify);
    if (!(r == x)) return r;
  }
  return x;
}

}  // namespace

UOp GivenCondition(const UOp& x, const UOp& valid, SimplifyFunction simplify) {
  if (x.IsConst() || !(x.dtype().IsInt() || x.dtype().IsBool()) || valid.IsConst()) return x;
  const Nodes nodes = NodesOf(x);
  if (nodes.empty()) return x;
  const Assumption given(valid);
  if (given.impossible()) return x;
  UOp r = ReplaceClauses(x, given, nodes, simplify);
  if (r.IsConst()) return r;
  // Bounds change nothing in an affine expression, unless they leave one value.
  const bool decides_term = std::any_of(given.known().begin(), given.known().end(),
                                        [](const Known& k) { return k.lo == k.hi; });
  if (!decides_term && !AnyHard(NodesOf(r))) return r;
  const UOp before = r;
  r = NarrowTerms(before, given, NodesOf(before), simplify);
  for (const Interval& i : given.intervals()) {
    if (i.expr.terms.size() < 2) continue;
    const UOp y = r;
    const Nodes here = NodesOf(y);
    if (!AnyHard(here)) break;
    r = NarrowSum(y, given, i, here, simplify);
  }
  return r;
}

namespace {

// An interval of an affine expression, whether true or false by the other clauses, or neither.
enum class Verdict { kOpen, kTrue, kFalse };
Verdict Decide(const Interval& c, const Assumption& given) {
  if (given.impossible()) return Verdict::kOpen;
  Wide lo = 0, hi = 0;
  bool bounded = true;
  for (const LinearTerm& t : c.expr.terms) {
    const Bounds b = given.BoundsOf(t.term);
    bounded &= b.min != kMin && b.max != kMax;
    const Wide x = static_cast<Wide>(b.min) * t.coef, y = static_cast<Wide>(b.max) * t.coef;
    lo += std::min(x, y);
    hi += std::max(x, y);
  }
  if (!bounded) lo = kMin, hi = kMax;
  // expr = other + (expr - other)
  for (const Interval& other : given.intervals()) {
    const std::optional<LinearForm> rest = AddForms(c.expr, other.expr, -1);
    if (!rest.has_value()) continue;
    const std::optional<WideBounds> b = FormBounds(*rest);
    if (!b.has_value()) continue;
    if (other.lo != kMin) lo = std::max(lo, other.lo + b->min);
    if (other.hi != kMax) hi = std::min(hi, other.hi + b->max);
  }
  if ((c.lo == kMin || lo >= c.lo) && (c.hi == kMax || hi <= c.hi)) return Verdict::kTrue;
  return hi < c.lo || lo > c.hi ? Verdict::kFalse : Verdict::kOpen;
}

bool IsAffine(const Interval& c) {
  return std::none_of(c.expr.terms.begin(), c.expr.terms.end(),
                      [](const LinearTerm& t) { return IsElementwise(t.term.op()); });
}

}  // namespace

UOp ReduceClauses(const UOp& valid, SimplifyFunction simplify) {
  std::vector<UOp> clauses = SplitChain(valid, Op::kAnd);
  if (clauses.size() < 2 || clauses.size() > kMaxClauses) return valid;
  bool changed = false;
  for (size_t i = clauses.size(); i-- > 0 && clauses.size() > 1;) {
    UOp others;
    for (size_t j = 0; j < clauses.size(); ++j) {
      if (j != i) others = others ? others & clauses[j] : clauses[j];
    }
    const std::optional<Interval> interval = ParseInterval(clauses[i]);
    UOp c = clauses[i];
    if (interval.has_value() && IsAffine(*interval)) {
      const Verdict v = Decide(*interval, Assumption(others));
      if (v == Verdict::kTrue) c = Const(kBool, true);
      if (v == Verdict::kFalse) c = Const(kBool, false);
    } else {
      c = GivenCondition(c, others, simplify);
    }
    if (c == clauses[i]) continue;
    changed = true;
    if (c.IsConstInt(0)) return c;
    if (c.IsConstInt(1)) {
      clauses.erase(clauses.begin() + static_cast<int64_t>(i));
    } else {
      clauses[i] = c;
    }
  }
  if (!changed) return valid;
  UOp r;
  for (const UOp& c : clauses) r = r ? r & c : c;
  return simplify(r);
}

}  // namespace tg::ir
