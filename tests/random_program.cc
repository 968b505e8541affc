#include "tests/random_program.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "base/error.h"
#include "codegen/ir/shape.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/index.h"

namespace tg::testing {
namespace {

using Kind = StepKind;

constexpr const char* kNames[] = {
    "leaf",     "full",    "arange",    "neg",     "relu",       "abs",        "square",
    "sign",     "not",     "cast",      "bitcast", "floor",      "halve",      "add",
    "sub",      "mul",     "max",       "min",     "less",       "equal",      "and",
    "or",       "xor",     "where",     "shl",     "shr",        "floordiv",   "mod",
    "truncdiv", "rampdiv", "rampshift", "sigmoid", "tanh",       "sin",        "exp",
    "sqrt",     "log",     "recip",     "sum",     "reduce_max", "reduce_min", "prod",
    "mean",     "argmax",  "cumsum",    "softmax", "matmul",     "conv",       "maxpool",
    "gradient", "reshape", "permute",   "flip",    "shrink",     "pad",        "expand",
    "roll",     "cat",     "unfold",    "repeat",  "gather",     "stride",     "contiguous",
    "clone",    "assign",  "setindex",  "shift",   "realize",
};
static_assert(std::size(kNames) == static_cast<size_t>(Kind::kRealize) + 1);

bool IsStatement(Kind k) { return k >= Kind::kAssign; }
bool IsMutation(Kind k) { return k >= Kind::kAssign && k != Kind::kRealize; }

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

// A step that has a value.
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

// A statement on live tensors.
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

double Magnitude(const Tensor& t, bool* finite) {
  double m = 0;
  for (double v : t.ToVector<double>()) {
    *finite = *finite && std::isfinite(v);
    m = std::max(m, std::fabs(v));
  }
  return m;
}

// Half a unit in the last place of 1, and the integers that are exact.
double Epsilon(DType d) {
  if (d == kFloat16) return std::ldexp(1, -11);
  if (d == kBFloat16) return std::ldexp(1, -8);
  if (d == kFloat32) return std::ldexp(1, -24);
  return std::ldexp(1, -53);
}
double ExactLimit(DType d) { return 1 / Epsilon(d); }

struct Operand {
  Tensor tensor;
  double error, magnitude;
};

// The bound of the result's error, or none where the step must not take such operands.
std::optional<double> ErrorOf(const Step& s, absl::Span<const Operand> in, const Tensor& result,
                              double magnitude) {
  const bool floats = result.dtype().IsFloat();
  double worst = 0;
  bool inexact = false;
  for (const Operand& o : in) {
    worst = std::max(worst, o.error);
    inexact = inexact || o.error > 0;
  }
  if (inexact && !floats) return std::nullopt;
  const double eps = floats ? Epsilon(result.dtype()) : 0;
  const int64_t n = in.empty() ? 1
                               : Product(FromShape(in[0].tensor.shape())) /
                                     std::max<int64_t>(1, Product(FromShape(result.shape())));
  // Where integers in [-bound, bound] occur on the way, nothing rounds.
  auto unless_exact = [&](double bound, double error) {
    return !inexact && bound <= ExactLimit(result.dtype()) ? 0.0 : error;
  };
  if (!floats) return 0;
  switch (s.kind) {
    case Kind::kLeaf:
    case Kind::kFull:
    case Kind::kArange:
      return magnitude <= ExactLimit(result.dtype()) ? std::optional<double>(0) : std::nullopt;
    case Kind::kFloor:
    case Kind::kSign:
    case Kind::kWhere:
      if (s.kind == Kind::kWhere) return std::max(in[1].error, in[2].error);
      return inexact ? std::nullopt : std::optional<double>(0);
    case Kind::kBitcast:
      return inexact ? std::nullopt : std::optional<double>(0);
    case Kind::kCast:
      return unless_exact(in[0].magnitude, worst + magnitude * eps);
    case Kind::kHalve:
      // Halves of integers are no integers.
      return worst + magnitude * eps;
    case Kind::kSquare:
      return unless_exact(magnitude, 2 * worst * (in[0].magnitude + worst) + magnitude * eps);
    case Kind::kAdd:
    case Kind::kSub:
      return unless_exact(magnitude, in[0].error + in[1].error + magnitude * eps +
                                         (in[0].magnitude + in[1].magnitude) * eps);
    case Kind::kMul:
      return unless_exact(magnitude, in[0].error * in[1].magnitude + in[1].error * in[0].magnitude +
                                         in[0].error * in[1].error + magnitude * eps);
    case Kind::kMax:
    case Kind::kMin: {
      // Operands of narrower dtypes are converted exactly; integers may round.
      const double m = std::max(in[0].magnitude, in[1].magnitude);
      return unless_exact(m, worst + m * eps);
    }
    case Kind::kSigmoid:
    case Kind::kTanh:
    case Kind::kSin:
    case Kind::kSqrt:
    case Kind::kLog:
    case Kind::kReciprocal:
      // Slopes are at most 1; a few roundings on the way, of intermediates up to 1e4 whose
      // relative error is halved (sqrt) or becomes absolute (log).
      return worst + 16 * std::max(1.0, magnitude) * eps + (s.kind == Kind::kSin ? 32 * eps : 0);
    case Kind::kExp:
      return magnitude * (worst + 16 * eps);
    case Kind::kSoftmax:
      return 4 * worst + 32 * eps;
    case Kind::kSum:
    case Kind::kCumSum: {
      const double terms =
          static_cast<double>(s.kind == Kind::kSum ? n : in[0].tensor.shape()[s.params[0]].value());
      const double m = terms * in[0].magnitude;
      return unless_exact(m, terms * worst + m * eps * (terms + 1));
    }
    case Kind::kMean:
      return worst + (in[0].magnitude + worst) * eps * static_cast<double>(n + 4);
    case Kind::kProd:
      return n <= 1 ? std::optional<double>(worst) : std::nullopt;
    case Kind::kGradient:
      // Nothing better is known than how much may cancel.
      if (inexact) return std::nullopt;
      return 500 * eps * (1 + magnitude + in[0].magnitude * in[0].magnitude * in[0].magnitude);
    case Kind::kMatMul:
    case Kind::kConv: {
      const double terms = s.kind == Kind::kMatMul
                               ? static_cast<double>(in[0].tensor.Dim(-1))
                               : static_cast<double>(Product(FromShape(in[1].tensor.shape())));
      const double m = terms * in[0].magnitude * in[1].magnitude;
      return unless_exact(m, terms * (in[0].error * in[1].magnitude +
                                      in[1].error * in[0].magnitude + in[0].error * in[1].error) +
                                 m * eps * (terms + 2));
    }
    default:
      return worst;
  }
}

Tensor Restore(const OracleValue& v) { return FromBytes(v.bytes, v.dtype, ToShape(v.shape)); }

OracleValue Keep(const Tensor& t, double error) {
  return {.defined = true,
          .dtype = t.dtype(),
          .shape = FromShape(t.shape()),
          .bytes = t.ToBytes(),
          .error = error};
}

constexpr int64_t kMaxElements = 60'000;
constexpr int64_t kMaxSmallElements = 600;
constexpr double kMaxMagnitude = 1e6;

// Runs one step on plain values. Throws tg::Error where it must not be.
void OracleStep(const Step& s, std::vector<OracleValue>& values) {
  OracleValue result;
  for (int i : s.in) {
    if (!values[i].defined) throw UsageError("no such operand");
  }
  if (s.kind == Kind::kRealize) {
    values.push_back(result);
    return;
  }
  if (IsMutation(s.kind)) {
    std::vector<Tensor> tensors(values.size());
    for (int i : s.in) tensors[i] = Restore(values[i]);
    double error = 0;
    for (int i : s.in) error = std::max(error, values[i].error);
    OracleValue& target = values[s.in[0]];
    const OracleValue& value = values[s.in.back()];
    if (error > 0 && !target.dtype.IsFloat()) throw UsageError("inexact into integers");
    bool finite = true;
    const double m = Magnitude(tensors[s.in.back()], &finite);
    if (target.dtype.IsFloat() &&
        (m > ExactLimit(target.dtype) || (error > 0 && !(value.dtype == target.dtype)))) {
      error += m * Epsilon(target.dtype);
    }
    ApplyStatement(s, tensors);
    target = Keep(tensors[s.in[0]], error);
    finite = true;
    Magnitude(tensors[s.in[0]], &finite);
    if (!finite) throw UsageError("infinite");
    values.push_back(result);
    return;
  }
  std::vector<Tensor> tensors;
  std::vector<Operand> operands;
  for (int i : s.in) {
    tensors.push_back(Restore(values[i]));
    bool finite = true;
    const double magnitude = Magnitude(tensors.back(), &finite);
    operands.push_back({tensors.back(), values[i].error, magnitude});
  }
  const Tensor t = Apply(s, tensors);
  if (t.dtype().IsWeak()) throw UsageError("weak");
  if (Product(FromShape(t.shape())) > kMaxElements || t.ndim() > 6) throw UsageError("large");
  bool finite = true;
  const double magnitude = Magnitude(t, &finite);
  if (!finite) throw UsageError("infinite");
  if (t.dtype().IsFloat() && magnitude > kMaxMagnitude) throw UsageError("large numbers");
  const std::optional<double> error = ErrorOf(s, operands, t, magnitude);
  if (!error.has_value()) throw UsageError("inexact");
  if (*error > 0.05 * std::max(1.0, magnitude)) throw UsageError("nothing is known");
  values.push_back(Keep(t, *error));
}

class Generator {
 public:
  Generator(uint64_t seed, int steps, bool large) : rng_(seed), steps_(steps), large_(large) {}

