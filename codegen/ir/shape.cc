#include "codegen/ir/shape.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/error.h"

namespace tg::ir {

struct ShapeData {
  Shape shape;
};

// --- Sint
// -----------------------------------------------------------------------------------------

Sint::Sint(UOp expr) {
  if (expr.IsConst()) {
    value_ = expr.const_int();
  } else {
    expr_ = std::move(expr);
  }
}

int64_t Sint::value() const {
  TG_CHECK(is_const()) << "symbolic dimension " << ToString() << " used as an integer";
  return value_;
}

Sint operator+(const Sint& a, const Sint& b) {
  if (a.is_const() && b.is_const()) return a.value_ + b.value_;
  if (a.is_const()) return b + a;
  if (b.is_const()) {
    if (b.value_ == 0) return a;
    // (x + c) + d is x + (c + d).
    if (a.expr_.Is(Op::kAdd) && a.expr_.src(1).IsConst()) {
      return Sint(a.expr_.src(0)) + Sint(a.expr_.src(1).const_int() + b.value_);
    }
    return Sint(a.expr_ + b.value_);
  }
  return Sint(a.expr_ + b.expr_);
}

Sint operator-(const Sint& a, const Sint& b) {
  if (b.is_const()) return a + Sint(-b.value_);
  if (a == b) return 0;
  // (b + c) - b is c.
  if (!a.is_const() && a.expr_.Is(Op::kAdd)) {
    if (a.expr_.src(0) == b.expr_) return Sint(a.expr_.src(1));
    if (a.expr_.src(1) == b.expr_) return Sint(a.expr_.src(0));
  }
  return a + b * Sint(-1);
}

Sint operator*(const Sint& a, const Sint& b) {
  if (a.is_const() && b.is_const()) return a.value_ * b.value_;
  if (a.is_const()) return b * a;
  if (b.is_const()) {
    if (b.value_ == 0) return 0;
    if (b.value_ == 1) return a;
    if (a.expr_.Is(Op::kMul) && a.expr_.src(1).IsConst()) {
      return Sint(a.expr_.src(0)) * Sint(a.expr_.src(1).const_int() * b.value_);
    }
    return Sint(a.expr_ * b.value_);
  }
  return Sint(a.expr_ * b.expr_);
}

Sint FloorDiv(const Sint& a, int64_t b) {
  TG_CHECK(b > 0);
  if (b == 1) return a;
  if (a.is_const()) {
    int64_t q = a.value_ / b;
    return q - (a.value_ % b < 0 ? 1 : 0);
  }
  if (a.expr_.Is(Op::kMul) && a.expr_.src(1).IsConst() && a.expr_.src(1).const_int() % b == 0) {
    return Sint(a.expr_.src(0)) * Sint(a.expr_.src(1).const_int() / b);
  }
  return Sint(FloorDiv(a.expr_, b));
}

std::string Sint::ToString() const {
  if (is_const()) return absl::StrCat(value_);
  switch (expr_.op()) {
    case Op::kVariable:
      return expr_.arg_as<VariableArg>().name;
    case Op::kBind:
      return Sint(expr_.src(0)).ToString();
    case Op::kAdd:
      return absl::StrCat("(", Sint(expr_.src(0)).ToString(), "+", Sint(expr_.src(1)).ToString(),
                          ")");
    case Op::kMul:
      return absl::StrCat("(", Sint(expr_.src(0)).ToString(), "*", Sint(expr_.src(1)).ToString(),
                          ")");
    default:
      return absl::StrCat("<", std::string(OpName(expr_.op())), " in [", expr_.vmin(), ", ",
                          expr_.vmax(), "]>");
  }
}

std::ostream& operator<<(std::ostream& os, const Sint& s) { return os << s.ToString(); }

bool IsConst(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Sint& s) { return s.is_const(); });
}

Sint NumElements(const Shape& shape) {
  // Integers first, so that equal products of symbolic shapes are equal expressions.
  int64_t integer = 1;
  for (const Sint& s : shape) {
    if (s.is_const()) integer *= s.value();
  }
  Sint product = 1;
  for (const Sint& s : shape) {
    if (!s.is_const()) product = product * s;
  }
  return product * Sint(integer);
}

