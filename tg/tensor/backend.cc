#include "tg/tensor/backend.h"

#include <atomic>

#include "base/error.h"

namespace tg {
namespace {
std::atomic<Backend*> current{nullptr};
}  // namespace

void SetBackend(Backend* backend) { current.store(backend, std::memory_order_release); }

Backend& GetBackend() {
  Backend* backend = current.load(std::memory_order_acquire);
  if (backend == nullptr) {
    throw UsageError("tensor: no engine is linked in; depend on //tg/engine to run tensors");
  }
  return *backend;
}

}  // namespace tg
