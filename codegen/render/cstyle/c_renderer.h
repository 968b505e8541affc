// From a linear program to source in a language of the C family.
//
//   void add_body(const float* restrict data0, float* restrict data1) {
//     for (int idx0 = 0; idx0 < 64; idx0++) {
//       float16 val0 = *(const float16_m*)(data0+(idx0*16));
//       *(float16_m*)(data1+(idx0*16)) = (val0+(float16)(1.0f));
//     }
//   }
//
// Names: data{slot}, {axis letter}idx{id}, acc (register buffers), buf (local ones), val (loads),
// cast, alu; a value that is used once, in the scope that makes it, is written where it is used.
// Signed arithmetic is meant to wrap (-fwrapv).
#ifndef TG_CODEGEN_RENDER_CSTYLE_C_RENDERER_H_
#define TG_CODEGEN_RENDER_CSTYLE_C_RENDERER_H_

#include <string>

#include "absl/status/statusor.h"
#include "codegen/lower/program.h"
#include "codegen/render/cstyle/dialect.h"

namespace tg::render {

// Errors: Unimplemented names the operation and dtype that have no form in the dialect; Internal
// tells how the program breaks its contract.
absl::StatusOr<std::string> RenderC(const lower::LinearProgram& program, const Dialect& dialect);

}  // namespace tg::render

#endif  // TG_CODEGEN_RENDER_CSTYLE_C_RENDERER_H_
