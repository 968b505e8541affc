#include "codegen/ir/simplify/expression_eval.h"

#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tg::ir::testing {
namespace {

using Int = __int128;
using State = Value::State;

Value Unspecified() { return {.state = State::kUnspecified}; }

Value OfInt(Int v, DType d) {
  if (d.IsBool()) return {.i = v != 0};
  if (d.IsWeak()) {
    constexpr Int kLimit = Int{1} << 100;
    if (v < -kLimit || v > kLimit) return {.state = State::kTooLarge};
    return {.i = v};
  }
  const Int period = Int{1} << d.bits();
  v %= period;
  if (v < 0) v += period;
  if (d.IsSigned() && v >= period / 2) v -= period;
  return {.i = v};
}

Value OfFloat(double v, DType d) {
  switch (d.scalar()) {
    case ScalarType::kFloat32:
      return {.f = static_cast<float>(v)};
    case ScalarType::kFloat64:
      return {.f = v};
    default:
      return {.f = RoundToFloat(v, d)};
  }
}

Int Floor(Int a, Int b) {
  Int q = a / b;
  if (q * b != a && (a < 0) != (b < 0)) --q;
  return q;
}

Value BinaryInt(Op op, Int a, Int b, DType in, DType out) {
  switch (op) {
    case Op::kAdd:
      return OfInt(a + b, out);
    case Op::kSub:
      return OfInt(a - b, out);
    case Op::kMul: {
      Int product;
      if (__builtin_mul_overflow(a, b, &product)) return {.state = State::kTooLarge};
      return OfInt(product, out);
    }
    case Op::kShl: {
      const int bits = in.IsWeak() ? 62 : in.bits();
      if (b < 0 || b >= bits) return Unspecified();
      return BinaryInt(Op::kMul, a, Int{1} << static_cast<int>(b), in, out);
    }
    case Op::kShr: {
      const int bits = in.IsWeak() ? 62 : in.bits();
      if (b < 0 || b >= bits) return Unspecified();
      return OfInt(Floor(a, Int{1} << static_cast<int>(b)), out);
    }
    case Op::kCdiv:
      return b == 0 ? Unspecified() : OfInt(a / b, out);
    case Op::kCmod:
      return b == 0 ? Unspecified() : OfInt(a % b, out);
    case Op::kFloorDiv:
      return b == 0 ? Unspecified() : OfInt(Floor(a, b), out);
    case Op::kFloorMod:
      return b == 0 ? Unspecified() : OfInt(a - b * Floor(a, b), out);
    case Op::kMax:
      return OfInt(a > b ? a : b, out);
    case Op::kCmpLt:
      return OfInt(a < b, out);
    case Op::kCmpNe:
      return OfInt(a != b, out);
    case Op::kCmpEq:
      return OfInt(a == b, out);
    case Op::kXor:
      return OfInt(a ^ b, out);
    case Op::kOr:
      return OfInt(a | b, out);
    case Op::kAnd:
      return OfInt(a & b, out);
    default:
      TG_FATAL() << "no integer operation: " << std::string(OpName(op));
  }
}

Value BinaryFloat(Op op, double a, double b, DType out) {
  switch (op) {
    case Op::kAdd:
      return OfFloat(a + b, out);
    case Op::kSub:
      return OfFloat(a - b, out);
    case Op::kMul:
      return OfFloat(a * b, out);
    case Op::kFdiv:
      return OfFloat(a / b, out);
    case Op::kPow:
      return OfFloat(std::pow(a, b), out);
    case Op::kMax:
      return OfFloat(a != a || b != b ? std::numeric_limits<double>::quiet_NaN()
                     : a > b          ? a
                                      : b,
                     out);
    case Op::kCmpLt:
      return {.i = a < b};
    case Op::kCmpNe:
      return {.i = a != b};
    case Op::kCmpEq:
      return {.i = a == b};
    default:
      TG_FATAL() << "no float operation: " << std::string(OpName(op));
  }
}

Value Convert(const Value& v, DType from, DType to) {
  if (from.IsFloat()) {
    if (to.IsFloat()) return OfFloat(v.f, to);
    if (to.IsBool()) return {.i = v.f != 0};
    // Beyond 64 bits the result is fixed at 0 (dtype.h).
    if (!(std::fabs(v.f) < 9.2e18)) return Unspecified();
    return OfInt(static_cast<Int>(v.f), to);
  }
  if (!to.IsFloat()) return OfInt(v.i, to);
  if (to.scalar() == ScalarType::kFloat32) return {.f = static_cast<float>(v.i)};
  return OfFloat(static_cast<double>(v.i), to);
}

Value Unary(Op op, const Value& v, DType in, DType out) {
  switch (op) {
    case Op::kCast:
      return Convert(v, in, out);
    case Op::kNeg:
      if (in.IsBool()) return {.i = v.i == 0};
      return in.IsFloat() ? OfFloat(-v.f, out) : OfInt(-v.i, out);
    case Op::kTrunc:
      return in.IsFloat() ? OfFloat(std::trunc(v.f), out) : v;
    case Op::kSqrt:
      return OfFloat(std::sqrt(v.f), out);
    case Op::kReciprocal:
      return OfFloat(1 / v.f, out);
    case Op::kExp2:
      return OfFloat(std::exp2(v.f), out);
    case Op::kLog2:
      return OfFloat(std::log2(v.f), out);
    case Op::kSin:
      return OfFloat(std::sin(v.f), out);
    case Op::kBitcast: {
      // Via the bit patterns of dtype.h; tests of integers only need equal widths.
      if (in.IsFloat() || out.IsFloat()) {
        const uint64_t bits = in.IsFloat() ? EncodeFloat(v.f, in) : static_cast<uint64_t>(v.i);
        if (!out.IsFloat()) return OfInt(static_cast<Int>(bits), out);
        const int n = out.bits();
        return {.f = DecodeFloat(n == 64 ? bits : bits & ((uint64_t{1} << n) - 1), out)};
      }
      return OfInt(v.i, out);
    }
    default:
      TG_FATAL() << "no unary operation: " << std::string(OpName(op));
  }
}

}  // namespace

