#include "tests/random_step.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "codegen/ir/shape.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/index.h"

namespace tg::testing {

using Kind = StepKind;

Shape ToShape(const std::vector<int64_t>& s) { return Shape(s.begin(), s.end()); }

std::vector<int64_t> FromShape(const Shape& s) {
  std::vector<int64_t> r;
  for (const Sint& d : s) r.push_back(d.value());
  return r;
}

int64_t Product(const std::vector<int64_t>& s) {
  int64_t n = 1;
  for (int64_t d : s) n *= d;
  return n;
}

namespace {

std::vector<int> BitsToAxes(int64_t mask, int ndim) {
  std::vector<int> axes;
  for (int i = 0; i < ndim; ++i) {
    if (mask >> i & 1) axes.push_back(i);
  }
  return axes;
}

// b as a value that goes with `like`: its dtype, and its shape or one that broadcasts to it.
Tensor Fitted(const Tensor& b, const Tensor& like) {
  Tensor v = b.dtype() == like.dtype() ? b : b.Cast(like.dtype());
  // Assign broadcasts; what cannot be broadcast becomes its sum.
  const std::vector<int64_t> from = FromShape(v.shape()), to = FromShape(like.shape());
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const int64_t f = from[from.size() - 1 - i];
    fits = f == 1 || f == to[to.size() - 1 - i];
  }
  return fits ? v : v.Max().Cast(like.dtype());
}

// The slices of SetIndex and of its like: begin, end, step per axis.
std::vector<Indexer> Slices(const std::vector<int64_t>& p, int ndim) {
  std::vector<Indexer> r;
  for (int i = 0; i < ndim; ++i) r.push_back(Slice(p[3 * i], p[3 * i + 1], p[3 * i + 2]));
  return r;
}

// first, first + 1, .. along the last axis: where it is padded or cut, its formula goes on.
Tensor Ramp(int64_t first, const Tensor& like) {
  const int64_t n = like.ndim() == 0 ? 1 : like.Dim(-1);
  const Tensor ramp = Arange(first, first + n, 1, {like.dtype(), {}});
  return like.ndim() == 0 ? ramp.Reshape({}) : ramp;
}

// The gradient of some function of x, times the function's value.
Tensor GradientOf(int64_t function, const Tensor& value) {
  Tensor x = value.Detach(), y;
  const int last = x.ndim() - 1;
  switch (function) {
    case 0:
      y = x.Clamp(-4, 4).Softmax();
      break;
    case 1:
      y = x.LayerNorm();
      break;
    case 2:
      y = x.MatMul(x.Transpose(-1, -2));
      break;
    case 3:
      y = (x * 0.25).Tanh().CumSum(last);
      break;
    case 4:
      y = x.Max(last) * x.Mean(0).Sum();
      break;
    case 5:
      y = x.Unfold(last, std::min<int64_t>(2, x.Dim(last)), 1)
              .Square()
              .Pad(std::vector<std::pair<int64_t, int64_t>>(static_cast<size_t>(x.ndim()) + 1,
                                                            {1, 0}));
      break;
    case 6: {
      // A convolution of x with a part of itself.
      const int64_t n = x.NumElements(), side = std::min<int64_t>(n, 5);
      const Tensor image = x.Flatten().Reshape({1, 1, 1, n}).Expand({2, 1, 3, n});
      const Tensor kernel = x.Flatten().Shrink({{{Sint(0), Sint(side)}}}).Reshape({1, 1, 1, side});
      y = image.Conv2d(kernel.Expand({3, 1, 2, side}), Tensor(), {.padding = 1}).Relu();
      break;
    }
    default:
      y = Tensor::Cat({x.Flip(last), x.Sin()}, 0).Var(Axes(), false, 0);
      break;
  }
  return y.Gradient({x}, y.Detach())[0];
}

}  // namespace

