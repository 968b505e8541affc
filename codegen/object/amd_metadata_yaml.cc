#include "codegen/object/amd_metadata_yaml.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tg::object {
namespace {

using Json = nlohmann::json;

// A line without its indentation and comment. The parser may cut a leading "- " off and move the
// indentation to what follows it.
struct Line {
  int number;
  size_t indent;
  absl::string_view text;
};

// Where a comment begins: at a # that a space precedes, outside of quotes.
absl::string_view WithoutComment(absl::string_view text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '#' && (i == 0 || text[i - 1] == ' ')) {
      return text.substr(0, i);
    }
  }
  return text;
}

class Parser {
 public:
  Parser(absl::string_view text, int max_depth) : max_depth_(max_depth) {
    int number = 0;
    for (absl::string_view raw : absl::StrSplit(text, '\n')) {
      ++number;
      const absl::string_view line = absl::StripTrailingAsciiWhitespace(WithoutComment(raw));
      const size_t indent = line.find_first_not_of(' ');
      if (indent == absl::string_view::npos) continue;
      const absl::string_view body = line.substr(indent);
      if (body == "---" || body == "...") continue;
      lines_.push_back({number, indent, body});
    }
  }

  absl::StatusOr<Json> Document() {
    if (lines_.empty()) return Bad(1, "the document is empty");
    absl::StatusOr<Json> json = Block(lines_[0].indent, 0);
    if (json.ok() && at_ < lines_.size()) return Bad(lines_[at_].number, "bad indentation");
    return json;
  }

