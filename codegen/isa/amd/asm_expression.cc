#include "codegen/isa/amd/asm_expression.h"

#include "absl/strings/str_cat.h"

namespace tg::amd::asm_internal {
namespace {

using Result = ExpressionResult;
using State = ExpressionResult::State;

constexpr int kMaxDepth = 64;

// Binary operators by how tightly they bind, as in C; two-character ones first.
struct Operator {
  std::string_view text;
  int level;
};
constexpr Operator kOperators[] = {
    {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6},
    {"&&", 2}, {"||", 1}, {"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},
    {"-", 9},  {"<", 7},  {">", 7},  {"&", 5},  {"^", 4},  {"|", 3},
};

const Operator* OperatorAt(const char* at) {
  for (const Operator& o : kOperators) {
    if (at[0] == o.text[0] && (o.text.size() == 1 || at[1] == o.text[1])) return &o;
  }
  return nullptr;
}

class Parser {
 public:
  Parser(Cursor* cursor, SymbolSource* symbols) : cursor_(*cursor), symbols_(symbols) {}

  Result Parse() { return Binary(1, 0); }

 private:
  static Result Fail(const char* at, std::string message) {
    Result result;
    result.error_at = at;
    result.error = std::move(message);
    return result;
  }
  static Result Of(Value value) {
    Result result;
    result.state = State::kValue;
    result.value = value;
    return result;
  }

  Result Binary(int level, int depth) {
    Result left = Unary(depth);
    while (left.state != State::kError) {
      const char* at = cursor_.at;
      const Operator* o = OperatorAt(at);
      if (o == nullptr || o->level < level) break;
      if (o->text[0] == '/' && (at[1] == '/' || at[1] == '*')) break;
      cursor_.at += o->text.size();
      cursor_.SkipBlanks();
      Result right = Binary(o->level + 1, depth);
      if (right.state == State::kError) return right;
      if (left.state == State::kLater || right.state == State::kLater) {
        left.state = State::kLater;
        if (left.relative == Result::Relative::kNo) left.relative = right.relative;
        continue;
      }
      const Result::Relative relative =
          left.relative != Result::Relative::kNo ? left.relative : right.relative;
      left = Apply(*o, at, left.value, right.value);
      left.relative = relative;
    }
    return left;
  }

  static Result Apply(const Operator& o, const char* at, Value a, Value b) {
    const uint64_t x = static_cast<uint64_t>(a.number);
    const uint64_t y = static_cast<uint64_t>(b.number);
    const auto number = [](uint64_t value) { return Of({static_cast<int64_t>(value), 0}); };
    if (o.text == "-" && a.places == b.places) return number(x - y);
    if ((o.text == "+" && a.places + b.places <= 1) || (o.text == "-" && b.places == 0)) {
      return Of({static_cast<int64_t>(o.text == "+" ? x + y : x - y), a.places + b.places});
    }
    if (a.places != b.places || (a.places != 0 && o.level != 6 && o.level != 7)) {
      return Fail(at, absl::StrCat("'", std::string(o.text),
                                   "' takes numbers; an address is only good for + and -"));
    }
    if (o.text == "*") return number(x * y);
    if (o.text == "/" || o.text == "%") {
      if (b.number == 0) return Fail(at, "division by zero");
      if (b.number == -1) return number(o.text == "/" ? -x : 0);
      return number(
          static_cast<uint64_t>(o.text == "/" ? a.number / b.number : a.number % b.number));
    }
    if (o.text == "+") return number(x + y);
    if (o.text == "<<") return number(y < 64 ? x << y : 0);
    if (o.text == ">>") return number(y < 64 ? static_cast<uint64_t>(a.number >> y) : 0);
    if (o.text == "&") return number(x & y);
    if (o.text == "|") return number(x | y);
    if (o.text == "^") return number(x ^ y);
    if (o.text == "&&") return number(x != 0 && y != 0 ? 1 : 0);
    if (o.text == "||") return number(x != 0 || y != 0 ? 1 : 0);
    if (o.text == "<") return number(a.number < b.number ? 1 : 0);
    if (o.text == ">") return number(a.number > b.number ? 1 : 0);
    if (o.text == "<=") return number(a.number <= b.number ? 1 : 0);
    if (o.text == ">=") return number(a.number >= b.number ? 1 : 0);
    if (o.text == "==") return number(a.number == b.number ? 1 : 0);
    return number(a.number != b.number ? 1 : 0);
  }

  Result Unary(int depth) {
    if (depth > kMaxDepth) return Fail(cursor_.at, "the expression is nested too deeply");
    const char* at = cursor_.at;
    const char c = *at;
    if (c == '-' || c == '~' || c == '+' || c == '!') {
      cursor_.Take(c);
      Result operand = Unary(depth + 1);
      if (operand.state != State::kValue || c == '+') return operand;
      if (operand.value.places != 0) return Fail(at, "an address has no such operation");
      const int64_t v = operand.value.number;
      operand.value.number = c == '-'   ? static_cast<int64_t>(-static_cast<uint64_t>(v))
                             : c == '~' ? ~v
                                        : static_cast<int64_t>(v == 0);
      return operand;
    }
    if (c == '(') {
      cursor_.Take('(');
      Result inner = Binary(1, depth + 1);
      if (inner.state == State::kError) return inner;
      if (!cursor_.Take(')')) return Fail(cursor_.at, "expected ')'");
      return inner;
    }
    if (Is(c, kDigit)) {
      const std::optional<uint64_t> number = ParseNumber(&cursor_);
      if (!number) return Fail(at, "the number does not fit 64 bits or is malformed");
      cursor_.SkipBlanks();
      return Of({static_cast<int64_t>(*number), 0});
    }
    const std::string_view name = cursor_.Word();
    if (name.empty()) return Fail(at, "expected a number or a symbol");
    return Symbol(at, name);
  }

  Result Symbol(const char* at, std::string_view name) {
    Result result;
    if (name == ".") {
      result = Of(symbols_->Here());
    } else {
      const SymbolLookup found = symbols_->Lookup(name);
      if (found.found == SymbolLookup::Found::kNo) {
        return Fail(at, absl::StrCat("no symbol is called ", std::string(name)));
      }
      result.state = found.found == SymbolLookup::Found::kYes ? State::kValue : State::kLater;
      result.value = found.value;
    }
    if (*cursor_.at == '@') {
      constexpr std::string_view kLow = "@rel32@lo";
      constexpr std::string_view kHigh = "@rel32@hi";
      if (StartsWith(kLow)) {
        result.relative = Result::Relative::kLow;
      } else if (StartsWith(kHigh)) {
        result.relative = Result::Relative::kHigh;
      } else {
        return Fail(cursor_.at, "only @rel32@lo and @rel32@hi are supported");
      }
      cursor_.at += kLow.size();
    }
    cursor_.SkipBlanks();
    return result;
  }

  bool StartsWith(std::string_view text) const {
    for (size_t i = 0; i < text.size(); ++i) {
      if (cursor_.at[i] != text[i]) return false;  // Stops at the line's end at the latest.
    }
    return true;
  }

  Cursor& cursor_;
  SymbolSource* const symbols_;
};

}  // namespace

ExpressionResult ParseExpression(Cursor* cursor, SymbolSource* symbols) {
  return Parser(cursor, symbols).Parse();
}

std::optional<uint64_t> ParseNumber(Cursor* cursor) {
  const char* p = cursor->at;
  unsigned base = 10;
  if (*p == '0') {
    if (p[1] == 'x' || p[1] == 'X') {
      base = 16;
      p += 2;
    } else if ((p[1] == 'b' || p[1] == 'B') && (p[2] == '0' || p[2] == '1')) {
      base = 2;
      p += 2;
    } else if (Is(p[1], kDigit)) {
      base = 8;
      ++p;
    }
  }
  const char* digits = p;
  uint64_t value = 0;
  bool fits = true;
  for (;; ++p) {
    const char c = *p;
    unsigned digit;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (base == 16 && Is(c, kHexDigit)) {
      digit = static_cast<unsigned>((c | 32) - 'a') + 10;
    } else {
      break;
    }
    if (digit >= base) return std::nullopt;
    fits = fits && value <= (~uint64_t{0} - digit) / base;
    value = value * base + digit;
  }
  cursor->at = p;
  if (p == digits || !fits || Is(*p, kWordStart)) return std::nullopt;
  return value;
}

}  // namespace tg::amd::asm_internal
