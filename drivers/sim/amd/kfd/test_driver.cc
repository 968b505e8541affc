#include "drivers/sim/amd/kfd/test_driver.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tg::amd::sim {

TestDriver::~TestDriver() {
  for (const Buffer& b : buffers_) os_->Munmap(b.as<void>(), b.size);
  if (doorbells_ != nullptr) os_->Munmap(doorbells_, kfd::kDoorbellSlice);
  if (render_ >= 0) os_->Close(render_);
  if (kfd_ >= 0) os_->Close(kfd_);
}

int TestDriver::Open() {
  kfd_ = os_->Open("/dev/kfd", O_RDWR);
  if (kfd_ < 0) return kfd_;
  std::string text;
  int error = os_->ReadFile(
      absl::StrCat("/sys/devices/virtual/kfd/kfd/topology/nodes/", gpu_ + 1, "/gpu_id"), &text);
  if (error != 0) return error;
  if (!absl::SimpleAtoi(absl::StripSuffix(text, "\n"), &id_)) return -EINVAL;
  render_ = os_->Open(absl::StrCat("/dev/dri/renderD", 128 + gpu_), O_RDWR);
  if (render_ < 0) return render_;
  kfd::AcquireVmArgs args{.drm_fd = static_cast<uint32_t>(render_), .gpu_id = id_};
  return Ioctl(kfd::kAcquireVm, &args);
}

int TestDriver::Alloc(uint64_t size, uint32_t flags, Buffer* buffer,
                      const std::vector<uint32_t>& peers) {
  size = (size + 4095) / 4096 * 4096;
  void* address = nullptr;
  int error = os_->Mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                        0, &address);
  if (error != 0) return error;
  kfd::AllocMemoryArgs args{.va_addr = reinterpret_cast<uint64_t>(address),
                            .size = size,
                            .handle = 0,
                            .mmap_offset = 0,
                            .gpu_id = id_,
                            .flags = flags};
  error = Ioctl(kfd::kAllocMemory, &args);
  if (error != 0) {
    os_->Munmap(address, size);
    return error;
  }
  Buffer b{.handle = args.handle, .va = args.va_addr, .size = size};
  if (!(flags & kfd::kAllocVram) || (flags & kfd::kAllocPublic)) {
    error = os_->Mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, render_,
                      args.mmap_offset, &address);
  }
  std::vector<uint32_t> ids = peers;
  ids.insert(ids.begin(), id_);
  kfd::MapMemoryArgs map{.handle = b.handle,
                         .device_ids_array_ptr = reinterpret_cast<uint64_t>(ids.data()),
                         .n_devices = static_cast<uint32_t>(ids.size()),
                         .n_success = 0};
  if (error == 0) error = Ioctl(kfd::kMapMemory, &map);
  if (error != 0) {
    kfd::FreeMemoryArgs free{.handle = b.handle};
    Ioctl(kfd::kFreeMemory, &free);
    os_->Munmap(address, size);
    return error;
  }
  buffers_.push_back(b);
  *buffer = b;
  return 0;
}

int TestDriver::Free(const Buffer& buffer) {
  kfd::MapMemoryArgs unmap{.handle = buffer.handle,
                           .device_ids_array_ptr = reinterpret_cast<uint64_t>(&id_),
                           .n_devices = 1,
                           .n_success = 0};
  int error = Ioctl(kfd::kUnmapMemory, &unmap);
  if (error != 0) return error;
  kfd::FreeMemoryArgs free{.handle = buffer.handle};
  error = Ioctl(kfd::kFreeMemory, &free);
  if (error != 0) return error;
  os_->Munmap(buffer.as<void>(), buffer.size);
  buffers_.erase(std::remove_if(buffers_.begin(), buffers_.end(),
                                [&](const Buffer& b) { return b.handle == buffer.handle; }),
                 buffers_.end());
  return 0;
}

