// The rule sets that `Simplify` is made of, by subject. They can be used alone, and tests fuzz each
// rule by itself.
//
// Every rule holds for each dtype that its pattern can match: x, y, z match any type, i and j
// integers, t and f bools. Rules that hold for floats only up to something say so in their line:
//   exact        the same bits (a NaN's payload aside)
//   nsz          except for the sign of a zero
// A rule without a mark is exact, or matches no floats.
//
// The first rules of FoldRules take every operation on Invalid. All other rules but those for WHERE
// rely on that: their operands are never Invalid, nor choices with Invalid in them.
//
// For a fixed-width integer, equalities hold modulo 2^bits. For kIndex they hold for the exact
// integers; nothing is rewritten that would make a number leave int64.
#ifndef TG_CODEGEN_IR_SIMPLIFY_RULES_H_
#define TG_CODEGEN_IR_SIMPLIFY_RULES_H_

#include "codegen/ir/pattern.h"

namespace tg::ir {

// Constants are computed; commutative operands are put into canonical order; what has one possible
// value becomes it. Operations on Invalid become Invalid under the same condition.
const RuleSet& FoldRules();
// x + 0, x * 1, max(x, x), ...; the spellings that have a canonical one (Sub, Neg, bool Add).
const RuleSet& IdentityRules();
// Sums and products of integers: association, like terms, constants over sums, x//c*c + x%c.
const RuleSet& SumRules();
// <, ==, != and what negates them.
const RuleSet& CompareRules();
// Floor and truncating division, their remainders, shifts and masks of exact integers.
const RuleSet& DivModRules();
// And, Or, Xor, Not.
const RuleSet& LogicRules();
// Choices.
const RuleSet& WhereRules();
// Conversions.
const RuleSet& CastRules();
// WHERE(valid, x, Invalid): the condition in fewest clauses, x as it is where the condition holds.
const RuleSet& ValidRules();

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_SIMPLIFY_RULES_H_
