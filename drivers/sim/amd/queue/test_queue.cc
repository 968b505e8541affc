#include "drivers/sim/amd/queue/test_queue.h"

#include <utility>

#include "base/check.h"
#include "drivers/sim/amd/queue/aql.h"
#include "drivers/sim/amd/queue/compute_registers.h"

namespace tg::amd::sim {

Words Pm4(uint32_t op, Words body) {
  Words words = {Pm4Header(op, body.size())};
  words.insert(words.end(), body.begin(), body.end());
  return words;
}

Words Pm4SetSh(uint32_t reg, Words values) {
  values.insert(values.begin(), reg - 0x2c00);
  return Pm4(0x76, values);
}

Words Pm4Signal(uint64_t address, uint64_t value, uint32_t context) {
  return Pm4(0x49, {0x514, 2u << 29 | (context != 0 ? 2u << 24 : 0), Low(address), High(address),
                    Low(value), High(value), context});
}

Words Pm4Wait(uint64_t address, uint32_t value) {
  return Pm4(0x3c, {0x15, Low(address), High(address), value, 0xffffffff, 4});
}

Words Pm4Indirect(uint64_t address, uint32_t dwords, bool chain) {
  return Pm4(0x3f, {Low(address), High(address), dwords | 1u << 23 | (chain ? 1u << 20 : 0)});
}

Words Pm4Dispatch(const Dispatch& d) {
  bool rdna = IsRdna(IsaOf(d.arch));
  Words words = Pm4SetSh(kComputePgmLo, {Low(d.entry >> 8), High(d.entry >> 8)});
  uint32_t rsrc2 = (d.rsrc2 & ~(0x1ffu << 15)) | (d.lds_bytes + 511) / 512 << 15;
  Append(&words, Pm4SetSh(kComputePgmRsrc1, {d.rsrc1, rsrc2}));
  Append(&words, Pm4SetSh(rdna ? kComputePgmRsrc3Rdna : kComputePgmRsrc3Cdna, {d.rsrc3}));
  Append(&words,
         Pm4SetSh(kComputeUserData0, Words(d.user_sgprs.begin(), d.user_sgprs.begin() + 16)));
  Append(&words, Pm4SetSh(kComputeStartX, {0, 0, 0, d.block[0], d.block[1], d.block[2]}));
  uint32_t initiator = kComputeShaderEn | kForceStartAt000 | kUseThreadDimensions;
  if (d.wave32) initiator |= kCsW32En;
  Append(&words, Pm4(0x15, {d.grid[0], d.grid[1], d.grid[2], initiator}));
  Append(&words, Pm4(0x46, {0x407}));
  return words;
}

Words SdmaCopy(uint64_t to, uint64_t from, uint32_t bytes) {
  return {1, bytes - 1, 0, Low(from), High(from), Low(to), High(to)};
}

Words SdmaFence(uint64_t address, uint32_t value) {
  return {0x30005, Low(address), High(address), value};
}

Words SdmaPoll(uint64_t address, uint32_t value) {
  return {0xd0000008, Low(address), High(address), value, 0xffffffff, 0x0fff0004};
}

void Append(Words* to, const Words& words) { to->insert(to->end(), words.begin(), words.end()); }

TestQueue::TestQueue(Gpu* gpu, QueueType type, std::string name, uint64_t ring_size) : gpu_(gpu) {
  QueueConfig config{.type = type, .name = name, .ring_size = ring_size};
  absl::StatusOr<uint64_t> ring = gpu->memory().Allocate(ring_size, name + "'s ring");
  absl::StatusOr<uint64_t> pointers = gpu->memory().Allocate(4096, name + "'s pointers");
  TG_CHECK(ring.ok() && pointers.ok());
  config.ring = *ring;
  pointers_ = *pointers;
  config.read_pointer = pointers_ + kAmdQueueReadDispatchId;
  config.write_pointer = pointers_ + 56;
  absl::StatusOr<std::unique_ptr<Queue>> queue = Queue::Create(gpu, config);
  TG_CHECK(queue.ok());
  queue_ = *std::move(queue);
}

void TestQueue::Put(absl::Span<const uint32_t> words) {
  for (uint32_t word : words) {
    uint64_t offset = written_++ * 4 % queue_->config().ring_size;
    TG_CHECK(gpu_->memory().Write(ring() + offset, &word, 4).ok());
  }
}

void TestQueue::Ring() {
  QueueType type = queue_->config().type;
  queue_->Ring(type == QueueType::kPm4    ? written_
               : type == QueueType::kSdma ? written_ * 4
                                          : written_ / 16 - 1);
}

uint64_t TestQueue::read_pointer() const {
  uint64_t value = 0;
  TG_CHECK(gpu_->memory().Read(queue_->config().read_pointer, &value, 8).ok());
  return value;
}

}  // namespace tg::amd::sim
