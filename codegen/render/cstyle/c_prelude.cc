#include "codegen/render/cstyle/c_prelude.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "codegen/render/small_float.h"

namespace tg::render {

using ir::DType;
using ir::Op;
using ir::ScalarType;

namespace {

// "float", "uchar": what OpenCL's vector names begin with.
const char* VectorBase(ScalarType s) {
  switch (s) {
    case ScalarType::kBool:
      return "bool";
    case ScalarType::kInt8:
      return "char";
    case ScalarType::kInt16:
      return "short";
    case ScalarType::kUInt16:
    case ScalarType::kBFloat16:
      return "ushort";
    case ScalarType::kInt32:
      return "int";
    case ScalarType::kUInt32:
      return "uint";
    case ScalarType::kInt64:
      return "long";
    case ScalarType::kUInt64:
      return "ulong";
    case ScalarType::kFloat16:
      return "half";
    case ScalarType::kFloat32:
      return "float";
    case ScalarType::kFloat64:
      return "double";
    default:
      return "uchar";
  }
}

bool IsSmallFloat(DType d) { return d.IsFloat() && d.bits() < 32; }

DType IntOfWidth(DType d) {
  switch (d.bits()) {
    case 16:
      return ir::kInt16.Vec(d.lanes());
    case 32:
      return ir::kInt32.Vec(d.lanes());
    case 64:
      return ir::kInt64.Vec(d.lanes());
    default:
      return ir::kInt8.Vec(d.lanes());
  }
}

}  // namespace

std::string CPrelude::ElementType(DType d) {
  return d.IsBool() ? dialect_.scalar_name(ScalarType::kUInt8) : dialect_.scalar_name(d.scalar());
}

std::string CPrelude::Type(DType d) {
  if (d.lanes() == 1) return dialect_.scalar_name(d.scalar());
  const std::string name = absl::StrCat(VectorBase(d.scalar()), d.lanes());
  if (defined_.insert(name).second) {
    text_ += dialect_.vector_typedef(name, ElementType(d), d.lanes(), d.bytes());
  }
  return name;
}

std::string CPrelude::MemoryType(DType d) {
  return d.lanes() == 1 ? ElementType(d) : absl::StrCat(Type(d), "_m");
}

void CPrelude::Define(const std::string& name, const std::string& result,
                      const std::string& parameters, const std::string& body) {
  if (!defined_.insert(name).second) return;
  absl::StrAppend(&text_, "static inline ", result, " ", name, "(", parameters, ") {\n", body,
                  "}\n");
}

std::string CPrelude::Convert(const std::string& x, DType to) {
  return dialect_.convert(x, Type(to), to.lanes());
}

std::string CPrelude::OneOrZero(const std::string& comparison, DType d) {
  // A vector comparison gives -1 where it holds.
  return absl::StrCat(d.lanes() == 1 ? "" : "-", Convert(comparison, d));
}

std::string CPrelude::FromComparison(const std::string& x, DType d) {
  if (d.lanes() == 1) return x;
  return absl::StrCat("(", OneOrZero(x, ir::kBool.Vec(d.lanes())), ")");
}

std::string CPrelude::Select(const std::string& cond, const std::string& a, const std::string& b,
                             DType d) {
  if (d.lanes() == 1) return absl::StrCat("(", cond, "?", a, ":", b, ")");
  return absl::StrCat("((", Convert(cond, IntOfWidth(d)), "!=0)?", a, ":", b, ")");
}

std::string CPrelude::SmallFloatToFloat32(const std::string& x, DType from) {
  const int lanes = from.lanes();
  const DType f32 = ir::kFloat32.Vec(lanes);
  if (from.scalar() == ScalarType::kFloat16) return Convert(x, f32);
  const DType u32 = ir::kUInt32.Vec(lanes);
  const std::string name = absl::StrCat(from.Scalar().ToString(), "_to_float32x", lanes);
  const std::string bits_type = Type(u32);
  const std::string widened = Convert("x", u32);
  std::string body;
  if (from.scalar() == ScalarType::kBFloat16) {
    body = absl::StrCat("  return ", dialect_.bitcast(absl::StrCat(widened, " << 16"), Type(f32)),
                        ";\n");
  } else {
    const Fp8Layout f = LayoutOf(from.scalar());
    body = absl::Substitute("  $0 bits = $1;\n  $0 code = bits & 0x7Fu;\n", bits_type, widened);
    absl::StrAppend(&body, "  ", bits_type, " shifted = code << ", f.shift(), ";\n");
    absl::StrAppend(
        &body, "  ", bits_type, " magnitude = ",
        dialect_.bitcast(absl::StrCat("(", Type(f32), ")(", dialect_.bitcast("shifted", Type(f32)),
                                      " * 0x1p", f.rebias(), "f)"),
                         bits_type),
        ";\n");
    if (f.has_infinity) {
      absl::StrAppend(&body, absl::StrFormat("  magnitude = code > 0x%Xu ? shifted | 0x7F800000u : "
                                             "magnitude;\n",
                                             f.max_code));
    } else {
      absl::StrAppend(
          &body, absl::StrFormat("  magnitude = %s == 0x%Xu ? (%s)(0x7FC00000u) : magnitude;\n",
                                 f.has_negative_zero ? "code" : "bits", f.nan_code, bits_type));
    }
    absl::StrAppend(&body, "  return ",
                    dialect_.bitcast("magnitude | (bits & 0x80u) << 24", Type(f32)), ";\n");
  }
  Define(name, Type(f32), absl::StrCat(Type(from), " x"), body);
  return absl::StrCat(name, "(", x, ")");
}

std::string CPrelude::Float32ToSmallFloat(const std::string& x, DType to) {
  const int lanes = to.lanes();
  if (to.scalar() == ScalarType::kFloat16) return Convert(x, to);
  const DType f32 = ir::kFloat32.Vec(lanes);
  const DType u32 = ir::kUInt32.Vec(lanes);
  const std::string u = Type(u32);
  const std::string name = absl::StrCat("float32_to_", to.Scalar().ToString(), "x", lanes);
  std::string body = absl::Substitute("  $0 bits = $1;\n", u, dialect_.bitcast("x", u));
  if (to.scalar() == ScalarType::kBFloat16) {
    // Ties to even; a NaN keeps its payload and stays quiet.
    absl::StrAppend(&body, "  ", u, " rounded = bits + 0x7FFFu + (bits >> 16 & 1u);\n",
                    "  rounded = x != x ? bits | 0x400000u : rounded;\n  return ",
                    Convert("rounded >> 16", to), ";\n");
  } else {
    const Fp8Layout f = LayoutOf(to.scalar());
    const std::string magic = absl::StrFormat("(%s)(0x%Xu)", u, f.subnormal_magic_bits());
    absl::StrAppend(&body, absl::Substitute("  $0 sign = bits >> 24 & 0x80u;\n"
                                            "  $0 magnitude = bits & 0x7FFFFFFFu;\n",
                                            u));
    absl::StrAppend(&body,
                    absl::StrFormat("  %s a = magnitude > 0x%Xu ? (%s)(0x%Xu) : magnitude;\n", u,
                                    f.max_float_bits(), u, f.max_float_bits()));
    absl::StrAppend(
        &body, absl::StrFormat("  %s normal = (a + 0x%Xu + (a >> %d & 1u) >> %d) - 0x%Xu;\n", u,
                               (1u << (f.shift() - 1)) - 1, f.shift(), f.shift(),
                               static_cast<uint32_t>(f.rebias()) << f.mantissa_bits));
    absl::StrAppend(&body, "  ", Type(f32), " sum = ", dialect_.bitcast("a", Type(f32)), " + ",
                    dialect_.bitcast(magic, Type(f32)), ";\n");
    absl::StrAppend(&body, "  ", u, " subnormal = ", dialect_.bitcast("sum", u), " - ", magic,
                    ";\n");
    absl::StrAppend(&body, absl::StrFormat("  %s code = a < 0x%Xu ? subnormal : normal;\n", u,
                                           f.min_normal_float_bits()));
    // Finite values saturate. An infinity is itself, or NaN where there is none.
    const std::string nan =
        absl::StrFormat("  code = magnitude %s 0x7F800000u ? (%s)(0x%Xu) : code;\n",
                        f.has_infinity ? ">" : ">=", u, f.nan_code);
    if (f.has_infinity) {
      absl::StrAppend(
          &body, absl::StrFormat("  code = magnitude == 0x7F800000u ? (%s)(0x%Xu) : code;\n", u,
                                 f.max_code + 1));
    }
    if (f.has_negative_zero) {
      absl::StrAppend(&body, nan, "  code |= sign;\n");
    } else {
      absl::StrAppend(&body, "  code = code == 0u ? code : code | sign;\n", nan);
    }
    absl::StrAppend(&body, "  return ", Convert("code", to), ";\n");
  }
  Define(name, Type(to), absl::StrCat(Type(f32), " x"), body);
  return absl::StrCat(name, "(", x, ")");
}

std::string CPrelude::Float64ToOddFloat32(const std::string& x, int lanes) {
  const DType f32 = ir::kFloat32.Vec(lanes);
  const DType f64 = ir::kFloat64.Vec(lanes);
  const DType u32 = ir::kUInt32.Vec(lanes);
  const std::string name = absl::StrCat("float64_to_odd_float32x", lanes);
  // Rounded to odd, so that rounding once more gives what rounding at once does.
  std::string body = absl::StrCat("  ", Type(f32), " nearest = ", Convert("x", f32), ";\n");
  absl::StrAppend(&body, "  ", Type(f64), " back = ", Convert("nearest", f64), ";\n");
  absl::StrAppend(&body, "  ", Type(u32), " bits = ", dialect_.bitcast("nearest", Type(u32)),
                  ";\n");
  absl::StrAppend(
      &body, "  bits -= ", OneOrZero("((x < 0.0 & back < x) | (x > 0.0 & back > x))", u32), ";\n");
  absl::StrAppend(&body, "  bits |= ", OneOrZero("((back < x) | (back > x))", u32), ";\n");
  absl::StrAppend(&body, "  return ", dialect_.bitcast("bits", Type(f32)), ";\n");
  Define(name, Type(f32), absl::StrCat(Type(f64), " x"), body);
  return absl::StrCat(name, "(", x, ")");
}

std::string CPrelude::FloatToInt(const std::string& x, DType from, DType to) {
  const int lanes = from.lanes();
  const std::string t = Type(from);
  const std::string suffix = from.bits() == 32 ? "f" : "";
  const bool is_u64 = to.scalar() == ScalarType::kUInt64;
  const DType result = to.bits() == 64 ? to : ir::kInt32.Vec(lanes);
  const std::string name =
      absl::StrCat(from.Scalar().ToString(), "_to_", result.Scalar().ToString(), "x", lanes);
  const auto number = [&](int exponent) { return absl::StrCat("0x1p", exponent, suffix); };
  const int limit = is_u64 ? 64 : 63;
  std::string body =
      absl::Substitute("  x = (x < $0) & (x > -$0) ? x : ($1)(0);\n", number(limit), t);
  if (to.bits() < 64) {
    // Modulo 2^32 first, which is exact in floating point.
    absl::StrAppend(&body, "  x = ", dialect_.math(Op::kTrunc, {"x"}),
                    ";\n  x -= ", dialect_.math(Op::kTrunc, {absl::StrCat("x * ", number(-32))}),
                    " * ", number(32), ";\n",
                    absl::Substitute("  x = x >= $0 ? x - $1 : x;\n  x = x < -$0 ? x + $1 : x;\n",
                                     number(31), number(32)),
                    "  return ", Convert("x", result), ";\n");
  } else if (!is_u64) {
    absl::StrAppend(&body, "  return ", Convert("x", result), ";\n");
  } else {
    const DType i64 = ir::kInt64.Vec(lanes);
    absl::StrAppend(&body, "  ", t, " low = ",
                    absl::Substitute("x >= $0 ? x - $0 : (x <= -$0 ? x + $0 : x);\n", number(63)));
    absl::StrAppend(&body, "  ", Type(result), " bits = ", Convert(Convert("low", i64), result),
                    ";\n");
    absl::StrAppend(&body, "  return bits ^ ",
                    Convert(absl::Substitute("((x >= $0) | (x <= -$0))", number(63)), result),
                    " << 63;\n");
  }
  Define(name, Type(result), absl::StrCat(t, " x"), body);
  const std::string call = absl::StrCat(name, "(", x, ")");
  return to == result ? call : Convert(call, to);
}

std::string CPrelude::Cast(const std::string& x, DType from, DType to) {
  if (from == to) return x;
  const int lanes = from.lanes();
  if (!from.IsFloat()) {
    if (to.IsBool()) return FromComparison(absl::StrCat("(", x, "!=0)"), from);
    if (!IsSmallFloat(to)) return Convert(x, to);
    if (to.scalar() == ScalarType::kBFloat16 && from.bits() >= 32) {
      return Float32ToSmallFloat(Float64ToOddFloat32(Convert(x, ir::kFloat64.Vec(lanes)), lanes),
                                 to);
    }
    return Float32ToSmallFloat(Convert(x, ir::kFloat32.Vec(lanes)), to);
  }
  if (IsSmallFloat(from)) {
    return Cast(SmallFloatToFloat32(x, from), ir::kFloat32.Vec(lanes), to);
  }
  if (to.IsBool()) return FromComparison(absl::StrCat("(", x, "!=0)"), from);
  if (!to.IsFloat()) return FloatToInt(x, from, to);
  if (!IsSmallFloat(to)) return Convert(x, to);
  if (from.scalar() == ScalarType::kFloat64) {
    return Float32ToSmallFloat(Float64ToOddFloat32(x, lanes), to);
  }
  return Float32ToSmallFloat(x, to);
}

std::string CPrelude::Bitcast(const std::string& x, DType from, DType to) {
  // A bool's image in memory is a byte.
  if (from.IsBool()) {
    const DType byte = ir::kUInt8.Vec(from.lanes());
    const std::string image =
        from.lanes() == 1 ? Convert(x, byte) : dialect_.bitcast(x, Type(byte));
    return to == byte ? image : Bitcast(image, byte, to);
  }
  if (to.IsBool()) {
    const DType byte = ir::kUInt8.Vec(to.lanes());
    return Cast(from == byte ? x : Bitcast(x, from, byte), byte, to);
  }
  return dialect_.bitcast(x, Type(to));
}

std::string CPrelude::Divide(Op op, const std::string& x, const std::string& y, DType d) {
  std::string name = absl::StrCat(absl::AsciiStrToLower(std::string(ir::OpName(op))), "_",
                                  d.Scalar().ToString(), "x", d.lanes());
  const std::string t = Type(d);
  const bool is_signed = !d.IsUnsigned();
  const bool floor = is_signed && (op == Op::kFloorDiv || op == Op::kFloorMod);
  const bool quotient = op == Op::kCdiv || op == Op::kFloorDiv;
  // Neither zero nor -1 reach the division. By zero the quotient is 0.
  std::string body = absl::Substitute("  $0 q = x / (($1(y == 0)) ? ($0)(1) : y);\n", t,
                                      is_signed ? "(y == -1) | " : "");
  if (is_signed) absl::StrAppend(&body, "  q = y == -1 ? -x : q;\n");
  absl::StrAppend(&body, absl::Substitute("  q = y == 0 ? ($0)(0) : q;\n", t));
  absl::StrAppend(&body, "  ", t, " r = x - q * y;\n");
  if (floor) {
    absl::StrAppend(&body, "  ", t,
                    " low = ", OneOrZero("((r != 0) & (y != 0) & ((r ^ y) < 0))", d), ";\n");
    absl::StrAppend(&body, quotient ? "  q -= low;\n" : "  r += low * y;\n");
  }
  absl::StrAppend(&body, "  return ", quotient ? "q" : "r", ";\n");
  Define(name, t, absl::StrCat(t, " x, ", t, " y"), body);
  return absl::StrCat(name, "(", x, ", ", y, ")");
}

std::string CPrelude::Max(const std::string& x, const std::string& y, DType d) {
  const std::string name = absl::StrCat("max_", d.Scalar().ToString(), "x", d.lanes());
  const std::string t = Type(d);
  Define(name, t, absl::StrCat(t, " x, ", t, " y"),
         d.IsFloat() ? "  return (x > y) | (x != x) ? x : y;\n" : "  return x > y ? x : y;\n");
  return absl::StrCat(name, "(", x, ", ", y, ")");
}

std::string CPrelude::Reduce(Op op, const std::string& x, DType source) {
  const DType d = source.Scalar();
  const std::string name =
      absl::StrCat("reduce_", absl::AsciiStrToLower(std::string(ir::OpName(op))), "_", d.ToString(),
                   "x", source.lanes());
  const auto combine = [&](const std::string& a, const std::string& b, DType t) {
    if (op == Op::kMax && !t.IsBool()) return Max(a, b, t);
    const char* sign = op == Op::kAdd   ? (t.IsBool() ? "|" : "+")
                       : op == Op::kMul ? (t.IsBool() ? "&" : "*")
                                        : "|";
    return absl::StrCat(a, " ", sign, " ", b);
  };
  // Halves as long as there are any, then from the left: the order of every CPU renderer.
  std::string body;
  std::string v = "x";
  int lanes = source.lanes();
  while (lanes > 1 && lanes % 2 == 0) {
    lanes /= 2;
    const DType half = d.Vec(lanes);
    std::string low, high;
    if (lanes == 1) {
      low = absl::StrCat(v, "[0]");
      high = absl::StrCat(v, "[1]");
    } else {
      std::string low_lanes, high_lanes;
      for (int i = 0; i < lanes; ++i) {
        absl::StrAppend(&low_lanes, ", ", i);
        absl::StrAppend(&high_lanes, ", ", lanes + i);
      }
      low = absl::StrCat("__builtin_shufflevector(", v, ", ", v, low_lanes, ")");
      high = absl::StrCat("__builtin_shufflevector(", v, ", ", v, high_lanes, ")");
    }
    const std::string next = absl::StrCat("x", lanes);
    absl::StrAppend(&body, "  ", Type(half), " ", next, " = ", combine(low, high, half), ";\n");
    v = next;
  }
  std::string result = v;
  if (lanes > 1) {
    absl::StrAppend(&body, "  ", Type(d), " sum = ", v, "[0];\n");
    for (int i = 1; i < lanes; ++i) {
      absl::StrAppend(&body, "  sum = ", combine("sum", absl::StrCat(v, "[", i, "]"), d), ";\n");
    }
    result = "sum";
  }
  absl::StrAppend(&body, "  return ", result, ";\n");
  Define(name, Type(d), absl::StrCat(Type(source), " x"), body);
  return absl::StrCat(name, "(", x, ")");
}

std::string CPrelude::LoadLanes(const std::string& address, const std::string& index,
                                DType index_type, const std::string& gate,
                                const std::string& alternative, DType d) {
  const bool gathers = !index.empty();
  const bool gated = !gate.empty();
  const std::string t = Type(d);
  std::string name = absl::StrCat(gathers ? "gather" : "load", gated ? "_gated_" : "_",
                                  d.Scalar().ToString(), "x", d.lanes());
  std::string parameters = absl::StrCat("const ", dialect_.parameter_space, ElementType(d), "* p");
  std::string call = absl::StrCat("(", address);
  std::string place = "p[i]";
  if (gathers) {
    absl::StrAppend(&name, "_", index_type.Scalar().ToString());
    absl::StrAppend(&parameters, ", ", Type(index_type), " index");
    absl::StrAppend(&call, ", ", index);
    place = "p[index[i]]";
  }
  if (gated) {
    absl::StrAppend(&parameters, ", ", Type(ir::kBool.Vec(d.lanes())), " gate, ", t, " x");
    absl::StrAppend(&call, ", ", gate, ", ", alternative);
  }
  const std::string element = d.IsBool() ? absl::StrCat(place, " != 0") : place;
  std::string body = gated ? "" : absl::StrCat("  ", t, " x;\n");
  absl::StrAppend(&body, "#pragma unroll\n  for (int i = 0; i < ", d.lanes(), "; i++) ",
                  gated ? "if (gate[i]) " : "", "x[i] = ", element, ";\n  return x;\n");
  Define(name, t, parameters, body);
  return absl::StrCat(name, call, ")");
}

std::string CPrelude::StoreLanes(const std::string& address, const std::string& index,
                                 DType index_type, const std::string& gate,
                                 const std::string& value, DType d) {
  const bool scatters = !index.empty();
  const bool gated = !gate.empty();
  std::string name = absl::StrCat(scatters ? "scatter" : "store", gated ? "_gated_" : "_",
                                  d.Scalar().ToString(), "x", d.lanes());
  std::string parameters = absl::StrCat(dialect_.parameter_space, ElementType(d), "* p");
  std::string call = absl::StrCat("(", address);
  std::string place = "p[i]";
  if (scatters) {
    absl::StrAppend(&name, "_", index_type.Scalar().ToString());
    absl::StrAppend(&parameters, ", ", Type(index_type), " index");
    absl::StrAppend(&call, ", ", index);
    place = "p[index[i]]";
  }
  if (gated) {
    absl::StrAppend(&parameters, ", ", Type(ir::kBool.Vec(d.lanes())), " gate");
    absl::StrAppend(&call, ", ", gate);
  }
  absl::StrAppend(&parameters, ", ", Type(d), " x");
  absl::StrAppend(&call, ", ", value);
  Define(name, "void", parameters,
         absl::StrCat("#pragma unroll\n  for (int i = 0; i < ", d.lanes(), "; i++) ",
                      gated ? "if (gate[i]) " : "", place, " = x[i];\n"));
  return absl::StrCat(name, call, ")");
}

}  // namespace tg::render
