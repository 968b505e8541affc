// Which axes run in the lanes of vectors.
//
// Candidates are the UPCAST and UNROLL ranges of 2 to 64 iterations. A value may depend on one of
// the chosen axes at most; the others are expanded by copies (replicate.h). The choice is by an
// estimate: for each candidate, what the kernel's loads, stores and operations cost when it is the
// one. An access that steps by one element along the axis is one vector access; one that does not
// move is shared by all lanes; any other costs as many accesses as there are lanes.
#ifndef TG_CODEGEN_LOWER_LANE_AXIS_H_
#define TG_CODEGEN_LOWER_LANE_AXIS_H_

#include <vector>

#include "codegen/ir/uop.h"
#include "codegen/render/renderer.h"

namespace tg::lower {

// The chosen ranges, best first; empty where lanes do not pay. `sink`: scalar values, gates moved.
std::vector<ir::UOp> ChooseLaneAxes(const ir::UOp& sink, const render::Target& target);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_LANE_AXIS_H_
