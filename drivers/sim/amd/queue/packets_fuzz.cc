// Random packets in the three kinds of queues: errors, never a crash or a hang.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "drivers/sim/amd/queue/queue_set.h"
#include "drivers/sim/amd/queue/test_queue.h"

namespace tg::amd::sim {
namespace {

void RunInput(const uint8_t* data, size_t size) {
  if (size < 1) return;
  constexpr Arch kArchs[] = {Arch::kGfx1100, Arch::kGfx1201, Arch::kGfx942, Arch::kGfx950};
  Arch arch = kArchs[data[0] & 3];
  QueueType type = static_cast<QueueType>((data[0] >> 2 & 3) % 3);
  Memory memory;
  GpuClock clock;
  Gpu gpu(arch, &memory, &clock);
  gpu.set_launch_options({.instruction_budget = 1000, .threads = 1});
  gpu.set_max_workgroups(64);
  // Small addresses, so that random packets meet memory; code, packets and signals may lie there.
  std::vector<uint8_t> low(1 << 16);
  std::memcpy(low.data(), data, std::min(size, low.size()));
  TG_CHECK(memory.Map(0x1000, low.size(), low.data(), "low").ok());
  TestQueue queue(&gpu, type, "fuzzed", 8192);
  std::vector<uint32_t> words((size - 1) / 4);
  std::memcpy(words.data(), data + 1, words.size() * 4);
  if (words.size() > 2048) words.resize(2048);
  if (type == QueueType::kAql) {
    words.resize(words.size() / 16 * 16);
    if (words.empty()) return;
  }
  queue.Put(words);
  queue.Ring();
  QueueSet set;
  set.set_packet_budget(4096);
  set.Add(&*queue);
  set.Run();
  // Waiting, done or stopped: nothing runs on.
  TG_CHECK(queue->state() != Queue::State::kRunning);
  (void)set.Finished();
}

}  // namespace
}  // namespace tg::amd::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tg::amd::sim::RunInput(data, size);
  return 0;
}
