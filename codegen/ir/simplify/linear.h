// Integer expressions as linear forms: a sum of terms with constant coefficients, plus a constant.
//
//   SumTerms(r0*28 + (r1 + 3)*4)  is  {r0: 28, r1: 4} + 12
//
// The simplifier does its work on sums, divisions and comparisons on this form; lowering asks it
// for strides.
//
// For kIndex (exact integers) the form equals the expression. At a fixed width it equals it modulo
// 2^bits; `ExactTerms` gives it only where no wrapping is possible.
#ifndef TG_CODEGEN_IR_SIMPLIFY_LINEAR_H_
#define TG_CODEGEN_IR_SIMPLIFY_LINEAR_H_

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

struct LinearTerm {
  UOp term;      // not a constant, and nothing that SumTerms would take apart
  int64_t coef;  // never 0
};

struct LinearForm {
  // Each term once, in canonical order (order.h).
  absl::InlinedVector<LinearTerm, 6> terms;
  int64_t constant = 0;

  // 0 where `term` does not occur.
  int64_t Coef(const UOp& term) const;
  bool IsConstant() const { return terms.empty(); }
};

// Sums of more terms than this are not taken apart (they are one term): the work of the simplifier
// stays linear in the size of a graph.
inline constexpr int kMaxLinearTerms = 48;

// Takes `x` (an integer) apart: through additions, subtractions, negations, products with and
// shifts by constants. A range or variable with one possible value counts as that constant.
// At a fixed width a product (a + b)*c with two or more terms stays one term. Where a coefficient
// of an exact integer would leave int64, all of `x` is one term.
LinearForm SumTerms(const UOp& x);

// SumTerms where the form's value is the value of `x` at its width, by its bounds; else nullopt.
std::optional<LinearForm> ExactTerms(const UOp& x);

// The sum as an expression in canonical form: `((t0*c0 + t1*c1) + ...) + constant`, without
// products by 1 and without a constant 0. FromTerms(SumTerms(x), x.dtype()) is `x` itself where
// `x` was canonical.
UOp FromTerms(const LinearForm& form, DType dtype);

// a + b*factor; nullopt where a number leaves int64.
std::optional<LinearForm> AddForms(const LinearForm& a, const LinearForm& b, int64_t factor = 1);

// Sorts terms, merges equal ones and drops zero coefficients; false where a number leaves int64.
bool Normalize(LinearForm& form);

// Interval of a form's value by the bounds of its terms. nullopt: not bounded.
struct WideBounds {
  __int128 min;
  __int128 max;
};
std::optional<WideBounds> FormBounds(const LinearForm& form);

// A form that is at least (`upper`) or at most `form` for all values: ranges, also as factors of
// products of non-negative factors, stand at their last or first value, which may be symbolic.
// nullopt where a number leaves int64.
std::optional<LinearForm> ExtremeForm(const LinearForm& form, bool upper);

// Largest integer that divides each coefficient (not the constant); 0 without terms.
int64_t CoefGcd(const LinearForm& form);

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_SIMPLIFY_LINEAR_H_
