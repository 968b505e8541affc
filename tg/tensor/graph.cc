#include "tg/tensor/graph.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "base/error.h"
#include "base/settings.h"

namespace tg::tensor_internal {

using ir::DType;
using ir::Op;
using ir::Shape;
using ir::Sint;
using ir::UOp;

UOp UniformConst(const UOp& x) {
  const UOp* node = &x;
  while (true) {
    switch (node->op()) {
      case Op::kConst:
        return *node;
      case Op::kReshape:
      case Op::kExpand:
      case Op::kPermute:
      case Op::kFlip:
      case Op::kShrink:
        node = &node->src(0);
        break;
      default:
        return UOp();
    }
  }
}

namespace {
bool IsConstValue(const UOp& c, double v) {
  return c && !c.IsInvalid() &&
         (c.dtype().IsFloat() ? c.IsConstFloat(v) : c.IsConstInt(static_cast<int64_t>(v)));
}
}  // namespace

bool IsUniform(const UOp& x, double v) { return IsConstValue(UniformConst(x), v); }

UOp Fill(const UOp& scalar, const Shape& shape) {
  return ir::Expand(ir::Reshape(scalar, Shape(shape.size(), Sint(1))), shape);
}

UOp BroadcastTo(const UOp& x, const Shape& shape) {
  const Shape& from = ir::ShapeOf(x);
  if (from == shape) return x;
  if (UOp c = UniformConst(x)) {
    // Only for the check; the fill below is the shorter graph.
    if (from.size() <= shape.size()) {
      size_t lead = shape.size() - from.size();
      bool fits = true;
      for (size_t i = 0; i < from.size(); ++i) {
        fits &= from[i].Is(1) || from[i] == shape[lead + i];
      }
      if (fits) return Fill(c, shape);
    }
  }
  if (from.size() > shape.size()) {
    throw ShapeError("expand: cannot broadcast " + ir::ToString(from) + " to " +
                     ir::ToString(shape));
  }
  Shape padded(shape.size() - from.size(), Sint(1));
  padded.insert(padded.end(), from.begin(), from.end());
  return ir::Expand(ir::Reshape(x, padded), shape);
}

namespace {

UOp CastConst(const UOp& c, DType dtype) {
  if (c.IsInvalid()) return ir::InvalidConst(dtype);
  if (c.dtype().IsFloat()) {
    if (dtype.IsFloat()) return ir::Const(dtype, c.const_float());
    return ir::Const(dtype, dtype.IsBool() ? int64_t{c.const_float() != 0.0}
                                           : ir::FloatToInt(c.const_float(), dtype));
  }
  if (dtype.IsFloat()) return ir::Const(dtype, ir::IntToDouble(c.const_int(), c.dtype()));
  return ir::Const(dtype, c.const_int());
}

// The sum or product of two constants; null where there is nothing to fold.
UOp FoldConsts(Op op, const UOp& a, const UOp& b) {
  if (a.IsInvalid() || b.IsInvalid()) return UOp();
  DType d = a.dtype();
  if (d.IsFloat()) {
    double x = a.const_float();
    double y = b.const_float();
    return ir::Const(d, op == Op::kAdd ? x + y : x * y);
  }
  if (d.IsBool()) return UOp();
  auto x = static_cast<uint64_t>(a.const_int());
  auto y = static_cast<uint64_t>(b.const_int());
  return ir::Const(d, static_cast<int64_t>(op == Op::kAdd ? x + y : x * y));
}

}  // namespace

UOp CastTo(const UOp& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (UOp c = UniformConst(x)) return Fill(CastConst(c, dtype), ir::ShapeOf(x));
  return ir::Cast(x, dtype);
}

UOp Elementwise(Op op, absl::Span<const UOp> src, const Shape& shape) {
  absl::InlinedVector<UOp, 3> operands;
  bool all_const = true;
  for (const UOp& s : src) {
    UOp c = UniformConst(s);
    all_const &= static_cast<bool>(c);
    operands.push_back(c ? c : s);
  }
  if (op == Op::kAdd || op == Op::kMul) {
    double identity = op == Op::kAdd ? 0 : 1;
    for (int i = 0; i < 2; ++i) {
      if (IsConstValue(operands[i], identity)) return BroadcastTo(src[1 - i], shape);
    }
  }
  if (all_const) {
    if (op == Op::kAdd || op == Op::kMul) {
      if (UOp folded = FoldConsts(op, operands[0], operands[1])) return Fill(folded, shape);
    }
    // Constants go with every shape, so one has to carry it.
    operands[0] = Fill(operands[0], shape);
  }
  return ir::Alu(op, operands);
}

UOp ReduceAway(const UOp& x, Op op, absl::Span<const int64_t> axes) {
  const Shape& from = ir::ShapeOf(x);
  Shape kept;
  for (size_t i = 0; i < from.size(); ++i) {
    bool gone = false;
    for (int64_t axis : axes) gone |= axis == static_cast<int64_t>(i);
    if (!gone) kept.push_back(from[i]);
  }
  return ir::Reshape(ir::Reduce(x, op, axes), kept);
}

UOp SumOver(const UOp& x, absl::Span<const int64_t> axes) {
  DType d = x.dtype();
  DType sum_dtype = *DType::Parse(base::Get(base::kSumDtype));
  DType acc = ir::SumAccDType(d, sum_dtype);
  UOp sum = ir::Reduce(CastTo(x, acc), Op::kAdd, axes);
  return d.IsFloat() ? CastTo(sum, d) : sum;
}

const UOp& BelowReshapes(const UOp& x) {
  const UOp* node = &x;
  while (node->Is(Op::kReshape)) node = &node->src(0);
  return *node;
}

UOp BufferOf(const UOp& x) {
  const UOp* node = &x;
  while (node->Is(Op::kAfter)) node = &node->src(0);
  return node->Is(Op::kBuffer) ? *node : UOp();
}

std::string DeviceOf(const UOp& x) {
  absl::flat_hash_set<UOp> seen;
  std::vector<UOp> stack = {x};
  while (!stack.empty()) {
    UOp node = stack.back();
    stack.pop_back();
    if (node.Is(Op::kBuffer)) return node.arg_as<ir::BufferArg>().device;
    if (node.Is(Op::kCopy)) return node.src(1).arg_as<std::string>();
    if (node.Is(Op::kAfter)) {
      stack.push_back(node.src(0));
      continue;
    }
    for (const UOp& s : node.src()) {
      if (seen.insert(s).second) stack.push_back(s);
    }
  }
  return "";
}

}  // namespace tg::tensor_internal