 private:
  static absl::Status Bad(int line, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(line, ": ", what));
  }

  static bool IsItem(absl::string_view text) { return text == "-" || absl::StartsWith(text, "- "); }

  // The map or sequence whose lines have exactly `indent`.
  absl::StatusOr<Json> Block(size_t indent, int depth) {
    if (depth == max_depth_) {
      return Bad(lines_[at_].number, absl::StrCat("more than ", max_depth_, " levels"));
    }
    return IsItem(lines_[at_].text) ? Sequence(indent, depth) : Map(indent, depth);
  }

  absl::StatusOr<Json> Sequence(size_t indent, int depth) {
    Json result = Json::array();
    while (at_ < lines_.size() && lines_[at_].indent == indent && IsItem(lines_[at_].text)) {
      Line& line = lines_[at_];
      const absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.text.substr(1));
      if (rest.empty()) {
        absl::StatusOr<Json> element = Nested(indent + 1, line.number, depth);
        if (!element.ok()) return element.status();
        result.push_back(*std::move(element));
      } else if (IsItem(rest) || ColonOf(rest) != absl::string_view::npos) {
        // The item's block begins on the dash's line.
        line.indent += rest.data() - line.text.data();
        line.text = rest;
        absl::StatusOr<Json> element = Block(line.indent, depth + 1);
        if (!element.ok()) return element.status();
        result.push_back(*std::move(element));
      } else {
        absl::StatusOr<Json> element = Scalar(rest, line.number);
        if (!element.ok()) return element.status();
        result.push_back(*std::move(element));
        ++at_;
      }
    }
    return result;
  }

  absl::StatusOr<Json> Map(size_t indent, int depth) {
    Json result = Json::object();
    while (at_ < lines_.size() && lines_[at_].indent == indent && !IsItem(lines_[at_].text)) {
      const Line line = lines_[at_];
      const size_t colon = ColonOf(line.text);
      if (colon == absl::string_view::npos) return Bad(line.number, "expected 'key: value'");
      absl::StatusOr<Json> key = Scalar(line.text.substr(0, colon), line.number);
      if (!key.ok()) return key.status();
      const std::string name =
          key->is_string() ? key->get<std::string>() : std::string(line.text.substr(0, colon));
      if (result.contains(name)) return Bad(line.number, absl::StrCat("two values of ", name));
      const absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.text.substr(colon + 1));
      absl::StatusOr<Json> value;
      if (rest.empty()) {
        // A sequence may stand as far left as its key.
        const size_t at_least =
            at_ + 1 < lines_.size() && IsItem(lines_[at_ + 1].text) ? indent : indent + 1;
        value = Nested(at_least, line.number, depth);
      } else {
        value = Scalar(rest, line.number);
        ++at_;
      }
      if (!value.ok()) return value.status();
      result[name] = *std::move(value);
    }
    return result;
  }

  // The block below the current line, or nothing when what follows is not indented as far.
  absl::StatusOr<Json> Nested(size_t at_least, int number, int depth) {
    ++at_;
    if (at_ == lines_.size() || lines_[at_].indent < at_least) return Bad(number, "no value");
    return Block(lines_[at_].indent, depth + 1);
  }

  // Position of the colon that ends a key.
  static size_t ColonOf(absl::string_view text) {
    char quote = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (i == 0 && (c == '\'' || c == '"')) {
        quote = c;
      } else if (i == 0 && (c == '[' || c == '{')) {
        return absl::string_view::npos;
      } else if (c == ':' && (i + 1 == text.size() || text[i + 1] == ' ')) {
        return i;
      }
    }
    return absl::string_view::npos;
  }

  static absl::StatusOr<Json> Scalar(absl::string_view text, int number) {
    text = absl::StripAsciiWhitespace(text);
    if (text.empty()) return Bad(number, "no value");
    switch (text.front()) {
      case '\'':
      case '"':
        return Quoted(text, number);
      case '[':
        return Bracketed(text, number);
      case '{':
      case '&':
      case '*':
      case '!':
      case '|':
      case '>':
      case '%':
      case '@':
      case '`':
        return Bad(number, absl::StrCat("values that start with ", text.substr(0, 1),
                                        " are not supported"));
      default:
        break;
    }
    if (text == "true" || text == "false") return Json(text == "true");
    uint64_t value = 0;
    if (absl::StartsWith(text, "0x") ? absl::SimpleHexAtoi(text, &value)
                                     : absl::SimpleAtoi(text, &value)) {
      return Json(value);
    }
    int64_t negative = 0;
    if (absl::SimpleAtoi(text, &negative)) return Json(negative);
    return Json(std::string(text));
  }

  static absl::StatusOr<Json> Quoted(absl::string_view text, int number) {
    const char quote = text.front();
    std::string result;
    for (size_t i = 1; i < text.size(); ++i) {
      if (text[i] == quote) {
        if (quote == '\'' && i + 1 < text.size() && text[i + 1] == quote) {
          result += quote;
          ++i;
          continue;
        }
        if (i + 1 != text.size()) return Bad(number, "text after a closing quote");
        return Json(std::move(result));
      }
      if (quote == '"' && text[i] == '\\') return Bad(number, "escapes are not supported");
      result += text[i];
    }
    return Bad(number, "a quote is not closed");
  }

  static absl::StatusOr<Json> Bracketed(absl::string_view text, int number) {
    if (text.back() != ']') return Bad(number, "a bracket is not closed on its line");
    Json result = Json::array();
    const absl::string_view inner = absl::StripAsciiWhitespace(text.substr(1, text.size() - 2));
    if (inner.empty()) return result;
    for (absl::string_view element : absl::StrSplit(inner, ',')) {
      element = absl::StripAsciiWhitespace(element);
      if (absl::StartsWith(element, "[")) return Bad(number, "brackets within brackets");
      absl::StatusOr<Json> value = Scalar(element, number);
      if (!value.ok()) return value.status();
      result.push_back(*std::move(value));
    }
    return result;
  }

  const int max_depth_;
  std::vector<Line> lines_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<nlohmann::json> ParseYamlSubset(absl::string_view text, int max_depth) {
  return Parser(text, max_depth).Document();
}

}  // namespace tg::object
