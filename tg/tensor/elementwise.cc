// Elementwise operations. The graph has few of them (op.h); the rest are composed here.

#include <cmath>
#include <limits>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "tg/tensor/impl.h"
#include "tg/tensor/tensor.h"

namespace tg {

using ir::Op;
using ir::UOp;
using tensor_internal::ElementwiseOp;
using tensor_internal::Promote;
using tensor_internal::ToFloat;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor Binary(Op op, const char* name, const Tensor& a, const Tensor& b) {
  return ElementwiseOp(op, name, Promote({a, b}));
}

Tensor Unary(Op op, const char* name, const Tensor& x) { return ElementwiseOp(op, name, {x}); }

// For operations on bits and whole numbers. (int64 and uint64 together promote to a float.)
void CheckIntegers(const char* name, const Tensor& a, const Tensor& b, bool allow_bool) {
  for (DType d : {a.dtype(), b.dtype(), ir::LeastUpperDType({a.dtype(), b.dtype()})}) {
    if (d.IsFloat() || (d.IsBool() && !allow_bool)) {
      throw DTypeError(absl::StrCat(name, ": expected integers", allow_bool ? " or bool" : "",
                                    ", got ", a.dtype().ToString(), " and ", b.dtype().ToString()));
    }
  }
}

Tensor Not(const Tensor& x) { return ElementwiseOp(Op::kXor, "not", {x, Tensor(true)}); }

// Bool has no arithmetic of its own.
Tensor BoolToInt(const Tensor& x) { return x.dtype().IsBool() ? x.Cast(DefaultInt()) : x; }

// The polynomial c[0] + x c[1] + x^2 c[2] ..., by Horner's rule.
Tensor Poly(const Tensor& x, std::initializer_list<double> c) {
  auto it = std::rbegin(c);
  Tensor r(*it);
  for (++it; it != std::rend(c); ++it) r = r * x + *it;
  return r;
}

}  // namespace

// --- Arithmetic
// -----------------------------------------------------------------------------------

Tensor operator+(const Tensor& a, const Tensor& b) {
  std::vector<Tensor> p = Promote({a, b});
  return ElementwiseOp(p[0].dtype().IsBool() ? Op::kOr : Op::kAdd, "add", p);
}

Tensor operator*(const Tensor& a, const Tensor& b) {
  std::vector<Tensor> p = Promote({a, b});
  return ElementwiseOp(p[0].dtype().IsBool() ? Op::kAnd : Op::kMul, "mul", p);
}

Tensor operator-(const Tensor& a, const Tensor& b) {
  std::vector<Tensor> p = Promote({BoolToInt(a), BoolToInt(b)});
  return ElementwiseOp(Op::kAdd, "sub", {p[0], -p[1]});
}

Tensor operator/(const Tensor& a, const Tensor& b) {
  std::vector<Tensor> p = Promote({ToFloat(a), ToFloat(b)});
  return ElementwiseOp(Op::kMul, "div", {p[0], p[1].Reciprocal()});
}

Tensor Tensor::operator-() const {
  if (dtype().IsBool()) return LogicalNot();
  return ElementwiseOp(Op::kMul, "neg", {*this, Tensor(-1).Cast(dtype())});
}

Tensor Tensor::operator~() const {
  if (dtype().IsBool()) return Not(*this);
  CheckIntegers("bitwise_not", *this, *this, true);
  return ElementwiseOp(Op::kXor, "bitwise_not", {*this, Tensor(-1).Cast(dtype())});
}

Tensor Tensor::LogicalNot() const { return Not(Cast(kBool)); }

