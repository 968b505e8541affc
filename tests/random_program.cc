#include "tests/random_program.h"

#include <cmath>
#include <cstring>
#include <sstream>
#include <utility>

#include "codegen/ir/shape.h"
#include "tests/random_step.h"

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

}  // namespace

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