  Program Run() {
    const int leaves = 1 + Int(3);
    // A leaf that is too large does not count.
    for (int i = 0; i < leaves || values_.empty(); ++i) Try(Leaf());
    for (int tries = 0; static_cast<int>(program_.steps.size()) < steps_ && tries < 40 * steps_;
         ++tries) {
      std::optional<Step> s = Propose();
      if (s.has_value()) Try(*std::move(s));
    }
    const int last = LastValue();
    program_.roots = {last};
    for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
      if (!values_[i].defined || i == last) continue;
      if (mutated_.count(i) != 0 ? Chance(0.8) : Chance(0.12)) program_.roots.push_back(i);
    }
    std::shuffle(program_.roots.begin(), program_.roots.end(), rng_);
    program_.together = Chance(0.7);
    return program_;
  }

 private:
  int Int(int n) { return static_cast<int>(rng_() % static_cast<uint64_t>(n)); }
  int64_t Between(int64_t a, int64_t b) { return a + Int(static_cast<int>(b - a + 1)); }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(rng_) < p; }

  void Try(Step s) {
    try {
      OracleStep(s, values_);
    } catch (const Error&) {
      return;
    }
    if (!large_ && Product(values_.back().shape) > kMaxSmallElements) {
      values_.pop_back();
      return;
    }
    if (IsMutation(s.kind)) mutated_.insert(s.in[0]);
    program_.steps.push_back(std::move(s));
  }

