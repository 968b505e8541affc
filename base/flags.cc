#include "base/flags.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/error.h"
#include "base/settings.h"
#include "base/terminal.h"

namespace tg::base {
namespace {

constexpr int kHelpWidth = 80;

std::string Canonical(absl::string_view name) { return absl::StrReplaceAll(name, {{"-", "_"}}); }

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

bool ParseBool(absl::string_view text, bool* value) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "true" || lower == "1" || lower == "yes") {
    *value = true;
  } else if (lower == "false" || lower == "0" || lower == "no") {
    *value = false;
  } else {
    return false;
  }
  return true;
}

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

// Appends paragraphs, each line indented and at most kHelpWidth wide.
void AppendWrapped(std::string* out, absl::string_view text, int indent) {
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) absl::StrAppend(out, std::string(indent, ' '), line, "\n");
    line.clear();
  };
  for (absl::string_view source : absl::StrSplit(text, '\n')) {
    if (source.empty()) {
      flush();
      *out += "\n";
    } else if (source[0] == ' ') {
      flush();
      absl::StrAppend(out, std::string(indent, ' '), source, "\n");
    } else {
      for (absl::string_view word : absl::StrSplit(source, ' ', absl::SkipEmpty())) {
        const int width = indent + DisplayWidth(line) + 1 + DisplayWidth(word);
        if (!line.empty() && width > kHelpWidth) flush();
        absl::StrAppend(&line, line.empty() ? "" : " ", word);
      }
    }
  }
  flush();
}

// As it is written on the command line.
std::string Dashed(absl::string_view name) {
  return absl::StrCat(name.size() == 1 ? "-" : "--", name);
}

}  // namespace

void Flags::AddFlag(absl::string_view name, Target target, absl::string_view placeholder,
                    absl::string_view doc) {
  TG_CHECK(name != "help" && Find(name) == nullptr) << "flag --" << name << " defined twice";
  std::string value = std::visit(
      Overloaded{[](bool* v) -> std::string { return *v ? "true" : ""; },
                 [](std::string* v) { return *v; }, [](auto* v) { return absl::StrCat(*v); }},
      target);
  flags_.push_back(
      {std::string(name), target, std::string(placeholder), std::string(doc), std::move(value)});
}

void Flags::Add(absl::string_view name, bool* value, absl::string_view doc) {
  AddFlag(name, value, "", doc);
}
void Flags::Add(absl::string_view name, int* value, absl::string_view placeholder,
                absl::string_view doc) {
  AddFlag(name, value, placeholder, doc);
}
void Flags::Add(absl::string_view name, int64_t* value, absl::string_view placeholder,
                absl::string_view doc) {
  AddFlag(name, value, placeholder, doc);
}
void Flags::Add(absl::string_view name, double* value, absl::string_view placeholder,
                absl::string_view doc) {
  AddFlag(name, value, placeholder, doc);
}
void Flags::Add(absl::string_view name, std::string* value, absl::string_view placeholder,
                absl::string_view doc) {
  AddFlag(name, value, placeholder, doc);
}

void Flags::AddArgument(absl::string_view placeholder, std::string* value, absl::string_view doc,
                        bool required) {
  TG_CHECK(!required || arguments_.empty() || arguments_.back().required)
      << "required argument " << placeholder << " after an optional one";
  arguments_.push_back({std::string(placeholder), value, std::string(doc), required});
}

void Flags::AddArguments(absl::string_view placeholder, std::vector<std::string>* values,
                         absl::string_view doc) {
  TG_CHECK(rest_ == nullptr);
  rest_ = values;
  rest_placeholder_ = std::string(placeholder);
  rest_doc_ = std::string(doc);
}

void Flags::AddSection(absl::string_view title, absl::string_view text) {
  sections_.emplace_back(title, text);
}

const Flags::Flag* Flags::Find(absl::string_view name) const {
  const std::string wanted = Canonical(name);
  for (const Flag& flag : flags_) {
    if (Canonical(flag.name) == wanted) return &flag;
  }
  return nullptr;
}

absl::Status Flags::Unknown(absl::string_view name) const {
  const Flag* nearest = nullptr;
  int distance = std::max<int>(2, static_cast<int>(name.size()) / 3) + 1;
  for (const Flag& flag : flags_) {
    const int d = EditDistance(Canonical(name), Canonical(flag.name));
    if (d < distance) {
      distance = d;
      nearest = &flag;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown flag --", name, "; ",
                   nearest != nullptr ? absl::StrCat("did you mean --", nearest->name, "?")
                                      : absl::StrCat(program_, " --help lists all")));
}

absl::Status Flags::Set(const Flag& flag, absl::string_view text) {
  const auto fail = [&](absl::string_view expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag.name, "=", text, ": expected ", expected));
  };
  return std::visit(
      Overloaded{
          [&](bool* v) { return ParseBool(text, v) ? absl::OkStatus() : fail("true or false"); },
          [&](int* v) {
            return absl::SimpleAtoi(text, v) ? absl::OkStatus() : fail("an integer of 32 bits");
          },
          [&](int64_t* v) {
            return absl::SimpleAtoi(text, v) ? absl::OkStatus() : fail("an integer of 64 bits");
          },
          [&](double* v) {
            return absl::SimpleAtod(text, v) && std::isfinite(*v) ? absl::OkStatus()
                                                                  : fail("a number");
          },
          [&](std::string* v) {
            *v = std::string(text);
            return absl::OkStatus();
          }},
      flag.target);
}

