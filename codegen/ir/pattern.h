// Rewrite rules that read like mathematics.
//
//   using namespace tg::ir::pattern;
//   const RuleSet kRules = {
//       x + 0 >> x,
//       (x + c0) + c1 >> x + Fold(c0 + c1),
//       (FloorMod(x, c0) >> x).If([](const Match& m) { return m[x].vmin() >= 0 && ...; }),
//       On({Op::kCast}, [](const UOp& u, void* ctx) -> UOp { ...; return UOp(); }, "cast_chain"),
//   };
//
// Wildcards: x, y, z, w match any value; c0, c1, c2 match constants (not Invalid); t, f match any
// bool; i, j match integers (weak too). A wildcard that occurs twice must match the same node
// twice. A literal (0, 1.5, true) matches a constant of that value in any dtype.
//
// What is checked when it compiles: a result may use only wildcards that its pattern binds; a
// constant stands right of a commutative operation (that is where canonical graphs have it).
// A commutative operation with two different non-constant operands is matched in both orders.
//
// In a result, Fold(e) computes e from matched constants now, at their dtype; e must be built from
// constants only. Literals in a result take the dtype of their sibling operand (at the root of the
// result: of the matched node).
//
// A rule is lowered to a small table when it is made; matching a rule allocates nothing. Rule sets
// are immutable, compose with +, are indexed by the operation at the root of the pattern, and can
// be shared between threads. Rules are tried in order; the first that applies wins.
#ifndef TG_CODEGEN_IR_PATTERN_H_
#define TG_CODEGEN_IR_PATTERN_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ir/uop.h"

namespace tg::ir {

inline constexpr int kMaxWildcards = 16;

namespace pattern {

enum class Kind : uint8_t { kAny, kConst, kBool, kInt, kLiteralInt, kLiteralFloat, kOp, kFold };

// A pattern or result as a tree. The typed builder `Pat` below is what rules are written with.
struct PatNode {
  Kind kind;
  int wildcard = -1;  // kAny, kConst, kBool, kInt
  int64_t int_value = 0;
  double float_value = 0;  // kLiteralFloat
  Op op = Op::kNoop;       // kOp
  std::vector<std::shared_ptr<const PatNode>> src;
};

// `kBound`: the set of wildcards, `kIsConst`: whether it can match only constants.
template <uint32_t kBound, bool kIsConst>
class Pat {
 public:
  explicit Pat(std::shared_ptr<const PatNode> node) : node_(std::move(node)) {}
  const std::shared_ptr<const PatNode>& node() const { return node_; }

 private:
  std::shared_ptr<const PatNode> node_;
};

// A wildcard: a Pat that can also index a Match.
template <int kIndex, bool kIsConst>
class Wildcard : public Pat<(1u << kIndex), kIsConst> {
 public:
  explicit Wildcard(Kind kind)
      : Pat<(1u << kIndex), kIsConst>(
            std::make_shared<PatNode>(PatNode{.kind = kind, .wildcard = kIndex, .src = {}})) {}
  static constexpr int index() { return kIndex; }
};

inline const Wildcard<0, false> x(Kind::kAny);
inline const Wildcard<1, false> y(Kind::kAny);
inline const Wildcard<2, false> z(Kind::kAny);
inline const Wildcard<3, false> w(Kind::kAny);
inline const Wildcard<4, true> c0(Kind::kConst);
inline const Wildcard<5, true> c1(Kind::kConst);
inline const Wildcard<6, true> c2(Kind::kConst);
inline const Wildcard<7, false> t(Kind::kBool);
inline const Wildcard<8, false> f(Kind::kBool);
inline const Wildcard<9, false> i(Kind::kInt);
inline const Wildcard<10, false> j(Kind::kInt);

}  // namespace pattern

// What the wildcards of a pattern matched: match[x].
class Match {
 public:
  template <int kIndex, bool kIsConst>
  const UOp& operator[](const pattern::Wildcard<kIndex, kIsConst>&) const {
    return bound_[kIndex];
  }
  // The node that the whole pattern matched.
  const UOp& root() const { return root_; }

 private:
  friend class RuleSet;
  friend struct MatchAccess;
  UOp root_;
  UOp bound_[kMaxWildcards];
};

// One rule: an operation (or several) at the root, and a function from the root to its
// replacement, or to null where the rule does not apply.
class Rule {
 public:
  using Function = std::function<UOp(const UOp& root, void* ctx)>;

  // Restricts the rule: `condition` sees the match.
  Rule If(std::function<bool(const Match&)> condition) const;
  // Gives the rule a name for messages; without it a pattern rule is named by its text.
  Rule Named(std::string name) const;

  const std::string& name() const { return name_; }
  const std::vector<Op>& root_ops() const { return root_ops_; }
  // Pattern and result, null for function rules: tests enumerate rules to fuzz each by itself.
  const pattern::PatNode* lhs() const { return lhs_.get(); }
  const pattern::PatNode* rhs() const { return rhs_.get(); }
  bool conditional() const { return condition_ != nullptr; }

