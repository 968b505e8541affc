// The interpreter as a target: the INTERP device's renderer.
#ifndef TG_CODEGEN_INTERP_RENDERER_H_
#define TG_CODEGEN_INTERP_RENDERER_H_

#include <memory>

#include "codegen/render/renderer.h"

namespace tg::interp {

// Every type and operation is native, so lowering decomposes nothing and the interpreter computes
// the operations as they are meant. Render gives lower::ProgramToString, Compile Serialize.
std::unique_ptr<render::Renderer> MakeRenderer();

}  // namespace tg::interp

#endif  // TG_CODEGEN_INTERP_RENDERER_H_
