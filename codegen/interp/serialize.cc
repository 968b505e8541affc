#include "codegen/interp/serialize.h"

#include <cstdio>
#include <vector>

#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"
#include "codegen/lower/program_verify.h"

namespace tg::interp {
namespace {

constexpr absl::string_view kMagic = "tg program 1";

std::string Hex(double v) {
  char text[40];
  std::snprintf(text, sizeof(text), "%a", v);
  return text;
}

bool ParseHex(absl::string_view s, double* v) {
  if (!absl::ConsumePrefix(&s, "0x")) return false;
  auto r = absl::from_chars(s.data(), s.data() + s.size(), *v, absl::chars_format::hex);
  return r.ec == std::errc() && r.ptr == s.data() + s.size() && *v >= 0;
}

absl::Status Bad(int line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("program text, line ", line, ": ", what));
}

// "ops:" and what the parser says of a list of nodes.
absl::Status BadList(absl::string_view list, const absl::Status& s) {
  return absl::InvalidArgumentError(absl::StrCat("program text, ", list, ": ", s.message()));
}

}  // namespace

absl::StatusOr<std::string> Serialize(const lower::LinearProgram& p) {
  if (absl::Status s = lower::VerifyProgram(p); !s.ok()) return s;
  std::string out = absl::StrCat(kMagic, "\nname \"", p.name, "\"\nthreads ", p.threads,
                                 "\nestimates ", Hex(p.estimates.ops), " ",
                                 Hex(p.estimates.mem_bytes), " ", Hex(p.estimates.lds_bytes), "\n");
  for (const lower::ProgramParam& row : p.params) {
    absl::StrAppend(&out, "param ", row.dtype.ToString(), " ", row.size, " ", row.read ? "r" : "-",
                    row.written ? "w" : "-", "\n");
  }
  absl::StrAppend(&out, "variables\n", ir::PrintList(p.variables), "ops\n", ir::PrintList(p.ops));
  return out;
}

absl::StatusOr<lower::LinearProgram> Deserialize(absl::string_view text) {
  lower::LinearProgram p;
  int line_number = 0;
  bool done = false;
  while (!done) {
    if (text.empty()) return Bad(line_number + 1, "the text ends before its operations");
    const size_t newline = text.find('\n');
    const absl::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == absl::string_view::npos ? text.size() : newline + 1);
    ++line_number;
    if (line_number == 1) {
      if (line != kMagic) return Bad(1, absl::StrCat("expected \"", kMagic, "\""));
      continue;
    }
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words[0] == "name" && words.size() == 2) {
      absl::string_view name = words[1];
      if (!absl::ConsumePrefix(&name, "\"") || !absl::ConsumeSuffix(&name, "\"")) {
        return Bad(line_number, "expected a quoted name");
      }
      p.name = std::string(name);
    } else if (words[0] == "threads" && words.size() == 2) {
      if (!absl::SimpleAtoi(words[1], &p.threads)) return Bad(line_number, "expected an integer");
    } else if (words[0] == "estimates" && words.size() == 4) {
      if (!ParseHex(words[1], &p.estimates.ops) || !ParseHex(words[2], &p.estimates.mem_bytes) ||
          !ParseHex(words[3], &p.estimates.lds_bytes)) {
        return Bad(line_number, "expected three hexadecimal floats");
      }
    } else if (words[0] == "param" && words.size() == 4) {
      const std::optional<ir::DType> dtype = ir::DType::Parse(words[1]);
      lower::ProgramParam row;
      if (!dtype.has_value() || !absl::SimpleAtoi(words[2], &row.size) || words[3].size() != 2) {
        return Bad(line_number, "expected a dtype, a size and two flags");
      }
      row.dtype = *dtype;
      row.read = words[3][0] == 'r';
      row.written = words[3][1] == 'w';
      p.params.push_back(row);
    } else if (line == "variables") {
      done = true;
    } else {
      return Bad(line_number, absl::StrCat("unknown line: ", ir::Quote(line.substr(0, 40))));
    }
  }
  // Neither list has a line "ops": its lines begin with '%'.
  absl::string_view variables;
  if (absl::ConsumePrefix(&text, "ops\n")) {
    variables = "";
  } else {
    const size_t at = text.find("\nops\n");
    if (at == absl::string_view::npos) return Bad(line_number, "there is no list of operations");
    variables = text.substr(0, at);
    text.remove_prefix(at + 5);
  }
  absl::StatusOr<std::vector<ir::UOp>> list = ir::ParseList(variables);
  if (!list.ok()) return BadList("variables", list.status());
  p.variables = *std::move(list);
  list = ir::ParseList(text);
  if (!list.ok()) return BadList("ops", list.status());
  p.ops = *std::move(list);
  if (absl::Status s = lower::VerifyProgram(p); !s.ok()) return s;
  return p;
}

}  // namespace tg::interp
