// Expansion by copies: every UPCAST and UNROLL range that is not in lanes.
//
//   kEnd(kStore(p[i*4 + u], v(u)), i, u)    kEnd(kGroup(kStore(p[i*4], v(0)), ...), i)
//   kReduce(v(k, u), k, u)                  kReduce(kTuple(v(k, 0), v(k, 1), ...), k)
//   kReduce(v(u), u)                        v(0) + v(1) + ...
//
// A value is copied for those ranges only that it depends on; nodes are hash-consed, so what copies
// have in common is there once.
//
// Where a loop would have few accumulators, the values of a tuple are dealt out to several, which
// are combined after the loop: an addition takes some cycles, and a loop with one accumulator waits
// for each. The order of a float sum depends on the kernel alone.
#ifndef TG_CODEGEN_LOWER_REPLICATE_H_
#define TG_CODEGEN_LOWER_REPLICATE_H_

#include "absl/status/statusor.h"
#include "codegen/ir/uop.h"
#include "codegen/render/renderer.h"

namespace tg::lower {

// Errors: ResourceExhausted where the copies are more than kMaxCopies nodes.
inline constexpr int64_t kMaxCopies = 1'000'000;

absl::StatusOr<ir::UOp> Replicate(const ir::UOp& sink, const render::Target& target);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_REPLICATE_H_