  int LastValue() {
    for (int i = static_cast<int>(values_.size()); i-- > 0;) {
      if (values_[i].defined) return i;
    }
    return 0;
  }

  // Favours recent values: programs get deep.
  int Pick() {
    const int n = static_cast<int>(values_.size());
    for (int tries = 0; tries < 50; ++tries) {
      const int i = Chance(0.5) ? std::max(0, n - 1 - Int(4)) : Int(n);
      if (values_[i].defined) return i;
    }
    return 0;
  }

  DType AnyDType() {
    static constexpr DType kAll[] = {kFloat32,  kFloat32, kFloat32, kFloat32, kFloat64, kFloat16,
                                     kBFloat16, kInt32,   kInt32,   kInt64,   kInt16,   kInt8,
                                     kUInt8,    kUInt16,  kUInt32,  kUInt64,  kBool};
    return kAll[Int(std::size(kAll))];
  }

  std::vector<int64_t> AnyShape() {
    std::vector<int64_t> s(Int(5));
    for (int64_t& d : s) {
      static constexpr int64_t kSizes[] = {1, 1, 2, 3, 3, 4, 4, 5, 6, 7, 8};
      static constexpr int64_t kLargeSizes[] = {1, 3, 8, 16, 17, 32, 33, 64, 100};
      d = Chance(large_ ? 0.01 : 0.04) ? 0
          : large_                     ? kLargeSizes[Int(std::size(kLargeSizes))]
                                       : kSizes[Int(std::size(kSizes))];
    }
    return s;
  }

