// Memory of the simulated kernel driver: buffer objects, and the GPUs' address spaces.
//
// A buffer's bytes are an anonymous file, which the process maps through a render node and every
// GPU sees at the buffer's address; or, of USERPTR, the process's own memory.
//
// Source: Linux 6.12, drivers/gpu/drm/amd/amdgpu/amdgpu_amdkfd_gpuvm.c, amdgpu_vm.c.
#ifndef TG_DRIVERS_SIM_AMD_KFD_BUFFERS_H_
#define TG_DRIVERS_SIM_AMD_KFD_BUFFERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "drivers/sim/amd/wave/memory.h"

namespace tg::amd::sim {

// Bytes that several may map: an anonymous file, and a view of it that stays.
class SharedBytes {
 public:
  // Null when the host has no more memory.
  static std::unique_ptr<SharedBytes> Create(uint64_t size);
  ~SharedBytes();
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;

  int fd() const { return fd_; }
  uint8_t* bytes() const { return bytes_; }
  uint64_t size() const { return size_; }

 private:
  SharedBytes(int fd, uint8_t* bytes, uint64_t size) : fd_(fd), bytes_(bytes), size_(size) {}
  int fd_;
  uint8_t* bytes_;
  uint64_t size_;
};

struct BufferObject {
  uint64_t handle = 0;
  uint32_t gpu_id = 0;  // Whose memory it is, or who allocated it.
  uint32_t flags = 0;   // kfd::AllocFlags.
  uint64_t va = 0;
  uint64_t size = 0;                    // Whole pages.
  uint64_t mmap_offset = 0;             // Of the render node; 0 when it cannot be mapped.
  std::unique_ptr<SharedBytes> shared;  // Null: user memory.
  uint8_t* host = nullptr;              // What GPUs see.
  int mappings = 0;                     // GPUs that have it mapped.
};

// What a GPU sees. Errors are negative errno.
class AddressSpace {
 public:
  // -EINVAL for addresses that are no pages, out of range or taken.
  int Map(BufferObject* buffer);
  // 0 also when it was not mapped; -EBUSY while a queue uses it.
  int Unmap(BufferObject* buffer);
  // Takes it away whatever uses it: its memory is going.
  void Evict(BufferObject* buffer);
  bool Has(const BufferObject& buffer) const;
  // The buffer that lies exactly at `va`, and has `size` bytes, rounded up to pages; null.
  BufferObject* FindExact(uint64_t va, uint64_t size) const;
  // Queues that use a buffer keep it from being unmapped.
  void AddQueue(const BufferObject& buffer) { ++entries_.at(buffer.va).queues; }
  void RemoveQueue(const BufferObject& buffer);

  Memory& memory() { return memory_; }

 private:
  struct Entry {
    BufferObject* buffer = nullptr;
    int queues = 0;
  };
  Memory memory_;
  std::map<uint64_t, Entry> entries_;  // By address.
};

inline constexpr uint64_t kPageSize = 4096;
// User addresses that a GPU may use.
inline constexpr uint64_t kGpuVmLimit = 0x7fffffffffff;
constexpr uint64_t PageAlign(uint64_t x) { return (x + kPageSize - 1) / kPageSize * kPageSize; }

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_KFD_BUFFERS_H_
