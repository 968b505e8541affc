// Which renderer compiles for which device.
#ifndef TG_TG_ENGINE_RENDERERS_H_
#define TG_TG_ENGINE_RENDERERS_H_

#include "absl/status/statusor.h"
#include "codegen/render/renderer.h"
#include "drivers/runtime/target.h"

namespace tg::engine {

// The renderer that `target` names, or, where it names none, the one in the setting DEV if that is
// about the same kind of device, or the device's usual one. Renderers are made once and never
// destroyed. Errors: NotFound with the renderers that the device has.
absl::StatusOr<const render::Renderer*> RendererFor(const drivers::Target& target);

}  // namespace tg::engine

#endif  // TG_TG_ENGINE_RENDERERS_H_
