// Linearize: from a graph of values to instructions in loops.
//
// Takes a sink of kEnd(body, ranges...) where the body is a kStore or a kGroup of stores, values
// are scalars or vectors, index types are int32 or int64, and a reduction is one of
//   kReduce(value, loops...)                    an accumulator
//   kReduce(kTuple(v0, v1, ...), loops...)      the same, several values combined a turn, in order
//   kReduce(vector)                             across the lanes of a value
//
// Where a value is computed follows from the ranges it depends on: in the outermost loop of its
// user's nest in which all of them are open. So invariant code and inner reductions leave the loops
// that they do not depend on. Reductions over equal ranges in one place that do not depend on each
// other share their loop, and so do outputs with equal outer ranges; a range that runs in several
// loops gets a new id in each but the first.
//
// A reduction becomes a register buffer: stored the identity before the loop, updated in it, loaded
// after it. The load after the loop has an int64 index and those in the loop int32: that makes them
// two nodes.
//
// A loop whose additions are all shut off by conditions that are known before it (padding) is put
// into a kIf region. Where a turn combines several values, all accumulators take their first value,
// then all the second: operands that they share are needed for a short time.
//
// A kThread range opens no loop (program.h). In a block, loads come just before their first use.
// Loads of memory that the kernel also writes come before the stores to it.
#ifndef TG_CODEGEN_LOWER_LINEARIZE_H_
#define TG_CODEGEN_LOWER_LINEARIZE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/ir/uop.h"
#include "codegen/render/renderer.h"

namespace tg::lower {

// The instructions. Errors: Internal, when values or memory hazards depend on each other in a
// circle or a value is used outside of its ranges.
absl::StatusOr<std::vector<ir::UOp>> Linearize(const ir::UOp& sink, const render::Target& target);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_LINEARIZE_H_
