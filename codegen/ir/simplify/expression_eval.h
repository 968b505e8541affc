// For tests: evaluates scalar expressions by their definition (op.h), in 128-bit integers, sharing
// no code with the simplifier, the facts or the constant folder.
#ifndef TG_CODEGEN_IR_SIMPLIFY_EXPRESSION_EVAL_H_
#define TG_CODEGEN_IR_SIMPLIFY_EXPRESSION_EVAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/ir/uop.h"

namespace tg::ir::testing {

struct Value {
  enum class State : uint8_t {
    kDefined,
    kUnspecified,  // division by zero, a shift too far
    kTooLarge,     // an exact integer too large for this evaluator (2^100): not compared
    kInvalid,      // Invalid
  };
  State state = State::kDefined;
  __int128 i = 0;  // integers and bools; unsigned ones are not negative
  double f = 0;    // floats
};

// An expression prepared for evaluation at many points. Leaves are the nodes that are not
// elementwise and not constant.
class Evaluator {
 public:
  explicit Evaluator(const UOp& root);

  const std::vector<UOp>& leaves() const { return leaves_; }
  // `values` by position in leaves(): defined values of the leaf's dtype.
  Value Run(const std::vector<Value>& values);

 private:
  struct Step {
    Op op;
    DType type;      // of the result
    DType src_type;  // of the sources (of s1 for WHERE)
    int src[3];
    int leaf;
    Value constant;
  };
  std::vector<UOp> leaves_;
  std::vector<Step> steps_;
  std::vector<Value> results_;
};

// Whether `after` may stand for `before`: equal where `before` is specified; Invalid where it is
// Invalid. Zeros of either sign are equal, and NaNs.
bool Refines(const Value& before, const Value& after, DType d);

std::string ToString(const Value& v, DType d);

// The expression as C++ that builds it.
std::string ToCpp(const UOp& u);

}  // namespace tg::ir::testing

#endif  // TG_CODEGEN_IR_SIMPLIFY_EXPRESSION_EVAL_H_
