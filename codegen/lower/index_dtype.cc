#include "codegen/lower/index_dtype.h"

#include <cstdint>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "codegen/lower/rebuild.h"

namespace tg::lower {
namespace {

using ir::DType;
using ir::Op;
using ir::ScalarType;
using ir::UOp;

bool IsWeakInt(DType d) { return d.scalar() == ScalarType::kWeakInt; }

bool FitsInt32(const UOp& u) {
  return u.vmin() >= std::numeric_limits<int32_t>::min() &&
         u.vmax() <= std::numeric_limits<int32_t>::max();
}

// `u`, an int32 or int64 value, in the type `d`.
UOp Widen(const UOp& u, DType d) {
  const DType want = d.Vec(u.dtype().lanes());
  if (u.dtype() == want) return u;
  if (u.IsConst()) {
    return u.IsInvalid() ? ir::InvalidConst(want) : ir::Const(want, u.const_int());
  }
  if (u.Is(Op::kStack)) {
    absl::InlinedVector<UOp, 16> lanes;
    for (const UOp& s : u.src()) lanes.push_back(Widen(s, d));
    return UOp::Make(Op::kStack, want, lanes);
  }
  return ir::Cast(u, want);
}

UOp LowerNode(const UOp& u, absl::Span<const UOp> src) {
  bool weak = IsWeakInt(u.dtype());
  for (const UOp& s : u.src()) weak = weak || IsWeakInt(s.dtype());
  if (!weak) return WithSources(u, src);

  // One type for the result and all sources that were weak.
  DType d = ir::kInt32;
  if (IsWeakInt(u.dtype()) && !FitsInt32(u)) d = ir::kInt64;
  for (int i = 0; i < u.src_count(); ++i) {
    if (IsWeakInt(u.src(i).dtype()) && src[i].dtype().scalar() == ScalarType::kInt64) {
      d = ir::kInt64;
    }
  }
  const DType result = IsWeakInt(u.dtype()) ? d.Vec(u.dtype().lanes()) : u.dtype();
  switch (u.op()) {
    case Op::kConst:
      return Widen(u, d);
    case Op::kVariable:
      return u.WithDType(d);
    case Op::kCast:
      return ir::Cast(src[0], result);
    case Op::kIndex:
    case Op::kReduce:  // the sources are ranges beside the value
    case Op::kEnd:
    case Op::kSink:
    case Op::kTuple:
      if (!IsWeakInt(u.dtype())) return WithSources(u, src);
      break;
    default:
      break;
  }
  absl::InlinedVector<UOp, 8> unified(src.begin(), src.end());
  for (int i = 0; i < u.src_count(); ++i) {
    if (u.Is(Op::kReduce) && i > 0) break;
    if (IsWeakInt(u.src(i).dtype())) unified[i] = Widen(unified[i], d);
  }
  return UOp::Make(u.op(), result, unified, u.arg());
}

}  // namespace

UOp LowerIndexDType(const UOp& root) {
  return Rebuild(root, [](const UOp& u, absl::Span<const UOp> src) { return LowerNode(u, src); });
}

}  // namespace tg::lower
