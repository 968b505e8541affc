// sin as polynomials after an exact reduction of the argument.
#ifndef TG_CODEGEN_LOWER_DECOMPOSE_SIN_H_
#define TG_CODEGEN_LOWER_DECOMPOSE_SIN_H_

#include "codegen/ir/uop.h"

namespace tg::lower {

// sin(x) for every float32 and float64, below 2.5 units in the last place, also for the largest
// arguments: the product with 2/pi is taken in integers, with as many digits of 2/pi as it takes
// (Payne and Hanek, "Radian reduction for trigonometric functions", SIGNUM 1983). NaN for
// infinities. Narrower floats are computed in float32.
ir::UOp SinPolynomial(const ir::UOp& x);

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_DECOMPOSE_SIN_H_
