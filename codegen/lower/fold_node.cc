#include "codegen/lower/fold_node.h"

#include "codegen/ir/fold.h"
#include "codegen/ir/simplify/simplify.h"

namespace tg::lower {
namespace {

using ir::DType;
using ir::Op;
using ir::UOp;

bool IsIndex(DType d) { return d.scalar() == ir::ScalarType::kWeakInt; }

UOp Sum(const UOp& a, const UOp& b);

// x + c of an exact integer.
UOp PlusConst(const UOp& x, const UOp& c) {
  if (c.IsConstInt(0)) return x;
  if (x.IsConst()) return ir::FoldAlu(Op::kAdd, x.dtype(), {x, c});
  if (x.Is(Op::kAdd) && x.src(1).IsConst()) {
    return PlusConst(x.src(0), ir::FoldAlu(Op::kAdd, c.dtype(), {x.src(1), c}));
  }
  return x + c;
}

UOp Sum(const UOp& a, const UOp& b) {
  if (a.IsConst()) return PlusConst(b, a);
  if (b.IsConst()) return PlusConst(a, b);
  if (a.Is(Op::kAdd) && a.src(1).IsConst()) return PlusConst(Sum(a.src(0), b), a.src(1));
  if (b.Is(Op::kAdd) && b.src(1).IsConst()) return PlusConst(Sum(a, b.src(0)), b.src(1));
  return a + b;
}

UOp Product(const UOp& a, const UOp& b) {
  if (!b.IsConst()) return a.IsConst() ? Product(b, a) : a * b;
  if (b.IsConstInt(1)) return a;
  if (b.IsConstInt(0)) return b;
  if (a.Is(Op::kAdd) && a.src(1).IsConst()) {
    return PlusConst(Product(a.src(0), b), ir::FoldAlu(Op::kMul, b.dtype(), {a.src(1), b}));
  }
  return a * b;
}

UOp FoldStructure(const UOp& u, absl::Span<const UOp> src) {
  const DType d = u.dtype();
  switch (u.op()) {
    case Op::kAdd:
      return IsIndex(d) ? Sum(src[0], src[1]) : u.WithSrc(src);
    case Op::kMul:
      return IsIndex(d) ? Product(src[0], src[1]) : u.WithSrc(src);
    case Op::kAnd:
      if (!d.IsBool()) return u.WithSrc(src);
      if (src[0].vmin() == 1) return src[1];
      return src[1].vmin() == 1 ? src[0] : u.WithSrc(src);
    case Op::kOr:
      if (!d.IsBool()) return u.WithSrc(src);
      if (src[0].vmax() == 0) return src[1];
      return src[1].vmax() == 0 ? src[0] : u.WithSrc(src);
    case Op::kWhere:
      if (src[0].vmin() == 1) return src[1];
      return src[0].vmax() == 0 ? src[2] : u.WithSrc(src);
    case Op::kFloorDiv:
    case Op::kFloorMod:
    case Op::kCdiv:
    case Op::kCmod:
      return IsIndex(d) && d.lanes() == 1 ? ir::SimplifyIndex(u.WithSrc(src)) : u.WithSrc(src);
    default:
      return u.WithSrc(src);
  }
}

}  // namespace

UOp FoldNode(const UOp& u, absl::Span<const UOp> src) {
  const DType d = u.dtype();
  bool changed = static_cast<int>(src.size()) != u.src_count(), constant = true;
  for (size_t i = 0; i < src.size(); ++i) {
    changed = changed || !(src[i] == u.src(static_cast<int>(i)));
    constant = constant && src[i].IsConst();
  }
  if (!changed) return u;
  if (!ir::IsElementwise(u.op())) return u.WithSrc(src);
  if (u.Is(Op::kWhere) && d.IsFloat()) return FoldStructure(u, src);
  if (!d.IsInt() && !d.IsBool()) return u.WithSrc(src);
  if (constant) {
    if (UOp c = ir::FoldAlu(u.op(), d, src)) return c;
  }
  const UOp made = FoldStructure(u, src);
  const bool one_value =
      (IsIndex(d) || d.IsBool()) && made.vmin() == made.vmax() && !made.IsConst();
  return one_value ? ir::Const(d, made.vmin()) : made;
}

}  // namespace tg::lower
