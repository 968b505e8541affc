#include "drivers/runtime/device.h"

#include "drivers/runtime/counters.h"

namespace tg::drivers {

void Device::AddMemory(int64_t bytes) {
  mem_used_.fetch_add(bytes, std::memory_order_relaxed);
  GlobalCounters().AddMemory(bytes);
}

}  // namespace tg::drivers
