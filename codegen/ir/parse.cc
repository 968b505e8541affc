#include "codegen/ir/parse.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "codegen/ir/node_check.h"
#include "codegen/ir/print.h"

namespace tg::ir {
namespace {

bool IsWordChar(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// A cursor over one line. The first failure is kept; after it every step fails.
class LineParser {
 public:
  explicit LineParser(absl::string_view line) : line_(line) {}

  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  size_t column() const { return error_at_ + 1; }

  bool Fail(std::string message) { return FailAt(at_, std::move(message)); }
  bool FailAt(size_t at, std::string message) {
    if (error_.empty()) {
      error_ = std::move(message);
      error_at_ = at;
    }
    return false;
  }

  size_t position() {
    SkipBlanks();
    return at_;
  }
  bool AtEnd() {
    SkipBlanks();
    return at_ == line_.size();
  }
  char Peek() {
    SkipBlanks();
    return at_ < line_.size() ? line_[at_] : '\0';
  }
  bool Accept(char c) {
    if (!ok() || Peek() != c) return false;
    ++at_;
    return true;
  }
  bool Expect(char c) {
    if (!ok()) return false;
    if (Accept(c)) return true;
    return Fail(absl::StrCat("expected '", std::string(1, c), "'"));
  }
  // Letters, digits, '_'. May be empty.
  absl::string_view Word() {
    SkipBlanks();
    size_t begin = at_;
    while (at_ < line_.size() && IsWordChar(line_[at_])) ++at_;
    return line_.substr(begin, at_ - begin);
  }

  bool Id(uint32_t* id) {
    if (!Expect('%')) return false;
    size_t begin = at_;
    while (at_ < line_.size() && absl::ascii_isdigit(line_[at_])) ++at_;
    if (!absl::SimpleAtoi(line_.substr(begin, at_ - begin), id)) {
      return FailAt(begin, "expected a node number below 2^32 after '%'");
    }
    return true;
  }

  template <typename T>
  bool Int(T* out) {
    if (!ok()) return false;
    size_t begin = position();
    if (at_ < line_.size() && line_[at_] == '-') ++at_;
    while (at_ < line_.size() && absl::ascii_isdigit(line_[at_])) ++at_;
    int64_t v;
    if (!absl::SimpleAtoi(line_.substr(begin, at_ - begin), &v) ||
        v < std::numeric_limits<T>::min() || v > std::numeric_limits<T>::max()) {
      return FailAt(begin, absl::StrCat("expected an integer of ", 8 * sizeof(T), " bits"));
    }
    *out = static_cast<T>(v);
    return true;
  }

  bool String(std::string* out) {
    if (!Expect('"')) return false;
    out->clear();
    while (at_ < line_.size() && line_[at_] != '"') {
      char c = line_[at_++];
      if (c != '\\') {
        out->push_back(c);
        continue;
      }
      char e = at_ < line_.size() ? line_[at_++] : '\0';
      if (e == '"' || e == '\\') {
        out->push_back(e);
      } else if (e == 'n') {
        out->push_back('\n');
      } else if (e == 'x' && at_ + 2 <= line_.size() && absl::ascii_isxdigit(line_[at_]) &&
                 absl::ascii_isxdigit(line_[at_ + 1])) {
        out->push_back(static_cast<char>(HexDigit(line_[at_]) * 16 + HexDigit(line_[at_ + 1])));
        at_ += 2;
      } else {
        return FailAt(at_ - 1, "unknown escape in a string");
      }
    }
    if (at_ == line_.size()) return Fail("string without an end");
    ++at_;
    return true;
  }

  template <typename T>
  bool IntList(std::vector<T>* out) {
    if (!Expect('[')) return false;
    if (Accept(']')) return true;
    do {
      T v;
      if (!Int(&v)) return false;
      out->push_back(v);
    } while (Accept(','));
    return Expect(']');
  }

  bool Type(DType* out) {
    if (!ok()) return false;
    size_t begin = position();
    absl::string_view word = Word();
    std::optional<DType> d = DType::Parse(word);
    if (!d.has_value()) return FailAt(begin, absl::StrCat("unknown dtype '", word, "'"));
    *out = *d;
    return true;
  }

  bool OpNamed(Op* out) {
    if (!ok()) return false;
    size_t begin = position();
    absl::string_view word = Word();
    std::optional<Op> op = ParseOp(word);
    if (!op.has_value()) return FailAt(begin, absl::StrCat("unknown operation '", word, "'"));
    *out = *op;
    return true;
  }

  bool Axis(AxisType* out) {
    if (!ok()) return false;
    size_t begin = position();
    absl::string_view word = Word();
    for (int i = 0; i < kAxisTypeCount; ++i) {
      if (AxisTypeName(static_cast<AxisType>(i)) == word) {
        *out = static_cast<AxisType>(i);
        return true;
      }
    }
    return FailAt(begin, absl::StrCat("unknown axis type '", word, "'"));
  }

  // One of two words; true for the first.
  bool Either(absl::string_view yes, absl::string_view no, bool* out) {
    if (!ok()) return false;
    size_t begin = position();
    absl::string_view word = Word();
    if (word != yes && word != no) return FailAt(begin, absl::StrCat("expected ", yes, " or ", no));
    *out = word == yes;
    return true;
  }

  bool Argument(Arg* out) {
    char c = Peek();
    if (c == '"') {
      std::string s;
      if (!String(&s)) return false;
      *out = Boxed<std::string>(std::move(s));
      return true;
    }
    if (c == '[') {
      Ints ints;
      if (!IntList(&ints)) return false;
      *out = Boxed<Ints>(std::move(ints));
      return true;
    }
    if (c == '-' || absl::ascii_isdigit(c)) return Number(out);
    size_t begin = position();
    absl::string_view word = Word();
    if (word == "invalid") {
      *out = Invalid();
      return true;
    }
    if (word == "inf" || word == "nan") {
      *out = ConstFloat(word == "inf" ? std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::quiet_NaN());
      return true;
    }
    if (word.empty() || Peek() != '(') return FailAt(begin, "expected an argument");
    return Expect('(') && Structure(begin, word, out) && Expect(')');
  }

 private:
  void SkipBlanks() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) {
      ++at_;
    }
    if (at_ < line_.size() && line_[at_] == '#') at_ = line_.size();
  }

