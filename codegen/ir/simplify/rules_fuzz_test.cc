// Each rule of the simplifier by itself, on random values of each of its types.
//
// A pattern rule is tried on instances of its own left side: wildcards become random expressions,
// of every type that fits. A function rule is tried on random expressions with its operations at
// the root. What the rule returns must have the type of the node and stand for it at every point.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/ir/simplify/expression_gen.h"
#include "codegen/ir/simplify/rules.h"
#include "gtest/gtest.h"

namespace tg::ir {
namespace {

using pattern::Kind;
using pattern::PatNode;
using testing::FindDifference;
using testing::Generator;
using testing::ToCpp;

constexpr int kWanted = 1000;        // applications of each rule
constexpr int kMaxTrials = 200'000;  // instances, until so many applications are found

// Random instances of patterns.
class Instances {
 public:
  explicit Instances(uint64_t seed) : gen_(seed) {}

  Generator& gen() { return gen_; }

  // Null where the drawn type does not fit.
  UOp Of(const PatNode& lhs) {
    gen_.NewLeaves(300);
    bound_.clear();
    return Node(lhs, gen_.OneIn(4) ? kBool : gen_.AnyType());
  }

 private:
  UOp Node(const PatNode& n, DType d) {
    switch (n.kind) {
      case Kind::kAny:
      case Kind::kConst:
      case Kind::kBool:
      case Kind::kInt:
        return Wildcard(n, d);
      case Kind::kLiteralInt:
        return Const(d, n.int_value);
      case Kind::kLiteralFloat:
        return d.IsFloat() ? Const(d, n.float_value) : UOp();
      case Kind::kFold:
        return UOp();
      case Kind::kOp:
        break;
    }
    std::vector<UOp> src;
    DType operands = d;
    const bool in_where = n.op == Op::kWhere;
    if (IsComparison(n.op)) {
      if (!d.IsBool()) return UOp();
      operands = TypeOf(n);
    }
    for (size_t i = 0; i < n.src.size(); ++i) {
      const bool condition = n.op == Op::kWhere && i == 0;
      may_be_invalid_ = in_where && !condition;
      src.push_back(Node(*n.src[i], condition ? kBool : operands));
      if (!src.back()) return UOp();
      if (!condition && src.back().dtype() != operands) return UOp();
    }
    if (!Defined(n.op, operands)) return UOp();
    return Alu(n.op, src);
  }

  UOp Wildcard(const PatNode& n, DType d) {
    UOp& u = bound_[n.wildcard];
    if (u) return u.dtype() == d ? u : UOp();
    if (n.kind == Kind::kBool && !d.IsBool()) return UOp();
    if (n.kind == Kind::kInt && !d.IsInt()) return UOp();
    if (n.kind == Kind::kConst) {
      u = gen_.Constant(d);
    } else if (may_be_invalid_ && gen_.OneIn(6)) {
      u = InvalidConst(d);
    } else {
      u = gen_.OneIn(3) ? gen_.Expression(d, 1) : gen_.OneIn(6) ? gen_.Constant(d) : gen_.Leaf(d);
    }
    return u;
  }

  // A type for the operands of a comparison: that of what is bound or bool where it must be.
  DType TypeOf(const PatNode& n) {
    for (const auto& s : n.src) {
      if (s->kind == Kind::kBool) return kBool;
      if (s->kind == Kind::kOp && IsComparison(s->op)) return kBool;
      if (s->wildcard >= 0 && bound_.contains(s->wildcard) && bound_[s->wildcard]) {
        return bound_[s->wildcard].dtype();
      }
    }
    return gen_.OneIn(6) ? kBool : gen_.AnyType();
  }