Tensor operator&(const Tensor& a, const Tensor& b) {
  CheckIntegers("and", a, b, true);
  return Binary(Op::kAnd, "and", a, b);
}
Tensor operator|(const Tensor& a, const Tensor& b) {
  CheckIntegers("or", a, b, true);
  return Binary(Op::kOr, "or", a, b);
}
Tensor operator^(const Tensor& a, const Tensor& b) {
  CheckIntegers("xor", a, b, true);
  return Binary(Op::kXor, "xor", a, b);
}
Tensor operator<<(const Tensor& a, const Tensor& b) {
  CheckIntegers("shl", a, b, false);
  return Binary(Op::kShl, "shl", a, b);
}
Tensor operator>>(const Tensor& a, const Tensor& b) {
  CheckIntegers("shr", a, b, false);
  return Binary(Op::kShr, "shr", a, b);
}

Tensor Tensor::FloorDiv(const Tensor& o) const {
  std::vector<Tensor> p = Promote({BoolToInt(*this), BoolToInt(o)});
  if (p[0].dtype().IsFloat()) return (p[0] / p[1]).Floor();
  return ElementwiseOp(Op::kFloorDiv, "floordiv", p);
}

Tensor Tensor::Mod(const Tensor& o) const {
  std::vector<Tensor> p = Promote({BoolToInt(*this), BoolToInt(o)});
  if (p[0].dtype().IsFloat()) return p[0] - (p[0] / p[1]).Floor() * p[1];
  return ElementwiseOp(Op::kFloorMod, "mod", p);
}

Tensor Tensor::TruncDiv(const Tensor& o) const {
  std::vector<Tensor> p = Promote({BoolToInt(*this), BoolToInt(o)});
  if (p[0].dtype().IsFloat()) return (p[0] / p[1]).Trunc();
  return ElementwiseOp(Op::kCdiv, "truncdiv", p);
}

Tensor Tensor::Fmod(const Tensor& o) const {
  std::vector<Tensor> p = Promote({BoolToInt(*this), BoolToInt(o)});
  if (p[0].dtype().IsFloat()) return p[0] - (p[0] / p[1]).Trunc() * p[1];
  return ElementwiseOp(Op::kCmod, "fmod", p);
}

Tensor& Tensor::operator+=(const Tensor& o) { return Assign(*this + o); }
Tensor& Tensor::operator-=(const Tensor& o) { return Assign(*this - o); }
Tensor& Tensor::operator*=(const Tensor& o) { return Assign(*this * o); }
Tensor& Tensor::operator/=(const Tensor& o) { return Assign(*this / o); }

// --- Comparisons and selection
// --------------------------------------------------------------------

