// Conditions on exact integers as intervals of linear expressions. Internal to
// codegen/ir/simplify.
#ifndef TG_CODEGEN_IR_SIMPLIFY_CLAUSE_H_
#define TG_CODEGEN_IR_SIMPLIFY_CLAUSE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "codegen/ir/simplify/linear.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

// lo <= expr <= hi. `expr` has no constant, coprime coefficients, and its first one positive, so
// that conditions on the same expression are comparable. INT64_MIN and INT64_MAX: no bound.
struct Interval {
  LinearForm expr;
  int64_t lo = std::numeric_limits<int64_t>::min();
  int64_t hi = std::numeric_limits<int64_t>::max();
};

bool SameExpr(const Interval& a, const Interval& b);

// The interval that `cond` (a comparison of exact integers, or the negation of one) says; nullopt
// for any other condition. Disequalities are no intervals.
std::optional<Interval> ParseInterval(const UOp& cond);

// !cond, as ParseInterval understands it: strips the negation; `negated` is set accordingly.
UOp StripNot(const UOp& cond, bool* negated);

// form < 0 and form == 0 as canonical conditions, or null where a number leaves int64. Conditions
// that bounds decide become constants.
UOp LessThanZero(LinearForm form);
UOp EqualToZero(LinearForm form, bool negated);

// The operands of nested binary operations `op` (kAnd, kOr), left to right.
std::vector<UOp> SplitChain(const UOp& u, Op op);

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_SIMPLIFY_CLAUSE_H_
