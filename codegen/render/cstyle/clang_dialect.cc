#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/render/cstyle/dialect.h"

namespace tg::render {
namespace {

using ir::Op;
using ir::ScalarType;

std::string ScalarName(ScalarType s) {
  switch (s) {
    case ScalarType::kBool:
      return "_Bool";
    case ScalarType::kInt8:
      return "signed char";
    case ScalarType::kUInt8:
    case ScalarType::kFp8E4M3:
    case ScalarType::kFp8E5M2:
    case ScalarType::kFp8E4M3Fnuz:
    case ScalarType::kFp8E5M2Fnuz:
      return "unsigned char";
    case ScalarType::kInt16:
      return "short";
    case ScalarType::kUInt16:
    case ScalarType::kBFloat16:
      return "unsigned short";
    case ScalarType::kInt32:
      return "int";
    case ScalarType::kUInt32:
      return "unsigned int";
    case ScalarType::kInt64:
      return "long";
    case ScalarType::kUInt64:
      return "unsigned long";
    case ScalarType::kFloat16:
      return "_Float16";
    case ScalarType::kFloat32:
      return "float";
    case ScalarType::kFloat64:
      return "double";
    default:
      return "";
  }
}

std::string VectorTypedef(const std::string& vector, const std::string& scalar, int lanes,
                          int element_bytes) {
  return absl::StrCat("typedef ", scalar, " ", vector, " __attribute__((ext_vector_type(", lanes,
                      ")));\ntypedef ", scalar, " ", vector, "_m __attribute__((ext_vector_type(",
                      lanes, "), aligned(", element_bytes, ")));\n");
}

std::string Convert(const std::string& x, const std::string& type, int lanes) {
  if (lanes == 1) return absl::StrCat("((", type, ")(", x, "))");
  return absl::StrCat("__builtin_convertvector(", x, ", ", type, ")");
}

std::string Bitcast(const std::string& x, const std::string& type) {
  return absl::StrCat("__builtin_bit_cast(", type, ", ", x, ")");
}

std::string Math(Op op, const std::vector<std::string>& arguments) {
  const char* name = "";
  switch (op) {
    case Op::kExp2:
      name = "exp2";
      break;
    case Op::kLog2:
      name = "log2";
      break;
    case Op::kSin:
      name = "sin";
      break;
    case Op::kSqrt:
      name = "sqrt";
      break;
    case Op::kTrunc:
      name = "trunc";
      break;
    case Op::kPow:
      name = "pow";
      break;
    default:
      name = "fma";
  }
  return absl::StrCat("__builtin_elementwise_", name, "(", absl::StrJoin(arguments, ", "), ")");
}

// The parameters have names and types in a function of their own, which is inlined: `restrict`
// holds for parameters alone.
std::string OpenKernel(const lower::LinearProgram& program,
                       const std::vector<KernelParameter>& parameters) {
  return absl::StrCat(
      "static inline __attribute__((always_inline)) void ", program.name, "_body(",
      absl::StrJoin(parameters, ", ",
                    [](std::string* out, const KernelParameter& p) { *out += p.declaration; }),
      ") {\n");
}

std::string CloseKernel(const lower::LinearProgram& program,
                        const std::vector<KernelParameter>& parameters) {
  return absl::StrCat(
      "}\nvoid ", program.name, "(void* const* buffers, const long* vars, long core_id) {\n  ",
      program.name, "_body(",
      absl::StrJoin(parameters, ", ",
                    [](std::string* out, const KernelParameter& p) { *out += p.argument; }),
      ");\n}\n");
}

}  // namespace

const Dialect& ClangDialect() {
  static const Dialect& dialect = *new Dialect{
      .name = "CPU:CLANG",
      .scalar_name = ScalarName,
      .vector_typedef = VectorTypedef,
      .convert = Convert,
      .bitcast = Bitcast,
      .math = Math,
      .parameter_space = "",
      .local_space = "__attribute__((aligned(64))) ",
      .restrict_keyword = "restrict",
      .barrier = "",
      .open_kernel = OpenKernel,
      .close_kernel = CloseKernel,
  };
  return dialect;
}

}  // namespace tg::render
