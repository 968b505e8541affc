#include "tg/schedule/data_layout.h"

#include <algorithm>
#include <numeric>

#include "codegen/ir/shape.h"

namespace tg::schedule {
namespace {

using ir::Op;
using ir::Shape;
using ir::ShapeOf;
using ir::UOp;

DataLayout RowMajor(const Shape& shape) {
  DataLayout l;
  l.order.resize(shape.size());
  std::iota(l.order.begin(), l.order.end(), int64_t{0});
  for (const ir::Sint& s : shape) l.varies.push_back(!s.Is(1));
  return l;
}

// Axes are matched in groups between which the running products of the sizes agree; a group of the
// result takes the place of its source group's outermost axis.
DataLayout ThroughReshape(const Shape& from, const Shape& to, const DataLayout& source) {
  DataLayout l = RowMajor(to);
  if (!ir::IsConst(from) || !ir::IsConst(to) || ir::NumElements(to).Is(0)) return l;
  std::vector<int64_t> place(from.size());  // of each source axis in its order
  for (size_t i = 0; i < source.order.size(); ++i) {
    place[static_cast<size_t>(source.order[i])] = static_cast<int64_t>(i);
  }
  std::vector<int64_t> rank(to.size(), 0);
  size_t i = 0, o = 0;
  while (i < from.size() || o < to.size()) {
    const size_t i0 = i, o0 = o;
    int64_t pi = 1, po = 1;
    if (i < from.size()) pi = from[i++].value();
    if (o < to.size()) po = to[o++].value();
    while (pi != po) {
      if (po < pi) {
        po *= to[o++].value();
      } else {
        pi *= from[i++].value();
      }
    }
    int64_t first = static_cast<int64_t>(from.size());
    bool varies = true;
    for (size_t k = i0; k < i; ++k) {
      if (from[k].Is(1)) continue;
      first = std::min(first, place[k]);
      varies = varies && source.varies[k];
    }
    for (size_t k = o0; k < o; ++k) {
      rank[k] = first;
      l.varies[k] = varies && !to[k].Is(1);
    }
  }
  std::stable_sort(l.order.begin(), l.order.end(), [&rank](int64_t a, int64_t b) {
    return rank[static_cast<size_t>(a)] < rank[static_cast<size_t>(b)];
  });
  return l;
}

}  // namespace

bool DataLayout::VariesEverywhere() const {
  return std::all_of(varies.begin(), varies.end(), [](bool v) { return v; });
}

DataLayout LayoutOf(const UOp& u, absl::FunctionRef<const DataLayout&(const UOp&)> source) {
  if (u.dtype().IsVoid() || u.Is(Op::kDevice)) return {};
  const Shape& shape = ShapeOf(u);
  if (u.src_count() == 0 || u.Is(Op::kAfter) || u.Is(Op::kContiguous) || u.Is(Op::kCopy) ||
      u.Is(Op::kIota) || u.Is(Op::kBind)) {
    return RowMajor(shape);
  }
  if (ir::IsMovement(u.op())) {
    const DataLayout& s = source(u.src(0));
    const Shape& from = ShapeOf(u.src(0));
    DataLayout l = s;
    switch (u.op()) {
      case Op::kReshape:
        return ThroughReshape(from, shape, s);
      case Op::kPermute: {
        // Axis i of the result is axis p[i] of the source.
        const ir::Ints& p = u.arg_as<ir::Ints>();
        std::vector<int64_t> result_axis(p.size());
        for (size_t i = 0; i < p.size(); ++i) {
          result_axis[static_cast<size_t>(p[i])] = static_cast<int64_t>(i);
          l.varies[i] = s.varies[static_cast<size_t>(p[i])];
        }
        for (int64_t& axis : l.order) axis = result_axis[static_cast<size_t>(axis)];
        return l;
      }
      case Op::kExpand:
        for (size_t i = 0; i < shape.size(); ++i) l.varies[i] = s.varies[i] && !from[i].Is(1);
        return l;
      case Op::kShear:
        l.varies[static_cast<size_t>(u.arg_as<ir::ShearArg>().by)] = true;
        return l;
      default:
        return l;
    }
  }
  if (u.Is(Op::kReduce)) {
    // The axes that are left keep their order; for a contraction, whose operands disagree, that in
    // which it was written.
    DataLayout l = source(u.src(0));
    for (int32_t axis : u.arg_as<ir::ReduceArg>().axes) {
      l.varies[static_cast<size_t>(axis)] = false;
    }
    return l;
  }
  // Elementwise: as the operand that lacks no axis which another one has.
  DataLayout all = RowMajor(shape);
  for (size_t i = 0; i < shape.size(); ++i) all.varies[i] = false;
  for (const UOp& s : u.src()) {
    const DataLayout& l = source(s);
    if (l.varies.size() != shape.size()) continue;
    for (size_t i = 0; i < shape.size(); ++i) all.varies[i] = all.varies[i] || l.varies[i];
  }
  for (const UOp& s : u.src()) {
    const DataLayout& l = source(s);
    if (l.varies.size() != shape.size() || l.varies != all.varies) continue;
    // Prefer an operand with something to say to one in plain order.
    if (std::is_sorted(all.order.begin(), all.order.end())) all.order = l.order;
  }
  return all;
}

bool IsContraction(const UOp& u, absl::FunctionRef<const DataLayout&(const UOp&)> source) {
  if (!u.Is(Op::kReduce) || u.arg_as<ir::ReduceArg>().op != Op::kAdd) return false;
  UOp product = u.src(0);
  while (product.Is(Op::kCast) || product.Is(Op::kShear) || product.Is(Op::kReshape)) {
    product = product.src(0);
  }
  if (!product.Is(Op::kMul)) return false;
  const DataLayout& all = source(product);
  for (const UOp& s : product.src()) {
    const DataLayout& l = source(s);
    if (l.varies.size() == all.varies.size() && l.varies == all.varies) return false;
  }
  return true;
}

}  // namespace tg::schedule
