#include "codegen/ir/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace tg::ir {
namespace {

using Ids = absl::flat_hash_map<const void*, uint32_t>;

std::string HexFloat(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char text[40];
  std::snprintf(text, sizeof(text), "%a", v);
  return text;
}

template <typename T>
std::string List(const std::vector<T>& v) {
  return absl::StrCat("[", absl::StrJoin(v, ", "), "]");
}

std::string OptText(const Opt& o) {
  return absl::StrCat(OptOpName(o.op), "(", o.axis, ", ", o.amount, ", ", AxisTypeName(o.type),
                      o.top ? ", top)" : ", bottom)");
}

struct ArgPrinter {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(int64_t v) const { return absl::StrCat(v); }
  std::string operator()(ConstFloat v) const { return HexFloat(v.value); }
  std::string operator()(Invalid) const { return "invalid"; }
  std::string operator()(const RangeArg& a) const {
    return absl::StrCat("range(", a.id, ", ", AxisTypeName(a.type), ")");
  }
  std::string operator()(const ParamArg& a) const {
    return absl::StrCat("param(", a.slot, ", ", a.size, ")");
  }
  std::string operator()(const ShearArg& a) const {
    return absl::StrCat("shear(", a.axis, ", ", a.by, ", ", a.coef, ")");
  }
  std::string operator()(const Boxed<std::string>& s) const { return Quote(*s); }
  std::string operator()(const Boxed<Ints>& a) const { return List(*a); }
  std::string operator()(const Boxed<VariableArg>& a) const {
    return absl::StrCat("var(", Quote(a->name), ", ", a->min, ", ", a->max, ")");
  }
  std::string operator()(const Boxed<BufferArg>& a) const {
    return absl::StrCat("buffer(", a->id, ", ", a->size, ", ", AddrSpaceName(a->space), ", ",
                        Quote(a->device), ")");
  }
  std::string operator()(const Boxed<ReduceArg>& a) const {
    return absl::StrCat("reduce(", OpName(a->op), ", ", List(a->axes), ")");
  }
  std::string operator()(const Boxed<KernelInfo>& a) const {
    std::string opts = absl::StrJoin(
        a->applied, ", ", [](std::string* out, const Opt& o) { out->append(OptText(o)); });
    return absl::StrCat("kernel(", Quote(a->name), a->optimized ? ", optimized, [" : ", [", opts,
                        "])");
  }
  std::string operator()(const Boxed<WmmaArg>& a) const {
    return absl::StrCat("wmma(", Quote(a->name), ", ", a->m, ", ", a->n, ", ", a->k, ", ",
                        a->in.ToString(), ", ", a->out.ToString(), ", ", a->threads, ")");
  }
  std::string operator()(const Boxed<FunctionArg>& a) const {
    return absl::StrCat("function(", Quote(a->name), a->precompile ? ", precompile)" : ")");
  }
};

// `Add int32`, and the argument where there is one.
std::string Head(Op op, DType dtype, const Arg& arg) {
  std::string r = absl::StrCat(OpName(op), " ", dtype.ToString());
  if (arg.index() != 0) absl::StrAppend(&r, " ", PrintArg(arg));
  return r;
}

Ids Number(absl::Span<const UOp> nodes) {
  Ids ids;
  ids.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) ids.emplace(nodes[i].id(), static_cast<uint32_t>(i));
  return ids;
}

// How often each node is a source of another, by position in `order`.
std::vector<uint32_t> CountUses(absl::Span<const UOp> order, const Ids& ids) {
  std::vector<uint32_t> uses(order.size(), 0);
  for (const UOp& u : order) {
    for (const UOp& s : u.src()) ++uses[ids.at(s.id())];
  }
  return uses;
}

// --- Expressions
// ----------------------------------------------------------------------------------

enum Precedence { kCompare, kBitOr, kBitXor, kBitAnd, kShift, kSum, kProduct, kPrefix, kAtom };

