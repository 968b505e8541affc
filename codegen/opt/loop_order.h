// The order of the loops that are left around a register tile: so that what the inner loops touch
// stays in the caches.
#ifndef TG_CODEGEN_OPT_LOOP_ORDER_H_
#define TG_CODEGEN_OPT_LOOP_ORDER_H_

#include <cstdint>
#include <vector>

#include "codegen/opt/access.h"
#include "codegen/opt/kernel.h"
#include "codegen/opt/tile.h"

namespace tg::opt {

// Distinct cache lines that `a` touches while each root takes `extent[root]` neighbouring values.
double CacheLines(const Access& a, const std::vector<int64_t>& extent);

// The output roots, outermost first. As they are, unless another order moves clearly less data
// between the caches. Kernels with several loop nests keep their order.
std::vector<int> OrderOutputs(const Kernel& kernel, const AccessMap& map, const Tile& tile);

// Cache lines that the kernel fetches into a core's second-level cache with its outputs in that
// order; 0 for kernels with several loop nests.
double LinesFetched(const Kernel& kernel, const AccessMap& map, const Tile& tile);

// The reduction roots of `nest`, outermost first: those that conditions depend on, so that the
// conditions are decided outside; then by falling distance in memory.
std::vector<int> OrderReduces(const AccessMap& map, const Nest& nest);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_LOOP_ORDER_H_
