#include "codegen/lower/reduce_op.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace tg::lower {

using ir::DType;
using ir::Op;
using ir::UOp;

UOp ReduceIdentity(Op op, DType d) {
  switch (op) {
    case Op::kAdd:
      return ir::Const(d, 0);
    case Op::kMul:
      return ir::Const(d, 1);
    case Op::kMax:
      if (d.IsFloat()) return ir::Const(d, -std::numeric_limits<double>::infinity());
      return ir::Const(d, d.IsUnsigned() ? 0 : d.MinInt());
    default:
      TG_FATAL() << "no reduction by " << op;
  }
}

UOp Combine(Op op, const UOp& acc, const UOp& v, const render::Target& target) {
  const DType d = v.dtype();
  if (d.IsBool()) return ir::Alu(op == Op::kMul ? Op::kAnd : Op::kOr, {acc, v});
  if (op == Op::kAdd && d.IsFloat() && v.Is(Op::kMul) &&
      target.native_op(Op::kMulAcc, d.Scalar())) {
    return ir::Alu(Op::kMulAcc, {v.src(0), v.src(1), acc});
  }
  if (op == Op::kMax && !target.native_op(Op::kMax, d.Scalar())) {
    UOp take = acc < v;
    // A NaN stays, whichever side has it.
    if (d.IsFloat()) take = take | ir::CmpNe(v, v);
    return ir::Where(take, v, acc);
  }
  return ir::Alu(op, {acc, v});
}

}  // namespace tg::lower
