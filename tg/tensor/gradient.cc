#include "tg/tensor/gradient.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/error.h"
#include "codegen/ir/shape.h"
#include "tg/tensor/graph.h"

namespace tg::tensor_internal {
namespace {

using ir::Bounds2;
using ir::DType;
using ir::Ints;
using ir::Op;
using ir::Shape;
using ir::ShapeOf;
using ir::Sint;
using ir::UOp;
using ir::UOpMap;
using ir::UOpSet;

// Null: no gradient.
using Gradients = absl::InlinedVector<UOp, 3>;

// Whether source i of `node` can have a gradient.
bool IsDifferentiable(const UOp& node, int i) {
  if (!node.src(i).dtype().IsFloat() && !node.src(i).dtype().IsVoid()) return false;
  switch (node.op()) {
    case Op::kDetach:
    case Op::kBitcast:
    case Op::kTrunc:
      return false;
    case Op::kAfter:
      // The stored value decides; what the buffer held before does not matter.
      return node.src(i).Is(Op::kStore);
    case Op::kStore:
      return i == 1;
    case Op::kCopy:
      return i == 0;
    default:
      return !ir::IsComparison(node.op());
  }
}

UOp Mul(const UOp& a, const UOp& b) { return Elementwise(Op::kMul, {a, b}, ShapeOf(a)); }
UOp Add(const UOp& a, const UOp& b) { return Elementwise(Op::kAdd, {a, b}, ShapeOf(a)); }
UOp Number(const UOp& like, double v) { return ir::Const(like.dtype(), v); }
UOp Neg(const UOp& x) { return Mul(x, Number(x, -1)); }
UOp Reciprocal(const UOp& x) { return ir::Alu(Op::kReciprocal, {x}); }
// g where `cond`, else 0.
UOp Masked(const UOp& cond, const UOp& g) {
  return Elementwise(Op::kWhere, {cond, g, Number(g, 0)}, ShapeOf(g));
}

// d a^b: b a^(b-1) and a^b ln a, with the limits at a = 0 instead of NaN.
Gradients PowGradient(const UOp& node, const UOp& g) {
  const UOp& a = node.src(0);
  const UOp& b = node.src(1);
  const Shape& shape = ShapeOf(node);
  auto binary = [&](Op op, const UOp& x, const UOp& y) { return Elementwise(op, {x, y}, shape); };
  auto where = [&](const UOp& c, const UOp& x, const UOp& y) {
    return Elementwise(Op::kWhere, {c, x, y}, shape);
  };
  UOp zero = Number(a, 0);
  // b = 0 gives 0 also where a^-1 is infinite.
  UOp power = binary(Op::kPow, a, Add(BroadcastTo(b, shape), Number(b, -1)));
  UOp da = where(binary(Op::kCmpEq, b, zero), zero, binary(Op::kMul, b, power));
  UOp log = Mul(ir::Alu(Op::kLog2, {BroadcastTo(a, shape)}), Number(a, std::numbers::ln2));
  UOp at_zero =
      where(binary(Op::kCmpLt, b, zero), Number(a, -std::numeric_limits<double>::infinity()), zero);
  UOp db = where(binary(Op::kCmpEq, a, zero), at_zero, Mul(node, log));
  return {Mul(g, da), Mul(g, db)};
}

UOp ReduceGradient(const UOp& node, const UOp& g) {
  const UOp& x = node.src(0);
  const Shape& shape = ShapeOf(x);
  const auto& arg = node.arg_as<ir::ReduceArg>();
  std::vector<int64_t> axes(arg.axes.begin(), arg.axes.end());
  UOp wide = BroadcastTo(g, shape);
  switch (arg.op) {
    case Op::kAdd:
      return wide;
    case Op::kMax: {
      UOp is_max = ir::Alu(Op::kCmpEq, {x, ir::Expand(node, shape)});
      UOp count = SumOver(CastTo(is_max, x.dtype()), axes);
      return Masked(is_max, Mul(wide, ir::Expand(Reciprocal(count), shape)));
    }
    case Op::kMul: {
      // The product of the others: for the only zero it is the product of what is not zero.
      UOp is_zero = ir::Alu(Op::kCmpEq, {x, Number(x, 0)});
      UOp zeros = ir::Expand(SumOver(CastTo(is_zero, x.dtype()), axes), shape);
      UOp nonzero = Elementwise(Op::kWhere, {is_zero, Number(x, 1), x}, shape);
      UOp product = ir::Expand(ir::Reduce(nonzero, Op::kMul, axes), shape);
      UOp others = Mul(product, Reciprocal(nonzero));
      UOp own_zeros = CastTo(is_zero, x.dtype());
      // All zeros are this element itself (or there are none).
      UOp counts = ir::Alu(Op::kCmpEq, {zeros, own_zeros});
      return Mul(wide, Masked(counts, others));
    }
    default:
      TG_FATAL() << "reduce with " << arg.op;
  }
}

UOp PermuteGradient(const UOp& node, const UOp& g) {
  const Ints& order = node.arg_as<Ints>();
  Ints inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  return ir::Permute(g, inverse);
}

// Begin and end per axis of a kPad or kShrink.
Bounds2 PairsOf(const UOp& node) {
  Bounds2 pairs;
  for (int i = 1; i < node.src_count(); i += 2) {
    pairs.push_back({Sint(node.src(i)), Sint(node.src(i + 1))});
  }
  return pairs;
}

UOp PadGradient(const UOp& node, const UOp& g) {
  const Shape& shape = ShapeOf(node.src(0));
  Bounds2 box = PairsOf(node);
  for (size_t i = 0; i < box.size(); ++i) box[i].second = box[i].first + shape[i];
  return ir::Shrink(g, box);
}

UOp ShrinkGradient(const UOp& node, const UOp& g) {
  const Shape& shape = ShapeOf(node.src(0));
  Bounds2 pads = PairsOf(node);
  for (size_t i = 0; i < pads.size(); ++i) pads[i].second = shape[i] - pads[i].second;
  return ir::Pad(g, pads);
}

// r[i][k] = x[i + ck + o][k], so dx[j][k] = g[j - ck - o][k].
UOp ShearGradient(const UOp& node, const UOp& g) {
  const auto& arg = node.arg_as<ir::ShearArg>();
  return ir::Shear(g, arg.axis, arg.by, -arg.coef, Sint(0) - Sint(node.src(1)),
                   ShapeOf(node.src(0))[arg.axis]);
}

UOp ExpandGradient(const UOp& node, const UOp& g) {
  const Shape& from = ShapeOf(node.src(0));
  const Shape& to = ShapeOf(node);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i]) axes.push_back(static_cast<int64_t>(i));
  }
  return SumOver(g, axes);
}

