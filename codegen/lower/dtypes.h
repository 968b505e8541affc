// Types that a target does not compute with.
#ifndef TG_CODEGEN_LOWER_DTYPES_H_
#define TG_CODEGEN_LOWER_DTYPES_H_

#include "codegen/ir/uop.h"
#include "codegen/render/renderer.h"

namespace tg::lower {

// `root` with values of the float types that `target` does not support (16-bit floats, fp8) in
// float32: memory keeps its type, a load is followed by a cast and a store preceded by one.
// Results of operations are not rounded to the narrow type; those of casts to it are. Weak floats
// become float32.
ir::UOp LowerDTypes(const ir::UOp& root, const render::Target& target);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_DTYPES_H_
