// The symbolic simplifier.
//
// `Simplify` brings scalar and vector expressions of the kernel and program stages, and the index
// expressions of any stage, into a canonical form: equal index expressions mostly become the same
// node, sums of ranges stay affine, divisions and remainders that bounds decide disappear. Nodes
// that it has no rule for (loads, reductions, structure) stay, their sources are simplified. It is
// not for tensor-stage values with a shape: x*0 becomes a scalar 0.
//
// Canonical form, for kIndex:
//   * a sum is `((t0*c0 + t1*c1) + ...) + c`, terms in the order of order.h, constant last;
//   * comparisons are P < N + c with positive terms on each side, P < c, or the negation of that
//     (`!(x < 3)` for x >= 3); coefficients have no common divisor;
//   * divisions are FloorDiv and FloorMod by positive constants where the signs are known.
// Subtraction and negation are spelled x + y*-1; for bools, + * max are | & |, and not is x !=
// true.
//
// Floats keep their order of evaluation. Only identities that give the same bits are used, except
// that x + 0 becomes x (a negative zero keeps its sign then).
//
// Invalid: an operation on WHERE(v, x, Invalid) becomes WHERE(v, operation on x, Invalid), so that
// a condition stands at the top of an index expression; there it is simplified, and x is
// simplified under the assumption that it holds.
//
// Simplify is a pure function of the graph; the result is a fixed point: Simplify(Simplify(x)) is
// Simplify(x). Thread safe, iterative.
#ifndef TG_CODEGEN_IR_SIMPLIFY_SIMPLIFY_H_
#define TG_CODEGEN_IR_SIMPLIFY_SIMPLIFY_H_

#include "codegen/ir/pattern.h"
#include "codegen/ir/simplify/linear.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

UOp Simplify(const UOp& root);

// Simplify of an index expression (kIndex, perhaps under a validity condition); a root that is a
// range or variable with one possible value becomes that constant.
UOp SimplifyIndex(const UOp& index);

// `x` simplified under the assumption that `valid` (bool) holds: equal to x wherever it does.
UOp SimplifyGiven(const UOp& x, const UOp& valid);

// Whether `cond` (bool) is true for all values of its variables. False: not known.
bool ProvablyTrue(const UOp& cond);

// All of the rules of rules.h, in the order in which Simplify tries them: to compose with a pass's
// own.
const RuleSet& SymbolicRules();

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_SIMPLIFY_SIMPLIFY_H_