  Step Leaf() {
    Step s{.kind = Kind::kLeaf};
    s.dtype = AnyDType();
    s.shape = AnyShape();
    for (int64_t i = 0; i < Product(s.shape); ++i) {
      s.data.push_back(static_cast<double>(s.dtype.IsBool()       ? Int(2)
                                           : s.dtype.IsUnsigned() ? Int(9)
                                                                  : Between(-6, 6)));
    }
    return s;
  }

  std::optional<Step> Propose() {
    Step s;
    const double what = std::uniform_real_distribution<double>(0, 1)(rng_);
    const int a = Pick();
    const OracleValue& v = values_[a];
    const int ndim = static_cast<int>(v.shape.size());
    s.in = {a};
    if (what < 0.04) {
      s = Leaf();
    } else if (what < 0.06) {
      s.in.clear();
      s.dtype = AnyDType();
      s.kind = Chance(0.5) ? Kind::kFull : Kind::kArange;
      s.shape = AnyShape();
      s.params = s.kind == Kind::kFull ? std::vector<int64_t>{Between(0, 3)}
                                       : std::vector<int64_t>{Between(0, 3), Between(4, 12), 2};
    } else if (what < 0.18) {
      static constexpr Kind kUnary[] = {Kind::kNeg,  Kind::kRelu,    Kind::kAbs,   Kind::kSquare,
                                        Kind::kSign, Kind::kNot,     Kind::kCast,  Kind::kCast,
                                        Kind::kCast, Kind::kBitcast, Kind::kFloor, Kind::kHalve};
      s.kind = kUnary[Int(std::size(kUnary))];
      s.dtype = AnyDType();
      s.params = {Int(3)};
      if (s.kind == Kind::kNot && !v.dtype.IsBool()) return std::nullopt;
      if (s.kind == Kind::kBitcast &&
          (v.dtype.IsFloat() || s.dtype.IsFloat() || v.dtype.IsBool() || s.dtype.IsBool())) {
        return std::nullopt;
      }
    } else if (what < 0.22) {
      if (v.dtype.IsFloat() || v.dtype.IsBool()) return std::nullopt;
      static constexpr Kind kInts[] = {Kind::kShiftLeft,    Kind::kShiftRight,  Kind::kFloorDiv,
                                       Kind::kDivideByRamp, Kind::kShiftByRamp, Kind::kMod,
                                       Kind::kTruncDiv};
      s.kind = kInts[Int(std::size(kInts))];
      const bool shift = s.kind == Kind::kShiftLeft || s.kind == Kind::kShiftRight;
      const bool ramp = s.kind == Kind::kDivideByRamp || s.kind == Kind::kShiftByRamp;
      if (ramp && ndim > 0 && v.shape.back() > v.dtype.bytes() * 8) return std::nullopt;
      int64_t by = Between(1, 7);
      if (!shift && !ramp && v.dtype.IsSigned() && Chance(0.3)) by = -by;
      s.params = {shift ? Int(v.dtype.bytes() * 8) : by};
    } else if (what < 0.42) {
      static constexpr Kind kBinary[] = {
          Kind::kAdd, Kind::kAdd,  Kind::kAdd,   Kind::kSub, Kind::kMul, Kind::kMul, Kind::kMax,
          Kind::kMin, Kind::kLess, Kind::kEqual, Kind::kAnd, Kind::kOr,  Kind::kXor, Kind::kWhere};
      s.kind = kBinary[Int(std::size(kBinary))];
      if (s.kind == Kind::kWhere) {
        // A condition that fits, or else one is made.
        int condition = -1;
        for (int tries = 0; tries < 10 && condition < 0; ++tries) {
          const int c = Partner(a);
          if (values_[c].dtype.IsBool()) condition = c;
        }
        s.in = {condition, a, Partner(a)};
        if (condition < 0) {
          s.kind = Kind::kLess;
          s.in = {a, Partner(a)};
        }
      } else {
        s.in = {a, Partner(a)};
        if (Chance(0.5)) std::swap(s.in[0], s.in[1]);
        const bool bits = s.kind == Kind::kAnd || s.kind == Kind::kOr || s.kind == Kind::kXor;
        if (bits && (values_[s.in[0]].dtype.IsFloat() || values_[s.in[1]].dtype.IsFloat())) {
          return std::nullopt;
        }
      }
    } else if (what < 0.48) {
      static constexpr Kind kSmooth[] = {Kind::kSigmoid, Kind::kTanh, Kind::kSin,       Kind::kExp,
                                         Kind::kSqrt,    Kind::kLog,  Kind::kReciprocal};
      s.kind = kSmooth[Int(std::size(kSmooth))];
      if (!v.dtype.IsFloat()) return std::nullopt;
    } else if (what < 0.60) {
      if (ndim == 0) return std::nullopt;
      static constexpr Kind kReduce[] = {
          Kind::kSum,  Kind::kSum,  Kind::kSum,    Kind::kReduceMax, Kind::kReduceMin,
          Kind::kProd, Kind::kMean, Kind::kArgMax, Kind::kCumSum,    Kind::kSoftmax};
      s.kind = kReduce[Int(std::size(kReduce))];
      s.params = {Int((1 << ndim) - 1) + 1, Int(2)};
      if (s.kind >= Kind::kArgMax) s.params = {Int(ndim)};
      if (s.kind == Kind::kSoftmax && !v.dtype.IsFloat()) return std::nullopt;
      if (s.kind == Kind::kMean && !v.dtype.IsFloat()) return std::nullopt;
      // The greatest of nothing is an infinity, and the mean a NaN.
      if (Product(v.shape) == 0 && s.kind != Kind::kSum) return std::nullopt;
    } else if (what < 0.66) {
      return Contraction(a);
    } else if (what < 0.84) {
      return Movement(a);
    } else if (what < 0.88) {
      s.kind = Chance(0.5) ? Kind::kContiguous : Kind::kClone;
    } else if (what < 0.97) {
      return Statement();
    } else {
      s.kind = Kind::kRealize;
      if (Chance(0.5)) s.in.push_back(Pick());
    }
    return s;
  }

