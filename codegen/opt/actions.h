// The steps that a search may take from a kernel: the edges of its search tree.
//
//   outputs     UPCAST (register tiles, vector lanes), LOOP (cache tiles), THREAD, LOCAL
//   reductions  UNROLL, REDUCE (blocks of a reduction), GROUP_REDUCE
//   both        SWAP (nesting), PADTO where asked for
//
// A search starts with opt::PrepareKernel, copies and extends Kernels by these steps, and has
// Kernel::Ast of the best ones compiled; Kernel::applied() with opt::ApplyOpts repeats a result.
#ifndef TG_CODEGEN_OPT_ACTIONS_H_
#define TG_CODEGEN_OPT_ACTIONS_H_

#include <cstdint>
#include <vector>

#include "codegen/ir/arg.h"
#include "codegen/opt/kernel.h"

namespace tg::opt {

struct ActionOptions {
  bool pad = false;          // PADTO; more steps, most of them of no use
  int64_t max_upcast = 256;  // product of all UPCAST and UNROLL axes after the step
  int64_t max_local = 1024;  // work items of a work group after the step
};

// The legal steps from `kernel` within the options, each once: steps that lead to the same axes as
// an earlier one are left out, and so are those that change nothing. In a fixed order. Every one is
// accepted by Kernel::Apply.
std::vector<ir::Opt> LegalOpts(const Kernel& kernel, const ActionOptions& options = {});

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_ACTIONS_H_
