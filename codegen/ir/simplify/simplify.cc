#include "codegen/ir/simplify/simplify.h"
#include "codegen/ir/rewrite.h"
#include "codegen/ir/simplify/given.h"
#include "codegen/ir/simplify/rules.h"

namespace tg::ir {
namespace {

using namespace tg::ir::pattern;  // NOLINT: rules are written with its names

// WHERE(v, x, Invalid): fewer clauses in v, x by what v says of its terms.
UOp SimplifyGuarded(const UOp& u, void*) {
  const UOp &v = u.src(0), &x = u.src(1);
  if (!u.src(2).IsInvalid() || v.IsConst()) return UOp();
  const UOp valid = ReduceClauses(v, Simplify);
  const UOp value = valid.IsConst() ? x : GivenCondition(x, valid, Simplify);
  return valid == v && value == x ? UOp() : Where(valid, value, u.src(2));
}

// What is loaded from no valid index never counts: 0, or the load's alternative.
UOp LoadOfNothing(const UOp& u, void*) {
  const UOp& index = u.src(0);
  if (!index.Is(Op::kIndex) || index.src_count() < 2 || !index.src(1).IsInvalid()) return UOp();
  return u.src_count() > 1 ? u.src(1) : Const(u.dtype(), 0);
}

const RuleSet& LoadRules() {
  static const RuleSet& rules = *new RuleSet{
      On({Op::kLoad}, LoadOfNothing, "load_of_nothing"),
  };
  return rules;
}

}  // namespace

const RuleSet& ValidRules() {
  static const RuleSet& rules = *new RuleSet{
      On({Op::kWhere}, SimplifyGuarded, "simplify_guarded"),
  };
  return rules;
}

const RuleSet& SymbolicRules() {
  static const RuleSet& rules =
      *new RuleSet(FoldRules() + IdentityRules() + CastRules() + LogicRules() + CompareRules() +
                   WhereRules() + DivModRules() + SumRules() + ValidRules() + LoadRules());
  return rules;
}

UOp Simplify(const UOp& root) { return GraphRewrite(root, SymbolicRules(), {.settled_mark = 1}); }

UOp SimplifyIndex(const UOp& index) {
  UOp r = Simplify(index);
  if ((r.Is(Op::kRange) || r.Is(Op::kVariable)) && r.vmin() == r.vmax()) {
    return Const(r.dtype(), r.vmin());
  }
  return r;
}

UOp SimplifyGiven(const UOp& x, const UOp& valid) {
  return GivenCondition(Simplify(x), ReduceClauses(Simplify(valid), Simplify), Simplify);
}

bool ProvablyTrue(const UOp& cond) { return Simplify(cond).vmin() == 1; }

}  // namespace tg::ir
