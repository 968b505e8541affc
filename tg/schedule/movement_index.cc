#include "tg/schedule/movement_index.h"

#include <algorithm>

#include "base/check.h"
#include "codegen/ir/simplify/simplify.h"

namespace tg::schedule {

using ir::Op;
using ir::Shape;
using ir::ShapeOf;
using ir::Sint;
using ir::UOp;

namespace {

UOp SimplifyUnder(const UOp& index, const UOp& given) {
  return given ? ir::SimplifyGiven(index, given) : ir::Simplify(index);
}

// Elements move only within the groups of axes between which the two shapes' running products
// agree, so each group is flattened and divided by itself: (2, 3, 4) to (6, 4) leaves the 4 alone.
Indices MapReshape(const Shape& from, const Shape& to, const Indices& index) {
  Indices result(from.size());
  // Where there are no elements any index will do.
  if (ir::NumElements(from).Is(0)) {
    std::fill(result.begin(), result.end(), ir::IndexConst(0));
    return result;
  }
  size_t i = 0, o = 0;
  while (i < from.size() || o < to.size()) {
    const size_t i0 = i, o0 = o;
    Sint pi = 1, po = 1;
    if (i < from.size()) pi = from[i++];
    if (o < to.size()) po = to[o++];
    while (!(pi == po)) {
      // Symbolic sizes are compared as expressions; the side that is known to be behind advances.
      const bool advance_out = o < to.size() && (i == from.size() || po.max() < pi.max());
      if (advance_out) {
        po = po * to[o++];
      } else if (i < from.size()) {
        pi = pi * from[i++];
      } else {
        TG_CHECK(o < to.size()) << "reshape of unequal sizes: " << ir::ToString(from) << " to "
                                << ir::ToString(to);
        po = po * to[o++];
      }
    }
    // Trailing axes of size 1 belong to this group.
    while (i < from.size() && from[i].Is(1)) ++i;
    while (o < to.size() && to[o].Is(1)) ++o;
    UOp flat = ir::IndexConst(0);
    for (size_t k = o0; k < o; ++k) {
      if (to[k].Is(1)) continue;
      flat = flat * to[k].uop() + index[k];
    }
    flat = ir::Simplify(flat);
    Sint stride = 1;
    for (size_t k = i; k-- > i0;) {
      if (from[k].Is(1)) {
        result[k] = ir::IndexConst(0);
        continue;
      }
      UOp v = stride.Is(1) ? flat : ir::FloorDiv(flat, stride.uop());
      stride = stride * from[k];
      // The outermost axis needs no modulus.
      if (!(stride == pi)) v = ir::FloorMod(v, from[k].uop());
      result[k] = ir::Simplify(v);
    }
  }
  return result;
}

UOp AtLeast(const UOp& x, const UOp& lower) { return ir::Not(x < lower); }

}  // namespace

UOp AndValid(const UOp& a, const UOp& b) {
  if (!a) return b;
  if (!b) return a;
  return a & b;
}

UOp FlatIndex(const Shape& shape, const Indices& index) {
  UOp flat = ir::IndexConst(0);
  for (size_t k = 0; k < shape.size(); ++k) {
    if (shape[k].Is(1)) continue;
    flat = flat * shape[k].uop() + index[k];
  }
  return flat;
}

SourceIndex MapThroughMovement(const UOp& u, const Indices& index, const UOp& given) {
  const Shape& from = ShapeOf(u.src(0));
  const Shape& to = ShapeOf(u);
  SourceIndex r;
  auto require = [&r](const UOp& condition) {
    const UOp c = ir::Simplify(condition);
    if (!c.IsConstInt(1)) r.valid = AndValid(r.valid, c);
  };
  switch (u.op()) {
    case Op::kReshape:
      r.index = MapReshape(from, to, index);
      break;
    case Op::kExpand:
      r.index = index;
      for (size_t k = 0; k < from.size(); ++k) {
        if (from[k].Is(1)) r.index[k] = ir::IndexConst(0);
      }
      break;
    case Op::kPermute: {
      const ir::Ints& order = u.arg_as<ir::Ints>();
      r.index.resize(index.size());
      for (size_t k = 0; k < order.size(); ++k) r.index[order[k]] = index[k];
      break;
    }
    case Op::kFlip:
      r.index = index;
      for (int64_t axis : u.arg_as<ir::Ints>()) {
        r.index[axis] = ir::Simplify(from[axis].uop() - index[axis] - 1);
      }
      break;
    case Op::kPad:
      r.index = index;
      for (size_t k = 0; k < from.size(); ++k) {
        const UOp &begin = u.src(1 + 2 * static_cast<int>(k)),
                  &end = u.src(2 + 2 * static_cast<int>(k));
        if (begin.IsConstInt(0) && end.IsConstInt(0)) continue;
        r.index[k] = ir::Simplify(index[k] - begin);
        require(AtLeast(index[k], begin));
        require(index[k] < ir::Simplify(begin + from[k].uop()));
        if (from[k].Is(1)) r.index[k] = ir::IndexConst(0);
      }
      break;
    case Op::kShrink:
      r.index = index;
      for (size_t k = 0; k < from.size(); ++k) {
        r.index[k] = ir::Simplify(index[k] + u.src(1 + 2 * static_cast<int>(k)));
      }
      break;
    case Op::kShear: {
      const ir::ShearArg& a = u.arg_as<ir::ShearArg>();
      r.index = index;
      const UOp i = ir::Simplify(index[a.axis] + index[a.by] * a.coef + u.src(1));
      r.index[a.axis] = i;
      require(AtLeast(i, ir::IndexConst(0)));
      require(i < from[a.axis].uop());
      if (from[a.axis].Is(1)) r.index[a.axis] = ir::IndexConst(0);
      break;
    }
    default:
      TG_FATAL() << "not a movement operation: " << ir::OpName(u.op());
  }
  if (r.valid) r.valid = ir::Simplify(r.valid);
  const UOp known = AndValid(given, r.valid);
  if (known) {
    for (UOp& i : r.index) {
      if (i && !i.IsConst()) i = SimplifyUnder(i, known);
    }
  }
  return r;
}

}  // namespace tg::schedule
