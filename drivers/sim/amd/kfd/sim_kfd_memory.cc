// Memory ioctls of SimKfd.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drivers/sim/amd/kfd/sim_kfd.h"
#include "drivers/sim/amd/kfd/user_memory.h"

namespace tg::amd::sim {
namespace {

// More GPUs than anybody names; the kernel's limit is its allocator's.
constexpr uint32_t kMaxDevices = 4096;
// Buffers of a render node lie this far apart in the offsets for mmap.
constexpr int kMmapOffsetShift = 32;

}  // namespace

BufferObject* SimKfd::FindBuffer(uint64_t handle) {
  auto it = buffers_.find(handle);
  return it == buffers_.end() ? nullptr : it->second.get();
}

int SimKfd::AllocMemory(kfd::AllocMemoryArgs* args) {
  auto refuse = [&](int error, absl::string_view why) {
    return Refuse(error,
                  absl::StrFormat("ALLOC_MEMORY_OF_GPU of 0x%x bytes at 0x%x, flags 0x%x: %s",
                                  args->size, args->va_addr, args->flags, why));
  };
  if (args->size == 0) return refuse(EINVAL, "no bytes");
  int error = 0;
  SimGpu* gpu = BoundGpu(args->gpu_id, ENODEV, &error);
  if (gpu == nullptr) return error;
  uint32_t flags = args->flags;
  bool vram = flags & kfd::kAllocVram, gtt = !vram && (flags & kfd::kAllocGtt);
  bool user = !vram && !gtt && (flags & kfd::kAllocUserptr);
  if (flags & (kfd::kAllocDoorbell | kfd::kAllocMmioRemap)) {
    return refuse(EINVAL, "doorbells and registers as buffers are not modelled");
  }
  if (!vram && !gtt && !user) return refuse(EINVAL, "neither VRAM nor GTT nor USERPTR");
  uint64_t free = vram ? gpu->model.vram_bytes - gpu->vram_used : options_.gtt_bytes - gtt_used_;
  if (args->size > free || PageAlign(args->size) > free) {
    return refuse(ENOMEM, absl::StrCat(free, " bytes are free"));
  }
  auto buffer = std::make_unique<BufferObject>();
  buffer->gpu_id = gpu->id;
  buffer->flags = flags;
  buffer->va = args->va_addr;
  buffer->size = PageAlign(args->size);
  if (user) {
    if (args->mmap_offset == 0) return refuse(EINVAL, "USERPTR without an address");
    if (args->mmap_offset % kPageSize != 0) return refuse(EINVAL, "user memory that is no page");
    if (CheckUserRange(args->mmap_offset, buffer->size) != 0) {
      return refuse(EFAULT, "the user memory is not mapped");
    }
    buffer->host = reinterpret_cast<uint8_t*>(args->mmap_offset);
  } else {
    buffer->shared = SharedBytes::Create(buffer->size);
    if (buffer->shared == nullptr) return refuse(ENOMEM, "the host has no more memory");
    buffer->host = buffer->shared->bytes();
    if (gtt || (flags & kfd::kAllocPublic)) {
      buffer->mmap_offset = static_cast<uint64_t>(next_buffer_) << kMmapOffsetShift;
    }
  }
  buffer->handle = static_cast<uint64_t>(gpu->id) << 32 | next_buffer_++;
  args->handle = buffer->handle;
  if (!user) args->mmap_offset = buffer->mmap_offset;
  (vram ? gpu->vram_used : gtt_used_) += buffer->size;
  buffers_[buffer->handle] = std::move(buffer);
  return 0;
}

int SimKfd::FreeMemory(kfd::FreeMemoryArgs* args) {
  BufferObject* buffer = FindBuffer(args->handle);
  if (buffer == nullptr) {
    return Refuse(EINVAL, absl::StrFormat("FREE_MEMORY_OF_GPU: no buffer 0x%x", args->handle));
  }
  if (args->handle == event_page_handle_) {
    return Refuse(EPERM, "FREE_MEMORY_OF_GPU: the buffer is the event page");
  }
  if (buffer->mappings > 0) {
    return Refuse(EBUSY, absl::StrFormat("FREE_MEMORY_OF_GPU: buffer 0x%x is mapped by %d GPUs",
                                         args->handle, buffer->mappings));
  }
  // User memory that was taken away may still be named by queues.
  for (auto& [id, q] : queues_) {
    q.buffers.erase(std::remove(q.buffers.begin(), q.buffers.end(), buffer), q.buffers.end());
  }
  SimGpu* gpu = FindGpu(buffer->gpu_id);
  (buffer->flags & kfd::kAllocVram ? gpu->vram_used : gtt_used_) -= buffer->size;
  buffers_.erase(args->handle);
  return 0;
}

int SimKfd::CopyDeviceIds(const kfd::MapMemoryArgs& args, absl::string_view name,
                          std::vector<uint32_t>* ids) {
  if (args.n_devices == 0) return Refuse(EINVAL, absl::StrCat(name, ": no devices"));
  if (args.n_success > args.n_devices) {
    return Refuse(EINVAL, absl::StrCat(name, ": n_success is ", args.n_success, ", n_devices ",
                                       args.n_devices));
  }
  if (args.n_devices > kMaxDevices) return Refuse(ENOMEM, absl::StrCat(name, ": n_devices"));
  ids->resize(args.n_devices);
  if (CopyFromUser(ids->data(), args.device_ids_array_ptr, ids->size() * 4) != 0) {
    return Refuse(EFAULT, absl::StrCat(name, ": the array of devices cannot be read"));
  }
  return 0;
}

int SimKfd::MapMemory(kfd::MapMemoryArgs* args) {
  std::vector<uint32_t> ids;
  int error = CopyDeviceIds(*args, "MAP_MEMORY_TO_GPU", &ids);
  if (error != 0) return error;
  // The handle says which GPU the buffer is of.
  if (BoundGpu(static_cast<uint32_t>(args->handle >> 32), ENODEV, &error) == nullptr) return error;
  BufferObject* buffer = FindBuffer(args->handle);
  if (buffer == nullptr) {
    return Refuse(ENOMEM, absl::StrFormat("MAP_MEMORY_TO_GPU: no buffer 0x%x", args->handle));
  }
  for (uint32_t i = args->n_success; i < ids.size(); ++i) {
    SimGpu* gpu = BoundGpu(ids[i], ENODEV, &error);
    if (gpu == nullptr) return error;
    error = gpu->space.Map(buffer);
    if (error != 0) {
      return Refuse(-error, absl::StrFormat("MAP_MEMORY_TO_GPU: [0x%x, 0x%x) is no page range, is "
                                            "out of range, or is taken",
                                            buffer->va, buffer->va + buffer->size));
    }
    args->n_success = i + 1;
  }
  return 0;
}

int SimKfd::UnmapMemory(kfd::MapMemoryArgs* args) {
  std::vector<uint32_t> ids;
  int error = CopyDeviceIds(*args, "UNMAP_MEMORY_FROM_GPU", &ids);
  if (error != 0) return error;
  if (FindGpu(static_cast<uint32_t>(args->handle >> 32)) == nullptr) {
    return Refuse(EINVAL, "UNMAP_MEMORY_FROM_GPU: the handle is of no gpu");
  }
  BufferObject* buffer = FindBuffer(args->handle);
  if (buffer == nullptr) {
    return Refuse(ENOMEM, absl::StrFormat("UNMAP_MEMORY_FROM_GPU: no buffer 0x%x", args->handle));
  }
  for (uint32_t i = args->n_success; i < ids.size(); ++i) {
    SimGpu* gpu = FindGpu(ids[i]);
    if (gpu == nullptr) {
      return Refuse(ENODEV, absl::StrFormat("UNMAP_MEMORY_FROM_GPU: there is no gpu 0x%x", ids[i]));
    }
    error = gpu->space.Unmap(buffer);
    if (error != 0) return Refuse(-error, "UNMAP_MEMORY_FROM_GPU: a queue uses the buffer");
    args->n_success = i + 1;
  }
  return 0;
}

int SimKfd::AvailableMemory(kfd::GetAvailableMemoryArgs* args) {
  SimGpu* gpu = FindGpu(args->gpu_id);
  if (gpu == nullptr) return Refuse(EINVAL, "AVAILABLE_MEMORY: there is no such gpu");
  args->available = gpu->model.vram_bytes - gpu->vram_used;
  return 0;
}

int SimKfd::RenderMmap(int gpu, uint64_t size, uint64_t offset, Backing* backing) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [handle, buffer] : buffers_) {
    if (offset == 0 || buffer->mmap_offset != offset || buffer->gpu_id != gpus_[gpu]->id) continue;
    if (size > buffer->size) {
      return Refuse(EINVAL, absl::StrFormat("mmap of 0x%x bytes of buffer 0x%x, which has 0x%x",
                                            size, handle, buffer->size));
    }
    *backing = {.fd = buffer->shared->fd()};
    return 0;
  }
  return Refuse(EINVAL,
                absl::StrFormat("mmap of a render node: no buffer has offset 0x%x", offset));
}

void SimKfd::UserMemoryGone(uint64_t address, uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [handle, buffer] : buffers_) {
    if (buffer->shared != nullptr) continue;
    uint64_t start = reinterpret_cast<uint64_t>(buffer->host);
    if (start >= address + size || address >= start + buffer->size) continue;
    for (const auto& gpu : gpus_) gpu->space.Evict(buffer.get());
  }
}

}  // namespace tg::amd::sim
