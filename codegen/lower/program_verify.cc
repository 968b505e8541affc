#include "codegen/lower/program_verify.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"

namespace tg::lower {
namespace {

using ir::Op;
using ir::UOp;

bool IsIdentifier(absl::string_view s) {
  if (s.empty() || absl::ascii_isdigit(s[0])) return false;
  for (char c : s) {
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  }
  return true;
}

std::string At(absl::string_view sentence, const UOp& u) {
  return absl::StrCat(sentence, ": ", ir::DescribeNode(u));
}

// Empty: nothing is wrong.
std::string FindProblem(const LinearProgram& p) {
  if (!IsIdentifier(p.name)) return "the name is not a C identifier";
  if (p.threads < 1) return absl::StrCat("there are ", p.threads, " threads");
  if (absl::Status s = ir::VerifyInstructions(p.ops); !s.ok()) return std::string(s.message());

  absl::flat_hash_set<UOp> variables;
  for (const UOp& v : p.variables) {
    if (!v || !v.Is(Op::kVariable)) return "the list of variables holds something else";
    if (!variables.insert(v).second) return At("a variable is listed twice", v);
  }
  bool has_threads = false;
  for (const UOp& u : p.ops) {
    switch (u.op()) {
      case Op::kVariable:
        if (!variables.contains(u)) return At("a variable is not listed", u);
        break;
      case Op::kParam: {
        const ir::ParamArg& a = u.arg_as<ir::ParamArg>();
        if (static_cast<size_t>(a.slot) >= p.params.size()) return At("a parameter has no row", u);
        const ProgramParam& row = p.params[a.slot];
        if (row.dtype != u.dtype() || row.size != a.size) {
          return At(absl::StrCat("a parameter's row says ", row.size, " of ", row.dtype.ToString()),
                    u);
        }
        break;
      }
      case Op::kLoad:
      case Op::kStore: {
        const UOp& memory = u.src(0).src(0);
        if (!memory.Is(Op::kParam)) break;
        const ProgramParam& row = p.params[memory.arg_as<ir::ParamArg>().slot];
        if (u.Is(Op::kLoad) && !row.read) return At("loads a parameter that is not read", u);
        if (u.Is(Op::kStore) && !row.written) return At("stores to one that is not written", u);
        break;
      }
      case Op::kRange:
        if (u.arg_as<ir::RangeArg>().type != ir::AxisType::kThread) break;
        has_threads = true;
        if (u.src(0).const_int() != p.threads) {
          return At(absl::StrCat("the program has ", p.threads, " threads"), u);
        }
        break;
      default:
        break;
    }
  }
  if (p.threads > 1 && !has_threads) return "there are threads, but no range over them";
  return "";
}

}  // namespace

absl::Status VerifyProgram(const LinearProgram& program) {
  std::string problem = FindProblem(program);
  if (problem.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("kernel ", program.name, ": ", problem));
}

}  // namespace tg::lower
