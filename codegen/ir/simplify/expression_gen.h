// For tests: random scalar expressions, the points to try them at, and their minimisation.
#ifndef TG_CODEGEN_IR_SIMPLIFY_EXPRESSION_GEN_H_
#define TG_CODEGEN_IR_SIMPLIFY_EXPRESSION_GEN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "codegen/ir/simplify/expression_eval.h"
#include "codegen/ir/uop.h"

namespace tg::ir::testing {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  // New leaves: up to four variables and ranges whose intervals have at most `max_points` points
  // together.
  void NewLeaves(int64_t max_points = 1200);

  // A random expression of the type with operations at most `depth` deep.
  UOp Expression(DType d, int depth);
  // One whose root is `op`; null where the type cannot have it. With `guards`, operands may be
  // Invalid under a condition.
  UOp WithRoot(Op op, DType d, int depth, bool guards = false);
  // WHERE(condition, expression, Invalid) somewhere below a few operations.
  UOp Guarded(DType d, int depth);
  UOp Leaf(DType d);
  UOp Constant(DType d);
  DType AnyType();
  DType AnyInt();

  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool OneIn(int n) { return Below(n) == 0; }
  std::mt19937_64& random() { return random_; }

 private:
  UOp Condition(int depth);
  UOp Integer(DType d, int depth);
  UOp Float(DType d, int depth);

  std::mt19937_64 random_;
  std::vector<UOp> leaves_;  // kIndex
};

// Where two expressions differ.
struct Difference {
  std::string point;
  std::string before, after;
};

// Tries `after` for `before` at all points of their variables' and ranges' intervals (at
// `max_points` random ones if there are more), and at random values, extreme ones among them, of
// other leaves. Ranges stay below their sizes.
std::optional<Difference> FindDifference(const UOp& before, const UOp& after, uint64_t seed,
                                         int64_t max_points = 4096);

// A small expression for which `fails` still holds.
UOp Minimize(const UOp& u, const std::function<bool(const UOp&)>& fails);

}  // namespace tg::ir::testing

#endif  // TG_CODEGEN_IR_SIMPLIFY_EXPRESSION_GEN_H_
