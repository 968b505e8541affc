#include "codegen/lower/decompose_threefry.h"

namespace tg::lower {

using ir::Alu;
using ir::Const;
using ir::DType;
using ir::Op;
using ir::UOp;

namespace {

UOp RotateLeft(const UOp& x, int bits) {
  const DType d = x.dtype();
  return Alu(Op::kShl, {x, Const(d, bits)}) | Alu(Op::kShr, {x, Const(d, 32 - bits)});
}

}  // namespace

UOp ThreefryAsUint32(const UOp& counter, const UOp& key) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const DType wide = counter.dtype(), d = ir::kUInt32.Vec(wide.lanes());
  const UOp half = Const(wide, 32);
  const UOp k0 = ir::Cast(key, d), k1 = ir::Cast(Alu(Op::kShr, {key, half}), d);
  const UOp schedule[3] = {k1, k0 ^ k1 ^ Const(d, 0x1BD11BDA), k0};
  UOp a = ir::Cast(counter, d) + schedule[2];
  UOp b = ir::Cast(Alu(Op::kShr, {counter, half}), d) + schedule[0];
  for (int i = 0; i < 5; ++i) {
    for (int r : kRotations[i % 2]) {
      a = a + b;
      b = RotateLeft(b, r) ^ a;
    }
    a = a + schedule[i % 3];
    b = b + (schedule[(i + 1) % 3] + Const(d, i + 1));
  }
  return Alu(Op::kShl, {ir::Cast(b, wide), half}) | ir::Cast(a, wide);
}

}  // namespace tg::lower