  static bool Defined(Op op, DType d) {
    switch (op) {
      case Op::kAnd:
      case Op::kOr:
      case Op::kXor:
        return !d.IsFloat();
      case Op::kCdiv:
      case Op::kCmod:
      case Op::kFloorDiv:
      case Op::kFloorMod:
      case Op::kShl:
      case Op::kShr:
        return d.IsInt();
      case Op::kFdiv:
      case Op::kPow:
        return d.IsFloat();
      default:
        return true;
    }
  }

  Generator gen_;
  std::map<int, UOp> bound_;
  bool may_be_invalid_ = false;
};

struct Outcome {
  int applied = 0;
  std::string failure;
};

Outcome Fuzz(const Rule& rule, uint64_t seed) {
  Instances instances(seed);
  Generator& gen = instances.gen();
  Outcome o;
  for (int trial = 0; trial < kMaxTrials && o.applied < kWanted; ++trial) {
    UOp u;
    if (rule.lhs() != nullptr) {
      u = instances.Of(*rule.lhs());
    } else {
      gen.NewLeaves(300);
      const auto& ops = rule.root_ops();
      const Op op = ops[static_cast<size_t>(gen.Below(static_cast<int>(ops.size())))];
      const bool guards = rule.name().rfind("push_", 0) == 0;
      u = gen.WithRoot(op, IsComparison(op) || gen.OneIn(4) ? kBool : gen.AnyType(), 3, guards);
    }
    if (!u) continue;
    const UOp r = rule.Apply(u, nullptr);
    if (!r || r == u) continue;
    ++o.applied;
    if (r.dtype() != u.dtype()) {
      o.failure = absl::StrCat(ToCpp(u), " changed its type: ", ToCpp(r));
      return o;
    }
    if (const auto d = FindDifference(u, r, seed + static_cast<uint64_t>(trial), 600)) {
      o.failure = absl::StrCat(ToCpp(u), "\n  became ", ToCpp(r), "\n  at ", d->point, ": ",
                               d->before, " became ", d->after);
      return o;
    }
  }
  return o;
}

void FuzzAll(const RuleSet& rules) {
  uint64_t seed = 1;
  for (const auto& rule : rules.rules()) {
    const Outcome o = Fuzz(*rule, ++seed);
    EXPECT_EQ(o.failure, "") << "rule " << rule->name();
    EXPECT_GE(o.applied, kWanted) << "rule " << rule->name() << " is hardly ever tried";
  }
}

TEST(RulesFuzzTest, Fold) { FuzzAll(FoldRules()); }
TEST(RulesFuzzTest, Identity) { FuzzAll(IdentityRules()); }
TEST(RulesFuzzTest, Sum) { FuzzAll(SumRules()); }
TEST(RulesFuzzTest, Compare) { FuzzAll(CompareRules()); }
TEST(RulesFuzzTest, DivMod) { FuzzAll(DivModRules()); }
TEST(RulesFuzzTest, Logic) { FuzzAll(LogicRules()); }
TEST(RulesFuzzTest, Where) { FuzzAll(WhereRules()); }
TEST(RulesFuzzTest, Cast) { FuzzAll(CastRules()); }
TEST(RulesFuzzTest, Valid) { FuzzAll(ValidRules()); }

// The fuzzer finds rules that are wrong: for signs, for width, for division by other numbers.
TEST(RulesFuzzTest, WrongRulesAreFound) {
  using namespace tg::ir::pattern;  // NOLINT: rules are written with its names
  const Rule wrong[] = {
      Cdiv(i, c0) >> FloorDiv(i, c0),
      FloorMod(FloorMod(i, c0), c1) >> FloorMod(i, c1),
      ((i + c0) < c1) >> (i < Fold(Sub(c1, c0))),
      x * 0 >> 0,
      Max(x, y) >> x,
      (FloorDiv(i, c0) * c0 >> i),
      Not(x < y) >> (y < x),
  };
  for (const Rule& rule : wrong) EXPECT_NE(Fuzz(rule, 1).failure, "") << rule.name();
}

}  // namespace
}  // namespace tg::ir
