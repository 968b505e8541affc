// Pieces that the elementary functions share.
#ifndef TG_CODEGEN_LOWER_POLYNOMIAL_H_
#define TG_CODEGEN_LOWER_POLYNOMIAL_H_

#include "absl/types/span.h"
#include "codegen/ir/uop.h"

namespace tg::lower {

inline ir::UOp MulAcc(const ir::UOp& a, const ir::UOp& b, const ir::UOp& c) {
  return ir::Alu(ir::Op::kMulAcc, {a, b, c});
}

// c[0] + c[1]*x + c[2]*x^2 + ..., by Horner's rule.
inline ir::UOp Polynomial(const ir::UOp& x, absl::Span<const double> c) {
  ir::UOp sum = ir::Const(x.dtype(), c.back());
  for (size_t i = c.size() - 1; i-- > 0;) sum = MulAcc(sum, x, ir::Const(x.dtype(), c[i]));
  return sum;
}

// The layout of float32 and float64 (any lanes), and the unsigned and signed integers as wide.
struct FloatLayout {
  explicit FloatLayout(ir::DType d)
      : is64(d.scalar() == ir::ScalarType::kFloat64),
        bits(is64 ? ir::kUInt64.Vec(d.lanes()) : ir::kUInt32.Vec(d.lanes())),
        sbits(is64 ? ir::kInt64.Vec(d.lanes()) : ir::kInt32.Vec(d.lanes())),
        mantissa(is64 ? 52 : 23),
        bias(is64 ? 1023 : 127) {}
  bool is64;
  ir::DType bits;
  ir::DType sbits;
  int mantissa;
  int bias;
};

// Whether the functions below are written for `d` itself; others are computed in float32.
inline bool IsFloat32Or64(ir::DType d) {
  return d.scalar() == ir::ScalarType::kFloat32 || d.scalar() == ir::ScalarType::kFloat64;
}

}  // namespace tg::lower

#endif  // TG_CODEGEN_LOWER_POLYNOMIAL_H_
