#include "codegen/lower/lower.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/check.h"
#include "base/settings.h"
#include "codegen/ir/verify.h"
#include "codegen/lower/decompose.h"
#include "codegen/lower/dtypes.h"
#include "codegen/lower/estimate.h"
#include "codegen/lower/gates.h"
#include "codegen/lower/index_dtype.h"
#include "codegen/lower/lane_axis.h"
#include "codegen/lower/linearize.h"
#include "codegen/lower/program_verify.h"
#include "codegen/lower/ranges.h"
#include "codegen/lower/replicate.h"
#include "codegen/lower/vectorize.h"

namespace tg::lower {
namespace {

using ir::Op;
using ir::UOp;

// `name` as a C identifier.
std::string Identifier(const std::string& name) {
  auto is = [](int (*kind)(int), char c) { return kind(static_cast<unsigned char>(c)) != 0; };
  std::string result;
  if (name.empty() || is(std::isdigit, name[0])) result += 'k';
  for (char c : name) result += is(std::isalnum, c) ? c : '_';
  return result;
}

// Parameters by slot, as the kernel has them, and variables in order of name: so that callers know
// them whatever lowering removes.
absl::Status ListArguments(const UOp& kernel, LinearProgram& program) {
  for (const UOp& u : ir::Toposort(kernel)) {
    if (u.Is(Op::kVariable)) program.variables.push_back(LowerIndexDType(u));
    if (!u.Is(Op::kParam)) continue;
    const ir::ParamArg& arg = u.arg_as<ir::ParamArg>();
    if (arg.slot < 0 || arg.slot > 65535) {
      return absl::InvalidArgumentError("lower: a parameter's slot is out of range");
    }
    if (static_cast<size_t>(arg.slot) >= program.params.size()) program.params.resize(arg.slot + 1);
    program.params[arg.slot].dtype = u.dtype();
    program.params[arg.slot].size = arg.size;
  }
  std::sort(program.variables.begin(), program.variables.end(), [](const UOp& a, const UOp& b) {
    return a.arg_as<ir::VariableArg>().name < b.arg_as<ir::VariableArg>().name;
  });
  return absl::OkStatus();
}

void MarkAccesses(LinearProgram& program) {
  for (const UOp& u : program.ops) {
    if (!u.Is(Op::kLoad) && !u.Is(Op::kStore)) continue;
    const UOp& memory = u.src(0).src(0);
    if (!memory.Is(Op::kParam)) continue;
    ProgramParam& p = program.params[memory.arg_as<ir::ParamArg>().slot];
    (u.Is(Op::kLoad) ? p.read : p.written) = true;
  }
}

}  // namespace

absl::StatusOr<LinearProgram> Lower(const UOp& kernel, const render::Target& target) {
  TG_CHECK(target.supports != nullptr && target.native_op != nullptr);
  const bool verify = base::Get(base::kSpec) > 0;
  if (verify) {
    if (absl::Status s = ir::VerifyKernel(kernel); !s.ok()) return s;
  }
  absl::StatusOr<UOp> sink = PrepareRanges(kernel, target.has_threads);
  if (!sink.ok()) return sink.status();
  LinearProgram program;
  if (const auto* info = std::get_if<ir::Boxed<ir::KernelInfo>>(&kernel.arg())) {
    program.name = (*info)->name;
  }
  program.name = Identifier(program.name);
  if (absl::Status s = ListArguments(kernel, program); !s.ok()) return s;

  sink = MoveGates(*sink);
  if (!sink.ok()) return sink.status();
  // Data first, while values are scalars: fewer nodes. Index arithmetic after the copies, which
  // simplify it.
  UOp graph = Decompose(LowerDTypes(*sink, target), target);
  graph = Vectorize(graph, ChooseLaneAxes(graph, target));
  sink = Replicate(graph, target);
  if (!sink.ok()) return sink.status();
  graph = Decompose(LowerIndexDType(*sink), target);

  absl::StatusOr<std::vector<UOp>> ops = Linearize(graph, target);
  if (!ops.ok()) return ops.status();
  program.ops = *std::move(ops);
  for (const UOp& u : program.ops) {
    if (u.Is(Op::kRange) && u.arg_as<ir::RangeArg>().type == ir::AxisType::kThread) {
      program.threads = static_cast<int>(u.src(0).const_int());
    }
  }
  MarkAccesses(program);
  program.estimates = Estimate(program);
  if (verify) {
    if (absl::Status s = VerifyProgram(program); !s.ok()) return s;
  }
  return program;
}

}  // namespace tg::lower