absl::Status Flags::Parse(const std::vector<std::string>& args) {
  size_t next_argument = 0;
  bool only_arguments = false;
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view arg = args[i];
    if (only_arguments || arg == "-" || !absl::StartsWith(arg, "-")) {
      if (next_argument < arguments_.size()) {
        *arguments_[next_argument++].value = std::string(arg);
      } else if (rest_ != nullptr) {
        rest_->emplace_back(arg);
      } else {
        return absl::InvalidArgumentError(absl::StrCat("unexpected argument ", arg));
      }
      continue;
    }
    if (arg == "--") {
      only_arguments = true;
      continue;
    }
    if (arg == "--help" || arg == "-h") {
      help_wanted_ = true;
      return absl::OkStatus();
    }
    // "-o" is a flag of one letter.
    const bool letter = arg.size() == 2 && arg[1] != '-' && Find(arg.substr(1)) != nullptr;
    if (!absl::ConsumePrefix(&arg, letter ? "-" : "--")) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown flag ", arg, "; flags start with --"));
    }
    const size_t equals = arg.find('=');
    const absl::string_view name = arg.substr(0, equals);
    const Flag* flag = Find(name);
    if (flag == nullptr && equals == absl::string_view::npos && absl::StartsWith(name, "no")) {
      const Flag* negated = Find(name.substr(2));
      if (negated != nullptr && std::holds_alternative<bool*>(negated->target)) {
        *std::get<bool*>(negated->target) = false;
        continue;
      }
    }
    if (flag == nullptr) return Unknown(name);
    absl::string_view value = "true";
    if (equals != absl::string_view::npos) {
      value = arg.substr(equals + 1);
    } else if (!std::holds_alternative<bool*>(flag->target)) {
      if (i + 1 == args.size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            Dashed(flag->name), " needs a value: ", Dashed(flag->name), " ", flag->placeholder));
      }
      value = args[++i];
    }
    if (absl::Status status = Set(*flag, value); !status.ok()) return status;
  }
  if (next_argument < arguments_.size() && arguments_[next_argument].required) {
    return absl::InvalidArgumentError(
        absl::StrCat("missing argument ", arguments_[next_argument].placeholder));
  }
  return absl::OkStatus();
}

std::string Flags::Help() const {
  std::string out = "NAME\n";
  AppendWrapped(&out, absl::StrCat(program_, " - ", summary_), 4);

  std::string synopsis = absl::StrCat(program_, flags_.empty() ? "" : " [flags]");
  for (const Argument& argument : arguments_) {
    absl::StrAppend(&synopsis, argument.required ? " " : " [", argument.placeholder,
                    argument.required ? "" : "]");
  }
  if (rest_ != nullptr) absl::StrAppend(&synopsis, " [", rest_placeholder_, "...]");
  absl::StrAppend(&out, "\nSYNOPSIS\n");
  AppendWrapped(&out, synopsis, 4);

  if (!description_.empty()) {
    absl::StrAppend(&out, "\nDESCRIPTION\n");
    AppendWrapped(&out, description_, 4);
  }
  if (!arguments_.empty() || rest_ != nullptr) {
    absl::StrAppend(&out, "\nARGUMENTS\n");
    for (const Argument& argument : arguments_) {
      absl::StrAppend(&out, "    ", argument.placeholder, "\n");
      AppendWrapped(&out, argument.doc, 8);
    }
    if (rest_ != nullptr) {
      absl::StrAppend(&out, "    ", rest_placeholder_, "...\n");
      AppendWrapped(&out, rest_doc_, 8);
    }
  }
  absl::StrAppend(&out, "\nFLAGS\n");
  for (const Flag& flag : flags_) {
    absl::StrAppend(&out, "    ", Dashed(flag.name), flag.placeholder.empty() ? "" : " ",
                    flag.placeholder, "\n");
    AppendWrapped(&out,
                  flag.default_value.empty()
                      ? flag.doc
                      : absl::StrCat(flag.doc, " (default: ", flag.default_value, ")"),
                  8);
  }
  absl::StrAppend(&out, "    --help\n");
  AppendWrapped(&out, "prints this", 8);
  for (const auto& [title, text] : sections_) {
    absl::StrAppend(&out, "\n", title, "\n");
    AppendWrapped(&out, text, 4);
  }
  absl::StrAppend(&out, "\nEXIT STATUS\n");
  AppendWrapped(&out, "0 success, 1 failure, 2 wrong usage", 4);
  return out;
}

void Flags::ParseOrExit(int argc, char** argv) {
  absl::Status status = Parse(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  if (status.ok() && help_wanted_) {
    std::fputs(Help().c_str(), stdout);
    std::exit(0);
  }
  if (status.ok()) {
    try {
      CheckEnvironment();
    } catch (const Error& error) {
      status = absl::InvalidArgumentError(error.what());
    }
  }
  if (!status.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
    std::exit(2);
  }
}

}  // namespace tg::base
