// Padding of operands: a convolution that reads beyond the edges of an operand tests every access.
// Copying the operand once, with the zeros around it that the tests stand for, leaves a kernel
// without conditions, which is worth much more than the copy.
//
// Used like packing (pack.h), and after it: tiles may be other ones then.
#ifndef TG_CODEGEN_OPT_PAD_OPERAND_H_
#define TG_CODEGEN_OPT_PAD_OPERAND_H_

#include <optional>

#include "codegen/ir/uop.h"
#include "codegen/opt/pack.h"

namespace tg::opt {

// `kernel`: a kSink before optimisation. Finds in the body of a sum
//   where(c, load(p, i), 0)       or       where(c, load(p, i) * y, 0)
// where c bounds sums of ranges e_j (a row minus a tap, say), lo_j <= e_j <= hi_j, and i is affine:
// strides times the e_j plus strides times other ranges. The memory is copied to one in which each
// e_j has room for all of its values, zeros where c is false. Nothing where the copy would be more
// than 4 times the memory, or is read less than 16 times; and where the register tile (tile.h) lies
// along axes that no condition depends on: lowering then skips what is outside, which is better.
//
// In the second form the result differs where y is infinite or NaN under a false c: the product is
// then NaN instead of 0. (Convolution libraries, which pad as well, have the same property.)
std::optional<OperandPack> FindPadding(const ir::UOp& kernel, const render::Target& target);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_PAD_OPERAND_H_
