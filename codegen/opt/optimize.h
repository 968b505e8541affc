// The optimizer's front door: from a kernel as the scheduler makes it to one whose axis types say
// how each loop runs. Lowering (codegen/lower) takes the result.
#ifndef TG_CODEGEN_OPT_OPTIMIZE_H_
#define TG_CODEGEN_OPT_OPTIMIZE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"
#include "codegen/opt/kernel.h"
#include "codegen/render/renderer.h"

namespace tg::opt {

// `kernel`: a kSink of kEnd(kStore, ranges...) whose ranges are LOOP (outputs, outermost first) and
// REDUCE. Merges ranges, then applies the hand-coded steps; with the setting NOOPT=1 neither. A
// kernel that is optimized already (KernelInfo) comes back as it is. What is no kernel in the above
// sense comes back with a name, for lowering to refuse.
//
// Pure, deterministic, thread-safe. `threads` does not change what the kernel computes, to the bit.
ir::UOp Optimize(const ir::UOp& kernel, const render::Target& target, int threads);

// The seam for searches: the kernel that steps are applied to (its ranges merged), and the kernel
// with given steps. Errors: InvalidArgument, with the step that is not legal and why.
absl::StatusOr<Kernel> PrepareKernel(const ir::UOp& kernel, const render::Target& target);
absl::StatusOr<ir::UOp> ApplyOpts(const ir::UOp& kernel, const render::Target& target,
                                  absl::Span<const ir::Opt> opts);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_OPTIMIZE_H_
