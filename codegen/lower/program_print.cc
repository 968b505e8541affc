#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/ir/print.h"
#include "codegen/lower/program.h"

namespace tg::lower {

std::string ProgramToString(const LinearProgram& program) {
  std::string out =
      absl::StrCat("program ", program.name, ": ", program.params.size(), " parameters, ",
                   program.variables.size(), " variables, ", program.threads,
                   program.threads == 1 ? " thread\n" : " threads\n");
  absl::flat_hash_map<const void*, size_t> ids;
  size_t depth = 0;
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const ir::UOp& u = program.ops[i];
    if (u.Is(ir::Op::kEndIf)) depth -= std::min<size_t>(depth, 1);
    if (u.Is(ir::Op::kEnd)) {
      size_t loops = 0;
      for (const ir::UOp& r : u.src().subspan(1)) {
        loops += r.arg_as<ir::RangeArg>().type != ir::AxisType::kThread;
      }
      depth -= std::min(depth, loops);
    }
    std::string sources;
    for (const ir::UOp& s : u.src()) {
      if (!sources.empty()) sources += " ";
      if (s.IsConst()) {
        // Constants read better than their numbers.
        sources += ir::PrintExpr(s);
      } else if (auto it = ids.find(s.id()); it != ids.end()) {
        absl::StrAppend(&sources, "%", it->second);
      } else {
        sources += "?";
      }
    }
    std::string line =
        absl::StrFormat("%4d %s%-*s %-12s", i, std::string(2 * depth, ' '),
                        static_cast<int>(std::max<size_t>(26, 2 * depth) - 2 * depth),
                        std::string(ir::OpName(u.op())), u.dtype().ToString());
    if (!sources.empty()) absl::StrAppend(&line, " ", sources);
    if (u.arg().index() != 0) absl::StrAppend(&line, " ", ir::PrintArg(u.arg()));
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
    ids.emplace(u.id(), i);
    if (u.Is(ir::Op::kIf) ||
        (u.Is(ir::Op::kRange) && u.arg_as<ir::RangeArg>().type != ir::AxisType::kThread)) {
      ++depth;
    }
  }
  return out;
}

}  // namespace tg::lower
