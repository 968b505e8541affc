// Movement operations as index arithmetic: which element of the source is element `index` of the
// result, and where there is none.
#ifndef TG_TG_SCHEDULE_MOVEMENT_INDEX_H_
#define TG_TG_SCHEDULE_MOVEMENT_INDEX_H_

#include <vector>

#include "codegen/ir/shape.h"
#include "codegen/ir/uop.h"

namespace tg::schedule {

// One index expression per axis; axes of size 1 have the constant 0.
using Indices = std::vector<ir::UOp>;

struct SourceIndex {
  Indices index;
  // Bool: whether the element exists. Null: always. Elsewhere the movement gives zero.
  ir::UOp valid;
};

// For a movement node `u` and the index of a result element. Index expressions come simplified,
// under the knowledge that `given` (bool, may be null) holds.
SourceIndex MapThroughMovement(const ir::UOp& u, const Indices& index, const ir::UOp& given);

// Row-major flat index of `index` in `shape`.
ir::UOp FlatIndex(const ir::Shape& shape, const Indices& index);

// a & b where either may be null (true).
ir::UOp AndValid(const ir::UOp& a, const ir::UOp& b);

}  // namespace tg::schedule

#endif  // TG_TG_SCHEDULE_MOVEMENT_INDEX_H_
