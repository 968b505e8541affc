#include "codegen/render/cpu_native_ops.h"

namespace tg::render {
namespace {

using ir::Op;

bool Native(Op op, ir::DType d, bool has_fma) {
  switch (op) {
    case Op::kExp2:
    case Op::kLog2:
    case Op::kSin:
    case Op::kPow:
    case Op::kThreefry:
    case Op::kWmma:
      return false;
    case Op::kMulAcc:
      return has_fma || !d.IsFloat();
    default:
      return true;
  }
}

}  // namespace

bool CpuNativeWithFma(Op op, ir::DType dtype) { return Native(op, dtype, true); }
bool CpuNativeWithoutFma(Op op, ir::DType dtype) { return Native(op, dtype, false); }

}  // namespace tg::render
