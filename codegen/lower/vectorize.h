// Vectors: values along a lane axis become one value with lanes.
//
//   load p[i*32 + l], l in lanes               kLoad of 32 lanes at i*32
//   load p[i], a + p[i]                        kLoad of one lane, kStack of it 32 times
//   load p[l*3 + i]                            kLoad of 32 lanes at kStack(i, i + 3, i + 6, ...)
//   load p[f(l)]                               kLoad of 32 lanes at f of the vector (0, 1, 2, ...)
//   store likewise; a gate along the axis is a bool with lanes
//   kReduce(v, k..., l)                        kReduce(kReduce(v with lanes, k...)): across the
//   lanes last
#ifndef TG_CODEGEN_LOWER_VECTORIZE_H_
#define TG_CODEGEN_LOWER_VECTORIZE_H_

#include <vector>

#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::lower {

// `sink` (scalar values, gates moved) without the ranges `axes`, on at most one of which any value
// depends (lane_axis.h).
ir::UOp Vectorize(const ir::UOp& sink, absl::Span<const ir::UOp> axes);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_VECTORIZE_H_