  // A value that broadcasts with value a.
  int Partner(int a) {
    const std::vector<int64_t>& x = values_[a].shape;
    for (int tries = 0; tries < 12; ++tries) {
      const int b = Pick();
      const std::vector<int64_t>& y = values_[b].shape;
      bool fits = true;
      for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
        const int64_t p = x[x.size() - 1 - i], q = y[y.size() - 1 - i];
        fits = fits && (p == q || p == 1 || q == 1);
      }
      if (fits && (b != a || tries > 6)) return b;
    }
    return a;
  }

  std::optional<Step> Contraction(int a) {
    Step s;
    const DType d = values_[a].dtype;
    if (Chance(0.4) && (d == kFloat32 || d == kFloat64)) {
      if (values_[a].shape.empty() || Product(values_[a].shape) == 0) return std::nullopt;
      s.kind = Kind::kGradient;
      s.in = {a};
      s.params = {Int(8)};
      if (s.params[0] == 2 && values_[a].shape.size() < 2) return std::nullopt;
      return s;
    }
    const std::vector<int64_t>& x = values_[a].shape;
    if (x.size() == 4 && Chance(0.7)) {
      if (Chance(0.4)) {
        s.kind = Kind::kMaxPool;
        s.in = {a};
        s.params = {Between(1, 3), Between(1, 3)};
        return s;
      }
      for (int tries = 0; tries < 20; ++tries) {
        const int b = Pick();
        const std::vector<int64_t>& y = values_[b].shape;
        if (y.size() == 4 && y[1] == x[1] && values_[b].dtype == values_[a].dtype) {
          s.kind = Kind::kConv;
          s.in = {a, b};
          s.params = {Between(1, 2), Between(1, 2), Between(0, 2)};
          return s;
        }
      }
      return std::nullopt;
    }
    if (x.size() < 2) return std::nullopt;
    s.kind = Kind::kMatMul;
    s.params = {Int(2)};
    for (int tries = 0; tries < 20; ++tries) {
      const int b = Pick();
      const std::vector<int64_t>& y = values_[b].shape;
      if (y.size() < 2 || y.size() > 3) continue;
      if (x.back() != y[y.size() - (s.params[0] != 0 ? 1 : 2)]) continue;
      s.in = {a, b};
      return s;
    }
    s.params = {1};
    s.in = {a, a};
    return s;
  }

  std::optional<Step> Movement(int a) {
    const std::vector<int64_t>& x = values_[a].shape;
    const int ndim = static_cast<int>(x.size());
    Step s;
    s.in = {a};
    static constexpr Kind kMoves[] = {
        Kind::kReshape, Kind::kReshape, Kind::kPermute, Kind::kPermute, Kind::kFlip, Kind::kShrink,
        Kind::kPad,     Kind::kPad,     Kind::kExpand,  Kind::kExpand,  Kind::kRoll, Kind::kCat,
        Kind::kUnfold,  Kind::kRepeat,  Kind::kGather,  Kind::kStride};
    s.kind = kMoves[Int(std::size(kMoves))];
    if (ndim == 0 && s.kind != Kind::kReshape && s.kind != Kind::kExpand) return std::nullopt;
    switch (s.kind) {
      case Kind::kReshape: {
        // Splits or joins axes.
        s.shape = x;
        for (int n = 1 + Int(2); n > 0; --n) {
          const int k = Int(static_cast<int>(s.shape.size()) + 1);
          if (Chance(0.2) || k == static_cast<int>(s.shape.size())) {
            s.shape.insert(s.shape.begin() + k, 1);
          } else if (Chance(0.5) && k + 1 < static_cast<int>(s.shape.size())) {
            s.shape[k] *= s.shape[k + 1];
            s.shape.erase(s.shape.begin() + k + 1);
          } else {
            for (int64_t f : {2, 3, 5}) {
              if (s.shape[k] % f != 0 || s.shape[k] == 0) continue;
              s.shape[k] /= f;
              s.shape.insert(s.shape.begin() + k + (Chance(0.5) ? 1 : 0), f);
              break;
            }
          }
        }
        return s;
      }
      case Kind::kPermute:
        for (int i = 0; i < ndim; ++i) s.params.push_back(i);
        std::shuffle(s.params.begin(), s.params.end(), rng_);
        return s;
      case Kind::kFlip:
        s.params = {Int((1 << ndim) - 1) + 1};
        return s;
      case Kind::kShrink:
        for (int64_t d : x) {
          const int64_t begin = Between(0, Chance(0.5) ? 0 : std::max<int64_t>(0, d - 1));
          s.params.push_back(begin);
          s.params.push_back(Chance(0.5) ? d : Between(std::min(begin + 1, d), d));
        }
        return s;
      case Kind::kPad:
        for (int i = 0; i < ndim; ++i) {
          s.params.push_back(Chance(0.5) ? 0 : Between(0, 3));
          s.params.push_back(Chance(0.5) ? 0 : Between(0, 3));
        }
        s.params.push_back(Chance(0.7) ? 0 : Between(0, 5));
        s.params.push_back(0);
        return s;
      case Kind::kExpand:
        s.shape = x;
        for (int64_t& d : s.shape) {
          if (d == 1 && Chance(0.6)) d = Between(2, 5);
        }
        if (Chance(0.3) || ndim == 0) s.shape.insert(s.shape.begin(), Between(1, 4));
        return s;
      case Kind::kRoll:
        s.params = {Int(ndim), Between(-4, 4)};
        return s;
      case Kind::kCat:
        s.in.push_back(a);
        for (int tries = 0; tries < 20; ++tries) {
          const int b = Pick();
          if (values_[b].shape == x && values_[b].dtype == values_[a].dtype) s.in[1] = b;
        }
        if (Chance(0.5)) std::swap(s.in[0], s.in[1]);
        s.params = {Int(ndim)};
        return s;
      case Kind::kUnfold: {
        const int axis = Int(ndim);
        if (x[axis] < 1) return std::nullopt;
        s.params = {axis, Between(1, x[axis]), Between(1, 3)};
        return s;
      }
      case Kind::kRepeat:
        for (int i = 0; i < ndim; ++i) s.params.push_back(Chance(0.5) ? 1 : Between(1, 3));
        return s;
      case Kind::kGather: {
        const int b = Pick();
        const DType d = values_[b].dtype;
        if (d.IsFloat() || d.IsBool()) return std::nullopt;
        s.in.push_back(b);
        return s;
      }
      case Kind::kStride:
        s.params = AnySlices(x);
        return s;
      default:
        return std::nullopt;
    }
  }

  std::vector<int64_t> AnySlices(const std::vector<int64_t>& x) {
    std::vector<int64_t> p;
    for (int64_t d : x) {
      const int64_t begin = Chance(0.5) ? 0 : Between(0, d);
      const int64_t end = Chance(0.5) ? d : Between(std::min(begin, d), d);
      p.insert(p.end(), {begin, end, Chance(0.7) ? 1 : Between(2, 3)});
    }
    return p;
  }

  std::optional<Step> Statement() {
    Step s;
    std::vector<int> targets;
    for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
      if (!values_[i].defined) continue;
      const Kind k = program_.steps[i].kind;
      // Mostly tensors that own memory.
      if (k == Kind::kLeaf || k == Kind::kClone || Chance(0.1)) targets.push_back(i);
    }
    if (targets.empty()) return std::nullopt;
    const int t = targets[Int(static_cast<int>(targets.size()))];
    const std::vector<int64_t>& x = values_[t].shape;
    s.in = {t, Chance(0.3) ? t : Pick()};
    const double what = std::uniform_real_distribution<double>(0, 1)(rng_);
    if (what < 0.4 || x.empty()) {
      s.kind = Kind::kAssign;
    } else if (what < 0.75) {
      s.kind = Kind::kSetIndex;
      s.params = AnySlices(x);
    } else {
      s.kind = Kind::kShift;
      s.in = {t};
      const int axis = Int(static_cast<int>(x.size()));
      if (x[axis] < 2) return std::nullopt;
      s.params = {axis, Between(1, x[axis] - 1), Int(2)};
    }
    return s;
  }

  std::mt19937_64 rng_;
  int steps_;
  bool large_;
  Program program_;
  std::vector<OracleValue> values_;
  std::set<int> mutated_;
};

}  // namespace

