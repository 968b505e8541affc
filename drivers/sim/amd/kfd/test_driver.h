// For tests: the least that a driver does to use a GPU through OsInterface. Everything returns 0 or
// a negative errno, and gives back on destruction what it took.
#ifndef TG_DRIVERS_SIM_AMD_KFD_TEST_DRIVER_H_
#define TG_DRIVERS_SIM_AMD_KFD_TEST_DRIVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "codegen/object/amd_code_object.h"
#include "drivers/amd/abi/kfd_ioctl.h"
#include "drivers/os/os_interface.h"
#include "drivers/sim/amd/kfd/gpu_model.h"
#include "drivers/sim/amd/queue/test_queue.h"
#include "drivers/sim/amd/wave/launch.h"

namespace tg::amd::sim {

inline constexpr uint32_t kHostVisible =
    kfd::kAllocVram | kfd::kAllocPublic | kfd::kAllocWritable | kfd::kAllocExecutable;
inline constexpr uint32_t kSystem =
    kfd::kAllocGtt | kfd::kAllocWritable | kfd::kAllocExecutable | kfd::kAllocUncached;

class TestDriver {
 public:
  struct Buffer {
    uint64_t handle = 0;
    uint64_t va = 0;
    uint64_t size = 0;
    template <class T>
    T* as() const {
      return reinterpret_cast<T*>(va);
    }
  };
  struct UserQueue {
    uint32_t id = 0;
    uint32_t type = 0;
    volatile uint64_t* doorbell = nullptr;
    Buffer ring, pointers, eop, save;
    uint64_t written = 0;  // Dwords.
    uint64_t* read_pointer() const { return pointers.as<uint64_t>() + 16; }
    uint64_t* write_pointer() const { return pointers.as<uint64_t>() + 7; }
  };

  // Uses the `gpu`-th GPU of the topology, whose numbers are `model`.
  TestDriver(os::OsInterface* os, const GpuModel& model, int gpu = 0)
      : os_(os), model_(model), gpu_(gpu) {}
  ~TestDriver();
  TestDriver(const TestDriver&) = delete;

  int Open();
  int Ioctl(unsigned long request, void* args) { return os_->Ioctl(kfd_, request, args); }
  // Reserves addresses, allocates, maps for the host (unless it is VRAM that the host cannot see)
  // and for this GPU and `peers`.
  int Alloc(uint64_t size, uint32_t flags, Buffer* buffer, const std::vector<uint32_t>& peers = {});
  int Free(const Buffer& buffer);
  int CreateQueue(uint32_t type, UserQueue* queue);
  int DestroyQueue(const UserQueue& queue);
  void Put(UserQueue* queue, const Words& words);
  void Ring(UserQueue* queue);

  // A kernel's code in `code`, and its arguments in `arguments` (with hidden ones); the dispatch
  // has what PM4 packets say.
  int Load(const object::AmdCodeObject& object, absl::string_view kernel,
           const std::string& explicit_arguments, uint32_t grid, uint32_t block, const Buffer& code,
           const Buffer& arguments, Dispatch* dispatch);

  uint32_t id() const { return id_; }
  int kfd_fd() const { return kfd_; }
  int render_fd() const { return render_; }

 private:
  os::OsInterface* os_;
  GpuModel model_;
  int gpu_;
  int kfd_ = -1;
  int render_ = -1;
  uint32_t id_ = 0;
  void* doorbells_ = nullptr;
  std::vector<Buffer> buffers_;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_KFD_TEST_DRIVER_H_