struct Infix {
  Op op;
  const char* text;
  Precedence precedence;
};
constexpr Infix kInfix[] = {
    {Op::kCmpLt, " < ", kCompare},    {Op::kCmpNe, " != ", kCompare},
    {Op::kCmpEq, " == ", kCompare},   {Op::kOr, " | ", kBitOr},
    {Op::kXor, " ^ ", kBitXor},       {Op::kAnd, " & ", kBitAnd},
    {Op::kShl, " << ", kShift},       {Op::kShr, " >> ", kShift},
    {Op::kAdd, " + ", kSum},          {Op::kSub, " - ", kSum},
    {Op::kMul, " * ", kProduct},      {Op::kFdiv, " / ", kProduct},
    {Op::kFloorMod, " % ", kProduct}, {Op::kFloorDiv, " // ", kProduct},
};

const Infix* FindInfix(const UOp& u) {
  for (const Infix& i : kInfix) {
    if (i.op == u.op() && u.src_count() == 2) return &i;
  }
  return nullptr;
}

// The shortest decimal that reads back as the same double, with a point or exponent.
std::string ShortFloat(double v) {
  if (!std::isfinite(v)) return HexFloat(v);
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, v);
    if (std::strtod(text, nullptr) == v) break;
  }
  std::string r = text;
  if (r.find_first_of(".e") == std::string::npos) r += ".0";
  return r;
}

std::string ConstText(const UOp& u) {
  if (const int64_t* v = std::get_if<int64_t>(&u.arg())) {
    if (u.dtype().IsBool()) return *v != 0 ? "true" : "false";
    if (u.dtype().scalar() == ScalarType::kUInt64) return absl::StrCat(static_cast<uint64_t>(*v));
    return absl::StrCat(*v);
  }
  if (const ConstFloat* v = std::get_if<ConstFloat>(&u.arg())) return ShortFloat(v->value);
  return "Invalid";
}

Precedence PrecedenceOf(const UOp& u) {
  if (const Infix* infix = FindInfix(u)) return infix->precedence;
  if (u.Is(Op::kNeg)) return kPrefix;
  if (u.Is(Op::kStore)) return kCompare;
  return kAtom;
}

// Writes expressions with an explicit stack of what is still to be written.
class ExprPrinter {
 public:
  explicit ExprPrinter(absl::flat_hash_map<const void*, std::string> names)
      : names_(std::move(names)) {}

  void Name(const UOp& u, std::string name) { names_[u.id()] = std::move(name); }

  // The expression of `root`, whose own name (if any) is not used.
  void Write(const UOp& root, std::string* out) {
    Expand(root);
    while (!stack_.empty()) {
      Item item = std::move(stack_.back());
      stack_.pop_back();
      if (!item.node) {
        out->append(item.text);
        continue;
      }
      if (auto it = names_.find(item.node.id()); it != names_.end()) {
        out->append(it->second);
        continue;
      }
      if (PrecedenceOf(item.node) < item.at_least) {
        out->push_back('(');
        stack_.push_back({{}, ")", 0});
      }
      Expand(item.node);
    }
  }

 private:
  struct Item {
    UOp node;  // null: `text`
    std::string text;
    int at_least;  // precedence below which parentheses are needed
  };

  // Pieces are collected in order, then pushed in reverse.
  void Text(std::string s) { pieces_.push_back({{}, std::move(s), 0}); }
  void Node(const UOp& u, int at_least = 0) { pieces_.push_back({u, "", at_least}); }
  void Call(std::string head, absl::Span<const UOp> src, std::string tail = ")") {
    Text(std::move(head));
    for (size_t i = 0; i < src.size(); ++i) {
      if (i != 0) Text(", ");
      Node(src[i]);
    }
    Text(std::move(tail));
  }

  void Expand(const UOp& u) {
    pieces_.clear();
    Pieces(u);
    for (auto it = pieces_.rbegin(); it != pieces_.rend(); ++it) stack_.push_back(std::move(*it));
  }