std::vector<OracleValue> Expected(const Program& program) {
  std::vector<OracleValue> values;
  for (const Step& s : program.steps) OracleStep(s, values);
  std::vector<OracleValue> roots;
  for (int r : program.roots) {
    if (!values[r].defined) throw UsageError("a statement is no root");
    roots.push_back(values[r]);
  }
  return roots;
}

Program Generate(uint64_t seed, int steps, bool large) {
  return Generator(seed, steps, large).Run();
}

std::vector<std::vector<std::byte>> Execute(const Program& program) {
  std::vector<Tensor> values;
  for (const Step& s : program.steps) {
    Tensor t;
    if (IsStatement(s.kind)) {
      ApplyStatement(s, values);
    } else {
      std::vector<Tensor> in;
      for (int i : s.in) in.push_back(values[i]);
      t = Apply(s, in);
      // Operations that change nothing may give the operand itself, which a statement would change.
      for (const Tensor& x : in) {
        if (t.IsSame(x)) t = Tensor::FromUOp(x.uop(), x.device());
      }
    }
    values.push_back(std::move(t));
  }
  if (program.together) {
    std::vector<Tensor> roots;
    for (int r : program.roots) roots.push_back(values[r]);
    Tensor::Realize(roots);
  }
  std::vector<std::vector<std::byte>> bytes;
  for (int r : program.roots) bytes.push_back(values[r].ToBytes());
  return bytes;
}

