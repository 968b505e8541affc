#include "absl/container/inlined_vector.h"
#include "codegen/ir/fold.h"
#include "codegen/ir/simplify/rules.h"

namespace tg::ir {
namespace {

using namespace tg::ir::pattern;  // NOLINT: rules are written with its names

// Whether Invalid may be a value of `u`: then it must not move out of the branch that it stands in.
// (Conditions surface Invalid, so only choices below can hide it.)
bool MayBeInvalid(const UOp& u) {
  constexpr int kMaxVisits = 64;
  absl::InlinedVector<const UOp*, 16> pending = {&u};
  for (int visits = 0; !pending.empty(); ++visits) {
    const UOp& v = *pending.back();
    pending.pop_back();
    if (visits > kMaxVisits || v.IsInvalid()) return true;
    if (!IsElementwise(v.op())) continue;
    for (const UOp& s : v.src()) pending.push_back(&s);
  }
  return false;
}

// The literals true and false match the numbers 1 and 0.
bool IsBool(const Match& m) { return m.root().dtype().IsBool(); }

bool BranchIsDefined(const Match& m) { return !MayBeInvalid(m[f]); }

// compare(WHERE(t, c0, c1), c2) >> WHERE(t, c0 ~ c2, c1 ~ c2), which becomes t, !t or a constant.
// Likewise c // and % by a constant.
UOp OfConstantChoice(const UOp& u, void*) {
  const UOp &w = u.src(0), &c = u.src(1);
  if (!w.Is(Op::kWhere) || !c.IsConst() || !w.src(1).IsConst() || !w.src(2).IsConst()) return UOp();
  const UOp a = FoldAlu(u.op(), u.dtype(), {w.src(1), c});
  const UOp b = FoldAlu(u.op(), u.dtype(), {w.src(2), c});
  return a && b ? Where(w.src(0), a, b) : UOp();
}

}  // namespace

const RuleSet& WhereRules() {
  static const RuleSet& rules = *new RuleSet{
      Where(true, x, y) >> x,
      Where(false, x, y) >> y,
      Where(t, x, x) >> x,
      // Invalid stands last; nothing else turns a choice around that has it.
      Where(t, x, y) >>
          ([](const Match& m) { return m[x].IsInvalid() ? Where(Not(m[t]), m[y], m[x]) : UOp(); }),
      (Where(Not(t), x, y) >> Where(t, y, x)).If([](const Match& m) { return !m[y].IsInvalid(); }),
      // Choices between conditions are logic.
      (Where(t, true, false) >> t).If(IsBool),
      (Where(t, false, true) >> Not(t)).If(IsBool),
      (Where(t, f, false) >> (t & f)).If(BranchIsDefined),
      (Where(t, true, f) >> (t | f)).If(BranchIsDefined),
      (Where(t, false, f) >> (Not(t) & f)).If(BranchIsDefined),
      (Where(t, f, true) >> (Not(t) | f)).If(BranchIsDefined),
      // The same condition, or the same branch, twice.
      Where(t, Where(t, x, y), z) >> Where(t, x, z),
      Where(t, x, Where(t, y, z)) >> Where(t, x, z),
      Where(t, Where(f, x, y), y) >> Where(t & f, x, y),
      Where(t, x, Where(f, x, y)) >> Where(t | f, x, y),
      // Integers: the larger of two. (For floats a NaN would come through.)
      Where(i < j, j, i) >> Max(i, j),
      On({Op::kCmpLt, Op::kCmpEq, Op::kCmpNe, Op::kFloorDiv, Op::kFloorMod}, OfConstantChoice,
         "of_constant_choice"),
  };
  return rules;
}

}  // namespace tg::ir