std::string ToString(const Shape& shape) {
  if (shape.size() == 1) return absl::StrCat("(", shape[0].ToString(), ",)");
  return absl::StrCat(
      "(",
      absl::StrJoin(shape, ", ", [](std::string* out, const Sint& s) { *out += s.ToString(); }),
      ")");
}

// --- ShapeOf
// --------------------------------------------------------------------------------------

namespace {

void DeleteShape(const ShapeData* data) { delete data; }

const ShapeData* Cached(const UOp& x) { return x.node()->shape.load(std::memory_order_acquire); }

// Whether the shape of `x` follows from that of its first source, or of all of its sources.
enum class Needs { kNothing, kFirst, kAll };

Needs NeedsOf(Op op) {
  if (IsElementwise(op)) return Needs::kAll;
  switch (op) {
    case Op::kReduce:
    case Op::kPermute:
    case Op::kFlip:
    case Op::kPad:
    case Op::kShrink:
    case Op::kShear:
    case Op::kNoop:
    case Op::kAfter:
    case Op::kContiguous:
    case Op::kContiguousBackward:
    case Op::kDetach:
    case Op::kCopy:
    case Op::kMSelect:
    case Op::kMStack:
    case Op::kAllReduce:
      return Needs::kFirst;
    case Op::kCustomI:
      return Needs::kAll;
    default:
      return Needs::kNothing;
  }
}

// The sources' shapes that NeedsOf names are cached.
Shape Compute(const UOp& x) {
  Op op = x.op();
  if (IsElementwise(op) || op == Op::kCustomI) {
    for (const UOp& s : x.src()) {
      const Shape& shape = Cached(s)->shape;
      if (!shape.empty()) return shape;
    }
    return {};
  }
  switch (op) {
    case Op::kBuffer:
      return {Sint(x.arg_as<BufferArg>().size)};
    case Op::kParam:
      return {Sint(x.arg_as<ParamArg>().size)};
    case Op::kIota:
      return {Sint(x.src(0))};
    case Op::kReshape:
    case Op::kExpand: {
      Shape shape;
      for (const UOp& s : x.src().subspan(1)) shape.push_back(Sint(s));
      return shape;
    }
    case Op::kReduce: {
      Shape shape = Cached(x.src(0))->shape;
      for (int32_t axis : x.arg_as<ReduceArg>().axes) shape[axis] = 1;
      return shape;
    }
    case Op::kPermute: {
      const Shape& from = Cached(x.src(0))->shape;
      Shape shape;
      for (int64_t axis : x.arg_as<Ints>()) shape.push_back(from[axis]);
      return shape;
    }
    case Op::kPad:
    case Op::kShrink: {
      Shape shape = Cached(x.src(0))->shape;
      for (size_t i = 0; i < shape.size(); ++i) {
        Sint begin = Sint(x.src(static_cast<int>(1 + 2 * i)));
        Sint end = Sint(x.src(static_cast<int>(2 + 2 * i)));
        shape[i] = op == Op::kPad ? shape[i] + (begin + end) : end - begin;
      }
      return shape;
    }
    case Op::kShear: {
      Shape shape = Cached(x.src(0))->shape;
      shape[x.arg_as<ShearArg>().axis] = Sint(x.src(2));
      return shape;
    }
    default:
      return NeedsOf(op) == Needs::kFirst ? Cached(x.src(0))->shape : Shape();
  }
}

const Shape& Publish(const UOp& x, Shape shape) {
  internal::Node* node = x.node();
  node->shape_deleter.store(&DeleteShape, std::memory_order_relaxed);
  const ShapeData* expected = nullptr;
  const auto* mine = new ShapeData{std::move(shape)};
  if (!node->shape.compare_exchange_strong(expected, mine, std::memory_order_acq_rel)) {
    delete mine;
    return expected->shape;
  }
  return mine->shape;
}

}  // namespace

