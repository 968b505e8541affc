// Lower: from an optimised kernel to a linear program.
//
// In: a kSink (argument KernelInfo) of kEnd(kStore(kIndex(kParam, i), value), ranges...), scalars
// and kReduce(value, ranges...) below; the types of the ranges say how each runs: LOOP and REDUCE
// are loops, THREAD is split over cores, UPCAST (outputs) and UNROLL (reductions) are expanded,
// one of them as the lanes of vectors (lane_axis.h). Ranges of size 1 and 0 are fine.
//
// The passes, each with a header of its own: trivial ranges (ranges.h), validity of indices to
// gates (gates.h), types that the target lacks (dtypes.h), operations that it lacks (decompose.h),
// vectors (vectorize.h), copies (replicate.h), widths of index arithmetic (index_dtype.h), and the
// order of instructions (linearize.h).
#ifndef TG_CODEGEN_LOWER_LOWER_H_
#define TG_CODEGEN_LOWER_LOWER_H_

#include "absl/status/statusor.h"
#include "codegen/ir/uop.h"
#include "codegen/lower/program.h"
#include "codegen/render/renderer.h"

namespace tg::lower {

// Errors: Unimplemented for axis types that the target's programs do not have (GLOBAL, LOCAL,
// WARP, GROUP_REDUCE), InvalidArgument for a graph that is no kernel, Internal for our own bugs
// that a caller can survive (a search drops the candidate).
//
// With the setting SPEC=1 the kernel and the program are verified.
//
// A pure function of its arguments; any number of threads may call it.
absl::StatusOr<LinearProgram> Lower(const ir::UOp& kernel, const render::Target& target);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_LOWER_H_
