// The simulated kernel driver of AMD GPUs, as one process sees it: ioctls of /dev/kfd and of render
// nodes with the kernel's checks and error numbers, over simulated GPUs that execute what queues
// hold. SimOs (sim_os.h) puts files and descriptors before it.
//
// Execution is synchronous: queues run when a doorbell is rung, when events are waited for and in
// Relax. Kernels run to their end.
//
// Not modelled, and refused: SVM and XNACK (-EPERM, as of a kernel built without), DMA-BUF,
// doorbells and HDP registers as buffers, debugging, CRIU, SMI events, CU masks, GWS (-EINVAL).
// Memory policies, trap handlers and scratch addresses are checked and have no effect; EXECUTABLE
// is not enforced.
//
// Source: Linux 6.12, drivers/gpu/drm/amd/amdkfd/kfd_chardev.c, kfd_queue.c,
// kfd_process_queue_manager.c, kfd_events.c, kfd_doorbell.c, kfd_flat_memory.c.
#ifndef TG_DRIVERS_SIM_AMD_KFD_SIM_KFD_H_
#define TG_DRIVERS_SIM_AMD_KFD_SIM_KFD_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drivers/amd/abi/amdgpu_drm.h"
#include "drivers/amd/abi/kfd_ioctl.h"
#include "drivers/sim/amd/kfd/buffers.h"
#include "drivers/sim/amd/kfd/events.h"
#include "drivers/sim/amd/kfd/gpu_model.h"
#include "drivers/sim/amd/queue/gpu.h"
#include "drivers/sim/amd/queue/queue.h"
#include "drivers/sim/amd/queue/queue_set.h"

namespace tg::amd::sim {

struct SimKfdOptions {
  std::vector<Arch> gpus = {Arch::kGfx1100};
  uint64_t vram_bytes = 0;                               // Of each GPU; 0: what its card has.
  uint64_t gtt_bytes = uint64_t{16} << 30;               // Of all.
  LaunchOptions launch = {};                             // Of kernels.
  uint64_t max_workgroups = Gpu::kDefaultMaxWorkgroups;  // Of a dispatch.
  uint64_t packet_budget = QueueSet::kDefaultBudget;     // Of all queues, at a time.
  // How long Relax, and waits without a time limit, see nothing happen before they report a hang.
  // More than any other thread of the program needs to ring, or to write what a queue waits for.
  std::chrono::milliseconds patience{5000};
};

class SimKfd {
 public:
  static constexpr int kFirstRenderMinor = 128;

  // Unimplemented for processors without a model; FailedPrecondition where the sandbox does not let
  // a process read itself (process_vm_readv).
  static absl::StatusOr<std::unique_ptr<SimKfd>> Create(SimKfdOptions options);
  ~SimKfd();

  // Files of sysfs.
  const FileTree& files() const { return files_; }
  int num_gpus() const { return static_cast<int>(gpus_.size()); }
  uint32_t gpu_id(int gpu) const { return gpus_[gpu]->id; }
  const GpuModel& model(int gpu) const { return gpus_[gpu]->model; }

  // `argument` may point anywhere. `resolve` gives the GPU whose render node a descriptor is, or
  // -1: for ACQUIRE_VM.
  int Ioctl(unsigned long request, uint64_t argument, int (*resolve)(void* context, int fd),
            void* context);
  int RenderIoctl(int gpu, unsigned long request, uint64_t argument);

  // What mmap maps: a file, and where in it.
  struct Backing {
    int fd = -1;
    uint64_t offset = 0;
    // Of the GPU whose doorbells these are, or -1.
    int doorbell_gpu = -1;
  };
  int KfdMmap(uint64_t size, uint64_t offset, Backing* backing);
  int RenderMmap(int gpu, uint64_t size, uint64_t offset, Backing* backing);
  // The process no longer has this memory: user memory in it leaves the GPUs' address spaces.
  void UserMemoryGone(uint64_t address, uint64_t size);

  // A doorbell was written, by its byte in the GPU's slice: its queue learns of it, and all run.
  void RingDoorbell(int gpu, uint64_t offset, uint64_t value);
  // OsInterface::Relax: runs queues. The first error of a queue; or, after `patience` without
  // anything to do, DeadlineExceeded with the state of all queues.
  absl::Status Relax();

  // Why the last call that failed did; "" when none has. For messages and tests.
  std::string explanation();
  // A line for each queue.
  std::string DescribeQueues();
  LaunchStats stats(int gpu);