// One gradient per source. `g` has the shape and dtype of `node`.
Gradients Rule(const UOp& node, const UOp& g) {
  auto src = [&](int i) -> const UOp& { return node.src(i); };
  switch (node.op()) {
    case Op::kCast:
      return {CastTo(g, src(0).dtype())};
    case Op::kExp2:
      return {Mul(Mul(g, node), Number(g, std::numbers::ln2))};
    case Op::kLog2:
      return {Mul(g, Reciprocal(Mul(src(0), Number(g, std::numbers::ln2))))};
    case Op::kSin: {
      UOp cosine = ir::Alu(Op::kSin, {Add(Neg(src(0)), Number(g, std::numbers::pi / 2))});
      return {Mul(g, cosine)};
    }
    case Op::kSqrt:
      return {Mul(g, Reciprocal(Mul(node, Number(g, 2))))};
    case Op::kReciprocal:
      return {Neg(Mul(Mul(g, node), node))};
    case Op::kNeg:
      return {Neg(g)};
    case Op::kAdd:
      return {g, g};
    case Op::kSub:
      return {g, Neg(g)};
    case Op::kMul:
      return {Mul(g, src(1)), Mul(g, src(0))};
    case Op::kFdiv: {
      UOp r = Reciprocal(src(1));
      return {Mul(g, r), Neg(Mul(Mul(g, node), r))};
    }
    case Op::kPow:
      return PowGradient(node, g);
    case Op::kMulAcc:
      return {Mul(g, src(1)), Mul(g, src(0)), g};
    case Op::kMax: {
      // 1 where greater, a half each where equal.
      auto side = [&](const UOp& a, const UOp& b) {
        UOp tie = Elementwise(Op::kCmpEq, {a, b}, ShapeOf(node));
        UOp half = Masked(tie, Mul(g, Number(g, 0.5)));
        return Elementwise(Op::kWhere, {Elementwise(Op::kCmpLt, {b, a}, ShapeOf(node)), g, half},
                           ShapeOf(node));
      };
      return {side(src(0), src(1)), side(src(1), src(0))};
    }
    case Op::kWhere:
      // relu: 0 < result says the same as 0 < operand, and the operand need not be kept for it.
      if (src(0).Is(Op::kCmpLt) && src(0).src(0).IsConstFloat(0) && src(0).src(1) == src(1) &&
          src(2).IsConstFloat(0)) {
        return {UOp(), Masked(ir::Alu(Op::kCmpLt, {src(2), node}), g), UOp()};
      }
      return {UOp(), Masked(src(0), g),
              Elementwise(Op::kWhere, {src(0), Number(g, 0), g}, ShapeOf(g))};
    case Op::kReduce:
      return {ReduceGradient(node, g)};
    case Op::kReshape:
      return {ir::Reshape(g, ShapeOf(src(0)))};
    case Op::kExpand:
      return {ExpandGradient(node, g)};
    case Op::kPermute:
      return {PermuteGradient(node, g)};
    case Op::kFlip:
      return {ir::Flip(g, node.arg_as<Ints>())};
    case Op::kPad:
      return {PadGradient(node, g)};
    case Op::kShrink:
      return {ShrinkGradient(node, g)};
    case Op::kShear:
      return {ShearGradient(node, g)};
    case Op::kContiguous:
    case Op::kNoop:
      return {g};
    case Op::kContiguousBackward:
      return {ir::Contiguous(g)};
    case Op::kCopy:
      return {ir::CopyTo(g, DeviceOf(src(0)))};
    case Op::kAfter: {
      Gradients grads(node.src_count());
      for (int i = 1; i < node.src_count(); ++i) {
        if (src(i).Is(Op::kStore)) grads[i] = g;
      }
      return grads;
    }
    case Op::kStore:
      return {UOp(), ir::Reshape(g, ShapeOf(src(1)))};
    default:
      throw UsageError(absl::StrCat("gradient: no rule for ", std::string(ir::OpName(node.op())),
                                    " of shape ", ir::ToString(ShapeOf(node)),
                                    "; Detach() it if it is meant as a constant"));
  }
}

}  // namespace