  UOp Apply(const UOp& root, void* ctx) const;

 private:
  friend struct RuleAccess;
  friend class RuleSet;
  std::string name_;
  std::vector<Op> root_ops_;
  std::shared_ptr<const pattern::PatNode> lhs_, rhs_;
  std::function<UOp(const Match&, void*)> build_;  // used instead of rhs_ where set
  std::function<bool(const Match&)> condition_;
  Function function_;
  // The pattern compiled, one variant for each order of commutative operands.
  struct Step {
    pattern::Kind kind;
    Op op;
    int8_t wildcard;
    bool repeated;  // the wildcard is bound already: must be the same node
    uint8_t src_count;
    int64_t int_value;
    double float_value;
  };
  std::vector<std::vector<Step>> variants_;

  void CompilePattern();
  // The replacement if `root` matches this variant, else null.
  UOp ApplyVariant(const std::vector<Step>& steps, const UOp& root, void* ctx) const;
  static bool MatchVariant(const std::vector<Step>& steps, const UOp& root, const UOp** bound);
};

class RuleSet {
 public:
  RuleSet() = default;
  RuleSet(std::initializer_list<Rule> rules) : RuleSet(std::vector<Rule>(rules)) {}
  explicit RuleSet(std::vector<Rule> rules);

  friend RuleSet operator+(const RuleSet& a, const RuleSet& b);

  // The replacement of `u` by the first rule that applies, or null. `applied`, if given, is set to
  // that rule.
  UOp Rewrite(const UOp& u, void* ctx = nullptr, const Rule** applied = nullptr) const;
  absl::Span<const std::shared_ptr<const Rule>> rules() const { return rules_; }
  // Whether some rule has `op` at its root.
  bool HasRulesFor(Op op) const { return !by_op_[static_cast<int>(op)].empty(); }

 private:
  std::vector<std::shared_ptr<const Rule>> rules_;
  // One order of a rule's operands, with what its first two sources must be: most candidates fail
  // there and are never tried.
  struct Candidate {
    static constexpr uint8_t kAnyOp = 255;
    const Rule* rule;
    const std::vector<Rule::Step>* steps;  // null: a function
    uint8_t src_op[2];
  };
  std::vector<Candidate> by_op_[kOpCount];