  void Pieces(const UOp& u) {
    if (const Infix* infix = FindInfix(u)) {
      // Left-associative; comparisons do not chain.
      int p = infix->precedence;
      Node(u.src(0), p == kCompare ? p + 1 : p);
      Text(infix->text);
      Node(u.src(1), p + 1);
      return;
    }
    switch (u.op()) {
      case Op::kConst:
        return Text(ConstText(u));
      case Op::kNeg:
        Text("-");
        return Node(u.src(0), kAtom);
      case Op::kCdiv:
        return Call("cdiv(", u.src());
      case Op::kCmod:
        return Call("cmod(", u.src());
      case Op::kMax:
        return Call("max(", u.src());
      case Op::kPow:
        return Call("pow(", u.src());
      case Op::kThreefry:
        return Call("threefry(", u.src());
      case Op::kExp2:
        return Call("exp2(", u.src());
      case Op::kLog2:
        return Call("log2(", u.src());
      case Op::kSin:
        return Call("sin(", u.src());
      case Op::kSqrt:
        return Call("sqrt(", u.src());
      case Op::kReciprocal:
        return Call("reciprocal(", u.src());
      case Op::kTrunc:
        return Call("trunc(", u.src());
      case Op::kWhere:
        return Call("where(", u.src());
      case Op::kMulAcc:
        return Call("mulacc(", u.src());
      case Op::kCast:
        return Call(absl::StrCat(u.dtype().ToString(), "("), u.src());
      case Op::kBitcast:
        return Call(absl::StrCat("bitcast<", u.dtype().ToString(), ">("), u.src());
      case Op::kStack:
        return Call("[", u.src(), "]");
      case Op::kLoad:
        return Call("load(", u.src());
      default:
        break;
    }
    if (const auto* a = std::get_if<Boxed<VariableArg>>(&u.arg())) return Text((*a)->name);
    if (const auto* a = std::get_if<RangeArg>(&u.arg())) return Text(absl::StrCat("r", a->id));
    if (const auto* a = std::get_if<ParamArg>(&u.arg())) return Text(absl::StrCat("p", a->slot));
    if (const auto* a = std::get_if<Boxed<BufferArg>>(&u.arg())) {
      return Text(absl::StrCat("buf", (*a)->id));
    }
    if (u.Is(Op::kIndex) && u.src_count() >= 2) {
      Node(u.src(0), kAtom);
      Text("[");
      Node(u.src(1));
      if (u.src_count() > 2) {
        Text(" if ");
        Node(u.src(2));
      }
      return Text("]");
    }
    if (u.Is(Op::kStore) && u.src_count() == 2) {
      Node(u.src(0), kAtom);
      Text(" = ");
      return Node(u.src(1));
    }
    if (const auto* lane = std::get_if<int64_t>(&u.arg()); u.Is(Op::kLane) && lane != nullptr) {
      Node(u.src(0), kAtom);
      return Text(absl::StrCat(".", *lane));
    }
    if (const auto* r = std::get_if<Boxed<ReduceArg>>(&u.arg()); u.Is(Op::kReduce) && r) {
      const Op op = (*r)->op;
      Text(op == Op::kAdd ? "sum(" : op == Op::kMul ? "prod(" : "max(");
      for (int i = 0; i < u.src_count(); ++i) {
        if (i != 0) Text(", ");
        Node(u.src(i));
      }
      if (!(*r)->axes.empty()) Text(absl::StrCat(", axes=", List((*r)->axes)));
      return Text(u.src_count() == 1 && (*r)->axes.empty() ? ", lanes)" : ")");
    }
    std::string arg = PrintArg(u.arg());
    Call(absl::StrCat(OpName(u.op()), "("), u.src(),
         arg.empty()          ? ")"
         : u.src_count() == 0 ? arg + ")"
                              : absl::StrCat("; ", arg, ")"));
  }

  absl::flat_hash_map<const void*, std::string> names_;
  std::vector<Item> stack_;
  std::vector<Item> pieces_;
};

}  // namespace

std::string Quote(absl::string_view s) {
  std::string r = "\"";
  for (char ch : s) {
    unsigned char c = static_cast<unsigned char>(ch);
    if (c == '"' || c == '\\') {
      r.push_back('\\');
      r.push_back(ch);
    } else if (c == '\n') {
      r += "\\n";
    } else if (c < 0x20 || c >= 0x7F) {
      constexpr char kHex[] = "0123456789abcdef";
      r += "\\x";
      r.push_back(kHex[c >> 4]);
      r.push_back(kHex[c & 15]);
    } else {
      r.push_back(ch);
    }
  }
  r.push_back('"');
  return r;
}

absl::string_view OptOpName(OptOp op) {
  constexpr absl::string_view kNames[] = {"split", "tensor_core", "padto", "swap", "nolocals"};
  return kNames[static_cast<int>(op)];
}

absl::string_view AddrSpaceName(AddrSpace space) {
  constexpr absl::string_view kNames[] = {"global", "local", "reg"};
  return kNames[static_cast<int>(space)];
}

