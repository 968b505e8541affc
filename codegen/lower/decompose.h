// Operations that a target does not have, in terms of those it has.
//
// Every node whose operation Target::native_op refuses is replaced:
//   floor division and remainder   shifts and masks for powers of two, C division where both signs
//                                  are known to agree, else C division with a correction
//   bool arithmetic                and, or, xor
//   Sub, Neg                       additions
//   Max                            a comparison (NaN wins)
//   Reciprocal, Fdiv               each other
//   MulAcc                         a product and a sum
//   Threefry                       32-bit additions, rotations and xors (decompose_threefry.h)
//   Exp2, Log2, Pow                polynomials (decompose_exp.h)
//   Sin                            polynomials after an exact reduction (decompose_sin.h)
// Values may be scalars or vectors. Exact (weak) index arithmetic stays as it is: it is decomposed
// when it has a width.
#ifndef TG_CODEGEN_LOWER_DECOMPOSE_H_
#define TG_CODEGEN_LOWER_DECOMPOSE_H_

#include "codegen/ir/uop.h"
#include "codegen/render/renderer.h"

namespace tg::lower {

ir::UOp Decompose(const ir::UOp& root, const render::Target& target);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_DECOMPOSE_H_
