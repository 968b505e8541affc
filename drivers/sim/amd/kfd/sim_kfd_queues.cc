// Queue ioctls of SimKfd.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drivers/sim/amd/kfd/sim_kfd.h"

namespace tg::amd::sim {
namespace {

constexpr uint32_t kMaxQueues = 1024;  // Of a process; each has a doorbell of 8 bytes.
// The kernel's ENOTSUPP, which is not in <cerrno>.
constexpr int kErrorNotSupported = 524;
// User addresses: what access_ok accepts.
constexpr uint64_t kUserLimit = uint64_t{1} << 47;

bool IsSdma(uint32_t type) { return type == kfd::kQueueSdma || type == kfd::kQueueSdmaXgmi; }

}  // namespace

// Checks that need no GPU, in the kernel's order.
int SimKfd::CheckQueueArgs(const kfd::CreateQueueArgs& a) {
  auto refuse = [&](int error, absl::string_view why) {
    return Refuse(error, absl::StrCat("CREATE_QUEUE: ", why));
  };
  // Bits 15:8 choose an XCC.
  if ((a.queue_percentage & 0xff) > kfd::kMaxQueuePercentage) {
    return refuse(EINVAL, "queue_percentage is over 100");
  }
  if (a.queue_priority > kfd::kMaxQueuePriority) return refuse(EINVAL, "queue_priority is over 15");
  if (a.ring_base_address >= kUserLimit) return refuse(EFAULT, "ring_base_address");
  if ((a.ring_size & (a.ring_size - 1)) != 0) {
    return refuse(EINVAL, "ring_size is no power of two");
  }
  if (a.read_pointer_address >= kUserLimit) return refuse(EFAULT, "read_pointer_address");
  if (a.write_pointer_address >= kUserLimit) return refuse(EFAULT, "write_pointer_address");
  if (a.eop_buffer_address >= kUserLimit) return refuse(EFAULT, "eop_buffer_address");
  if (a.ctx_save_restore_address >= kUserLimit) return refuse(EFAULT, "ctx_save_restore_address");
  if (a.queue_type > kfd::kQueueSdmaXgmi) {
    return refuse(kErrorNotSupported, absl::StrCat("queue_type ", a.queue_type));
  }
  return 0;
}

int SimKfd::FindQueueBuffers(SimGpu* gpu, const kfd::CreateQueueArgs& a,
                             std::vector<BufferObject*>* buffers) {
  auto add = [&](absl::string_view name, uint64_t address, uint64_t size) {
    BufferObject* buffer = gpu->space.FindExact(address / kPageSize * kPageSize, size);
    if (buffer == nullptr) {
      return Refuse(EINVAL, absl::StrFormat("CREATE_QUEUE: %s: no buffer of gpu 0x%x lies exactly "
                                            "at 0x%x with 0x%x bytes",
                                            name, gpu->id, address, PageAlign(size)));
    }
    buffers->push_back(buffer);
    return 0;
  };
  int error = add("write_pointer_address", a.write_pointer_address, kPageSize);
  if (error == 0) error = add("read_pointer_address", a.read_pointer_address, kPageSize);
  if (error == 0) error = add("ring_base_address", a.ring_base_address, a.ring_size);
  if (error != 0 || IsSdma(a.queue_type)) return error;
  ContextSaveSizes s = ContextSaveSizesOf(gpu->model);
  if (a.eop_buffer_address != 0) {
    if (a.eop_buffer_size != s.eop_buffer) {
      return Refuse(EINVAL, absl::StrFormat("CREATE_QUEUE: eop_buffer_size is 0x%x, not 0x%x",
                                            a.eop_buffer_size, s.eop_buffer));
    }
    error = add("eop_buffer_address", a.eop_buffer_address, a.eop_buffer_size);
    if (error != 0) return error;
  }
  if (a.ctl_stack_size != s.ctl_stack) {
    return Refuse(EINVAL, absl::StrFormat("CREATE_QUEUE: ctl_stack_size is 0x%x, not 0x%x",
                                          a.ctl_stack_size, s.ctl_stack));
  }
  if (a.ctx_save_restore_size < s.cwsr) {
    return Refuse(EINVAL, absl::StrFormat("CREATE_QUEUE: ctx_save_restore_size is 0x%x, less than "
                                          "0x%x",
                                          a.ctx_save_restore_size, s.cwsr));
  }
  return add("ctx_save_restore_address", a.ctx_save_restore_address,
             static_cast<uint64_t>(a.ctx_save_restore_size) + s.debug);
}

int SimKfd::CreateQueue(kfd::CreateQueueArgs* args) {
  int error = CheckQueueArgs(*args);
  if (error != 0) return error;
  args->ring_size = std::max(args->ring_size, kfd::kMinQueueRingSize);
  int index = 0;
  SimGpu* gpu = BoundGpu(args->gpu_id, ESRCH, &error, &index);
  if (gpu == nullptr) return error;
  UserQueue q;
  error = FindQueueBuffers(gpu, *args, &q.buffers);
  if (error != 0) return error;
  uint32_t sdma = 0;
  for (const auto& [id, other] : queues_) sdma += other.gpu == index && IsSdma(other.type);
  if (IsSdma(args->queue_type) &&
      sdma >= gpu->model.num_sdma_engines * gpu->model.num_sdma_queues_per_engine) {
    return Refuse(ENOMEM, "CREATE_QUEUE: all SDMA queues are taken");
  }
  uint32_t id = 0;
  while (queues_.count(id) != 0) ++id;
  if (id >= kMaxQueues) return Refuse(ENOMEM, "CREATE_QUEUE: too many queues");
  QueueConfig config{.type = IsSdma(args->queue_type)                    ? QueueType::kSdma
                             : args->queue_type == kfd::kQueueComputeAql ? QueueType::kAql
                                                                         : QueueType::kPm4,
                     .name = absl::StrFormat("queue %u of gpu 0x%x", id, gpu->id),
                     .ring = args->ring_base_address,
                     .ring_size = args->ring_size,
                     .read_pointer = args->read_pointer_address,
                     .write_pointer = args->write_pointer_address};
  absl::StatusOr<std::unique_ptr<Queue>> queue = Queue::Create(gpu->gpu.get(), std::move(config));
  if (!queue.ok()) return Refuse(EINVAL, std::string(queue.status().message()));
  q.gpu = index;
  q.type = args->queue_type;
  q.doorbell = id * 8;
  // What stands in the doorbell now is of an earlier queue; an AQL queue's first packet is 0.
  q.last_doorbell = q.type == kfd::kQueueComputeAql ? ~uint64_t{0} : 0;
  *reinterpret_cast<volatile uint64_t*>(gpu->doorbells->bytes() + q.doorbell) = q.last_doorbell;
  q.queue = *std::move(queue);
  for (const BufferObject* buffer : q.buffers) gpu->space.AddQueue(*buffer);
  args->queue_id = id;
  args->doorbell_offset =
      kfd::kMmapTypeDoorbell | static_cast<uint64_t>(gpu->id) << kfd::kMmapGpuIdShift | q.doorbell;
  UserQueue& placed = queues_[id] = std::move(q);
  placed.active = false;
  Activate(&placed, (args->queue_percentage & 0xff) > 0);
  return 0;
}

void SimKfd::Activate(UserQueue* q, bool active) {
  if (active == q->active) return;
  q->active = active;
  if (active) {
    set_.Add(q->queue.get());
  } else {
    set_.Remove(q->queue.get());
  }
}

int SimKfd::DestroyQueue(kfd::DestroyQueueArgs* args) {
  auto it = queues_.find(args->queue_id);
  if (it == queues_.end()) {
    return Refuse(EINVAL, absl::StrCat("DESTROY_QUEUE: no queue ", args->queue_id));
  }
  UserQueue& q = it->second;
  Activate(&q, false);
  for (const BufferObject* buffer : q.buffers) gpus_[q.gpu]->space.RemoveQueue(*buffer);
  queues_.erase(it);
  return 0;
}

int SimKfd::UpdateQueue(kfd::UpdateQueueArgs* args) {
  auto refuse = [&](int error, absl::string_view why) {
    return Refuse(error, absl::StrCat("UPDATE_QUEUE ", args->queue_id, ": ", why));
  };
  if ((args->queue_percentage & 0xff) > kfd::kMaxQueuePercentage) {
    return refuse(EINVAL, "queue_percentage is over 100");
  }
  if (args->queue_priority > kfd::kMaxQueuePriority) return refuse(EINVAL, "queue_priority");
  if (args->ring_base_address >= kUserLimit) return refuse(EFAULT, "ring_base_address");
  if ((args->ring_size & (args->ring_size - 1)) != 0) {
    return refuse(EINVAL, "ring_size is no power of two");
  }
  auto it = queues_.find(args->queue_id);
  if (it == queues_.end()) return refuse(EFAULT, "no such queue");
  UserQueue& q = it->second;
  bool stops = args->ring_base_address == 0 || args->ring_size == 0;
  if (!stops && (args->ring_base_address != q.queue->config().ring ||
                 args->ring_size != q.queue->config().ring_size)) {
    return refuse(EINVAL, "another ring is not modelled");
  }
  Activate(&q, !stops && (args->queue_percentage & 0xff) > 0);
  return 0;
}

SimKfd::UserQueue* SimKfd::FindDoorbell(int gpu, uint64_t offset) {
  for (auto& [id, q] : queues_) {
    if (q.gpu == gpu && q.doorbell == offset) return &q;
  }
  return nullptr;
}

}  // namespace tg::amd::sim
