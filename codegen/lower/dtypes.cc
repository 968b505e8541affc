#include "codegen/lower/dtypes.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "codegen/lower/rebuild.h"

namespace tg::lower {
namespace {

using ir::DType;
using ir::Op;
using ir::ScalarType;
using ir::UOp;

bool MustChange(DType d, const render::Target& target) {
  if (d.scalar() == ScalarType::kWeakFloat) return true;
  return d.IsFloat() && !target.supports(d.Scalar());
}

UOp LowerNode(const UOp& u, absl::Span<const UOp> src, const render::Target& target) {
  const DType d = u.dtype();
  const bool changes = MustChange(d, target);
  const DType wide = ir::kFloat32.Vec(d.lanes());
  switch (u.op()) {
    case Op::kParam:
    case Op::kBuffer:
    case Op::kIndex:
      return WithSources(u, src);
    case Op::kConst:
      return changes && !u.IsInvalid() ? ir::Const(wide, u.const_float()) : u;
    case Op::kLoad: {
      if (!changes) return WithSources(u, src);
      absl::InlinedVector<UOp, 2> s(src.begin(), src.end());
      if (s.size() > 1) s[1] = u.src(1).IsConst() ? u.src(1) : ir::Cast(s[1], d);
      return ir::Cast(u.WithSrc(s), wide);
    }
    case Op::kStore:
      return UOp::Make(Op::kStore, ir::kVoid, {src[0], ir::Cast(src[1], u.src(1).dtype())});
    case Op::kCast:
      if (!changes) return ir::Cast(src[0], d);
      if (d.scalar() == ScalarType::kWeakFloat) return ir::Cast(src[0], wide);
      return ir::Cast(ir::Cast(src[0], d), wide);
    case Op::kBitcast: {
      const UOp bits = ir::Bitcast(ir::Cast(src[0], u.src(0).dtype()), d);
      return changes ? ir::Cast(bits, wide) : bits;
    }
    default:
      return changes ? UOp::Make(u.op(), wide, src, u.arg()) : WithSources(u, src);
  }
}

}  // namespace

UOp LowerDTypes(const UOp& root, const render::Target& target) {
  const std::vector<UOp> nodes = ir::Toposort(root);
  const bool any = std::any_of(nodes.begin(), nodes.end(),
                               [&](const UOp& u) { return MustChange(u.dtype(), target); });
  if (!any) return root;
  return Rebuild(
      root, [&](const UOp& u, absl::Span<const UOp> src) { return LowerNode(u, src, target); });
}

}  // namespace tg::lower
