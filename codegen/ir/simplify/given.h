// Simplification under an assumption, for index expressions with a validity condition. Internal to
// codegen/ir/simplify; `SimplifyGiven` is in simplify.h.
#ifndef TG_CODEGEN_IR_SIMPLIFY_GIVEN_H_
#define TG_CODEGEN_IR_SIMPLIFY_GIVEN_H_

#include "absl/functional/function_ref.h"
#include "codegen/ir/uop.h"

namespace tg::ir {

// The simplifier, which the rules here call on what they build.
using SimplifyFunction = absl::FunctionRef<UOp(const UOp&)>;

// `x` (integer or bool, simplified) where `valid` (bool, simplified) holds; x itself where nothing
// simpler is found.
UOp GivenCondition(const UOp& x, const UOp& valid, SimplifyFunction simplify);

// `valid` without clauses that follow from its other clauses, each clause simplified given the
// others.
UOp ReduceClauses(const UOp& valid, SimplifyFunction simplify);

}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_SIMPLIFY_GIVEN_H_
