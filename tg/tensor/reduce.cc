// Reductions, cumulative reductions, softmax and sorting.

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/settings.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/impl.h"
#include "tg/tensor/tensor.h"

namespace tg {

using ir::Bounds2;
using ir::Op;
using ir::UOp;
using tensor_internal::Like;
using tensor_internal::ResolveAxis;
using tensor_internal::ToFloat;

namespace {

Tensor Strong(const Tensor& x) {
  if (!x.dtype().IsWeak()) return x;
  return x.Cast(x.dtype().IsFloat() ? DefaultFloat() : DefaultInt());
}

DType Accumulator(DType d) { return ir::SumAccDType(d, *DType::Parse(base::Get(base::kSumDtype))); }

Tensor Reduced(const char* name, const Tensor& x, Op op, const Axes& axes, bool keepdim) {
  std::vector<int64_t> resolved = axes.Resolve(name, x.shape());
  UOp r = ir::Reduce(x.uop(), op, resolved);
  if (!keepdim) {
    Shape kept;
    for (int i = 0; i < x.ndim(); ++i) {
      if (std::find(resolved.begin(), resolved.end(), i) == resolved.end()) {
        kept.push_back(x.shape()[i]);
      }
    }
    r = ir::Reshape(r, kept);
  }
  return Like(x, r);
}

// The number of elements that a reduction takes together.
Tensor Count(const char* name, const Tensor& x, const Axes& axes, int64_t less = 0) {
  Sint n = 1;
  for (int64_t axis : axes.Resolve(name, x.shape())) n = n * x.shape()[axis];
  n = n - Sint(less);
  if (n.is_const()) return Tensor(static_cast<double>(std::max<int64_t>(n.value(), 0)));
  return Tensor::FromUOp(n.uop(), "").Cast(DefaultFloat());
}

// x[..i..] to (...i, k) with x[i - k], where the last axis k runs over the axis' size, and `fill`
// where i < k. `axis` is the last axis of x.
UOp Before(const UOp& x, const UOp& fill) {
  Shape shape = ir::ShapeOf(x);
  Sint n = shape.back();
  int axis = static_cast<int>(shape.size()) - 1;
  shape.push_back(1);
  UOp wide = ir::Reshape(x, shape);
  shape.back() = n;
  wide = ir::Expand(wide, shape);
  UOp sheared = ir::Shear(wide, axis, axis + 1, -1, 0, n);
  if (!fill) return sheared;
  UOp inside =
      ir::Shear(tensor_internal::Fill(ir::Const(kBool, true), shape), axis, axis + 1, -1, 0, n);
  return tensor_internal::Elementwise(Op::kWhere, {inside, sheared, fill}, shape);
}

// Beyond this size, cumulative operations work in blocks: their work is quadratic in a block.
constexpr int64_t kBlock = 256;

// Along the last axis. `identity` is that of `op`.
Tensor CumulateLast(const Tensor& x, Op op, const UOp& identity) {
  int64_t n = x.Dim(-1);
  Shape shape = x.shape();
  if (n <= 2 * kBlock) {
    UOp terms = Before(x.uop(), op == Op::kAdd ? UOp() : identity);
    return Like(x, tensor_internal::ReduceAway(terms, op, {static_cast<int64_t>(shape.size())}));
  }
  // Within blocks, then the totals of the blocks before.
  int64_t blocks = (n + kBlock - 1) / kBlock;
  double fill = identity.dtype().IsFloat() ? identity.const_float()
                                           : static_cast<double>(identity.const_int());
  auto pad_last = [&](const Tensor& t, int64_t before, int64_t after) {
    std::vector<std::pair<int64_t, int64_t>> pads(t.ndim(), {0, 0});
    pads.back() = {before, after};
    return t.Pad(pads, fill);
  };
  Shape split(shape.begin(), shape.end() - 1);
  split.push_back(blocks);
  split.push_back(kBlock);
  Tensor inner =
      CumulateLast(pad_last(x, 0, blocks * kBlock - n).Reshape(split), op, identity).Contiguous();
  std::vector<std::optional<std::pair<Sint, Sint>>> last(inner.ndim());
  last.back() = {Sint(kBlock - 1), Sint(kBlock)};
  Tensor totals = pad_last(inner.Shrink(last).Squeeze(-1), 1, -1);
  Tensor before = CumulateLast(totals, op, identity).Unsqueeze(-1);
  Tensor all = tensor_internal::ElementwiseOp(op, "cumulate", {inner, before});
  Shape flat(shape.begin(), shape.end() - 1);
  flat.push_back(blocks * kBlock);
  std::vector<std::optional<std::pair<Sint, Sint>>> cut(flat.size());
  cut.back() = {Sint(0), Sint(n)};
  return all.Reshape(flat).Shrink(cut);
}

Tensor Cumulate(const char* name, const Tensor& x, int axis, Op op, const UOp& identity) {
  axis = ResolveAxis(name, axis, x.ndim());
  if (x.ndim() == 0) return Like(x, x.uop());
  tensor_internal::ConcreteShape(name, x.shape());
  if (x.NumElements() == 0) return Like(x, x.uop());
  return CumulateLast(x.Transpose(axis, -1), op, identity).Transpose(axis, -1);
}

UOp Least(DType d) {
  return d.IsFloat() ? ir::Const(d, -std::numeric_limits<double>::infinity())
                     : ir::Const(d, d.MinInt());
}

}  // namespace

Tensor Tensor::Sum(const Axes& axes, bool keepdim) const {
  Tensor x = Strong(*this);
  Tensor r = Reduced("sum", x.Cast(Accumulator(x.dtype())), Op::kAdd, axes, keepdim);
  return x.dtype().IsFloat() ? r.Cast(x.dtype()) : r;
}

Tensor Tensor::Prod(const Axes& axes, bool keepdim) const {
  Tensor x = Strong(*this);
  Tensor r = Reduced("prod", x.Cast(Accumulator(x.dtype())), Op::kMul, axes, keepdim);
  return x.dtype().IsFloat() ? r.Cast(x.dtype()) : r;
}

Tensor Tensor::Max(const Axes& axes, bool keepdim) const {
  Tensor x = Strong(*this);
  if (!dtype().IsBool()) return Reduced("max", x, Op::kMax, axes, keepdim);
  return Reduced("max", x.Cast(kInt32), Op::kMax, axes, keepdim) > 0;
}

Tensor Tensor::Min(const Axes& axes, bool keepdim) const {
  // On integers -x overflows, ~x does not.
  if (dtype().IsFloat()) return -(-*this).Max(axes, keepdim);
  return ~(~*this).Max(axes, keepdim);
}

Tensor Tensor::Any(const Axes& axes, bool keepdim) const { return Cast(kBool).Max(axes, keepdim); }
Tensor Tensor::All(const Axes& axes, bool keepdim) const { return Cast(kBool).Min(axes, keepdim); }

Tensor Tensor::Mean(const Axes& axes, bool keepdim) const {
  Tensor x = Strong(ToFloat(*this));
  Tensor sum = x.Cast(Accumulator(x.dtype())).Sum(axes, keepdim);
  return (sum / Count("mean", x, axes)).Cast(x.dtype());
}

Tensor Tensor::Var(const Axes& axes, bool keepdim, int64_t correction) const {
  Tensor x = Strong(ToFloat(*this));
  Tensor wide = x.Cast(Accumulator(x.dtype()));
  Tensor squares = (wide - wide.Mean(axes, true)).Square().Sum(axes, keepdim);
  return (squares / Count("var", x, axes, correction)).Cast(x.dtype());
}

Tensor Tensor::Std(const Axes& axes, bool keepdim, int64_t correction) const {
  return Var(axes, keepdim, correction).Sqrt();
}

Tensor Tensor::LogSumExp(const Axes& axes, bool keepdim) const {
  Tensor x = ToFloat(*this);
  Tensor m = x.Max(axes, true).Detach();
  // All -infinity, or some +infinity: subtracting would be NaN.
  m = m.IsFinite().Where(m, 0.0);
  Tensor r = (x - m).Exp().Sum(axes, true).Log() + m;
  return keepdim ? r : Reduced("logsumexp", r, Op::kAdd, axes, false);
}

Tensor Tensor::ArgMax(std::optional<int> axis, bool keepdim) const {
  if (!axis) {
    Tensor r = Flatten().ArgMax(0);
    return keepdim ? r.Reshape(Shape(ndim(), Sint(1))) : r;
  }
  int a = ResolveAxis("argmax", *axis, ndim());
  if (ndim() == 0) return Like(*this, ir::Const(DefaultInt(), 0));
  int64_t n = Dim(a);
  if (n == 0) {
    throw ShapeError(absl::StrCat("argmax: axis ", a, " of ", ir::ToString(shape()), " is empty"));
  }
  // The first of the greatest has the greatest n - index.
  Shape line(ndim(), Sint(1));
  line[a] = n;
  Tensor back = Arange(n, 0, -1, {kInt32, device()}).Reshape(line);
  Tensor x = dtype().IsBool() ? Cast(kInt32) : *this;
  Tensor best = (x == x.Max(a, true)).Where(back, 0).Max(a, keepdim);
  return (n - best).Cast(DefaultInt());
}

Tensor Tensor::ArgMin(std::optional<int> axis, bool keepdim) const {
  return (dtype().IsFloat() ? -*this : ~*this).ArgMax(axis, keepdim);
}

Tensor Tensor::CumSum(int axis) const {
  Tensor x = Strong(*this);
  DType acc = Accumulator(x.dtype());
  Tensor r = Cumulate("cumsum", x.Cast(acc), axis, Op::kAdd, ir::Const(acc, 0));
  return x.dtype().IsFloat() ? r.Cast(x.dtype()) : r;
}

Tensor Tensor::CumProd(int axis) const {
  Tensor x = Strong(*this);
  DType acc = Accumulator(x.dtype());
  Tensor r = Cumulate("cumprod", x.Cast(acc), axis, Op::kMul, ir::Const(acc, 1));
  return x.dtype().IsFloat() ? r.Cast(x.dtype()) : r;
}

Tensor Tensor::CumMax(int axis) const {
  Tensor x = Strong(*this);
  if (x.dtype().IsBool()) return x.Cast(kInt32).CumMax(axis) > 0;
  return Cumulate("cummax", x, axis, Op::kMax, Least(x.dtype()));
}

Tensor Tensor::Softmax(int axis) const {
  Tensor x = ToFloat(*this);
  Tensor e = (x - x.Max(axis, true).Detach()).Exp();
  return e / e.Sum(axis, true);
}

Tensor Tensor::LogSoftmax(int axis) const {
  Tensor x = ToFloat(*this);
  Tensor m = x - x.Max(axis, true).Detach();
  return m - m.Exp().Sum(axis, true).Log();
}

Tensor Tensor::Normalize(double p, int axis, double eps) const {
  Tensor x = ToFloat(*this);
  Tensor norm;
  if (std::isinf(p)) {
    norm = x.Abs().Max(axis, true);
  } else if (p == 0) {
    norm = (x != 0.0).Cast(x.dtype()).Sum(axis, true);
  } else {
    norm = x.Abs().Pow(p).Sum(axis, true).Pow(1.0 / p);
  }
  return x / norm.Maximum(eps);
}

// Each element's place is the number of elements that come before it: work quadratic in the axis,
// but one step, however long the axis is.
std::pair<Tensor, Tensor> Tensor::Sort(int axis, bool descending) const {
  axis = ResolveAxis("sort", axis, ndim());
  if (ndim() == 0) return {Like(*this, uop()), Like(*this, ir::Const(DefaultInt(), 0))};
  int64_t n = Dim(axis);
  Tensor x = Strong(*this).Transpose(axis, -1);
  if (dtype().IsBool()) x = x.Cast(kInt32);
  Tensor mine = x.Unsqueeze(-1);
  Tensor other = x.Unsqueeze(-2);
  Tensor less = descending ? mine < other : other < mine;
  Tensor same = other == mine;
  if (x.dtype().IsFloat()) {
    // NaNs are greatest, and equal to each other.
    Tensor a = mine.IsNan();
    Tensor b = other.IsNan();
    less = less | (descending ? b & ~a : a & ~b);
    same = same | (a & b);
  }
  Tensor index = Arange(n, {kInt32, device()});
  Tensor earlier = index < index.Unsqueeze(-1);
  Tensor place = (less | (same & earlier)).Sum(-1).Contiguous();
  // The element whose place is j, at j.
  Tensor at = place.Unsqueeze(-2) == index.Unsqueeze(-1);
  Tensor order = at.Where(index, 0).Sum(-1);
  Tensor values = Strong(*this).Transpose(axis, -1).Gather(-1, order);
  return {values.Transpose(axis, -1), order.Cast(DefaultInt()).Transpose(axis, -1)};
}

std::pair<Tensor, Tensor> Tensor::TopK(int64_t k, int axis, bool largest) const {
  axis = ResolveAxis("topk", axis, ndim());
  if (ndim() == 0 || k < 0 || k > Dim(axis)) {
    throw ShapeError(absl::StrCat("topk: k=", k, " out of range for axis ", axis, " of ",
                                  ir::ToString(shape())));
  }
  auto [values, order] = Sort(axis, largest);
  std::vector<std::optional<std::pair<Sint, Sint>>> box(ndim());
  box[axis] = {Sint(0), Sint(k)};
  return {values.Shrink(box), order.Shrink(box)};
}

}  // namespace tg