Tensor Apply(const Step& s, absl::Span<const Tensor> in) {
  const auto& p = s.params;
  auto pairs = [&p] {
    std::vector<std::pair<int64_t, int64_t>> r;
    for (size_t i = 0; i + 1 < p.size(); i += 2) r.emplace_back(p[i], p[i + 1]);
    return r;
  };
  switch (s.kind) {
    case Kind::kLeaf:
      return FromData(s.data, ToShape(s.shape), {s.dtype, {}});
    case Kind::kFull:
      return Full(ToShape(s.shape), static_cast<double>(p[0]), {s.dtype, {}});
    case Kind::kArange:
      return Arange(p[0], p[1], p[2], {s.dtype, {}});
    case Kind::kNeg:
      return -in[0];
    case Kind::kRelu:
      return in[0].Relu();
    case Kind::kAbs:
      return in[0].Abs();
    case Kind::kSquare:
      return in[0].Square();
    case Kind::kSign:
      return in[0].Sign();
    case Kind::kNot:
      return in[0].LogicalNot();
    case Kind::kCast:
      return in[0].Cast(s.dtype);
    case Kind::kBitcast:
      return in[0].Bitcast(s.dtype);
    case Kind::kFloor:
      return p[0] == 0 ? in[0].Floor() : p[0] == 1 ? in[0].Trunc() : in[0].Round();
    case Kind::kHalve:
      return in[0] * 0.5;
    case Kind::kAdd:
      return in[0] + in[1];
    case Kind::kSub:
      return in[0] - in[1];
    case Kind::kMul:
      return in[0] * in[1];
    case Kind::kMax:
      return in[0].Maximum(in[1]);
    case Kind::kMin:
      return in[0].Minimum(in[1]);
    case Kind::kLess:
      return in[0] < in[1];
    case Kind::kEqual:
      return in[0] == in[1];
    case Kind::kAnd:
      return in[0] & in[1];
    case Kind::kOr:
      return in[0] | in[1];
    case Kind::kXor:
      return in[0] ^ in[1];
    case Kind::kWhere:
      return in[0].Where(in[1], in[2]);
    case Kind::kShiftLeft:
      return in[0] << Tensor(p[0]);
    case Kind::kShiftRight:
      return in[0] >> Tensor(p[0]);
    case Kind::kFloorDiv:
      return in[0].FloorDiv(p[0]);
    case Kind::kMod:
      return in[0].Mod(p[0]);
    case Kind::kTruncDiv:
      return in[0].TruncDiv(p[0]);
    case Kind::kDivideByRamp:
      return in[0].FloorDiv(Ramp(p[0], in[0])) + in[0].Mod(Ramp(1, in[0]));
    case Kind::kShiftByRamp:
      return in[0] >> Ramp(0, in[0]);
    case Kind::kSigmoid:
      return in[0].Sigmoid();
    case Kind::kTanh:
      return in[0].Tanh();
    case Kind::kSin:
      return in[0].Clamp(-30, 30).Sin();
    case Kind::kExp:
      return in[0].Clamp(-4, 4).Exp();
    case Kind::kSqrt:
      return (in[0].Clamp(-100, 100).Square() + 1).Sqrt();
    case Kind::kLog:
      return (in[0].Clamp(-100, 100).Square() + 1).Log();
    case Kind::kReciprocal:
      return 1.0 / (in[0].Clamp(-100, 100).Square() + 1);
    case Kind::kSum:
      return in[0].Sum(BitsToAxes(p[0], in[0].ndim()), p[1] != 0);
    case Kind::kReduceMax:
      return in[0].Max(BitsToAxes(p[0], in[0].ndim()), p[1] != 0);
    case Kind::kReduceMin:
      return in[0].Min(BitsToAxes(p[0], in[0].ndim()), p[1] != 0);
    case Kind::kProd:
      return in[0].Prod(BitsToAxes(p[0], in[0].ndim()), p[1] != 0);
    case Kind::kMean:
      return in[0].Mean(BitsToAxes(p[0], in[0].ndim()), p[1] != 0);
    case Kind::kArgMax:
      return in[0].ArgMax(static_cast<int>(p[0]));
    case Kind::kCumSum:
      return in[0].CumSum(static_cast<int>(p[0]));
    case Kind::kSoftmax:
      return in[0].Clamp(-4, 4).Softmax(static_cast<int>(p[0]));
    case Kind::kMatMul:
      return p[0] != 0 ? in[0].MatMul(in[1].Transpose(-1, -2)) : in[0].MatMul(in[1]);
    case Kind::kConv:
      return in[0].Conv2d(in[1], Tensor(), {.stride = p[0], .dilation = p[1], .padding = p[2]});
    case Kind::kMaxPool:
      return in[0].MaxPool2d({.kernel = p[0], .stride = p[1], .padding = 0});
    case Kind::kGradient:
      return GradientOf(p[0], in[0]);
    case Kind::kReshape:
      return in[0].Reshape(ToShape(s.shape));
    case Kind::kPermute:
      return in[0].Permute(std::vector<int>(p.begin(), p.end()));
    case Kind::kFlip:
      return in[0].Flip(BitsToAxes(p[0], in[0].ndim()));
    case Kind::kShrink: {
      std::vector<std::optional<std::pair<Sint, Sint>>> box;
      for (const auto& [a, b] : pairs()) box.push_back(std::pair<Sint, Sint>(a, b));
      return in[0].Shrink(box);
    }
    case Kind::kPad: {
      auto pads = pairs();
      const double value = static_cast<double>(pads.back().first);
      pads.pop_back();
      return in[0].Pad(pads, value);
    }
    case Kind::kExpand:
      return in[0].Expand(ToShape(s.shape));
    case Kind::kRoll:
      return in[0].Roll({p[1]}, {static_cast<int>(p[0])});
    case Kind::kCat:
      return Tensor::Cat(in, static_cast<int>(p[0]));
    case Kind::kUnfold:
      return in[0].Unfold(static_cast<int>(p[0]), p[1], p[2]);
    case Kind::kRepeat:
      return in[0].Repeat(p);
    case Kind::kGather:
      return in[0].Index({in[1]});
    case Kind::kStride:
      return in[0].Index(Slices(p, in[0].ndim()));
    case Kind::kContiguous:
      return in[0].Contiguous();
    case Kind::kClone:
      return in[0].Clone();
    default:
      break;
  }
  throw UsageError("a statement has no value");
}

