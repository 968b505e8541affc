#include "codegen/ir/simplify/rules.h"

namespace tg::ir {

using namespace tg::ir::pattern;  // NOLINT: rules are written with its names

namespace {

bool IsNumber(const Match& m) { return !m.root().dtype().IsBool(); }

}  // namespace

const RuleSet& IdentityRules() {
  static const RuleSet& rules = *new RuleSet{
      // Bool arithmetic is logic.
      t + f >> (t | f),
      t * f >> (t & f),
      Max(t, f) >> (t | f),
      Sub(t, f) >> (t ^ f),
      -t >> Not(t),
      // Neutral elements.
      x + 0 >> x,       // nsz
      x + -0.0 >> x,    // exact
      x * 1 >> x,       // exact
      i * 0 >> 0,       // not for floats: NaN * 0, inf * 0
      Sub(x, 0) >> x,   // exact
      Fdiv(x, 1) >> x,  // exact
      Pow(x, 1) >> x,   // exact
      Pow(x, 0) >> 1,   // exact: IEEE 754 pow, NaN too
      // Exact: the square of a narrower float is exact in double. In float64, pow may be an ulp
      // off.
      (Pow(x, 2) >> x * x).If([](const Match& m) {
        return m[x].dtype().scalar() != ScalarType::kFloat64 && !m[x].dtype().IsWeak();
      }),
      // One spelling.
      Sub(x, x) >> ([](const Match& m) {
        return m[x].dtype().IsInt() ? Const(m[x].dtype(), 0) : UOp();  // inf - inf
      }),
      (Sub(x, y) >> x + y * -1).If(IsNumber),  // exact
      (-x >> x * -1).If(IsNumber),             // exact
      (x * -1) * -1 >> x,                      // exact
      Fdiv(x, -1) >> x * -1,                   // exact
      x + x >> x * 2,                          // exact
      // Idempotent.
      Max(x, x) >> x,                  // exact
      Max(Max(x, y), y) >> Max(x, y),  // exact
      Trunc(i) >> i,
      Trunc(Trunc(x)) >> Trunc(x),
  };
  return rules;
}

}  // namespace tg::ir