  static int HexDigit(char c) {
    return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
  }

  bool Comma() { return Expect(','); }

  // An integer, or a hexadecimal float, or -inf.
  bool Number(Arg* out) {
    size_t begin = position();
    bool negative = line_[at_] == '-';
    absl::string_view rest = line_.substr(at_ + (negative ? 1 : 0));
    if (rest.substr(0, 3) == "inf") {
      at_ += 4;
      *out = ConstFloat(-std::numeric_limits<double>::infinity());
      return true;
    }
    if (rest.substr(0, 2) != "0x") {
      int64_t v;
      if (!Int(&v)) return false;
      *out = v;
      return true;
    }
    rest.remove_prefix(2);
    double v;
    absl::from_chars_result r =
        absl::from_chars(rest.data(), rest.data() + rest.size(), v, absl::chars_format::hex);
    // from_chars also takes a second sign, "inf" and "nan".
    if (r.ec != std::errc() || r.ptr == rest.data() || !absl::ascii_isxdigit(rest[0])) {
      return FailAt(begin, "expected a hexadecimal float");
    }
    at_ = static_cast<size_t>(r.ptr - line_.data());
    *out = ConstFloat(negative ? -v : v);
    return true;
  }

  bool OneOpt(Opt* o) {
    size_t begin = position();
    absl::string_view word = Word();
    bool known = false;
    for (OptOp op :
         {OptOp::kSplit, OptOp::kTensorCore, OptOp::kPadTo, OptOp::kSwap, OptOp::kNoLocals}) {
      if (OptOpName(op) == word) {
        o->op = op;
        known = true;
      }
    }
    if (!known) return FailAt(begin, absl::StrCat("unknown optimisation '", word, "'"));
    return Expect('(') && Int(&o->axis) && Comma() && Int(&o->amount) && Comma() &&
           Axis(&o->type) && Comma() && Either("top", "bottom", &o->top) && Expect(')');
  }