void ApplyStatement(const Step& s, std::vector<Tensor>& values) {
  switch (s.kind) {
    case Kind::kAssign: {
      Tensor& t = values[s.in[0]];
      t.Assign(Fitted(values[s.in[1]], t));
      return;
    }
    case Kind::kSetIndex: {
      Tensor& t = values[s.in[0]];
      const std::vector<Indexer> slices = Slices(s.params, t.ndim());
      t.SetIndex(slices, Fitted(values[s.in[1]], t.Index(slices)));
      return;
    }
    case Kind::kShift: {
      // t[k:] = t[:-k] * 1 + t[k:], along an axis.
      Tensor& t = values[s.in[0]];
      const int axis = static_cast<int>(s.params[0]);
      const int64_t k = s.params[1], n = t.Dim(axis);
      std::vector<Indexer> to(axis, Slice()), from(axis, Slice());
      to.push_back(Slice(k, n));
      from.push_back(Slice(0, n - k));
      t.SetIndex(to, s.params[2] != 0 ? t.Index(from) : t.Index(from).Flip(axis));
      return;
    }
    case Kind::kRealize: {
      std::vector<Tensor> ts;
      for (int i : s.in) ts.push_back(values[i]);
      Tensor::Realize(ts);
      return;
    }
    default:
      break;
  }
}

}  // namespace tg::testing
