// Rangeify: from a tensor graph to kernels over loops.
//
// Ranges are assigned from the outputs to the inputs. Each place where a value is wanted is a
// *demand*: the kernel that wants it, the index expressions at which, the condition under which,
// and the loops around. Movement operations turn the demands on their result into demands on their
// source; that is all that is left of them. At every other node one decides:
//
//   inline    the value is computed where it is wanted (again for each demand);
//   realize   a kernel of its own stores the value in memory, and the demands become loads.
//
// Realized are: what the user asks for (kContiguous, kCopy, kStore), what would cost more to
// compute again than to store and load, reductions whose result is wanted more often than it has
// elements, in several kernels, or out of the loop order of the one that wants it. So a reduction
// takes the elementwise operations after it along, and a softmax or a layernorm is one kernel: a
// loop over rows around the loops that reduce a row and the loop that writes it.
#ifndef TG_TG_SCHEDULE_RANGEIFY_H_
#define TG_TG_SCHEDULE_RANGEIFY_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "codegen/ir/shape.h"
#include "codegen/ir/uop.h"

namespace tg::schedule {

// A kernel or copy whose memories are still kBuffer nodes. Buffers made here have ids from
// `kFirstInternalId` on; buffers of the graph keep theirs.
inline constexpr int64_t kFirstInternalId = int64_t{1} << 40;

struct RangeifiedKernel {
  // kSink(kEnd(kStore(kIndex(kBuffer, i), value), ranges...)); null for a copy.
  ir::UOp ast;
  std::string device;
  // The kBuffer written, and the version of it that the kernel makes (counted from 0, the content
  // at the start). For copies also the one that is read.
  ir::UOp target;
  int64_t target_version = 0;
  // The kBuffers read, with the version that is wanted.
  std::vector<std::pair<ir::UOp, int64_t>> reads;
};

struct RangeifyResult {
  std::vector<RangeifiedKernel> kernels;
  // For each root of the sink, the kBuffer that holds it afterwards.
  std::vector<ir::UOp> outputs;
};

// A kBuffer and a version of its content.
using BufferVersion = std::pair<ir::UOp, int64_t>;
using BufferVersions = absl::flat_hash_set<BufferVersion>;

// `sink` as for CreateSchedule. Contents in `snapshots` are copied by a kernel of their own before
// they are read: the caller breaks cycles with it (order.h).
RangeifyResult Rangeify(const ir::UOp& sink, const std::string& default_device,
                        const BufferVersions& snapshots);

}  // namespace tg::schedule

#endif  // TG_TG_SCHEDULE_RANGEIFY_H_
