#include "codegen/lower/estimate.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace tg::lower {

using ir::Op;
using ir::UOp;

Estimates Estimate(const LinearProgram& program) {
  // Everything that addresses, gates and loop bounds are computed from.
  absl::flat_hash_set<const void*> address;
  std::vector<UOp> stack;
  auto visit = [&](const UOp& u) {
    if (address.insert(u.id()).second) stack.push_back(u);
  };
  for (const UOp& u : program.ops) {
    if (u.Is(Op::kIndex)) {
      for (int i = 1; i < u.src_count(); ++i) visit(u.src(i));
    } else if (u.Is(Op::kRange)) {
      visit(u.src(0));
    }
  }
  while (!stack.empty()) {
    const UOp u = stack.back();
    stack.pop_back();
    if (u.Is(Op::kLoad)) continue;  // what is loaded is data
    for (const UOp& s : u.src()) visit(s);
  }

  Estimates e;
  std::vector<double> touched(program.params.size());
  double times = program.threads;
  std::vector<double> outer;
  for (const UOp& u : program.ops) {
    switch (u.op()) {
      case Op::kRange:
        if (u.arg_as<ir::RangeArg>().type == ir::AxisType::kThread) break;
        outer.push_back(times);
        times *= static_cast<double>(std::max<int64_t>(u.src(0).vmax(), 0));
        break;
      case Op::kEnd:
        for (int i = 1; i < u.src_count(); ++i) {
          times = outer.back();
          outer.pop_back();
        }
        break;
      case Op::kLoad:
      case Op::kStore: {
        const UOp& memory = u.src(0).src(0);
        if (!memory.Is(Op::kParam)) break;
        const ir::DType d = u.Is(Op::kLoad) ? u.dtype() : u.src(1).dtype();
        e.lds_bytes += times * d.size();
        touched[memory.arg_as<ir::ParamArg>().slot] += times * d.size();
        break;
      }
      case Op::kReduce:
        e.ops += times * (u.src(0).dtype().lanes() - 1);
        break;
      default:
        if (ir::IsAlu(u.op()) && !address.contains(u.id())) {
          e.ops += times * u.dtype().lanes() * (u.Is(Op::kMulAcc) ? 2 : 1);
        }
    }
  }
  for (size_t i = 0; i < touched.size(); ++i) {
    const ProgramParam& p = program.params[i];
    if (p.size > 0) {
      e.mem_bytes += std::min(touched[i], static_cast<double>(p.size) * p.dtype.bytes());
    }
  }
  return e;
}

}  // namespace tg::lower
