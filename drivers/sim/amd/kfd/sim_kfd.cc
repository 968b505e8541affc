#include "drivers/sim/amd/kfd/sim_kfd.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drivers/sim/amd/kfd/user_memory.h"

namespace tg::amd::sim {
namespace {

// Bits of gpu ids spread, as the kernel's hash of the card's properties does.
uint32_t MakeGpuId(int gpu) { return (0x5a17 + 0x2d3b * static_cast<uint32_t>(gpu)) & 0xffff; }

// Copies a structure in, calls, and copies it out, of the size that the caller's ioctl number has:
// user space of another version may know less or more fields.
template <class Args, class Function>
int Call(unsigned long request, uint64_t argument, bool out, Function function) {
  Args args{};
  size_t size = std::min<size_t>(_IOC_SIZE(request), sizeof(Args));
  if (CopyFromUser(&args, argument, size) != 0) return -EFAULT;
  int result = function(&args);
  if (out && CopyToUser(argument, &args, size) != 0) return -EFAULT;
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SimKfd>> SimKfd::Create(SimKfdOptions options) {
  int probe = 1, copy = 0;
  if (CopyFromUser(&copy, reinterpret_cast<uint64_t>(&probe), sizeof(probe)) != 0) {
    return absl::FailedPreconditionError(
        "process_vm_readv is not permitted here; the simulated KFD reads its callers' memory so");
  }
  std::unique_ptr<SimKfd> kfd(new SimKfd(std::move(options)));
  int count = static_cast<int>(kfd->options_.gpus.size());
  for (int i = 0; i < count; ++i) {
    std::optional<GpuModel> model = FindGpuModel(kfd->options_.gpus[i]);
    if (!model.has_value()) {
      return absl::UnimplementedError(
          absl::StrCat("no simulated card with ", std::string(ArchName(kfd->options_.gpus[i])),
                       "; there are gfx1100, gfx1201, gfx942 and gfx950"));
    }
    if (kfd->options_.vram_bytes != 0) model->vram_bytes = kfd->options_.vram_bytes;
    auto gpu = std::make_unique<SimGpu>();
    gpu->model = *model;
    gpu->id = MakeGpuId(i);
    gpu->gpu = std::make_unique<Gpu>(model->arch, &gpu->space.memory(), &gpu->clock);
    gpu->gpu->set_launch_options(kfd->options_.launch);
    gpu->gpu->set_max_workgroups(kfd->options_.max_workgroups);
    gpu->gpu->set_interrupt([events = &kfd->events_](uint32_t id) { events->Interrupt(id); });
    gpu->doorbells = SharedBytes::Create(kfd::kDoorbellSlice);
    if (gpu->doorbells == nullptr) return absl::ResourceExhaustedError("memory for doorbells");
    AddGpuFiles(
        *model,
        {.gpu_id = gpu->id, .node = i + 1, .render_minor = kFirstRenderMinor + i, .gpus = count},
        &kfd->files_);
    kfd->gpus_.push_back(std::move(gpu));
  }
  kfd->set_.set_packet_budget(kfd->options_.packet_budget);
  AddMachineFiles(count, &kfd->files_);
  return kfd;
}

SimKfd::~SimKfd() = default;

int SimKfd::Refuse(int error, std::string why) {
  explanation_ = std::move(why);
  return -error;
}

std::string SimKfd::explanation() {
  std::lock_guard<std::mutex> lock(mutex_);
  return explanation_;
}

SimKfd::SimGpu* SimKfd::FindGpu(uint32_t id, int* index) {
  for (size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i]->id != id) continue;
    if (index != nullptr) *index = static_cast<int>(i);
    return gpus_[i].get();
  }
  return nullptr;
}

SimKfd::SimGpu* SimKfd::BoundGpu(uint32_t id, int unbound_error, int* error, int* index) {
  SimGpu* gpu = FindGpu(id, index);
  if (gpu == nullptr) {
    *error = Refuse(EINVAL, absl::StrFormat("there is no gpu 0x%x", id));
    return nullptr;
  }
  if (gpu->render_fd < 0) {
    *error = Refuse(unbound_error, absl::StrFormat("gpu 0x%x: ACQUIRE_VM was not called", id));
    return nullptr;
  }
  return gpu;
}

int SimKfd::Ioctl(unsigned long request, uint64_t argument, int (*resolve)(void*, int),
                  void* context) {
  std::unique_lock<std::mutex> lock(mutex_);
  auto call = [&](auto type, bool out, auto member) {
    using Args = decltype(type);
    return Call<Args>(request, argument, out, [&](Args* args) { return (this->*member)(args); });
  };
  // The kernel goes by the number alone; sizes may differ.
  switch (_IOC_NR(request)) {
    case _IOC_NR(kfd::kGetVersion):
      return call(kfd::GetVersionArgs(), true, &SimKfd::GetVersion);
    case _IOC_NR(kfd::kCreateQueue):
      return call(kfd::CreateQueueArgs(), true, &SimKfd::CreateQueue);
    case _IOC_NR(kfd::kDestroyQueue):
      return call(kfd::DestroyQueueArgs(), false, &SimKfd::DestroyQueue);
    case _IOC_NR(kfd::kSetMemoryPolicy):
      return call(kfd::SetMemoryPolicyArgs(), false, &SimKfd::SetMemoryPolicy);
    case _IOC_NR(kfd::kGetClockCounters):
      return call(kfd::GetClockCountersArgs(), true, &SimKfd::GetClockCounters);
    case _IOC_NR(kfd::kUpdateQueue):
      return call(kfd::UpdateQueueArgs(), false, &SimKfd::UpdateQueue);
    case _IOC_NR(kfd::kCreateEvent):
      return call(kfd::CreateEventArgs(), true, &SimKfd::CreateEvent);
    case _IOC_NR(kfd::kDestroyEvent):
      return call(kfd::EventIdArgs(), false, &SimKfd::DestroyEvent);
    case _IOC_NR(kfd::kSetEvent):
      return call(kfd::EventIdArgs(), false, &SimKfd::SetEvent);
    case _IOC_NR(kfd::kResetEvent):
      return call(kfd::EventIdArgs(), false, &SimKfd::ResetEvent);
    case _IOC_NR(kfd::kWaitEvents):
      return Call<kfd::WaitEventsArgs>(request, argument, true, [&](kfd::WaitEventsArgs* args) {
        return WaitEvents(args, &lock);
      });
    case _IOC_NR(kfd::kSetScratchBackingVa):
      return call(kfd::SetScratchBackingVaArgs(), true, &SimKfd::SetScratchBackingVa);
    case _IOC_NR(kfd::kSetTrapHandler):
      return call(kfd::SetTrapHandlerArgs(), false, &SimKfd::SetTrapHandler);
    case _IOC_NR(kfd::kGetProcessAperturesNew):
      return call(kfd::GetProcessAperturesNewArgs(), true, &SimKfd::GetProcessAperturesNew);
    case _IOC_NR(kfd::kAcquireVm):
      return Call<kfd::AcquireVmArgs>(request, argument, false, [&](kfd::AcquireVmArgs* args) {
        return AcquireVm(args, resolve, context);
      });
    case _IOC_NR(kfd::kAllocMemory):
      return call(kfd::AllocMemoryArgs(), true, &SimKfd::AllocMemory);
    case _IOC_NR(kfd::kFreeMemory):
      return call(kfd::FreeMemoryArgs(), false, &SimKfd::FreeMemory);
    case _IOC_NR(kfd::kMapMemory):
      return call(kfd::MapMemoryArgs(), true, &SimKfd::MapMemory);
    case _IOC_NR(kfd::kUnmapMemory):
      return call(kfd::MapMemoryArgs(), true, &SimKfd::UnmapMemory);
    case _IOC_NR(kfd::kAvailableMemory):
      return call(kfd::GetAvailableMemoryArgs(), true, &SimKfd::AvailableMemory);
    case _IOC_NR(kfd::kRuntimeEnableIoctl):
      return call(kfd::RuntimeEnableArgs(), true, &SimKfd::RuntimeEnable);
    case 0x20:  // SVM.
    case 0x21:  // SET_XNACK_MODE.
      return Refuse(EPERM, "SVM and XNACK are not modelled");
    default:
      return Refuse(EINVAL,
                    absl::StrFormat("ioctl 0x%x of /dev/kfd is not modelled", _IOC_NR(request)));
  }
}

int SimKfd::GetVersion(kfd::GetVersionArgs* args) {
  // The first with RUNTIME_ENABLE and all that is here.
  args->major_version = 1;
  args->minor_version = 14;
  return 0;
}

int SimKfd::SetMemoryPolicy(kfd::SetMemoryPolicyArgs* args) {
  if (args->default_policy > 1 || args->alternate_policy > 1) {
    return Refuse(EINVAL, "SET_MEMORY_POLICY: a policy is neither 0 nor 1");
  }
  int error = 0;
  BoundGpu(args->gpu_id, ESRCH, &error);
  return error;
}

int SimKfd::SetScratchBackingVa(kfd::SetScratchBackingVaArgs* args) {
  int error = 0;
  BoundGpu(args->gpu_id, ENODEV, &error);
  return error;
}

int SimKfd::SetTrapHandler(kfd::SetTrapHandlerArgs* args) {
  int error = 0;
  BoundGpu(args->gpu_id, ESRCH, &error);
  return error;
}

int SimKfd::GetClockCounters(kfd::GetClockCountersArgs* args) {
  SimGpu* gpu = FindGpu(args->gpu_id);
  // Time is the GPU's, so that runs repeat: nanoseconds are ten to a tick.
  args->gpu_clock_counter = gpu == nullptr ? 0 : gpu->clock.Read();
  args->cpu_clock_counter = args->system_clock_counter =
      args->gpu_clock_counter * (1'000'000'000 / GpuClock::kHertz);
  args->system_clock_freq = 1'000'000'000;
  return 0;
}

int SimKfd::GetProcessAperturesNew(kfd::GetProcessAperturesNewArgs* args) {
  uint32_t count = static_cast<uint32_t>(gpus_.size());
  if (args->num_of_nodes == 0) {  // Asks how many there are.
    args->num_of_nodes = count;
    return 0;
  }
  std::vector<kfd::ProcessDeviceApertures> apertures;
  for (uint32_t i = 0; i < std::min(count, args->num_of_nodes); ++i) {
    kfd::ProcessDeviceApertures a{};
    a.lds_base = uint64_t{1} << 48;
    a.lds_limit = a.lds_base | 0xffffffff;
    a.scratch_base = uint64_t{2} << 48;
    a.scratch_limit = a.scratch_base | 0xffffffff;
    a.gpuvm_base = 0x1000000;
    a.gpuvm_limit = kGpuVmLimit;
    a.gpu_id = gpus_[i]->id;
    apertures.push_back(a);
  }
  if (CopyToUser(args->kfd_process_device_apertures_ptr, apertures.data(),
                 apertures.size() * sizeof(apertures[0])) != 0) {
    return Refuse(EFAULT, "GET_PROCESS_APERTURES_NEW: the array cannot be written");
  }
  args->num_of_nodes = static_cast<uint32_t>(apertures.size());
  return 0;
}

int SimKfd::AcquireVm(kfd::AcquireVmArgs* args, int (*resolve)(void*, int), void* context) {
  int index = -1;
  SimGpu* gpu = FindGpu(args->gpu_id, &index);
  int fd = static_cast<int>(args->drm_fd);
  int node = resolve(context, fd);
  if (gpu == nullptr || node != index) {
    return Refuse(EINVAL, absl::StrFormat("ACQUIRE_VM: descriptor %d is no render node of gpu 0x%x",
                                          fd, args->gpu_id));
  }
  if (gpu->render_fd >= 0) {
    if (gpu->render_fd == fd) return 0;
    return Refuse(EBUSY, "ACQUIRE_VM: the process has the address space of another descriptor");
  }
  gpu->render_fd = fd;
  return 0;
}

int SimKfd::RuntimeEnable(kfd::RuntimeEnableArgs* args) {
  if (!(args->mode_mask & kfd::kRuntimeEnable)) {
    runtime_enabled_ = false;
    return 0;
  }
  if (runtime_enabled_) return Refuse(EBUSY, "RUNTIME_ENABLE: it is enabled");
  if (!queues_.empty()) return Refuse(EEXIST, "RUNTIME_ENABLE: the process has queues");
  runtime_enabled_ = true;
  args->capabilities_mask = 0;
  return 0;
}

int SimKfd::RenderIoctl(int gpu, unsigned long request, uint64_t argument) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (_IOC_TYPE(request) != 'd') return Refuse(ENOTTY, "no ioctl of a render node");
  if (request != drm::kIoctlInfo) {
    return Refuse(EINVAL, absl::StrFormat("render node ioctl 0x%x is not modelled", request));
  }
  drm::Info info;
  if (CopyFromUser(&info, argument, sizeof(info)) != 0) return -EFAULT;
  if (info.query != drm::kInfoDevInfo) {
    return Refuse(EINVAL, absl::StrFormat("AMDGPU_INFO query 0x%x is not modelled", info.query));
  }
  if (info.return_size == 0 || info.return_pointer == 0) {
    return Refuse(EINVAL, "AMDGPU_INFO without a place for the answer");
  }
  const GpuModel& m = gpus_[gpu]->model;
  drm::InfoDevice d{};
  d.device_id = m.device_id;
  d.num_shader_engines = m.engines();
  d.num_shader_arrays_per_engine = m.simd_arrays_per_engine;
  d.gpu_counter_freq = GpuClock::kHertz / 1000;
  d.max_engine_clock = m.max_engine_clk_mhz * 1000;
  d.cu_active_number = m.cus();
  uint32_t left = m.cus();
  for (uint32_t engine = 0; engine < m.engines(); ++engine) {
    for (uint32_t array = 0; array < m.simd_arrays_per_engine; ++array) {
      // Harvested CUs are missing in the last arrays.
      uint32_t count = std::min(left, m.cu_per_simd_array);
      left -= count;
      uint32_t column = array + engine / 4 * 2;
      if (column < 4) d.cu_bitmap[engine % 4][column] = (1u << count) - 1;
    }
  }
  d.virtual_address_offset = 0x200000;
  d.virtual_address_max = 0x800000000000;
  d.virtual_address_alignment = kPageSize;
  d.pte_fragment_size = 2 << 20;
  d.gart_page_size = kPageSize;
  d.wave_front_size = m.wave_front_size;
  d.num_cu_per_sh = m.cu_per_simd_array;
  size_t size = std::min<size_t>(info.return_size, sizeof(d));
  if (CopyToUser(info.return_pointer, &d, size) != 0) return -EFAULT;
  return 0;
}

int SimKfd::KfdMmap(uint64_t size, uint64_t offset, Backing* backing) {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t type = offset & kfd::kMmapTypeMask;
  if (type == kfd::kMmapTypeDoorbell) {
    int index = -1;
    SimGpu* gpu = FindGpu(
        static_cast<uint32_t>((offset & kfd::kMmapGpuIdMask) >> kfd::kMmapGpuIdShift), &index);
    if (gpu == nullptr) return Refuse(ENODEV, "mmap of doorbells: there is no such gpu");
    if (size != kfd::kDoorbellSlice) {
      return Refuse(EINVAL, absl::StrFormat("mmap of doorbells: %u bytes instead of %u", size,
                                            kfd::kDoorbellSlice));
    }
    *backing = {.fd = gpu->doorbells->fd(), .offset = 0, .doorbell_gpu = index};
    return 0;
  }
  if (type == kfd::kMmapTypeEvents) {
    if (event_page_ == nullptr) return Refuse(EINVAL, "mmap of events: there are none");
    if (size != event_page_->size()) {
      return Refuse(EINVAL, absl::StrFormat("mmap of events: %u bytes instead of %u", size,
                                            event_page_->size()));
    }
    *backing = {.fd = event_page_->fd()};
    return 0;
  }
  return Refuse(EINVAL, absl::StrFormat("mmap of /dev/kfd: offset 0x%x is nothing", offset));
}

bool SimKfd::RunQueues() {
  for (auto& [id, q] : queues_) {
    uint64_t value =
        *reinterpret_cast<volatile uint64_t*>(gpus_[q.gpu]->doorbells->bytes() + q.doorbell);
    if (!q.active || value == q.last_doorbell) continue;
    q.last_doorbell = value;
    q.queue->Ring(value);
  }
  bool any = set_.Run();
  for (auto& [id, q] : queues_) ReportError(&q);
  if (any) {
    idle_since_.reset();
    changed_.notify_all();
  }
  return any;
}

void SimKfd::ReportError(UserQueue* q) {
  if (q->reported || q->queue->status().ok()) return;
  q->reported = true;
  explanation_ = std::string(q->queue->status().message());
  kfd::EventData data{};
  uint32_t gpu_id = gpus_[q->gpu]->id;
  if (q->queue->fault().has_value()) {
    const MemoryFault& fault = *q->queue->fault();
    bool present = gpus_[q->gpu]->space.memory().Find(fault.address, 1) != nullptr;
    data.memory_exception_data.not_present = !present;
    data.memory_exception_data.read_only = present && fault.write;
    data.memory_exception_data.va = fault.address / kPageSize * kPageSize;
    data.memory_exception_data.gpu_id = gpu_id;
    events_.SignalType(kfd::kEventMemory, data);
  } else {
    // A hang, as the kernel would find it: the whole GPU is reset.
    data.hw_exception_data.gpu_id = gpu_id;
    events_.SignalType(kfd::kEventHwException, data);
  }
}

void SimKfd::RingDoorbell(int gpu, uint64_t offset, uint64_t value) {
  std::lock_guard<std::mutex> lock(mutex_);
  idle_since_.reset();
  UserQueue* q = FindDoorbell(gpu, offset);
  // Doorbells of no queue are nobody's, and are lost.
  if (q != nullptr && q->active) {
    q->last_doorbell = value;
    q->queue->Ring(value);
  }
  RunQueues();
}

absl::Status SimKfd::Relax() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    bool any = RunQueues();
    for (auto& [id, q] : queues_) {
      if (!q.queue->status().ok()) return q.queue->status();
    }
    if (any) return absl::OkStatus();
    auto now = std::chrono::steady_clock::now();
    if (!idle_since_.has_value()) idle_since_ = now;
    if (now - *idle_since_ >= options_.patience) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the host waits for simulated GPUs that have nothing to do:\n", set_.Describe()));
    }
  }
  std::this_thread::yield();
  return absl::OkStatus();
}

std::string SimKfd::DescribeQueues() {
  std::lock_guard<std::mutex> lock(mutex_);
  return set_.Describe();
}

LaunchStats SimKfd::stats(int gpu) {
  std::lock_guard<std::mutex> lock(mutex_);
  return gpus_[gpu]->gpu->stats();
}

}  // namespace tg::amd::sim
