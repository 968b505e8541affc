// Steps that make a good CPU kernel at once, chosen from how each load and store moves along each
// axis (access.h): which axis runs in vector lanes and what is expanded beside it (tile.h), the
// order of the loops around (loop_order.h), which small reductions are unrolled, and which loop is
// split over cores.
//
//   matmul, convolution     a register tile of about 24 accumulators, reductions inside, unrolled
//   reduction, statistics   lanes along the contiguous axis, output or reduction, some accumulators
//   softmax, layernorm      lanes in each loop of a row, threads over rows
//   elementwise             lanes along the contiguous axis, threads over the outermost loop
//
// Splitting over cores changes neither tiles nor the order in which anything is added: results are
// the same for any number of threads.
#ifndef TG_CODEGEN_OPT_HEURISTICS_H_
#define TG_CODEGEN_OPT_HEURISTICS_H_

#include <vector>

#include "codegen/ir/arg.h"
#include "codegen/opt/kernel.h"
#include "codegen/render/renderer.h"

namespace tg::opt {

// `kernel` without any step applied, its ranges merged (merge_ranges.h). `threads`: cores to use.
// The steps are legal for the kernel. Deterministic.
std::vector<ir::Opt> HandCodedOpts(const Kernel& kernel, const render::Target& target, int threads);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_HEURISTICS_H_
