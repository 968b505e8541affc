#include <limits>

#include "codegen/ir/simplify/clause.h"
#include "codegen/ir/simplify/linear.h"
#include "codegen/ir/simplify/rules.h"

namespace tg::ir {
namespace {

using namespace tg::ir::pattern;  // NOLINT: rules are written with its names

bool IsWeakInt(const UOp& u) { return u.dtype().scalar() == ScalarType::kWeakInt; }
bool IsUInt64(const UOp& u) { return u.dtype().scalar() == ScalarType::kUInt64; }

// A comparison of exact integers by the sign of the difference of its sides.
UOp CompareExact(const UOp& u, void*) {
  if (!IsWeakInt(u.src(0)) || u.dtype().lanes() != 1) return UOp();
  const std::optional<LinearForm> diff = AddForms(SumTerms(u.src(0)), SumTerms(u.src(1)), -1);
  if (!diff.has_value()) return UOp();
  return u.Is(Op::kCmpLt) ? LessThanZero(*diff) : EqualToZero(*diff, u.Is(Op::kCmpNe));
}

// a*n + b < c at a fixed width, where the left side does not wrap:
// a > 0: n < ceil((c-b) / a); a < 0: n > (b-c) / -a, that is !(n < floor((b-c) / -a) + 1).
UOp IsolateTerm(const UOp& u, void*) {
  const UOp &n = u.src(0), &c = u.src(1);
  const DType d = n.dtype();
  if (!d.IsInt() || d.IsWeak() || !c.IsConst() || IsUInt64(n)) return UOp();
  const std::optional<LinearForm> form = ExactTerms(n);
  if (!form.has_value() || form->terms.size() != 1) return UOp();
  const auto& [term, a] = form->terms[0];
  if (a == 1 && form->constant == 0) return UOp();
  using Wide = __int128;
  auto floor_div = [](Wide x, Wide y) { return x / y - (x % y != 0 && x < 0 ? 1 : 0); };
  const Wide room = static_cast<Wide>(c.const_int()) - form->constant;
  const Wide bound = a > 0 ? -floor_div(-room, a) : floor_div(-room, -static_cast<Wide>(a)) + 1;
  if (bound < d.MinInt() || bound > d.MaxInt()) return UOp();
  const UOp less = term < static_cast<int64_t>(bound);
  return a > 0 ? less : Not(less);
}

bool IsFixedInt(const Match& m) { return m[i].dtype().IsInt() && !m[i].dtype().IsWeak(); }

}  // namespace

const RuleSet& CompareRules() {
  static const RuleSet& rules = *new RuleSet{
      (x < x) >> false,  // exact: NaN too
      (i == i) >> true,  // not for floats: NaN
      (i != i) >> false,
      (t == t) >> true,
      (t != t) >> false,
      // Conditions compared with constants, and among themselves.
      (t != false) >> t,
      (t == true) >> t,
      (t == false) >> Not(t),
      (t < f) >> (Not(t) & f),
      // Negations.
      Not(Not(t)) >> t,
      Not(x == y) >> (x != y),  // exact: NaN too
      (Not(x != y) >> (x == y)).If([](const Match& m) {
        return !m[x].dtype().IsBool() || !(m[x].IsConst() || m[y].IsConst());
      }),
      // Exact integers.
      On({Op::kCmpLt, Op::kCmpEq, Op::kCmpNe}, CompareExact, "compare_exact"),
      // Fixed width: n + c is a bijection, so equality needs no bounds.
      ((i + c0 == c1) >> (i == Fold(Sub(c1, c0)))).If(IsFixedInt),
      ((i + c0 != c1) >> (i != Fold(Sub(c1, c0)))).If(IsFixedInt),
      On({Op::kCmpLt}, IsolateTerm, "isolate_term"),
      // c < n is !(n < c+1), where c+1 does not wrap.
      ((c0 < i) >> Not(i < Fold(c0 + 1))).If([](const Match& m) {
        const DType d = m[i].dtype();
        return !m[i].IsConst() && m[c0].const_int() != (IsUInt64(m[i]) ? -1 : d.MaxInt());
      }),
  };
  return rules;
}

}  // namespace tg::ir