Evaluator::Evaluator(const UOp& root) {
  absl::flat_hash_map<const void*, int> index;
  auto is_leaf = [](const UOp& u) { return !u.IsConst() && !IsElementwise(u.op()); };
  for (const UOp& u : Toposort(root, [&](const UOp& u) { return !is_leaf(u); })) {
    Step s{};
    s.op = u.op();
    s.type = u.dtype();
    s.leaf = -1;
    if (is_leaf(u)) {
      s.leaf = static_cast<int>(leaves_.size());
      leaves_.push_back(u);
    } else if (u.IsConst()) {
      if (u.IsInvalid()) {
        s.constant.state = State::kInvalid;
      } else if (const ConstFloat* f = std::get_if<ConstFloat>(&u.arg())) {
        s.constant.f = f->value;
      } else {
        s.constant.i = u.dtype().scalar() == ScalarType::kUInt64
                           ? static_cast<Int>(static_cast<uint64_t>(u.const_int()))
                           : static_cast<Int>(u.const_int());
      }
    } else {
      s.src_type = u.src(u.Is(Op::kWhere) ? 1 : 0).dtype();
      for (int i = 0; i < u.src_count(); ++i) s.src[i] = index.at(u.src(i).id());
    }
    index.emplace(u.id(), static_cast<int>(steps_.size()));
    steps_.push_back(s);
  }
  results_.resize(steps_.size());
}

Value Evaluator::Run(const std::vector<Value>& values) {
  for (size_t n = 0; n < steps_.size(); ++n) {
    const Step& s = steps_[n];
    Value& r = results_[n];
    if (s.leaf >= 0) {
      r = values[s.leaf];
      continue;
    }
    if (s.op == Op::kConst) {
      r = s.constant;
      continue;
    }
    const Value& a = results_[s.src[0]];
    if (s.op == Op::kWhere) {
      r = a.state != State::kDefined ? Value{.state = a.state} : results_[s.src[a.i != 0 ? 1 : 2]];
      continue;
    }
    if (IsUnary(s.op)) {
      r = a.state != State::kDefined ? Value{.state = a.state} : Unary(s.op, a, s.src_type, s.type);
      continue;
    }
    const Value& b = results_[s.src[1]];
    if (a.state == State::kInvalid || b.state == State::kInvalid) {
      r = {.state = State::kInvalid};
      continue;
    }
    if (a.state != State::kDefined || b.state != State::kDefined) {
      // An unspecified bool is still one of two: it does not matter beside the other operand.
      const Value& known = a.state == State::kDefined ? a : b;
      if (a.state == State::kTooLarge || b.state == State::kTooLarge) {
        r = {.state = State::kTooLarge};
        continue;
      }
      const bool decided =
          known.state == State::kDefined && s.src_type.IsBool() &&
          ((s.op == Op::kAnd && known.i == 0) || (s.op == Op::kOr && known.i == 1));
      r = decided ? known : Unspecified();
      continue;
    }
    r = s.src_type.IsFloat() ? BinaryFloat(s.op, a.f, b.f, s.type)
                             : BinaryInt(s.op, a.i, b.i, s.src_type, s.type);
  }
  return results_.back();
}

