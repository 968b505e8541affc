// Packing of operands: whether a kernel would run clearly faster if one of its inputs lay in
// another order in memory, and the two kernels that it takes.
//
// A convolution reads weights w[co][ci][ky][kx] and wants co in vector lanes; a product with a
// transposed matrix likewise. A large matrix is read in columns of rows that are pages apart, and
// is better stored in panels. Copying such an operand once, lanes innermost, costs little where it
// is used often. The scheduler asks, and if the answer is yes makes a buffer, runs `pack` before
// the kernel and `kernel` in its place:
//
//   while (auto p = FindPack(ast, target)) { ...add p->pack writing a buffer of p->size...; ast =
//   p->kernel; }
#ifndef TG_CODEGEN_OPT_PACK_H_
#define TG_CODEGEN_OPT_PACK_H_

#include <cstdint>
#include <optional>

#include "codegen/ir/uop.h"
#include "codegen/render/renderer.h"

namespace tg::opt {

struct OperandPack {
  int slot;         // parameter of the given kernel that is packed
  int packed_slot;  // parameter of `kernel` that is the packed memory: `slot` itself where nothing
                    // else reads it, else one more than the greatest
  ir::DType dtype;  // of both memories
  int64_t size;     // elements of the packed memory
  ir::UOp pack;     // kSink: parameter 0 is the packed memory (written), 1 the operand (read)
  ir::UOp kernel;   // kSink: the given kernel reading packed memory; other slots as they were
};

// `kernel`: a kSink before optimisation. Nothing where no operand is worth it: it must be read at
// an affine index that is valid everywhere (conditions on the access stay with it), at most two
// times the memory's elements of places, at least 16 times each, and the estimated gain (tile.h)
// must pay for the copy. Deterministic.
//
// The result is exact: the same products are added; only the order of a reduction may differ from
// that of the unpacked kernel.
std::optional<OperandPack> FindPack(const ir::UOp& kernel, const render::Target& target);

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_PACK_H_