  void Index();
};

// A rule as a function of the root node, for any of `ops`. It returns the replacement, or null.
Rule On(std::initializer_list<Op> ops, Rule::Function function, std::string name);
// The same with a typed context.
template <typename Context>
Rule On(std::initializer_list<Op> ops, std::function<UOp(const UOp&, Context&)> function,
        std::string name) {
  return On(
      ops,
      [function = std::move(function)](const UOp& u, void* ctx) {
        return function(u, *static_cast<Context*>(ctx));
      },
      std::move(name));
}

std::string PatternToString(const pattern::PatNode& node);

struct RuleAccess {
  static Rule MakePatternRule(std::shared_ptr<const pattern::PatNode> lhs,
                              std::shared_ptr<const pattern::PatNode> rhs,
                              std::function<UOp(const Match&, void*)> build);
  static Rule MakeFunctionRule(std::vector<Op> ops, Rule::Function function, std::string name);
};

namespace pattern {

inline std::shared_ptr<const PatNode> Literal(int64_t v) {
  return std::make_shared<PatNode>(PatNode{.kind = Kind::kLiteralInt, .int_value = v, .src = {}});
}
inline std::shared_ptr<const PatNode> Literal(double v) {
  return std::make_shared<PatNode>(
      PatNode{.kind = Kind::kLiteralFloat, .float_value = v, .src = {}});
}
inline std::shared_ptr<const PatNode> OpNode(Op op,
                                             std::vector<std::shared_ptr<const PatNode>> src) {
  return std::make_shared<PatNode>(PatNode{.kind = Kind::kOp, .op = op, .src = std::move(src)});
}

// Lifts a literal.
template <uint32_t B, bool C>
const Pat<B, C>& Lift(const Pat<B, C>& p) {
  return p;
}
inline Pat<0, true> Lift(int v) { return Pat<0, true>(Literal(static_cast<int64_t>(v))); }
inline Pat<0, true> Lift(int64_t v) { return Pat<0, true>(Literal(v)); }
inline Pat<0, true> Lift(bool v) { return Pat<0, true>(Literal(static_cast<int64_t>(v))); }
inline Pat<0, true> Lift(double v) { return Pat<0, true>(Literal(v)); }

template <typename T>
struct PatTraits : std::false_type {};
template <uint32_t B, bool C>
struct PatTraits<Pat<B, C>> : std::true_type {
  static constexpr uint32_t kBound = B;
  static constexpr bool kIsConst = C;
};
template <int I, bool C>
struct PatTraits<Wildcard<I, C>> : PatTraits<Pat<(1u << I), C>> {};
template <>
struct PatTraits<int> : PatTraits<Pat<0, true>> {
  static constexpr bool value = false;
};
template <>
struct PatTraits<int64_t> : PatTraits<int> {};
template <>
struct PatTraits<bool> : PatTraits<int> {};
template <>
struct PatTraits<double> : PatTraits<int> {};

template <typename A, typename B>
concept AnyPat =
    PatTraits<std::remove_cvref_t<A>>::value || PatTraits<std::remove_cvref_t<B>>::value;

template <typename A>
inline constexpr uint32_t kBoundOf = PatTraits<std::remove_cvref_t<A>>::kBound;
template <typename A>
inline constexpr bool kConstOf = PatTraits<std::remove_cvref_t<A>>::kIsConst;

template <Op kOp, typename A, typename B>
auto Binary(const A& a, const B& b) {
  static_assert(!(IsCommutative(kOp) && kConstOf<A> && !kConstOf<B>),
                "a constant stands right of a commutative operation");
  return Pat < kBoundOf<A> | kBoundOf<B>,
         kConstOf<A> && kConstOf < B >> (OpNode(kOp, {Lift(a).node(), Lift(b).node()}));
}
template <Op kOp, typename A>
auto Unary(const A& a) {
  return Pat<kBoundOf<A>, kConstOf<A>>(OpNode(kOp, {Lift(a).node()}));
}

#define TG_IR_PATTERN_BINARY(name, op) \
  template <typename A, typename B>    \
  requires AnyPat<A, B>                \
  auto name(const A& a, const B& b) { return Binary<Op::op>(a, b); }
TG_IR_PATTERN_BINARY(operator+, kAdd)
TG_IR_PATTERN_BINARY(operator*, kMul)
TG_IR_PATTERN_BINARY(operator<, kCmpLt)
TG_IR_PATTERN_BINARY(operator==, kCmpEq)
TG_IR_PATTERN_BINARY(operator!=, kCmpNe)
TG_IR_PATTERN_BINARY(operator&, kAnd)
TG_IR_PATTERN_BINARY(operator|, kOr)
TG_IR_PATTERN_BINARY(operator^, kXor)
TG_IR_PATTERN_BINARY(operator<<, kShl)
TG_IR_PATTERN_BINARY(Shr, kShr)
TG_IR_PATTERN_BINARY(Max, kMax)
TG_IR_PATTERN_BINARY(Sub, kSub)
TG_IR_PATTERN_BINARY(FloorDiv, kFloorDiv)
TG_IR_PATTERN_BINARY(FloorMod, kFloorMod)
TG_IR_PATTERN_BINARY(Cdiv, kCdiv)
TG_IR_PATTERN_BINARY(Cmod, kCmod)
TG_IR_PATTERN_BINARY(Fdiv, kFdiv)
TG_IR_PATTERN_BINARY(Pow, kPow)
#undef TG_IR_PATTERN_BINARY

#define TG_IR_PATTERN_UNARY(name, op) \
  template <typename A>               \
  requires AnyPat<A, A>               \
  auto name(const A& a) { return Unary<Op::op>(a); }
TG_IR_PATTERN_UNARY(operator-, kNeg)
TG_IR_PATTERN_UNARY(Reciprocal, kReciprocal)
TG_IR_PATTERN_UNARY(Sqrt, kSqrt)
TG_IR_PATTERN_UNARY(Exp2, kExp2)
TG_IR_PATTERN_UNARY(Log2, kLog2)
TG_IR_PATTERN_UNARY(Trunc, kTrunc)
#undef TG_IR_PATTERN_UNARY

// A bool's negation, in its canonical form x != true.
template <typename A>
requires AnyPat<A, A>
auto Not(const A& a) { return Binary<Op::kCmpNe>(a, true); }

template <typename C, typename A, typename B>
requires(AnyPat<C, A> || AnyPat<A, B>) auto Where(const C& c, const A& a, const B& b) {
  return Pat < kBoundOf<C> | kBoundOf<A> | kBoundOf<B>,
         kConstOf<C> && kConstOf<A> &&
             kConstOf < B >> (OpNode(Op::kWhere, {Lift(c).node(), Lift(a).node(), Lift(b).node()}));
}

// In results: the constant that the constant expression `a` evaluates to.
template <typename A>
auto Fold(const A& a) {
  static_assert(kConstOf<A>, "Fold takes constants only");
  return Pat<kBoundOf<A>, true>(
      std::make_shared<PatNode>(PatNode{.kind = Kind::kFold, .src = {Lift(a).node()}}));
}

template <uint32_t B, bool C, typename R>
Rule operator>>(const Pat<B, C>& lhs, const R& rhs) {
  if constexpr (std::is_invocable_r_v<UOp, R, const Match&>) {
    return RuleAccess::MakePatternRule(lhs.node(), nullptr,
                                       [rhs](const Match& m, void*) { return rhs(m); });
  } else {
    static_assert((kBoundOf<R> & ~B) == 0,
                  "the result uses a wildcard that the pattern does not bind");
    return RuleAccess::MakePatternRule(lhs.node(), Lift(rhs).node(), nullptr);
  }
}

}  // namespace pattern
}  // namespace tg::ir

#endif  // TG_CODEGEN_IR_PATTERN_H_