const Shape& ShapeOf(const UOp& x) {
  if (const ShapeData* data = Cached(x)) return data->shape;
  // Graphs are built from the bottom, so mostly the sources are there and the stack stays empty.
  std::vector<const UOp*> stack = {&x};
  while (!stack.empty()) {
    const UOp& node = *stack.back();
    if (Cached(node) == nullptr) {
      size_t size = stack.size();
      Needs needs = NeedsOf(node.op());
      for (const UOp& s : node.src()) {
        if (needs == Needs::kNothing) break;
        if (Cached(s) == nullptr) stack.push_back(&s);
        if (needs == Needs::kFirst) break;
      }
      if (stack.size() != size) continue;
      Publish(node, Compute(node));
    }
    stack.pop_back();
  }
  return Cached(x)->shape;
}

// --- Builders
// -------------------------------------------------------------------------------------

namespace {

template <typename... Args>
[[noreturn]] void Fail(const Args&... args) {
  throw ShapeError(absl::StrCat(args...));
}

absl::InlinedVector<UOp, 8> WithDims(const UOp& x, const Shape& shape) {
  absl::InlinedVector<UOp, 8> src = {x};
  for (const Sint& s : shape) src.push_back(s.uop());
  return src;
}

absl::InlinedVector<UOp, 13> WithPairs(const UOp& x, const Bounds2& pairs) {
  absl::InlinedVector<UOp, 13> src = {x};
  for (const auto& [begin, end] : pairs) {
    src.push_back(begin.uop());
    src.push_back(end.uop());
  }
  return src;
}

std::string Pairs(const Bounds2& pairs) {
  return absl::StrCat("(",
                      absl::StrJoin(pairs, ", ",
                                    [](std::string* out, const std::pair<Sint, Sint>& p) {
                                      absl::StrAppend(out, "(", p.first.ToString(), ", ",
                                                      p.second.ToString(), ")");
                                    }),
                      ")");
}

void CheckAxes(const char* what, const Shape& shape, absl::Span<const int64_t> axes) {
  std::vector<bool> seen(shape.size());
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) {
      Fail(what, ": axis ", axis, " out of range for shape ", ToString(shape));
    }
    if (seen[axis]) Fail(what, ": axis ", axis, " appears more than once");
    seen[axis] = true;
  }
}

}  // namespace

UOp Reshape(const UOp& x, const Shape& shape) {
  const Shape& from = ShapeOf(x);
  if (from == shape) return x;
  for (const Sint& s : shape) {
    if (s.max() < 0) Fail("reshape: negative dimension in ", ToString(shape));
  }
  Sint have = NumElements(from);
  Sint want = NumElements(shape);
  // Symbolic products that are not the same expression may still be the same number.
  bool possible = have.is_const() && want.is_const()
                      ? have == want
                      : have.max() >= want.min() && want.max() >= have.min();
  if (!possible) {
    Fail("reshape: cannot view ", ToString(from), " as ", ToString(shape), ": ", have.ToString(),
         " elements against ", want.ToString());
  }
  if (x.Is(Op::kReshape)) return Reshape(x.src(0), shape);
  return UOp::Make(Op::kReshape, x.dtype(), WithDims(x, shape));
}

UOp Expand(const UOp& x, const Shape& shape) {
  const Shape& from = ShapeOf(x);
  if (from == shape) return x;
  if (from.size() != shape.size()) {
    Fail("expand: cannot expand ", ToString(from), " to ", ToString(shape),
         ": expected the same number of dimensions");
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (from[i] != shape[i] && !from[i].Is(1)) {
      Fail("expand: cannot expand ", ToString(from), " to ", ToString(shape), ": axis ", i,
           " has size ", from[i].ToString(), ", expected 1 or ", shape[i].ToString());
    }
    if (shape[i].max() < 0) Fail("expand: negative dimension in ", ToString(shape));
  }
  if (x.Is(Op::kExpand)) return Expand(x.src(0), shape);
  return UOp::Make(Op::kExpand, x.dtype(), WithDims(x, shape));
}

UOp Permute(const UOp& x, absl::Span<const int64_t> order) {
  const Shape& from = ShapeOf(x);
  if (order.size() != from.size()) {
    Fail("permute: expected ", from.size(), " axes for shape ", ToString(from), ", got ",
         order.size());
  }
  CheckAxes("permute", from, order);
  Ints axes(order.begin(), order.end());
  if (x.Is(Op::kPermute)) {
    const Ints& inner = x.arg_as<Ints>();
    for (int64_t& axis : axes) axis = inner[axis];
    return Permute(x.src(0), axes);
  }
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  return UOp::Make(Op::kPermute, x.dtype(), {x}, Boxed<Ints>(std::move(axes)));
}