std::string Compare(const std::vector<OracleValue>& expected,
                    const std::vector<std::vector<std::byte>>& actual) {
  std::ostringstream os;
  for (size_t r = 0; r < expected.size(); ++r) {
    const OracleValue& e = expected[r];
    if (actual[r].size() != e.bytes.size()) {
      os << "root " << r << " has " << actual[r].size() << " bytes instead of " << e.bytes.size();
      return os.str();
    }
    const size_t width = static_cast<size_t>(e.dtype.bytes());
    for (size_t i = 0; i < e.bytes.size() / width; ++i) {
      uint64_t want = 0, got = 0;
      std::memcpy(&want, &e.bytes[i * width], width);
      std::memcpy(&got, &actual[r][i * width], width);
      if (e.dtype.IsFloat()) {
        const double w = ir::DecodeFloat(want, e.dtype), g = ir::DecodeFloat(got, e.dtype);
        // The model of errors is rough; what is wrong is usually very wrong.
        if (std::fabs(g - w) <= (e.error > 0 ? 8 * e.error + 1e-30 : 0)) continue;
        os << "root " << r << ", element " << i << " is " << g << " instead of " << w
           << ", error bound " << e.error;
        return os.str();
      }
      if (want == got) continue;
      os << "root " << r << ", element " << i << " is " << static_cast<int64_t>(got)
         << " instead of " << static_cast<int64_t>(want);
      return os.str();
    }
  }
  return "";
}