int TestDriver::CreateQueue(uint32_t type, UserQueue* queue) {
  UserQueue q;
  q.type = type;
  bool compute = type == kfd::kQueueCompute || type == kfd::kQueueComputeAql;
  ContextSaveSizes sizes = ContextSaveSizesOf(model_);
  int error = Alloc(1 << 16, kSystem, &q.ring);
  if (error == 0) error = Alloc(4096, kSystem, &q.pointers);
  if (error == 0 && compute) error = Alloc(sizes.eop_buffer, kHostVisible, &q.eop);
  if (error == 0 && compute) {
    error = Alloc(static_cast<uint64_t>(sizes.cwsr) + sizes.debug, kHostVisible, &q.save);
  }
  if (error != 0) return error;
  kfd::CreateQueueArgs args{};
  args.ring_base_address = q.ring.va;
  args.ring_size = static_cast<uint32_t>(q.ring.size);
  args.read_pointer_address = reinterpret_cast<uint64_t>(q.read_pointer());
  args.write_pointer_address = reinterpret_cast<uint64_t>(q.write_pointer());
  args.gpu_id = id_;
  args.queue_type = type;
  args.queue_percentage = 100;
  args.queue_priority = 7;
  if (compute) {
    args.eop_buffer_address = q.eop.va;
    args.eop_buffer_size = sizes.eop_buffer;
    args.ctx_save_restore_address = q.save.va;
    args.ctx_save_restore_size = sizes.cwsr;
    args.ctl_stack_size = sizes.ctl_stack;
  }
  error = Ioctl(kfd::kCreateQueue, &args);
  if (error != 0) return error;
  q.id = args.queue_id;
  if (doorbells_ == nullptr) {
    error = os_->Mmap(nullptr, kfd::kDoorbellSlice, PROT_READ | PROT_WRITE, MAP_SHARED, kfd_,
                      args.doorbell_offset & ~uint64_t{kfd::kDoorbellSlice - 1}, &doorbells_);
    if (error != 0) return error;
  }
  q.doorbell = reinterpret_cast<volatile uint64_t*>(static_cast<char*>(doorbells_) +
                                                    args.doorbell_offset % kfd::kDoorbellSlice);
  *queue = q;
  return 0;
}

int TestDriver::DestroyQueue(const UserQueue& queue) {
  kfd::DestroyQueueArgs args{.queue_id = queue.id, .pad = 0};
  return Ioctl(kfd::kDestroyQueue, &args);
}

void TestDriver::Put(UserQueue* queue, const Words& words) {
  uint64_t dwords = queue->ring.size / 4;
  for (uint32_t word : words) queue->ring.as<uint32_t>()[queue->written++ % dwords] = word;
}

void TestDriver::Ring(UserQueue* queue) {
  uint64_t value = queue->type == kfd::kQueueSdma         ? queue->written * 4
                   : queue->type == kfd::kQueueComputeAql ? queue->written / 16
                                                          : queue->written;
  *queue->write_pointer() = value;
  os_->RingDoorbell(queue->doorbell, queue->type == kfd::kQueueComputeAql ? value - 1 : value);
}

int TestDriver::Load(const object::AmdCodeObject& object, absl::string_view name,
                     const std::string& explicit_arguments, uint32_t grid, uint32_t block,
                     const Buffer& code, const Buffer& arguments, Dispatch* dispatch) {
  absl::StatusOr<std::string> image = object.Image(code.va);
  const object::AmdKernel* kernel = object.FindKernel(name);
  if (!image.ok() || kernel == nullptr || image->size() > code.size) return -EINVAL;
  std::memcpy(code.as<char>(), image->data(), image->size());
  std::memset(arguments.as<char>(), 0, arguments.size);
  std::memcpy(arguments.as<char>(), explicit_arguments.data(), explicit_arguments.size());
  for (const object::AmdKernelArgument& a : object.metadata().kernels[kernel->metadata].args) {
    uint32_t value = a.value_kind == "hidden_block_count_x"  ? grid / block
                     : a.value_kind == "hidden_group_size_x" ? block
                     : a.value_kind == "hidden_remainder_x"  ? grid % block
                                                             : 0;
    if (value != 0) std::memcpy(arguments.as<char>() + a.offset, &value, a.size);
  }
  Dispatch d;
  const object::AmdKernelDescriptor& k = kernel->descriptor;
  d.arch = model_.arch;
  d.entry = code.va + kernel->entry;
  d.rsrc1 = k.compute_pgm_rsrc1;
  d.rsrc2 = k.compute_pgm_rsrc2;
  d.rsrc3 = k.compute_pgm_rsrc3;
  d.wave32 = k.kernel_code_properties >> 10 & 1;
  d.grid = {grid, 1, 1};
  d.block = {block, 1, 1};
  uint32_t at = (k.kernel_code_properties & 1 ? 4 : 0) + (k.kernel_code_properties & 2 ? 2 : 0) +
                (k.kernel_code_properties & 4 ? 2 : 0);
  d.user_sgprs[at] = Low(arguments.va);
  d.user_sgprs[at + 1] = High(arguments.va);
  *dispatch = d;
  return 0;
}

}  // namespace tg::amd::sim
