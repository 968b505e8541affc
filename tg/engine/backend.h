// The engine as the tensor frontend's backend (tg/tensor/backend.h). Linking this target in sets
// it.
#ifndef TG_TG_ENGINE_BACKEND_H_
#define TG_TG_ENGINE_BACKEND_H_

#include "codegen/ir/uop.h"
#include "drivers/runtime/buffer.h"

namespace tg::engine {

// The memory of a kBuffer that the backend made.
drivers::BufferRef BufferOf(const ir::UOp& buffer);

// True. Referring to it keeps the linker from dropping the registration.
bool EngineIsBackend();

}  // namespace tg::engine

#endif  // TG_TG_ENGINE_BACKEND_H_