 private:
  struct SimGpu {
    GpuModel model;
    uint32_t id = 0;
    AddressSpace space;
    GpuClock clock;
    std::unique_ptr<Gpu> gpu;
    std::unique_ptr<SharedBytes> doorbells;
    int render_fd = -1;  // Of ACQUIRE_VM; -1: the process has no address space yet.
    uint64_t vram_used = 0;
  };
  struct UserQueue {
    int gpu = 0;
    uint32_t type = 0;      // kfd::QueueType.
    uint64_t doorbell = 0;  // Byte in the slice.
    uint64_t last_doorbell = 0;
    bool active = true;
    bool reported = false;  // Its error, as events.
    std::unique_ptr<Queue> queue;
    std::vector<BufferObject*> buffers;
  };

  explicit SimKfd(SimKfdOptions options) : options_(std::move(options)) {}

  // Keeps the reason, gives -error.
  int Refuse(int error, std::string why);
  SimGpu* FindGpu(uint32_t id, int* index = nullptr);
  // FindGpu for calls that need an address space: null, and an error.
  SimGpu* BoundGpu(uint32_t id, int unbound_error, int* error, int* index = nullptr);

  // One for each ioctl; `args` is a copy of the caller's structure.
  int GetVersion(kfd::GetVersionArgs* args);
  int CreateQueue(kfd::CreateQueueArgs* args);
  int DestroyQueue(kfd::DestroyQueueArgs* args);
  int UpdateQueue(kfd::UpdateQueueArgs* args);
  int SetMemoryPolicy(kfd::SetMemoryPolicyArgs* args);
  int GetClockCounters(kfd::GetClockCountersArgs* args);
  int GetProcessAperturesNew(kfd::GetProcessAperturesNewArgs* args);
  int CreateEvent(kfd::CreateEventArgs* args);
  int DestroyEvent(kfd::EventIdArgs* args);
  int SetEvent(kfd::EventIdArgs* args);
  int ResetEvent(kfd::EventIdArgs* args);
  // Gives the lock away while it sleeps.
  int WaitEvents(kfd::WaitEventsArgs* args, std::unique_lock<std::mutex>* lock);
  void StopWaitingQueues();
  int SetScratchBackingVa(kfd::SetScratchBackingVaArgs* args);
  int SetTrapHandler(kfd::SetTrapHandlerArgs* args);
  int AcquireVm(kfd::AcquireVmArgs* args, int (*resolve)(void*, int), void* context);
  int AllocMemory(kfd::AllocMemoryArgs* args);
  int FreeMemory(kfd::FreeMemoryArgs* args);
  int MapMemory(kfd::MapMemoryArgs* args);
  int UnmapMemory(kfd::MapMemoryArgs* args);
  int AvailableMemory(kfd::GetAvailableMemoryArgs* args);
  int RuntimeEnable(kfd::RuntimeEnableArgs* args);

  int CheckQueueArgs(const kfd::CreateQueueArgs& args);
  int FindQueueBuffers(SimGpu* gpu, const kfd::CreateQueueArgs& args,
                       std::vector<BufferObject*>* buffers);
  int CopyDeviceIds(const kfd::MapMemoryArgs& args, absl::string_view name,
                    std::vector<uint32_t>* ids);
  BufferObject* FindBuffer(uint64_t handle);
  UserQueue* FindDoorbell(int gpu, uint64_t offset);
  void Activate(UserQueue* queue, bool active);

  // Notices doorbells that were written as memory, runs what can run, and turns errors of queues to
  // events. True when anything was done.
  bool RunQueues();
  void ReportError(UserQueue* queue);

  const SimKfdOptions options_;
  FileTree files_;
  std::mutex mutex_;  // Of all below.
  std::condition_variable changed_;
  std::vector<std::unique_ptr<SimGpu>> gpus_;
  std::map<uint64_t, std::unique_ptr<BufferObject>> buffers_;  // By handle.
  uint32_t next_buffer_ = 1;
  uint64_t gtt_used_ = 0;
  EventTable events_;
  std::unique_ptr<SharedBytes> event_page_;  // When the process gave none.
  uint64_t event_page_handle_ = 0;
  std::map<uint32_t, UserQueue> queues_;  // By id.
  QueueSet set_;
  bool runtime_enabled_ = false;
  std::string explanation_;
  std::optional<std::chrono::steady_clock::time_point> idle_since_;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_KFD_SIM_KFD_H_