bool Refines(const Value& before, const Value& after, DType d) {
  if (before.state == State::kUnspecified || before.state == State::kTooLarge ||
      after.state == State::kTooLarge) {
    return true;
  }
  if (before.state != after.state) return false;
  if (before.state == State::kInvalid) return true;
  if (d.IsFloat()) return before.f == after.f || (before.f != before.f && after.f != after.f);
  return before.i == after.i;
}

std::string ToString(const Value& v, DType d) {
  switch (v.state) {
    case State::kInvalid:
      return "Invalid";
    case State::kUnspecified:
    case State::kTooLarge:
      return "unspecified";
    case State::kDefined:
      break;
  }
  if (d.IsFloat()) return absl::StrCat(v.f);
  const bool large = v.i > std::numeric_limits<int64_t>::max();
  return large ? absl::StrCat(static_cast<uint64_t>(v.i)) : absl::StrCat(static_cast<int64_t>(v.i));
}

namespace {

std::string TypeCpp(DType d) {
  std::string name = d.ToString();
  static constexpr std::pair<const char*, const char*> kNames[] = {
      {"weakint", "kIndex"},     {"weakfloat", "kWeakFloat"}, {"bool", "kBool"},
      {"int8", "kInt8"},         {"uint8", "kUInt8"},         {"int16", "kInt16"},
      {"uint16", "kUInt16"},     {"int32", "kInt32"},         {"uint32", "kUInt32"},
      {"int64", "kInt64"},       {"uint64", "kUInt64"},       {"float16", "kFloat16"},
      {"bfloat16", "kBFloat16"}, {"float32", "kFloat32"},     {"float64", "kFloat64"}};
  for (const auto& [from, to] : kNames) {
    if (name == from) return to;
  }
  return name;
}

}  // namespace

std::string ToCpp(const UOp& u) {
  const std::string d = TypeCpp(u.dtype());
  switch (u.op()) {
    case Op::kConst:
      if (u.IsInvalid()) return absl::StrCat("InvalidConst(", d, ")");
      if (u.dtype().IsFloat()) return absl::StrCat("Const(", d, ", ", u.const_float(), ")");
      if (u.dtype().IsWeak()) return absl::StrCat("IndexConst(", u.const_int(), ")");
      return absl::StrCat("Const(", d, ", ", u.const_int(), ")");
    case Op::kVariable: {
      const auto& v = u.arg_as<VariableArg>();
      return absl::StrCat("Variable(\"", v.name, "\", ", v.min, ", ", v.max, ")");
    }
    case Op::kRange:
      return absl::StrCat("Range(", ToCpp(u.src(0)), ", ", u.arg_as<RangeArg>().id, ")");
    case Op::kParam:
      return absl::StrCat("Param(", u.arg_as<ParamArg>().slot, ", ", d, ", 1)");
    case Op::kCast:
      return absl::StrCat("Cast(", ToCpp(u.src(0)), ", ", d, ")");
    default:
      break;
  }
  std::string sources;
  for (const UOp& s : u.src()) absl::StrAppend(&sources, sources.empty() ? "" : ", ", ToCpp(s));
  const std::string op(OpName(u.op()));
  if (IsAlu(u.op())) return absl::StrCat("Alu(Op::k", op, ", {", sources, "})");
  return absl::StrCat("UOp::Make(Op::k", op, ", ", d, ", {", sources, "})");
}

}  // namespace tg::ir::testing
