// What differs between the languages of the C family. The renderer (c_renderer.h) walks a program
// and knows what C, OpenCL C, CUDA and HIP have in common; a dialect says the rest.
//
// Vector types have OpenCL's names (float4, uchar16) in every dialect. A vector of bools is a
// vector of bytes that are 0 or 1 (`bool16`); bfloat16 and fp8 values are their bits in unsigned
// integers.
#ifndef TG_CODEGEN_RENDER_CSTYLE_DIALECT_H_
#define TG_CODEGEN_RENDER_CSTYLE_DIALECT_H_

#include <string>
#include <vector>

#include "codegen/ir/dtype.h"
#include "codegen/ir/op.h"
#include "codegen/lower/program.h"

namespace tg::render {

// A parameter of the kernel function: "float* restrict data0" and what it is bound to.
struct KernelParameter {
  std::string declaration;
  std::string argument;
};

struct Dialect {
  // In errors: "CPU:CLANG".
  std::string name;
  // Name of an element type; of half and others that the language lacks, "".
  std::string (*scalar_name)(ir::ScalarType);
  // Declares a vector type, and its twin for memory that is aligned to one element only. "" where
  // the language has them.
  std::string (*vector_typedef)(const std::string& vector, const std::string& scalar, int lanes,
                                int element_bytes);
  // Expressions, on scalars and vectors alike. `type` is a type's name.
  std::string (*convert)(const std::string& x, const std::string& type, int lanes);
  std::string (*bitcast)(const std::string& x, const std::string& type);
  // exp2, log2, sin, sqrt, trunc, pow, fma.
  std::string (*math)(ir::Op op, const std::vector<std::string>& arguments);
  // Storage classes, each with its trailing space: of parameters, of local buffers.
  std::string parameter_space;
  std::string local_space;
  std::string restrict_keyword;
  // Between parts of a work group; "" where there are none.
  std::string barrier;
  // The text around the kernel's body.
  std::string (*open_kernel)(const lower::LinearProgram& program,
                             const std::vector<KernelParameter>& parameters);
  std::string (*close_kernel)(const lower::LinearProgram& program,
                              const std::vector<KernelParameter>& parameters);
};

// C with clang's vector extensions (clang 18 or later), for CPUs. The function has the interface of
// renderer.h.
const Dialect& ClangDialect();

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_CSTYLE_DIALECT_H_