namespace {

// The program without step i, on which nothing depends.
Program Without(Program p, int i) {
  p.steps.erase(p.steps.begin() + i);
  for (Step& s : p.steps) {
    for (int& j : s.in) j -= j > i;
  }
  for (int& j : p.roots) j -= j > i;
  return p;
}

bool IsUsed(const Program& p, int i) {
  auto has = [i](const std::vector<int>& v) { return std::find(v.begin(), v.end(), i) != v.end(); };
  return has(p.roots) ||
         std::any_of(p.steps.begin(), p.steps.end(), [&](const Step& s) { return has(s.in); });
}

// The program with step i's value as a leaf, where it is exact.
std::optional<Program> WithLeaf(const Program& p, int i) {
  Program cut = p;
  cut.steps.resize(i + 1);
  cut.roots = {i};
  const OracleValue v = Expected(cut)[0];
  if (v.error > 0) return std::nullopt;
  Step leaf{.kind = Kind::kLeaf, .dtype = v.dtype, .shape = v.shape};
  leaf.data = Restore(v).ToVector<double>();
  Program r = p;
  r.steps[i] = leaf;
  return r;
}

Program WithOperandInstead(Program p, int i, int operand) {
  for (Step& s : p.steps) std::replace(s.in.begin(), s.in.end(), i, operand);
  std::replace(p.roots.begin(), p.roots.end(), i, operand);
  return Without(p, i);
}

}  // namespace

Program Minimise(Program program, const std::function<bool(const Program&)>& fails) {
  auto accept = [&](Program p) {
    try {
      Expected(p);
    } catch (const Error&) {
      return false;
    }
    if (!fails(p)) return false;
    program = std::move(p);
    return true;
  };
  bool progress = true;
  while (progress) {
    progress = false;
    for (size_t r = 0; r < program.roots.size() && program.roots.size() > 1;) {
      Program p = program;
      p.roots.erase(p.roots.begin() + static_cast<int>(r));
      if (accept(p)) {
        progress = true;
      } else {
        ++r;
      }
    }
    for (int i = static_cast<int>(program.steps.size()); i-- > 0;) {
      const Kind kind = program.steps[i].kind;
      // Also values that nothing uses may be the cause: they live.
      if (!IsUsed(program, i)) {
        progress = accept(Without(program, i)) || progress;
        continue;
      }
      if (kind == Kind::kLeaf) continue;
      if (std::optional<Program> p = WithLeaf(program, i); p.has_value() && accept(*p)) {
        progress = true;
        continue;
      }
      for (int operand : std::vector<int>(program.steps[i].in)) {
        if (accept(WithOperandInstead(program, i, operand))) {
          progress = true;
          break;
        }
      }
    }
  }
  return program;
}

std::string ToString(const Program& program) {
  std::ostringstream os;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& s = program.steps[i];
    os << "  ";
    if (!IsStatement(s.kind)) os << "%" << i << " = ";
    os << kNames[static_cast<int>(s.kind)] << "(";
    for (size_t k = 0; k < s.in.size(); ++k) os << (k > 0 ? ", %" : "%") << s.in[k];
    os << ")";
    if (!s.params.empty()) {
      os << " params";
      for (int64_t p : s.params) os << " " << p;
    }
    const bool made = s.in.empty() && !IsStatement(s.kind);
    if (made || s.kind == Kind::kCast || s.kind == Kind::kBitcast) os << " " << s.dtype;
    if (made || s.kind == Kind::kReshape || s.kind == Kind::kExpand) {
      os << " " << ir::ToString(ToShape(s.shape));
    }
    if (!s.data.empty()) {
      os << " {";
      for (size_t k = 0; k < s.data.size() && k < 40; ++k) os << (k > 0 ? "," : "") << s.data[k];
      os << (s.data.size() > 40 ? ",..}" : "}");
    }
    os << "\n";
  }
  os << "  roots";
  for (int r : program.roots) os << " %" << r;
  os << (program.together ? " together" : " one by one") << "\n";
  return os.str();
}

}  // namespace tg::testing