UOpMap ComputeGradient(const UOp& root, const UOp& root_grad, absl::Span<const UOp> targets) {
  // Reshapes of a memory collapse into one where it is used, so a tensor of its own shape need not
  // be in the graph: the gradient of the flat memory is what is asked for.
  auto source = [](const UOp& target) {
    const UOp& below = BelowReshapes(target);
    return below.Is(Op::kBuffer) || below.Is(Op::kAfter) ? below : target;
  };
  UOpSet wanted;
  for (const UOp& t : targets) wanted.insert(source(t));
  std::vector<UOp> order = ir::Toposort(
      root, [](const UOp& node) { return !node.Is(Op::kDetach) && !ir::IsComparison(node.op()); });
  // Nodes from which a target can be reached.
  UOpSet on_path;
  for (const UOp& node : order) {
    bool reaches = wanted.contains(node);
    for (int i = 0; i < node.src_count() && !reaches; ++i) {
      reaches = on_path.contains(node.src(i)) && IsDifferentiable(node, i);
    }
    if (reaches) on_path.insert(node);
  }
  UOpMap grads;
  if (on_path.contains(root)) grads.emplace(root, root_grad);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const UOp& node = *it;
    auto found = grads.find(node);
    if (found == grads.end()) continue;
    UOp g = found->second;
    bool any = false;
    for (int i = 0; i < node.src_count(); ++i) {
      any |= on_path.contains(node.src(i)) && IsDifferentiable(node, i);
    }
    if (!wanted.contains(node)) grads.erase(found);
    if (!any) continue;
    Gradients parts = Rule(node, g);
    for (int i = 0; i < static_cast<int>(parts.size()); ++i) {
      const UOp& s = node.src(i);
      if (!parts[i] || !on_path.contains(s) || !IsDifferentiable(node, i)) continue;
      UOp part = parts[i];
      // A scalar goes with every shape without an expand (ir/shape.h); undo that.
      if (!s.dtype().IsVoid() && ShapeOf(s) != ShapeOf(part)) {
        std::vector<int64_t> axes(ShapeOf(part).size());
        for (size_t a = 0; a < axes.size(); ++a) axes[a] = static_cast<int64_t>(a);
        part = ir::Reshape(SumOver(part, axes), ShapeOf(s));
      }
      auto [slot, inserted] = grads.try_emplace(s, part);
      if (!inserted) slot->second = Add(slot->second, part);
    }
  }
  UOpMap result;
  for (const UOp& t : targets) {
    auto it = grads.find(source(t));
    if (it != grads.end()) result.emplace(t, ir::Reshape(it->second, ShapeOf(t)));
  }
  return result;
}

}  // namespace tg::tensor_internal
