// BEAM=n: kernels by search instead of heuristics.
#ifndef TG_TG_ENGINE_SEARCH_H_
#define TG_TG_ENGINE_SEARCH_H_

#include "codegen/ir/uop.h"
#include "codegen/render/renderer.h"

namespace tg::engine {

// The kernel with the steps of the fastest candidate that a search of width BEAM found on this
// machine's processor, ready for lowering; `ast` as it is where there is nothing to search: BEAM=0,
// NOOPT=1, a kernel that is optimized already. `threads`: cores to split kernels over.
//
// One search runs at a time, whoever calls; results are kept in the disk cache. Ctrl-C ends the
// search with the best so far and all later ones before they start; a second one ends the program.
ir::UOp SearchKernel(const ir::UOp& ast, const render::Renderer& renderer, int threads);

}  // namespace tg::engine

#endif  // TG_TG_ENGINE_SEARCH_H_
