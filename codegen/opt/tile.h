// The register tile of a kernel: which axis runs in the lanes of vectors, and which others are
// expanded, so that loads are used often and additions do not wait for one another. Chosen by an
// estimate of the time that the innermost loops take.
#ifndef TG_CODEGEN_OPT_TILE_H_
#define TG_CODEGEN_OPT_TILE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "codegen/opt/access.h"
#include "codegen/opt/kernel.h"
#include "codegen/render/renderer.h"

namespace tg::opt {

// An axis in vector lanes. Several registers where there are more lanes than one has.
struct Lanes {
  int root = -1;  // -1: none
  int64_t count = 1;
  bool pad = false;  // the axis is rounded up to a multiple of `count`
};

struct Tile {
  Lanes lane;                       // of an output axis
  std::vector<Lanes> reduce_lanes;  // by nest: of a reduction that `lane` is not in
  // Other output roots, and by how much; the one of `lane` where several blocks of lanes side by
  // side make longer runs in memory.
  std::vector<std::pair<int, int64_t>> upcasts;
  double cycles = 0;  // estimate for the whole kernel on one core, for comparisons only
  // Instructions that the expanded body has per operation, by nest.
  std::vector<int64_t> copies;
};

// What the estimates need to know of a core.
struct Core {
  int lanes = 16;         // of the widest type that the kernel computes with, in a register
  int accumulators = 26;  // registers that may hold partial results
};
// For the types that `kernel` loads, stores and reduces.
Core CoreOf(const Kernel& kernel, const AccessMap& map, const render::Target& target);

// Whether each iteration of a reduction of `nest` reads `access` a page or more further on: rows of
// a large matrix. Lines of such a column fall on each other in the caches. Also where steps are
// shorter but so regular that lines do not stay in the second-level cache.
bool StepsFar(const Kernel& kernel, const AccessMap& map, const Nest& nest, int access);

// Whether the body of `nest` has a condition between a reduction and the output `root` (is the tap
// of a window inside of the image?). Where no axis of a tile has one, lowering skips iterations.
bool SplitsCondition(const Nest& nest, int root);

// How many registers a value of `lanes` lanes takes: compilers widen to the next power of two.
int64_t Registers(int64_t lanes, const Core& core);

// Cycles per iteration-element of `nest` under `tile`, times its iterations. Relative numbers.
double NestCycles(const Kernel& kernel, const AccessMap& map, int nest, const Tile& tile,
                  const Core& core);

// The nest that does most of the work.
int HeaviestNest(const AccessMap& map);

// The best tile. Depends on the kernel and the core only.
Tile ChooseTile(const Kernel& kernel, const AccessMap& map, const Core& core);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_TILE_H_
