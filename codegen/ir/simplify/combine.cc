#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "codegen/ir/fold.h"
#include "codegen/ir/simplify/divmod.h"
#include "codegen/ir/simplify/linear.h"
#include "codegen/ir/simplify/order.h"
#include "codegen/ir/simplify/rules.h"

namespace tg::ir {
namespace {

using namespace tg::ir::pattern;  // NOLINT: rules are written with its names

bool IsInt(const Match& m) { return m.root().dtype().IsInt(); }
bool IsFixedInt(const Match& m) { return IsInt(m) && !m.root().dtype().IsWeak(); }

// An exact sum or multiple in canonical form: like terms together, constants multiplied out,
// quotients joined with their remainders.
UOp CanonicalSum(const UOp& u, void*) {
  if (u.dtype().scalar() != ScalarType::kWeakInt) return UOp();
  LinearForm form = SumTerms(u);
  while (RecombineDivMod(form)) {
  }
  return FromTerms(form, u.dtype());
}

// The same for the few terms of x + y at a fixed width, where both are multiples of one term:
// x*c0 + x*c1, x + x*c1.
UOp LikeTerms(const UOp& u, void*) {
  if (!u.dtype().IsInt() || u.dtype().IsWeak()) return UOp();
  auto base = [](const UOp& v) -> const UOp& {
    return v.Is(Op::kMul) && v.src(1).IsConst() ? v.src(0) : v;
  };
  const UOp &a = u.src(0), &b = u.src(1);
  if (base(a) == base(b) && !b.IsConst()) return FromTerms(SumTerms(u), u.dtype());
  // (z + x*c0) + x*c1
  if (a.Is(Op::kAdd) && !b.IsConst() && base(a.src(1)) == base(b)) {
    const UOp& z = a.src(0);
    return z + FromTerms(SumTerms(a.src(1) + b), u.dtype());
  }
  return UOp();
}

// x//c*c + x%c >> x at a fixed width.
UOp QuotientAndRemainder(const UOp& u, void*) {
  if (!u.dtype().IsInt() || u.dtype().IsWeak()) return UOp();
  LinearForm form = SumTerms(u);
  if (form.terms.size() != 2 || !RecombineDivMod(form)) return UOp();
  return FromTerms(form, u.dtype());
}

// An integer product as a flat list of factors in canonical order, its constants in one at the end.
UOp CanonicalProduct(const UOp& u, void*) {
  if (!u.dtype().IsInt()) return UOp();
  constexpr size_t kMaxFactors = 16;
  absl::InlinedVector<UOp, 8> factors;
  UOp constant;
  absl::InlinedVector<UOp, 8> pending = {u.src(1), u.src(0)};
  while (!pending.empty()) {
    const UOp f = std::move(pending.back());
    pending.pop_back();
    if (f.Is(Op::kMul)) {
      pending.push_back(f.src(1));
      pending.push_back(f.src(0));
    } else if (f.IsConst()) {
      constant = constant ? FoldAlu(Op::kMul, u.dtype(), {constant, f}) : f;
      if (!constant) return UOp();
    } else {
      factors.push_back(f);
    }
    if (factors.size() + pending.size() > kMaxFactors) return UOp();
  }
  std::sort(factors.begin(), factors.end(), OrderLess);
  UOp product;
  for (const UOp& f : factors) product = product ? product * f : f;
  if (!product) return constant;
  return constant && !constant.IsConstInt(1) ? product * constant : product;
}

}  // namespace

const RuleSet& SumRules() {
  static const RuleSet& rules = *new RuleSet{
      On({Op::kMul}, CanonicalProduct, "canonical_product"),
      // Exact sums.
      On({Op::kAdd, Op::kMul}, CanonicalSum, "canonical_sum"),
      // Sums at a fixed width, modulo 2^bits: the constant outermost, like terms together.
      ((x + c0) + c1 >> x + Fold(c0 + c1)).If(IsFixedInt),
      ((x + c0) + y >> (x + y) + c0).If([](const Match& m) {
        return IsFixedInt(m) && !m[y].IsConst();
      }),
      ((x + c0) * c1 >> x * c1 + Fold(c0 * c1)).If(IsFixedInt),
      On({Op::kAdd}, LikeTerms, "like_terms"),
      On({Op::kAdd}, QuotientAndRemainder, "quotient_and_remainder"),
      // max
      (Max(Max(x, c0), c1) >> Max(x, Fold(Max(c0, c1)))),  // exact
      Max(i, j) >> ([](const Match& m) {
        if (m[i].dtype().scalar() == ScalarType::kUInt64) return UOp();
        if (m[i].vmin() >= m[j].vmax()) return m[i];
        if (m[j].vmin() >= m[i].vmax()) return m[j];
        if (!m[i].dtype().IsWeak()) return UOp();
        // By the sign of the difference: terms that both have cancel.
        const std::optional<LinearForm> diff = AddForms(SumTerms(m[i]), SumTerms(m[j]), -1);
        if (!diff.has_value()) return UOp();
        const std::optional<WideBounds> b = FormBounds(*diff);
        if (!b.has_value()) return UOp();
        return b->min >= 0 ? m[i] : b->max <= 0 ? m[j] : UOp();
      }),
  };
  return rules;
}

}  // namespace tg::ir