Tensor operator<(const Tensor& a, const Tensor& b) { return Binary(Op::kCmpLt, "less", a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return b < a; }
Tensor operator==(const Tensor& a, const Tensor& b) { return Binary(Op::kCmpEq, "equal", a, b); }
Tensor operator!=(const Tensor& a, const Tensor& b) {
  return Binary(Op::kCmpNe, "not_equal", a, b);
}
Tensor operator<=(const Tensor& a, const Tensor& b) {
  // With a NaN neither a <= b nor b < a.
  if (a.dtype().IsFloat() || b.dtype().IsFloat()) return (a < b) | (a == b);
  return Not(b < a);
}
Tensor operator>=(const Tensor& a, const Tensor& b) { return b <= a; }

Tensor Tensor::Maximum(const Tensor& o) const {
  std::vector<Tensor> p = Promote({*this, o});
  return ElementwiseOp(p[0].dtype().IsBool() ? Op::kOr : Op::kMax, "maximum", p);
}

Tensor Tensor::Minimum(const Tensor& o) const {
  std::vector<Tensor> p = Promote({*this, o});
  if (p[0].dtype().IsFloat()) return -(-p[0]).Maximum(-p[1]);
  return ~(~p[0]).Maximum(~p[1]);
}

Tensor Tensor::Where(const Tensor& a, const Tensor& b) const {
  if (!dtype().IsBool()) {
    throw DTypeError("where: expected a bool condition, got " + dtype().ToString());
  }
  std::vector<Tensor> p = Promote({a, b});
  return ElementwiseOp(Op::kWhere, "where", {*this, p[0], p[1]});
}

Tensor Tensor::MaskedFill(const Tensor& mask, const Tensor& value) const {
  return mask.Where(value, *this);
}

Tensor Tensor::Clamp(std::optional<double> low, std::optional<double> high) const {
  if (!low && !high) throw UsageError("clamp: expected a lower or an upper bound");
  auto bound = [&](double v) { return tensor_internal::NumberFor(dtype(), v); };
  Tensor r = *this;
  if (low) r = (r < bound(*low)).Where(bound(*low), r);
  if (high) r = (r > bound(*high)).Where(bound(*high), r);
  return r;
}

Tensor Tensor::IsNan() const { return *this != *this; }
Tensor Tensor::IsInf() const {
  if (!dtype().IsFloat())
    return tensor_internal::Like(*this, tensor_internal::Fill(ir::Const(kBool, false), shape()));
  return (*this == kInf) | (*this == -kInf);
}
Tensor Tensor::IsFinite() const { return Not(IsNan() | IsInf()); }

Tensor Tensor::IsClose(const Tensor& o, double rtol, double atol, bool equal_nan) const {
  Tensor near = (*this - o).Abs() <= o.Abs() * rtol + atol;
  Tensor close = (IsFinite() & o.IsFinite() & near) | (*this == o);
  return equal_nan ? close | (IsNan() & o.IsNan()) : close;
}

// --- Powers, exponentials, trigonometry
// -----------------------------------------------------------

Tensor Tensor::Reciprocal() const {
  Tensor x = ToFloat(*this);
  UOp c = tensor_internal::UniformConst(x.uop());
  if (c && !c.IsInvalid()) {
    return tensor_internal::Like(
        x, tensor_internal::Fill(ir::Const(x.dtype(), 1.0 / c.const_float()), shape()));
  }
  return Unary(Op::kReciprocal, "reciprocal", x);
}

Tensor Tensor::Square() const { return *this * *this; }
Tensor Tensor::Sqrt() const { return Unary(Op::kSqrt, "sqrt", ToFloat(*this)); }
Tensor Tensor::Rsqrt() const { return Sqrt().Reciprocal(); }
Tensor Tensor::Exp2() const { return Unary(Op::kExp2, "exp2", ToFloat(*this)); }
Tensor Tensor::Exp() const { return (ToFloat(*this) * std::numbers::log2e).Exp2(); }
Tensor Tensor::Log2() const { return Unary(Op::kLog2, "log2", ToFloat(*this)); }
Tensor Tensor::Log() const { return Log2() * std::numbers::ln2; }
Tensor Tensor::Log10() const { return Log2() * (std::numbers::ln2 / std::numbers::ln10); }
Tensor Tensor::Sin() const { return Unary(Op::kSin, "sin", ToFloat(*this)); }
Tensor Tensor::Cos() const { return (std::numbers::pi / 2 - ToFloat(*this)).Sin(); }
Tensor Tensor::Tan() const { return Sin() / Cos(); }

Tensor Tensor::Pow(const Tensor& o) const {
  UOp exponent = tensor_internal::UniformConst(o.uop());
  if (exponent && !exponent.IsInvalid()) {
    bool is_float = exponent.dtype().IsFloat();
    double e =
        is_float ? exponent.const_float() : ir::IntToDouble(exponent.const_int(), exponent.dtype());
    Tensor base = *this + (o * 0);  // shape and dtype of the result
    if (!base.dtype().IsFloat() && e < 0) {
      throw DTypeError("pow: a negative power of integers; cast the base to a float");
    }
    if (e == std::floor(e) && std::fabs(e) <= 16) {
      // By squaring.
      auto n = static_cast<int64_t>(std::fabs(e));
      Tensor r = n == 0 ? tensor_internal::Like(
                              base, tensor_internal::Fill(ir::Const(base.dtype(), 1), base.shape()))
                        : Tensor();
      for (Tensor square = base; n > 0; n >>= 1) {
        if (n & 1) r = r.defined() ? r * square : square;
        if (n > 1) square = square * square;
      }
      return e < 0 ? r.Reciprocal() : r;
    }
    if (e == 0.5) return base.Sqrt();
    if (e == -0.5) return base.Rsqrt();
  }
  std::vector<Tensor> p = Promote({ToFloat(*this), ToFloat(o)});
  Tensor r = ElementwiseOp(Op::kPow, "pow", p);
  if (dtype().IsFloat() || o.dtype().IsFloat()) return r;
  return r.Round().Cast(Promote({*this, o})[0].dtype());
}

// asin(|x|) ~ pi/2 - sqrt(1 - |x|) * P(|x|): Abramowitz and Stegun 4.4.46, error 2e-8.
Tensor Tensor::Asin() const {
  Tensor x = ToFloat(*this);
  Tensor a = x.Abs();
  Tensor p = Poly(a, {1.5707963050, -0.2145988016, 0.0889789874, -0.0501743046, 0.0308918810,
                      -0.0170881256, 0.0066700901, -0.0012624911});
  return x.Sign() * (std::numbers::pi / 2 - (1.0 - a).Sqrt() * p);
}
Tensor Tensor::Acos() const { return std::numbers::pi / 2 - Asin(); }
Tensor Tensor::Atan() const {
  Tensor x = ToFloat(*this);
  return (x / (x * x + 1.0).Sqrt()).Asin();
}
Tensor Tensor::Sinh() const { return (Exp() - (-ToFloat(*this)).Exp()) * 0.5; }
Tensor Tensor::Cosh() const { return (Exp() + (-ToFloat(*this)).Exp()) * 0.5; }
Tensor Tensor::Tanh() const { return (ToFloat(*this) * 2.0).Sigmoid() * 2.0 - 1.0; }
Tensor Tensor::Asinh() const {
  Tensor x = ToFloat(*this);
  // By the magnitude, since x + sqrt(x^2 + 1) cancels for negative x.
  Tensor a = x.Abs();
  return x.Sign() * (a + (a * a + 1.0).Sqrt()).Log();
}
Tensor Tensor::Acosh() const {
  Tensor x = ToFloat(*this);
  return (x + (x * x - 1.0).Sqrt()).Log();
}
Tensor Tensor::Atanh() const {
  Tensor x = ToFloat(*this);
  return ((x + 1.0) / (1.0 - x)).Log() * 0.5;
}

// Abramowitz and Stegun 7.1.26, error 1.5e-7.
Tensor Tensor::Erf() const {
  Tensor x = ToFloat(*this);
  Tensor t = (x.Abs() * 0.3275911 + 1.0).Reciprocal();
  Tensor p = t * Poly(t, {0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429});
  return x.Sign() * (1.0 - p * (-(x * x)).Exp());
}

// --- Sign and rounding
// ----------------------------------------------------------------------------

Tensor Tensor::Abs() const {
  if (dtype().IsBool() || dtype().IsUnsigned()) return Cast(dtype());
  return Maximum(-*this);
}

Tensor Tensor::Sign() const {
  if (dtype().IsBool()) return Cast(kBool);
  auto constant = [&](int v) { return Tensor(v).Cast(dtype()); };
  Tensor sign = (*this < 0).Where(constant(-1), constant(1));
  if (dtype().IsUnsigned()) sign = constant(1);
  sign = (*this != 0).Where(sign, constant(0));
  return dtype().IsFloat() ? IsNan().Where(Detach(), sign) : sign;
}

Tensor Tensor::Trunc() const {
  return dtype().IsFloat() ? Unary(Op::kTrunc, "trunc", *this) : Cast(dtype());
}
Tensor Tensor::Floor() const {
  if (!dtype().IsFloat()) return Cast(dtype());
  Tensor t = Trunc();
  return (*this < t).Where(t - 1.0, t);
}
Tensor Tensor::Ceil() const {
  if (!dtype().IsFloat()) return Cast(dtype());
  Tensor t = Trunc();
  return (*this > t).Where(t + 1.0, t);
}
Tensor Tensor::Round() const {
  if (!dtype().IsFloat()) return Cast(dtype());
  // The nearest whole number, and of two equally near ones the even one.
  Tensor down = Floor();
  Tensor fraction = *this - down;
  Tensor odd = down - (down * 0.5).Floor() * 2.0;
  Tensor up = (fraction > 0.5) | ((fraction == 0.5) & (odd == 1.0));
  return up.Where(down + 1.0, down);
}

Tensor Tensor::CopySign(const Tensor& o) const {
  std::vector<Tensor> p = Promote({ToFloat(*this), ToFloat(o)});
  // 1/-0 tells the zeros apart.
  return ((p[1] < 0) | (p[1].Reciprocal() < 0)).Where(-p[0].Abs(), p[0].Abs());
}

Tensor Tensor::LogAddExp(const Tensor& o) const {
  Tensor m = ToFloat(*this).Maximum(o).Detach();
  return ((*this - m).Exp() + (o - m).Exp()).Log() + m;
}

Tensor Tensor::Lerp(const Tensor& end, const Tensor& weight) const {
  return *this + (end - *this) * weight;
}

// --- Activations
// ----------------------------------------------------------------------------------

namespace {
// Keeps exp() of it finite, and with it gradients (0 * infinity).
Tensor NegativePart(const Tensor& x) { return (x > 0).Where(0, x); }
}  // namespace

Tensor Tensor::Relu() const { return (*this > 0).Where(*this, 0); }
Tensor Tensor::Relu6() const { return Relu() - (*this - 6).Relu(); }
Tensor Tensor::LeakyRelu(double slope) const { return (*this < 0).Where(*this * slope, *this); }
Tensor Tensor::Elu(double alpha) const {
  return Relu() + (NegativePart(*this).Exp() - 1.0) * alpha;
}
Tensor Tensor::Celu(double alpha) const {
  return Relu() + ((NegativePart(*this) / alpha).Exp() - 1.0) * alpha;
}
// Klambauer et al., "Self-Normalizing Neural Networks".
Tensor Tensor::Selu() const {
  return (Relu() + (NegativePart(*this).Exp() - 1.0) * 1.67326) * 1.0507;
}
Tensor Tensor::Sigmoid() const {
  return ((ToFloat(*this) * -std::numbers::log2e).Exp2() + 1.0).Reciprocal();
}
Tensor Tensor::LogSigmoid() const { return -(-ToFloat(*this)).Softplus(); }
Tensor Tensor::Hardsigmoid(double alpha, double beta) const {
  Tensor y = ToFloat(*this) * alpha + beta;
  return y.Relu() - (y - 1.0).Relu();
}
Tensor Tensor::Hardswish() const {
  Tensor x = ToFloat(*this);
  return x * (x + 3.0).Relu6() * (1.0 / 6);
}
Tensor Tensor::Hardtanh(double low, double high) const { return Clamp(low, high); }
Tensor Tensor::Gelu(bool tanh_approximation) const {
  Tensor x = ToFloat(*this);
  if (!tanh_approximation) return x * ((x * std::numbers::sqrt2 * 0.5).Erf() + 1.0) * 0.5;
  double c = std::sqrt(2 / std::numbers::pi);
  return x * 0.5 * ((x * c * (x * x * 0.044715 + 1.0)).Tanh() + 1.0);
}
Tensor Tensor::QuickGelu() const { return *this * (ToFloat(*this) * 1.702).Sigmoid(); }
Tensor Tensor::Silu() const { return *this * Sigmoid(); }
Tensor Tensor::Mish() const { return *this * Softplus().Tanh(); }
Tensor Tensor::Softplus(double beta) const {
  return (ToFloat(*this) * beta).LogAddExp(0.0) * (1.0 / beta);
}
Tensor Tensor::Softsign() const { return *this / (Abs() + 1.0); }

}  // namespace tg
