#include "tests/random_oracle.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/types/span.h"
#include "base/error.h"
#include "tests/random_step.h"
#include "tg/tensor/creation.h"

namespace tg::testing {
namespace {

using Kind = StepKind;

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

OracleValue Keep(const Tensor& t, double error) {
  return {.defined = true,
          .dtype = t.dtype(),
          .shape = FromShape(t.shape()),
          .bytes = t.ToBytes(),
          .error = error};
}

constexpr int64_t kMaxElements = 60'000;
constexpr double kMaxMagnitude = 1e6;

}  // namespace

Tensor Restore(const OracleValue& v) { return FromBytes(v.bytes, v.dtype, ToShape(v.shape)); }

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

}  // namespace tg::testing
