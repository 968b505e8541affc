#include "codegen/ir/pattern.h"

#include <algorithm>
#include <sstream>

#include "base/check.h"
#include "codegen/ir/fold.h"

namespace tg::ir {

using pattern::Kind;
using pattern::PatNode;

namespace {

constexpr int kMaxSteps = 24;

bool IsLiteral(const PatNode& n) {
  return n.kind == Kind::kLiteralInt || n.kind == Kind::kLiteralFloat;
}

// Whether the pattern node can match constants only, so that a canonical graph has it on the
// right of a commutative operation.
bool ConstOnly(const PatNode& n) { return n.kind == Kind::kConst || IsLiteral(n); }

// Builds the result `n` for the match. `hint` is the dtype for literals that have no sibling.
// `fold`: compute instead of building; gives null where an operation has no value.
UOp Build(const PatNode& n, const UOp* bound, DType hint, bool fold) {
  switch (n.kind) {
    case Kind::kAny:
    case Kind::kConst:
    case Kind::kBool:
    case Kind::kInt:
      return bound[n.wildcard];
    case Kind::kLiteralInt:
      return Const(hint, n.int_value);
    case Kind::kLiteralFloat:
      return Const(hint, n.float_value);
    case Kind::kFold:
      return Build(*n.src[0], bound, hint, true);
    case Kind::kOp:
      break;
  }
  UOp src[3];
  const int count = static_cast<int>(n.src.size());
  DType sibling = hint;
  // The condition of WHERE is a bool of its own; the values give each other their type.
  const int first = n.op == Op::kWhere ? 1 : 0;
  for (int i = count - 1; i >= first; --i) {
    if (IsLiteral(*n.src[i])) continue;
    src[i] = Build(*n.src[i], bound, hint, fold);
    if (!src[i]) return UOp();
    sibling = src[i].dtype();
  }
  if (first == 1) {
    src[0] = Build(*n.src[0], bound, kBool.Vec(hint.lanes()), fold);
    if (!src[0]) return UOp();
  }
  for (int i = first; i < count; ++i) {
    if (IsLiteral(*n.src[i])) src[i] = Build(*n.src[i], bound, sibling, fold);
  }
  const absl::Span<const UOp> sources(src, count);
  if (!fold) return Alu(n.op, sources);
  return FoldAlu(n.op, IsComparison(n.op) ? kBool.Vec(sibling.lanes()) : src[count - 1].dtype(),
                 sources);
}

// Every way to write the pattern with commutative operands exchanged.
std::vector<std::shared_ptr<const PatNode>> Orders(const std::shared_ptr<const PatNode>& n) {
  if (n->kind != Kind::kOp) return {n};
  std::vector<std::vector<std::shared_ptr<const PatNode>>> products = {{}};
  for (const auto& s : n->src) {
    std::vector<std::vector<std::shared_ptr<const PatNode>>> next;
    for (const auto& variant : Orders(s)) {
      for (auto p : products) {
        p.push_back(variant);
        next.push_back(std::move(p));
      }
    }
    products = std::move(next);
  }
  std::vector<std::shared_ptr<const PatNode>> result;
  const bool exchange = IsCommutative(n->op) && n->src.size() == 2 && !ConstOnly(*n->src[1]);
  for (auto& p : products) {
    if (exchange) result.push_back(pattern::OpNode(n->op, {p[1], p[0]}));
    result.push_back(pattern::OpNode(n->op, std::move(p)));
  }
  std::reverse(result.begin(), result.end());
  return result;
}

const char* OpSymbol(Op op) {
  switch (op) {
    case Op::kAdd:
      return " + ";
    case Op::kMul:
      return " * ";
    case Op::kSub:
      return " - ";
    case Op::kCmpLt:
      return " < ";
    case Op::kCmpEq:
      return " == ";
    case Op::kCmpNe:
      return " != ";
    case Op::kAnd:
      return " & ";
    case Op::kOr:
      return " | ";
    case Op::kXor:
      return " ^ ";
    case Op::kShl:
      return " << ";
    case Op::kShr:
      return " >> ";
    default:
      return nullptr;
  }
}

}  // namespace

std::string PatternToString(const PatNode& n) {
  static constexpr const char* kNames[] = {"x",  "y", "z", "w", "c0", "c1",
                                           "c2", "t", "f", "i", "j"};
  std::ostringstream os;
  switch (n.kind) {
    case Kind::kAny:
    case Kind::kConst:
    case Kind::kBool:
    case Kind::kInt:
      os << kNames[n.wildcard];
      break;
    case Kind::kLiteralInt:
      os << n.int_value;
      break;
    case Kind::kLiteralFloat:
      os << n.float_value;
      break;
    case Kind::kFold:
      os << "Fold(" << PatternToString(*n.src[0]) << ")";
      break;
    case Kind::kOp:
      if (const char* symbol = OpSymbol(n.op)) {
        os << "(" << PatternToString(*n.src[0]) << symbol << PatternToString(*n.src[1]) << ")";
        break;
      }
      os << OpName(n.op) << "(";
      for (size_t i = 0; i < n.src.size(); ++i) {
        os << (i == 0 ? "" : ", ") << PatternToString(*n.src[i]);
      }
      os << ")";
      break;
  }
  return os.str();
}

struct MatchAccess {
  static UOp* bound(Match& m) { return m.bound_; }
  static const UOp* bound(const Match& m) { return m.bound_; }
  static void set_root(Match& m, const UOp& u) { m.root_ = u; }
};

void Rule::CompilePattern() {
  TG_CHECK(lhs_->kind == Kind::kOp) << "a pattern that matches every node";
  root_ops_ = {lhs_->op};
  for (const auto& order : Orders(lhs_)) {
    std::vector<Step> steps;
    uint32_t seen = 0;
    // Preorder, so that matching needs one stack of pending sources.
    std::vector<const PatNode*> pending = {order.get()};
    while (!pending.empty()) {
      const PatNode* n = pending.back();
      pending.pop_back();
      const bool wildcard = n->wildcard >= 0;
      steps.push_back(Step{.kind = n->kind,
                           .op = n->op,
                           .wildcard = static_cast<int8_t>(n->wildcard),
                           .repeated = wildcard && (seen >> n->wildcard & 1) != 0,
                           .src_count = static_cast<uint8_t>(n->src.size()),
                           .int_value = n->int_value,
                           .float_value = n->float_value});
      if (wildcard) seen |= 1u << n->wildcard;
      TG_CHECK(n->kind != Kind::kFold) << "Fold stands in results only";
      for (size_t i = n->src.size(); i-- > 0;) pending.push_back(n->src[i].get());
    }
    TG_CHECK(steps.size() <= kMaxSteps) << "pattern too large: " << name_;
    variants_.push_back(std::move(steps));
  }
}

bool Rule::MatchVariant(const std::vector<Step>& steps, const UOp& root, const UOp** bound) {
  const UOp* pending[kMaxSteps];
  int depth = 0;
  pending[depth++] = &root;
  for (const Step& s : steps) {
    const UOp& u = *pending[--depth];
    switch (s.kind) {
      case Kind::kOp:
        if (u.op() != s.op || u.src_count() != s.src_count) return false;
        for (int i = s.src_count; i-- > 0;) pending[depth++] = &u.src(i);
        continue;
      case Kind::kLiteralInt:
        if (!u.IsConstInt(s.int_value) && !u.IsConstFloat(static_cast<double>(s.int_value))) {
          return false;
        }
        continue;
      case Kind::kLiteralFloat:
        if (!u.IsConstFloat(s.float_value)) return false;
        continue;
      case Kind::kConst:
        if (!u.IsConst() || u.IsInvalid()) return false;
        break;
      case Kind::kBool:
        if (!u.dtype().IsBool()) return false;
        break;
      case Kind::kInt:
        if (!u.dtype().IsInt()) return false;
        break;
      case Kind::kAny:
        break;
      case Kind::kFold:
        return false;
    }
    if (s.repeated) {
      if (!(*bound[s.wildcard] == u)) return false;
    } else {
      bound[s.wildcard] = &u;
    }
  }
  return true;
}

UOp Rule::ApplyVariant(const std::vector<Step>& steps, const UOp& root, void* ctx) const {
  const UOp* bound[kMaxWildcards] = {};
  if (!MatchVariant(steps, root, bound)) return UOp();
  Match match;
  MatchAccess::set_root(match, root);
  for (int i = 0; i < kMaxWildcards; ++i) {
    if (bound[i] != nullptr) MatchAccess::bound(match)[i] = *bound[i];
  }
  if (condition_ && !condition_(match)) return UOp();
  UOp result =
      build_ ? build_(match, ctx) : Build(*rhs_, MatchAccess::bound(match), root.dtype(), false);
  return result == root ? UOp() : result;
}

UOp Rule::Apply(const UOp& root, void* ctx) const {
  if (function_) return function_(root, ctx);
  for (const auto& steps : variants_) {
    if (UOp r = ApplyVariant(steps, root, ctx)) return r;
  }
  return UOp();
}

Rule Rule::If(std::function<bool(const Match&)> condition) const {
  Rule r = *this;
  r.condition_ = std::move(condition);
  return r;
}

Rule Rule::Named(std::string name) const {
  Rule r = *this;
  r.name_ = std::move(name);
  return r;
}

Rule RuleAccess::MakePatternRule(std::shared_ptr<const PatNode> lhs,
                                 std::shared_ptr<const PatNode> rhs,
                                 std::function<UOp(const Match&, void*)> build) {
  Rule r;
  r.name_ = PatternToString(*lhs) + " >> " + (rhs != nullptr ? PatternToString(*rhs) : "...");
  r.lhs_ = std::move(lhs);
  r.rhs_ = std::move(rhs);
  r.build_ = std::move(build);
  r.CompilePattern();
  return r;
}

Rule RuleAccess::MakeFunctionRule(std::vector<Op> ops, Rule::Function function, std::string name) {
  Rule r;
  r.name_ = std::move(name);
  r.root_ops_ = std::move(ops);
  r.function_ = std::move(function);
  return r;
}

Rule On(std::initializer_list<Op> ops, Rule::Function function, std::string name) {
  return RuleAccess::MakeFunctionRule(std::vector<Op>(ops), std::move(function), std::move(name));
}

RuleSet::RuleSet(std::vector<Rule> rules) {
  for (Rule& r : rules) rules_.push_back(std::make_shared<const Rule>(std::move(r)));
  Index();
}

RuleSet operator+(const RuleSet& a, const RuleSet& b) {
  RuleSet r;
  r.rules_ = a.rules_;
  r.rules_.insert(r.rules_.end(), b.rules_.begin(), b.rules_.end());
  r.Index();
  return r;
}

void RuleSet::Index() {
  for (const auto& rule : rules_) {
    for (Op op : rule->root_ops()) {
      std::vector<Candidate>& list = by_op_[static_cast<int>(op)];
      if (rule->function_) {
        list.push_back({rule.get(), nullptr, {Candidate::kAnyOp, Candidate::kAnyOp}});
      }
      for (const auto& steps : rule->variants_) {
        Candidate c{rule.get(), &steps, {Candidate::kAnyOp, Candidate::kAnyOp}};
        const auto src_op = [](const Rule::Step& s) {
          const bool constant = s.kind == Kind::kConst || s.kind == Kind::kLiteralInt ||
                                s.kind == Kind::kLiteralFloat;
          return s.kind == Kind::kOp ? static_cast<uint8_t>(s.op)
                 : constant          ? static_cast<uint8_t>(Op::kConst)
                                     : Candidate::kAnyOp;
        };
        size_t next = 1;
        for (int i = 0; i < 2 && next < steps.size() && i < steps[0].src_count; ++i) {
          c.src_op[i] = src_op(steps[next]);
          for (int open = 1; open > 0; ++next) open += steps[next].src_count - 1;
        }
        list.push_back(c);
      }
    }
  }
}

UOp RuleSet::Rewrite(const UOp& u, void* ctx, const Rule** applied) const {
  const int n = u.src_count();
  const uint8_t src_op[2] = {n > 0 ? static_cast<uint8_t>(u.src(0).op()) : Candidate::kAnyOp,
                             n > 1 ? static_cast<uint8_t>(u.src(1).op()) : Candidate::kAnyOp};
  for (const Candidate& c : by_op_[static_cast<int>(u.op())]) {
    if (c.src_op[0] != Candidate::kAnyOp && c.src_op[0] != src_op[0]) continue;
    if (c.src_op[1] != Candidate::kAnyOp && c.src_op[1] != src_op[1]) continue;
    UOp r = c.steps == nullptr ? c.rule->function_(u, ctx) : c.rule->ApplyVariant(*c.steps, u, ctx);
    if (r && !(r == u)) {
      if (applied != nullptr) *applied = c.rule;
      return r;
    }
  }
  return UOp();
}

}  // namespace tg::ir