UOp Flip(const UOp& x, absl::Span<const int64_t> axes) {
  const Shape& from = ShapeOf(x);
  CheckAxes("flip", from, axes);
  Ints kept;
  for (int64_t axis : axes) {
    if (!from[axis].Is(1)) kept.push_back(axis);
  }
  std::sort(kept.begin(), kept.end());
  if (kept.empty()) return x;
  if (x.Is(Op::kFlip) && x.arg_as<Ints>() == kept) return x.src(0);
  return UOp::Make(Op::kFlip, x.dtype(), {x}, Boxed<Ints>(std::move(kept)));
}

UOp Pad(const UOp& x, const Bounds2& pads) {
  const Shape& from = ShapeOf(x);
  if (pads.size() != from.size()) {
    Fail("pad: expected ", from.size(), " pairs for shape ", ToString(from), ", got ", Pairs(pads));
  }
  bool noop = true;
  for (const auto& [before, after] : pads) {
    if (before.min() < 0 || after.min() < 0) Fail("pad: negative amount in ", Pairs(pads));
    noop &= before.Is(0) && after.Is(0);
  }
  if (noop) return x;
  return UOp::Make(Op::kPad, x.dtype(), WithPairs(x, pads));
}

UOp Shrink(const UOp& x, const Bounds2& box) {
  const Shape& from = ShapeOf(x);
  if (box.size() != from.size()) {
    Fail("shrink: expected ", from.size(), " pairs for shape ", ToString(from), ", got ",
         Pairs(box));
  }
  bool noop = true;
  for (size_t i = 0; i < box.size(); ++i) {
    const auto& [begin, end] = box[i];
    if (begin.min() < 0 || (end - begin).max() < 0 || (from[i] - end).max() < 0) {
      Fail("shrink: ", Pairs(box), " does not lie in shape ", ToString(from), " (axis ", i, ")");
    }
    noop &= begin.Is(0) && end == from[i];
  }
  if (noop) return x;
  return UOp::Make(Op::kShrink, x.dtype(), WithPairs(x, box));
}

UOp Shear(const UOp& x, int axis, int by, int64_t coef, const Sint& offset, const Sint& size) {
  const Shape& from = ShapeOf(x);
  int64_t axes[] = {axis, by};
  CheckAxes("shear", from, axes);
  if (size.max() < 0) Fail("shear: negative size ", size.ToString());
  if (offset.Is(0) && size == from[axis] && (coef == 0 || from[by].Is(1))) return x;
  return UOp::Make(Op::kShear, x.dtype(), {x, offset.uop(), size.uop()}, ShearArg{axis, by, coef});
}

UOp Reduce(const UOp& x, Op op, absl::Span<const int64_t> axes) {
  const Shape& from = ShapeOf(x);
  TG_CHECK(op == Op::kAdd || op == Op::kMul || op == Op::kMax) << "reduce with " << op;
  CheckAxes("reduce", from, axes);
  ReduceArg arg{op, {}};
  for (int64_t axis : axes) {
    if (!from[axis].Is(1)) arg.axes.push_back(static_cast<int32_t>(axis));
  }
  if (arg.axes.empty()) return x;
  std::sort(arg.axes.begin(), arg.axes.end());
  return UOp::Make(Op::kReduce, x.dtype(), {x}, Boxed<ReduceArg>(std::move(arg)));
}

UOp Iota(const Sint& size, DType dtype) { return UOp::Make(Op::kIota, dtype, {size.uop()}); }

UOp Contiguous(const UOp& x) {
  if (x.Is(Op::kContiguous)) return x;
  return UOp::Make(Op::kContiguous, x.dtype(), {x});
}

UOp Detach(const UOp& x) {
  if (x.Is(Op::kDetach)) return x;
  return UOp::Make(Op::kDetach, x.dtype(), {x});
}

UOp CopyTo(const UOp& x, const std::string& device) {
  UOp target = UOp::Make(Op::kDevice, kVoid, {}, Boxed<std::string>(device));
  return UOp::Make(Op::kCopy, x.dtype(), {x, target});
}

}  // namespace tg::ir