  // What is between the parentheses of `word(...)`.
  bool Structure(size_t begin, absl::string_view word, Arg* out) {
    if (word == "range") {
      RangeArg a{};
      if (!(Int(&a.id) && Comma() && Axis(&a.type))) return false;
      *out = a;
    } else if (word == "param") {
      ParamArg a{};
      if (!(Int(&a.slot) && Comma() && Int(&a.size))) return false;
      *out = a;
    } else if (word == "shear") {
      ShearArg a{};
      if (!(Int(&a.axis) && Comma() && Int(&a.by) && Comma() && Int(&a.coef))) return false;
      *out = a;
    } else if (word == "var") {
      VariableArg a{};
      if (!(String(&a.name) && Comma() && Int(&a.min) && Comma() && Int(&a.max))) return false;
      *out = Boxed<VariableArg>(std::move(a));
    } else if (word == "buffer") {
      BufferArg a{};
      if (!(Int(&a.id) && Comma() && Int(&a.size) && Comma() && Space(&a.space) && Comma() &&
            String(&a.device))) {
        return false;
      }
      *out = Boxed<BufferArg>(std::move(a));
    } else if (word == "reduce") {
      ReduceArg a{};
      if (!(OpNamed(&a.op) && Comma() && IntList(&a.axes))) return false;
      *out = Boxed<ReduceArg>(std::move(a));
    } else if (word == "kernel") {
      KernelInfo a;
      if (!(String(&a.name) && Comma())) return false;
      if (Peek() != '[') {
        size_t at = position();
        if (Word() != "optimized") return FailAt(at, "expected optimized or '['");
        a.optimized = true;
        if (!Comma()) return false;
      }
      if (!Expect('[')) return false;
      if (!Accept(']')) {
        do {
          Opt o{};
          if (!OneOpt(&o)) return false;
          a.applied.push_back(o);
        } while (Accept(','));
        if (!Expect(']')) return false;
      }
      *out = Boxed<KernelInfo>(std::move(a));
    } else if (word == "wmma") {
      WmmaArg a{};
      if (!(String(&a.name) && Comma() && Int(&a.m) && Comma() && Int(&a.n) && Comma() &&
            Int(&a.k) && Comma() && Type(&a.in) && Comma() && Type(&a.out) && Comma() &&
            Int(&a.threads))) {
        return false;
      }
      *out = Boxed<WmmaArg>(std::move(a));
    } else if (word == "function") {
      FunctionArg a;
      if (!String(&a.name)) return false;
      if (Accept(',')) {
        size_t at = position();
        if (Word() != "precompile") return FailAt(at, "expected precompile");
        a.precompile = true;
      }
      *out = Boxed<FunctionArg>(std::move(a));
    } else {
      return FailAt(begin, absl::StrCat("unknown argument '", word, "'"));
    }
    return true;
  }

  bool Space(AddrSpace* out) {
    if (!ok()) return false;
    size_t begin = position();
    absl::string_view word = Word();
    for (AddrSpace s : {AddrSpace::kGlobal, AddrSpace::kLocal, AddrSpace::kReg}) {
      if (AddrSpaceName(s) == word) {
        *out = s;
        return true;
      }
    }
    return FailAt(begin, "expected global, local or reg");
  }

  absl::string_view line_;
  size_t at_ = 0;
  std::string error_;
  size_t error_at_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<UOp>> ParseList(absl::string_view text) {
  std::vector<UOp> nodes;
  absl::flat_hash_map<uint32_t, uint32_t> positions;  // from the number in the text to `nodes`
  std::vector<UOp> src;
  for (int64_t line_number = 1; !text.empty(); ++line_number) {
    size_t newline = text.find('\n');
    LineParser line(text.substr(0, newline));
    text.remove_prefix(newline == absl::string_view::npos ? text.size() : newline + 1);
    if (line.AtEnd()) continue;

    uint32_t id = 0;
    Op op = Op::kNoop;
    DType dtype;
    Arg arg;
    size_t begin = line.position();
    if (line.Id(&id) && positions.contains(id)) {
      line.FailAt(begin, absl::StrCat("%", id, " is defined twice"));
    }
    line.Expect('=');
    line.OpNamed(&op);
    line.Type(&dtype);
    src.clear();
    while (line.ok() && line.Peek() == '%') {
      size_t at = line.position();
      uint32_t source = 0;
      if (!line.Id(&source)) break;
      auto it = positions.find(source);
      if (it == positions.end()) {
        line.FailAt(at, absl::StrCat("%", source, " is not defined"));
        break;
      }
      src.push_back(nodes[it->second]);
    }
    if (line.ok() && !line.AtEnd()) line.Argument(&arg);
    if (line.ok() && !line.AtEnd()) line.Fail("expected the end of the line");
    if (line.ok()) {
      if (absl::Status s = CheckNode(op, dtype, src, arg); !s.ok()) {
        line.FailAt(begin, std::string(s.message()));
      }
    }
    if (!line.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line_number, ", column ", line.column(), ": ", line.error()));
    }
    positions.emplace(id, static_cast<uint32_t>(nodes.size()));
    nodes.push_back(UOp::Make(op, dtype, src, std::move(arg)));
  }
  return nodes;
}

absl::StatusOr<UOp> Parse(absl::string_view text) {
  absl::StatusOr<std::vector<UOp>> nodes = ParseList(text);
  if (!nodes.ok()) return nodes.status();
  if (nodes->empty()) return absl::InvalidArgumentError("line 1, column 1: no node");
  return std::move(nodes->back());
}

}  // namespace tg::ir