std::string PrintArg(const Arg& arg) { return std::visit(ArgPrinter(), arg); }

std::string PrintList(absl::Span<const UOp> nodes) {
  Ids ids;
  ids.reserve(nodes.size());
  std::string out;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const UOp& u = nodes[i];
    absl::StrAppend(&out, "%", i, " = ", OpName(u.op()), " ", u.dtype().ToString());
    for (const UOp& s : u.src()) {
      auto it = ids.find(s.id());
      TG_CHECK(it != ids.end()) << "a source of node " << i
                                << " is not listed before it: " << DescribeNode(u);
      absl::StrAppend(&out, " %", it->second);
    }
    if (u.arg().index() != 0) absl::StrAppend(&out, " ", PrintArg(u.arg()));
    out.push_back('\n');
    ids.emplace(u.id(), static_cast<uint32_t>(i));
  }
  return out;
}

std::string Print(const UOp& root) { return root ? PrintList(Toposort(root)) : ""; }

std::string DescribeNode(Op op, DType dtype, absl::Span<const UOp> src, const Arg& arg) {
  constexpr size_t kShown = 8;
  std::string r = Head(op, dtype, arg);
  if (src.empty()) return r;
  r += " (";
  for (size_t i = 0; i < std::min(src.size(), kShown); ++i) {
    if (i != 0) r += ", ";
    if (!src[i]) {
      r += "null";
      continue;
    }
    r += Head(src[i].op(), src[i].dtype(), src[i].arg());
    if (src[i].src_count() != 0) r += " (...)";
  }
  if (src.size() > kShown) absl::StrAppend(&r, ", and ", src.size() - kShown, " more");
  r += ")";
  return r;
}

std::string PrintTree(const UOp& root) {
  if (!root) return "";
  constexpr size_t kDeepest = 32;
  const std::vector<UOp> order = Toposort(root);
  const Ids ids = Number(order);
  const std::vector<uint32_t> uses = CountUses(order, ids);
  std::vector<bool> shown(order.size(), false);
  std::string out;
  std::vector<std::pair<UOp, size_t>> stack = {{root, 0}};
  while (!stack.empty()) {
    auto [u, depth] = std::move(stack.back());
    stack.pop_back();
    out.append(2 * std::min(depth, kDeepest), ' ');
    if (depth > kDeepest) absl::StrAppend(&out, "(", depth, ") ");
    const uint32_t id = ids.at(u.id());
    if (uses[id] > 1 && u.src_count() != 0) {
      absl::StrAppend(&out, "%", id);
      if (shown[id]) {
        out.push_back('\n');
        continue;
      }
      shown[id] = true;
      out += " = ";
    }
    absl::StrAppend(&out, Head(u.op(), u.dtype(), u.arg()), "\n");
    for (int i = u.src_count() - 1; i >= 0; --i) stack.emplace_back(u.src(i), depth + 1);
  }
  return out;
}

std::string PrintExpr(const UOp& root) {
  if (!root) return "null";
  // Up to this many nodes, counted as a tree, sharing is not shown.
  constexpr uint64_t kLongTree = 2000;
  const std::vector<UOp> order = Toposort(root);
  const Ids ids = Number(order);
  std::vector<uint64_t> tree_size(order.size(), 1);
  for (size_t i = 0; i < order.size(); ++i) {
    for (const UOp& s : order[i].src()) {
      tree_size[i] = std::min(kLongTree + 1, tree_size[i] + tree_size[ids.at(s.id())]);
    }
  }
  std::string out;
  ExprPrinter printer({});
  if (tree_size.back() > kLongTree) {
    const std::vector<uint32_t> uses = CountUses(order, ids);
    int count = 0;
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      if (uses[i] < 2 || order[i].src_count() == 0 || order[i].Is(Op::kRange)) continue;
      std::string name = absl::StrCat("x", count++);
      absl::StrAppend(&out, name, " = ");
      printer.Write(order[i], &out);
      out += "; ";
      printer.Name(order[i], std::move(name));
    }
  }
  printer.Write(root, &out);
  return out;
}

std::ostream& operator<<(std::ostream& os, const UOp& u) { return os << PrintExpr(u); }

}  // namespace tg::ir
