#include "codegen/ir/simplify/simplify.h"

#include "codegen/ir/rewrite.h"
#include "codegen/ir/simplify/rules.h"

namespace tg::ir {

const RuleSet& SymbolicRules() {
  static const RuleSet& rules = *new RuleSet(FoldRules() + IdentityRules() + DivModRules() + SumRules());
  return rules;
}

UOp Simplify(const UOp& root) { return GraphRewrite(root, SymbolicRules()); }

UOp SimplifyIndex(const UOp& index) {
  const UOp r = Simplify(index);
  if ((r.Is(Op::kRange) || r.Is(Op::kVariable)) && r.vmin() == r.vmax()) {
    return Const(r.dtype(), r.vmin());
  }
  return r;
}

UOp SimplifyGiven(const UOp& x, const UOp& valid) {
  (void)valid;
  return Simplify(x);
}

bool ProvablyTrue(const UOp& cond) { return Simplify(cond).vmin() == 1; }

}  // namespace tg::ir
