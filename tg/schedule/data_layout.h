// How the data that a value is computed from lies in memory, by axes of the value.
#ifndef TG_TG_SCHEDULE_DATA_LAYOUT_H_
#define TG_TG_SCHEDULE_DATA_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "codegen/ir/uop.h"

namespace tg::schedule {

struct DataLayout {
  // The axes, those that lie furthest apart first.
  std::vector<int64_t> order;
  // By axis: whether the data differs along it (an expanded axis repeats it).
  std::vector<bool> varies;

  bool VariesEverywhere() const;
};

// The layout of a tensor-stage node from those of its sources. Empty for nodes without a shape.
DataLayout LayoutOf(const ir::UOp& u, absl::FunctionRef<const DataLayout&(const ir::UOp&)> source);

// Whether `u`, a kReduce, sums products of values that each lack some of the axes: a matrix product
// or a convolution, where each loaded value is used many times. `source` as above.
bool IsContraction(const ir::UOp& u, absl::FunctionRef<const DataLayout&(const ir::UOp&)> source);

}  // namespace tg::schedule

#endif  // TG_TG_SCHEDULE_DATA_LAYOUT_H_
