// Threefry2x32-20 in 32-bit operations.
#ifndef TG_CODEGEN_LOWER_DECOMPOSE_THREEFRY_H_
#define TG_CODEGEN_LOWER_DECOMPOSE_THREEFRY_H_

#include "codegen/ir/uop.h"

namespace tg::lower {

// What ir::Threefry2x32 computes, for uint64 values of any number of lanes.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
ir::UOp ThreefryAsUint32(const ir::UOp& counter, const ir::UOp& key);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_DECOMPOSE_THREEFRY_H_
