// The interface of Linux's compute driver for AMD GPUs, /dev/kfd: ioctl numbers, structures, flags.
// Version 1.14 and later; the <linux/kfd_ioctl.h> of Debian 12 is of 1.11, whose CREATE_QUEUE is
// shorter and which has no RUNTIME_ENABLE, so it is not used.
//
// Source: Linux 6.12, include/uapi/linux/kfd_ioctl.h, and drivers/gpu/drm/amd/amdkfd/kfd_priv.h for
// the offsets of mappings. Field names are the kernel's.
#ifndef TG_DRIVERS_AMD_ABI_KFD_IOCTL_H_
#define TG_DRIVERS_AMD_ABI_KFD_IOCTL_H_

#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>

namespace tg::amd::kfd {

struct GetVersionArgs {
  uint32_t major_version, minor_version;
};

enum QueueType : uint32_t {
  kQueueCompute = 0,
  kQueueSdma = 1,
  kQueueComputeAql = 2,
  kQueueSdmaXgmi = 3,
};
inline constexpr uint32_t kMaxQueuePercentage = 100;
inline constexpr uint32_t kMaxQueuePriority = 15;
inline constexpr uint32_t kMinQueueRingSize = 1024;

struct CreateQueueArgs {
  uint64_t ring_base_address, write_pointer_address, read_pointer_address;
  uint64_t doorbell_offset;  // From the kernel, for mmap.
  uint32_t ring_size, gpu_id, queue_type, queue_percentage, queue_priority;
  uint32_t queue_id;  // From the kernel.
  uint64_t eop_buffer_address, eop_buffer_size;
  uint64_t ctx_save_restore_address;
  uint32_t ctx_save_restore_size, ctl_stack_size;
  uint32_t sdma_engine_id, pad;
};
static_assert(sizeof(CreateQueueArgs) == 96);
static_assert(offsetof(CreateQueueArgs, ctl_stack_size) == 84);

struct DestroyQueueArgs {
  uint32_t queue_id, pad;
};

struct UpdateQueueArgs {
  uint64_t ring_base_address;
  uint32_t queue_id, ring_size, queue_percentage, queue_priority;
};
static_assert(sizeof(UpdateQueueArgs) == 24);

struct SetMemoryPolicyArgs {
  uint64_t alternate_aperture_base, alternate_aperture_size;
  uint32_t gpu_id, default_policy, alternate_policy, pad;
};

struct GetClockCountersArgs {
  uint64_t gpu_clock_counter, cpu_clock_counter, system_clock_counter, system_clock_freq;
  uint32_t gpu_id, pad;
};
static_assert(sizeof(GetClockCountersArgs) == 40);

struct ProcessDeviceApertures {
  uint64_t lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base, gpuvm_limit;
  uint32_t gpu_id, pad;
};
static_assert(sizeof(ProcessDeviceApertures) == 56);

struct GetProcessAperturesNewArgs {
  uint64_t kfd_process_device_apertures_ptr;
  uint32_t num_of_nodes, pad;
};

enum EventType : uint32_t {
  kEventSignal = 0,
  kEventHwException = 3,
  kEventDebug = 5,
  kEventMemory = 8,
};
enum WaitResult : uint32_t { kWaitComplete = 0, kWaitTimeout = 1, kWaitFail = 2 };
inline constexpr uint32_t kSignalEventLimit = 4096;
// What a slot of the event page has when nobody signals.
inline constexpr uint64_t kUnsignaledEventSlot = ~uint64_t{0};

struct CreateEventArgs {
  uint64_t event_page_offset;
  uint32_t event_trigger_data, event_type, auto_reset, node_id, event_id, event_slot_index;
};
static_assert(sizeof(CreateEventArgs) == 32);

struct EventIdArgs {  // DESTROY_EVENT, SET_EVENT, RESET_EVENT.
  uint32_t event_id, pad;
};

struct MemoryExceptionData {
  uint32_t not_present, read_only, no_execute, imprecise;
  uint64_t va;
  uint32_t gpu_id, error_type;
};
static_assert(sizeof(MemoryExceptionData) == 32);

struct HwExceptionData {
  uint32_t reset_type, reset_cause, memory_lost, gpu_id;
};

struct EventData {
  union {
    MemoryExceptionData memory_exception_data;
    HwExceptionData hw_exception_data;
    uint64_t signal_last_event_age;
  };
  uint64_t kfd_event_data_ext;
  uint32_t event_id, pad;
};
static_assert(sizeof(EventData) == 48);

struct WaitEventsArgs {
  uint64_t events_ptr;
  uint32_t num_events, wait_for_all;
  uint32_t timeout;  // Milliseconds; all ones: for ever.
  uint32_t wait_result;
};
static_assert(sizeof(WaitEventsArgs) == 24);

struct SetScratchBackingVaArgs {
  uint64_t va_addr;
  uint32_t gpu_id, pad;
};

struct SetTrapHandlerArgs {
  uint64_t tba_addr, tma_addr;
  uint32_t gpu_id, pad;
};

struct AcquireVmArgs {
  uint32_t drm_fd, gpu_id;
};

enum AllocFlags : uint32_t {
  kAllocVram = 1u << 0,
  kAllocGtt = 1u << 1,
  kAllocUserptr = 1u << 2,
  kAllocDoorbell = 1u << 3,
  kAllocMmioRemap = 1u << 4,
  kAllocUncached = 1u << 25,
  kAllocCoherent = 1u << 26,
  kAllocAqlQueueMem = 1u << 27,
  kAllocNoSubstitute = 1u << 28,
  kAllocPublic = 1u << 29,
  kAllocExecutable = 1u << 30,
  kAllocWritable = 1u << 31,
};

struct AllocMemoryArgs {
  uint64_t va_addr, size;
  uint64_t handle;       // From the kernel.
  uint64_t mmap_offset;  // From the kernel, for mmap of a render node; to it, of user memory.
  uint32_t gpu_id, flags;
};
static_assert(sizeof(AllocMemoryArgs) == 40);

struct FreeMemoryArgs {
  uint64_t handle;
};

struct MapMemoryArgs {  // MAP_MEMORY_TO_GPU and UNMAP_MEMORY_FROM_GPU.
  uint64_t handle, device_ids_array_ptr;
  uint32_t n_devices, n_success;
};
static_assert(sizeof(MapMemoryArgs) == 24);

struct GetAvailableMemoryArgs {
  uint64_t available;
  uint32_t gpu_id, pad;
};

inline constexpr uint32_t kRuntimeEnable = 1;
struct RuntimeEnableArgs {
  uint64_t r_debug;
  uint32_t mode_mask, capabilities_mask;
};
static_assert(sizeof(RuntimeEnableArgs) == 16);

inline constexpr unsigned long kGetVersion = _IOR('K', 0x01, GetVersionArgs);
inline constexpr unsigned long kCreateQueue = _IOWR('K', 0x02, CreateQueueArgs);
inline constexpr unsigned long kDestroyQueue = _IOWR('K', 0x03, DestroyQueueArgs);
inline constexpr unsigned long kSetMemoryPolicy = _IOW('K', 0x04, SetMemoryPolicyArgs);
inline constexpr unsigned long kGetClockCounters = _IOWR('K', 0x05, GetClockCountersArgs);
inline constexpr unsigned long kUpdateQueue = _IOW('K', 0x07, UpdateQueueArgs);
inline constexpr unsigned long kCreateEvent = _IOWR('K', 0x08, CreateEventArgs);
inline constexpr unsigned long kDestroyEvent = _IOW('K', 0x09, EventIdArgs);
inline constexpr unsigned long kSetEvent = _IOW('K', 0x0a, EventIdArgs);
inline constexpr unsigned long kResetEvent = _IOW('K', 0x0b, EventIdArgs);
inline constexpr unsigned long kWaitEvents = _IOWR('K', 0x0c, WaitEventsArgs);
inline constexpr unsigned long kSetScratchBackingVa = _IOWR('K', 0x11, SetScratchBackingVaArgs);
inline constexpr unsigned long kSetTrapHandler = _IOW('K', 0x13, SetTrapHandlerArgs);
inline constexpr unsigned long kGetProcessAperturesNew =
    _IOWR('K', 0x14, GetProcessAperturesNewArgs);
inline constexpr unsigned long kAcquireVm = _IOW('K', 0x15, AcquireVmArgs);
inline constexpr unsigned long kAllocMemory = _IOWR('K', 0x16, AllocMemoryArgs);
inline constexpr unsigned long kFreeMemory = _IOW('K', 0x17, FreeMemoryArgs);
inline constexpr unsigned long kMapMemory = _IOWR('K', 0x18, MapMemoryArgs);
inline constexpr unsigned long kUnmapMemory = _IOWR('K', 0x19, MapMemoryArgs);
inline constexpr unsigned long kAvailableMemory = _IOWR('K', 0x23, GetAvailableMemoryArgs);
inline constexpr unsigned long kRuntimeEnableIoctl = _IOWR('K', 0x25, RuntimeEnableArgs);
static_assert(kCreateQueue == 0xc0604b02 && kAllocMemory == 0xc0284b16);
static_assert(kWaitEvents == 0xc0184b0c && kAcquireVm == 0x40084b15);

// Offsets for mmap of /dev/kfd: what is mapped, and of which GPU.
inline constexpr uint64_t kMmapTypeDoorbell = uint64_t{3} << 62;
inline constexpr uint64_t kMmapTypeEvents = uint64_t{2} << 62;
inline constexpr uint64_t kMmapTypeMask = uint64_t{3} << 62;
inline constexpr int kMmapGpuIdShift = 46;
inline constexpr uint64_t kMmapGpuIdMask = uint64_t{0xffff} << kMmapGpuIdShift;
// Bytes of doorbells that a process has on each GPU.
inline constexpr uint64_t kDoorbellSlice = 0x2000;

}  // namespace tg::amd::kfd

#endif  // TG_DRIVERS_AMD_ABI_KFD_IOCTL_H_
