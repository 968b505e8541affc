#include "codegen/opt/opt_text.h"

#include <cctype>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tg::opt {
namespace {

using ir::AxisType;
using ir::Opt;
using ir::OptOp;

struct Name {
  absl::string_view text;
  OptOp op;
  int numbers;  // integers it takes
};
constexpr Name kNames[] = {
    {"SPLIT", OptOp::kSplit, 2},   {"PADTO", OptOp::kPadTo, 2},       {"SWAP", OptOp::kSwap, 2},
    {"TC", OptOp::kTensorCore, 2}, {"NOLOCALS", OptOp::kNoLocals, 0},
};

const Name& NameOf(OptOp op) {
  for (const Name& n : kNames) {
    if (n.op == op) return n;
  }
  return kNames[0];
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<Opt>> Run() {
    std::vector<Opt> opts;
    Blanks();
    if (at_ == text_.size()) return opts;
    do {
      Opt opt{.op = OptOp::kSplit};
      if (absl::Status s = One(opt); !s.ok()) return s;
      opts.push_back(opt);
    } while (Take(','));
    if (at_ != text_.size()) return Error("a comma or the end was expected");
    return opts;
  }

 private:
  void Blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
      ++at_;
    }
  }
  bool Take(char c) {
    Blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  absl::string_view Word() {
    Blanks();
    token_ = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '-')) {
      ++at_;
    }
    return text_.substr(token_, at_ - token_);
  }
  absl::Status Error(absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("column ", token_ + 1, ": ", what));
  }

  absl::Status One(Opt& opt) {
    const absl::string_view word = Word();
    const Name* name = nullptr;
    for (const Name& n : kNames) {
      if (n.text == word) name = &n;
    }
    if (name == nullptr) {
      return Error(absl::StrCat("unknown step '", word.substr(0, 32),
                                "'; known are SPLIT, PADTO, SWAP, TC, NOLOCALS"));
    }
    opt.op = name->op;
    if (name->numbers == 0) return absl::OkStatus();
    if (!Take('(')) return Error(absl::StrCat(word, " takes arguments in parentheses"));
    int64_t axis;
    if (!absl::SimpleAtoi(Word(), &axis) || axis < 0 ||
        axis > std::numeric_limits<int32_t>::max()) {
      return Error("an axis number was expected");
    }
    opt.axis = static_cast<int32_t>(axis);
    if (!Take(',') || !absl::SimpleAtoi(Word(), &opt.amount)) {
      return Error("a comma and a number were expected");
    }
    if (opt.op == OptOp::kSplit) {
      if (!Take(',')) return Error("SPLIT takes an axis type");
      if (absl::Status s = Type(Word(), opt.type); !s.ok()) return s;
      if (Take(',')) {
        if (Word() != "top") return Error("'top' was expected");
        opt.top = true;
      }
    }
    if (!Take(')')) return Error("a closing parenthesis was expected");
    return absl::OkStatus();
  }

  absl::Status Type(absl::string_view word, AxisType& type) {
    for (int i = 0; i < ir::kAxisTypeCount; ++i) {
      if (AxisTypeName(static_cast<AxisType>(i)) == word) {
        type = static_cast<AxisType>(i);
        return absl::OkStatus();
      }
    }
    return Error(absl::StrCat("unknown axis type '", word.substr(0, 32), "'"));
  }

  const absl::string_view text_;
  size_t at_ = 0;
  size_t token_ = 0;
};

}  // namespace

std::string ToString(const Opt& opt) {
  const Name& name = NameOf(opt.op);
  if (name.numbers == 0) return std::string(name.text);
  std::string s = absl::StrCat(name.text, "(", opt.axis, ", ", opt.amount);
  if (opt.op == OptOp::kSplit) {
    absl::StrAppend(&s, ", ", AxisTypeName(opt.type), opt.top ? ", top" : "");
  }
  return s + ")";
}

std::string ToString(absl::Span<const Opt> opts) {
  return absl::StrJoin(opts, ", ",
                       [](std::string* out, const Opt& o) { out->append(ToString(o)); });
}

absl::StatusOr<std::vector<Opt>> ParseOpts(absl::string_view text) { return Parser(text).Run(); }

}  // namespace tg::opt
