// exp2, log2 and pow as polynomials in additions, multiplications and bit operations.
//
// Errors, float32 and float64: exp2 and log2 below 2 units in the last place, exact where the
// argument is an integer or a power of two; denormal arguments and results are right; infinities,
// zeros and NaN as in C. Narrower floats are computed in float32. pow: float32 is computed in
// float64 and correctly rounded in nearly all cases; float64 has a relative error of up to 1e-13
// where |y*log2(x)| is large.
//
// Derivations are in the .cc file; coefficients were fitted by interpolation at Chebyshev nodes in
// 300-bit arithmetic.
#ifndef TG_CODEGEN_LOWER_DECOMPOSE_EXP_H_
#define TG_CODEGEN_LOWER_DECOMPOSE_EXP_H_

#include "codegen/ir/uop.h"

namespace tg::lower {

ir::UOp Exp2Polynomial(const ir::UOp& x);
ir::UOp Log2Polynomial(const ir::UOp& x);
// By kExp2, kLog2 of the absolute value, and the cases that C's pow names.
ir::UOp PowByLog2(const ir::UOp& x, const ir::UOp& y);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_DECOMPOSE_EXP_H_
