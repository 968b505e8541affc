#include "tg/engine/capture.h"

#include "base/settings.h"

namespace tg::engine {
namespace {

thread_local Capture* current = nullptr;

}  // namespace

Capture* CurrentCapture() { return base::Get(base::kCapturing) != 0 ? current : nullptr; }

Capture* SetCapture(Capture* capture) { return std::exchange(current, capture); }

}  // namespace tg::engine
