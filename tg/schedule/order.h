// The order of kernels: what must run before what, and which reads need a snapshot.
#ifndef TG_TG_SCHEDULE_ORDER_H_
#define TG_TG_SCHEDULE_ORDER_H_

#include <vector>

#include "codegen/ir/uop.h"
#include "tg/schedule/rangeify.h"

namespace tg::schedule {

struct OrderResult {
  // Indices of kernels in an order in which each reads what it wants: a kernel that reads version v
  // of a buffer runs after the kernels that make v and before those that make v+1. Among the
  // possible orders the one nearest to the order of the input.
  std::vector<int> order;
  // Not empty: there is no such order until these contents are copied first. They are read by a
  // kernel that also needs a later version of the buffer, or that writes the buffer at other
  // elements than it reads.
  std::vector<BufferVersion> snapshots;
};

OrderResult OrderKernels(const std::vector<RangeifiedKernel>& kernels);

}  // namespace tg::schedule

#endif  // TG_TG_SCHEDULE_ORDER_H_
