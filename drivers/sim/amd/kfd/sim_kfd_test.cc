// Error numbers of the simulated kernel driver, a case each.
#include "drivers/sim/amd/kfd/sim_kfd.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "drivers/sim/amd/kfd/sim_os.h"
#include "drivers/sim/amd/kfd/test_driver.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

constexpr uint64_t kBadPointer = 0x10;  // In the page that is never mapped.

class SimKfdTest : public testing::Test {
 protected:
  void SetUp() override {
    os_ = *SimOs::Create({.gpus = {Arch::kGfx1100, Arch::kGfx1100},
                          .vram_bytes = uint64_t{1} << 30,
                          .gtt_bytes = uint64_t{1} << 30,
                          .patience = std::chrono::milliseconds(0)});
    driver_ = std::make_unique<TestDriver>(os_.get(), os_->kfd().model(0));
    ASSERT_EQ(driver_->Open(), 0);
    ASSERT_EQ(driver_->Alloc(1 << 16, kSystem, &ring_), 0);
    ASSERT_EQ(driver_->Alloc(4096, kSystem, &pointers_), 0);
    ASSERT_EQ(driver_->Alloc(4096, kHostVisible, &eop_), 0);
    sizes_ = ContextSaveSizesOf(os_->kfd().model(0));
    ASSERT_EQ(
        driver_->Alloc(static_cast<uint64_t>(sizes_.cwsr) + sizes_.debug, kHostVisible, &save_), 0);
    id_ = driver_->id();
  }
  template <class Args>
  int Call(unsigned long request, Args args) {
    return driver_->Ioctl(request, &args);
  }
  kfd::CreateQueueArgs GoodQueue() {
    kfd::CreateQueueArgs a{};
    a.ring_base_address = ring_.va;
    a.ring_size = 1 << 16;
    a.read_pointer_address = pointers_.va;
    a.write_pointer_address = pointers_.va + 8;
    a.gpu_id = id_;
    a.queue_percentage = 100;
    a.queue_priority = 7;
    a.eop_buffer_address = eop_.va;
    a.eop_buffer_size = 4096;
    a.ctx_save_restore_address = save_.va;
    a.ctx_save_restore_size = sizes_.cwsr;
    a.ctl_stack_size = sizes_.ctl_stack;
    return a;
  }
  kfd::AllocMemoryArgs GoodAlloc() {
    return {.va_addr = 0x200000000000,
            .size = 4096,
            .handle = 0,
            .mmap_offset = 0,
            .gpu_id = id_,
            .flags = kfd::kAllocVram | kfd::kAllocWritable};
  }
  kfd::MapMemoryArgs GoodMap(uint64_t handle) {
    return {.handle = handle,
            .device_ids_array_ptr = reinterpret_cast<uint64_t>(&id_),
            .n_devices = 1,
            .n_success = 0};
  }

  std::unique_ptr<SimOs> os_;
  std::unique_ptr<TestDriver> driver_;
  TestDriver::Buffer ring_, pointers_, eop_, save_;
  ContextSaveSizes sizes_;
  uint32_t id_ = 0;
};

TEST_F(SimKfdTest, CreateQueue) {
  ASSERT_EQ(Call(kfd::kCreateQueue, GoodQueue()), 0) << os_->kfd().explanation();
  struct Case {
    const char* name;
    std::function<void(kfd::CreateQueueArgs*)> change;
    int error;
  };
  const Case cases[] = {
      {"percentage", [](auto* a) { a->queue_percentage = 101; }, EINVAL},
      {"priority", [](auto* a) { a->queue_priority = 16; }, EINVAL},
      {"ring in kernel space", [](auto* a) { a->ring_base_address = ~uint64_t{0xfff}; }, EFAULT},
      {"ring size no power of two", [](auto* a) { a->ring_size = 3000; }, EINVAL},
      {"ring size larger", [](auto* a) { a->ring_size = 1 << 17; }, EINVAL},
      {"ring size smaller", [](auto* a) { a->ring_size = 4096; }, EINVAL},
      {"ring in the middle", [](auto* a) { a->ring_base_address += 4096; }, EINVAL},
      {"ring nowhere", [](auto* a) { a->ring_base_address = 0x5000; }, EINVAL},
      {"read pointer in kernel space", [](auto* a) { a->read_pointer_address = uint64_t{1} << 63; },
       EFAULT},
      {"write pointer in kernel space",
       [](auto* a) { a->write_pointer_address = uint64_t{1} << 47; }, EFAULT},
      {"write pointer nowhere", [](auto* a) { a->write_pointer_address = 0x5000; }, EINVAL},
      {"read pointer misaligned", [](auto* a) { a->read_pointer_address += 1; }, EINVAL},
      {"eop in kernel space", [](auto* a) { a->eop_buffer_address = ~uint64_t{0}; }, EFAULT},
      {"eop size", [](auto* a) { a->eop_buffer_size = 8192; }, EINVAL},
      {"save area in kernel space", [](auto* a) { a->ctx_save_restore_address = ~uint64_t{0}; },
       EFAULT},
      {"save area too small", [](auto* a) { a->ctx_save_restore_size -= 4096; }, EINVAL},
      {"save area larger than its buffer", [](auto* a) { a->ctx_save_restore_size += 8192; },
       EINVAL},
      {"control stack", [](auto* a) { a->ctl_stack_size += 4096; }, EINVAL},
      {"type", [](auto* a) { a->queue_type = 9; }, 524},
      {"gpu", [](auto* a) { a->gpu_id = 1; }, EINVAL},
  };
  for (const Case& c : cases) {
    kfd::CreateQueueArgs args = GoodQueue();
    c.change(&args);
    EXPECT_EQ(Call(kfd::kCreateQueue, args), -c.error)
        << c.name << ": " << os_->kfd().explanation();
    EXPECT_NE(os_->kfd().explanation(), "") << c.name;
  }
  // The other GPU has no address space of this process.
  kfd::CreateQueueArgs args = GoodQueue();
  args.gpu_id = os_->kfd().gpu_id(1);
  EXPECT_EQ(Call(kfd::kCreateQueue, args), -ESRCH);
  // SDMA queues need neither EOP buffer nor save area. There are 16 of them.
  args = GoodQueue();
  args.queue_type = kfd::kQueueSdma;
  args.eop_buffer_address = args.ctx_save_restore_address = 0;
  for (int i = 0; i < 16; ++i) EXPECT_EQ(Call(kfd::kCreateQueue, args), 0) << i;
  EXPECT_EQ(Call(kfd::kCreateQueue, args), -ENOMEM);
}

TEST_F(SimKfdTest, QueuesKeepTheirBuffersAndCanBeStopped) {
  kfd::CreateQueueArgs args = GoodQueue();
  ASSERT_EQ(driver_->Ioctl(kfd::kCreateQueue, &args), 0);
  EXPECT_EQ(args.doorbell_offset >> 62, 3u);
  EXPECT_EQ(Call(kfd::kUnmapMemory, GoodMap(ring_.handle)), -EBUSY);
  kfd::UpdateQueueArgs update{.ring_base_address = ring_.va,
                              .queue_id = args.queue_id,
                              .ring_size = 1 << 16,
                              .queue_percentage = 0,
                              .queue_priority = 7};
  EXPECT_EQ(Call(kfd::kUpdateQueue, update), 0);
  update.queue_percentage = 100;
  EXPECT_EQ(Call(kfd::kUpdateQueue, update), 0);
  update.queue_priority = 16;
  EXPECT_EQ(Call(kfd::kUpdateQueue, update), -EINVAL);
  update.queue_priority = 0;
  update.ring_size = 4097;
  EXPECT_EQ(Call(kfd::kUpdateQueue, update), -EINVAL);
  update.ring_size = 1 << 16;
  update.queue_id = 77;
  EXPECT_EQ(Call(kfd::kUpdateQueue, update), -EFAULT);
  kfd::DestroyQueueArgs destroy{.queue_id = args.queue_id, .pad = 0};
  EXPECT_EQ(Call(kfd::kDestroyQueue, destroy), 0);
  EXPECT_EQ(Call(kfd::kDestroyQueue, destroy), -EINVAL);
  EXPECT_EQ(Call(kfd::kUnmapMemory, GoodMap(ring_.handle)), 0);
}

TEST_F(SimKfdTest, AllocMemory) {
  struct Case {
    const char* name;
    std::function<void(kfd::AllocMemoryArgs*)> change;
    int error;
  };
  const Case cases[] = {
      {"good", [](auto*) {}, 0},
      {"no bytes", [](auto* a) { a->size = 0; }, EINVAL},
      {"wraps", [](auto* a) { a->size = ~uint64_t{0}; }, ENOMEM},
      {"more than VRAM", [](auto* a) { a->size = uint64_t{2} << 30; }, ENOMEM},
      {"more than GTT", [](auto* a) { a->flags = kfd::kAllocGtt, a->size = uint64_t{2} << 30; },
       ENOMEM},
      {"no domain", [](auto* a) { a->flags = kfd::kAllocWritable; }, EINVAL},
      {"doorbell", [](auto* a) { a->flags = kfd::kAllocDoorbell; }, EINVAL},
      {"gpu", [](auto* a) { a->gpu_id = 0; }, EINVAL},
      {"gpu without address space", [this](auto* a) { a->gpu_id = os_->kfd().gpu_id(1); }, ENODEV},
      {"user memory without address", [](auto* a) { a->flags = kfd::kAllocUserptr; }, EINVAL},
      {"user memory that is not there",
       [](auto* a) { a->flags = kfd::kAllocUserptr, a->mmap_offset = 0x1000; }, EFAULT},
      {"user memory that is no page",
       [](auto* a) { a->flags = kfd::kAllocUserptr, a->mmap_offset = 0x1001; }, EINVAL},
  };
  for (const Case& c : cases) {
    kfd::AllocMemoryArgs args = GoodAlloc();
    c.change(&args);
    EXPECT_EQ(Call(kfd::kAllocMemory, args), -c.error) << c.name;
  }
}

TEST_F(SimKfdTest, MapsUnmapsAndFrees) {
  kfd::AllocMemoryArgs a = GoodAlloc(), b = GoodAlloc(), odd = GoodAlloc(), high = GoodAlloc();
  odd.va_addr += 0x100800;
  high.va_addr = uint64_t{1} << 48;
  for (kfd::AllocMemoryArgs* args : {&a, &b, &odd, &high}) {
    ASSERT_EQ(driver_->Ioctl(kfd::kAllocMemory, args), 0);
  }
  kfd::GetAvailableMemoryArgs available{.available = 0, .gpu_id = id_, .pad = 0};
  ASSERT_EQ(driver_->Ioctl(kfd::kAvailableMemory, &available), 0);
  EXPECT_EQ(available.available, (uint64_t{1} << 30) - eop_.size - save_.size - 4 * 4096);

  EXPECT_EQ(Call(kfd::kMapMemory, GoodMap(a.handle)), 0);
  EXPECT_EQ(Call(kfd::kMapMemory, GoodMap(a.handle)), 0) << "once more is no error";
  EXPECT_EQ(Call(kfd::kMapMemory, GoodMap(b.handle)), -EINVAL) << "the addresses are taken";
  EXPECT_EQ(Call(kfd::kMapMemory, GoodMap(odd.handle)), -EINVAL);
  EXPECT_EQ(Call(kfd::kMapMemory, GoodMap(high.handle)), -EINVAL);
  EXPECT_EQ(Call(kfd::kMapMemory, GoodMap(0)), -EINVAL);
  EXPECT_EQ(Call(kfd::kMapMemory, GoodMap(a.handle + 99)), -ENOMEM);
  kfd::MapMemoryArgs map = GoodMap(a.handle);
  map.n_devices = 0;
  EXPECT_EQ(Call(kfd::kMapMemory, map), -EINVAL);
  map = GoodMap(a.handle);
  map.n_success = 2;
  EXPECT_EQ(Call(kfd::kMapMemory, map), -EINVAL);
  map = GoodMap(a.handle);
  map.device_ids_array_ptr = kBadPointer;
  EXPECT_EQ(Call(kfd::kMapMemory, map), -EFAULT);
  map = GoodMap(a.handle);
  map.n_devices = ~0u;
  EXPECT_EQ(Call(kfd::kMapMemory, map), -ENOMEM);
  // The second device is unknown: n_success says how far it went.
  uint32_t ids[2] = {id_, 1};
  map = GoodMap(a.handle);
  map.device_ids_array_ptr = reinterpret_cast<uint64_t>(ids);
  map.n_devices = 2;
  EXPECT_EQ(driver_->Ioctl(kfd::kMapMemory, &map), -EINVAL);
  EXPECT_EQ(map.n_success, 1u);

  EXPECT_EQ(Call(kfd::kFreeMemory, kfd::FreeMemoryArgs{a.handle}), -EBUSY);
  map.n_success = 0;
  EXPECT_EQ(driver_->Ioctl(kfd::kUnmapMemory, &map), -ENODEV);
  EXPECT_EQ(Call(kfd::kUnmapMemory, GoodMap(a.handle)), 0);
  EXPECT_EQ(Call(kfd::kUnmapMemory, GoodMap(a.handle + 99)), -ENOMEM);
  EXPECT_EQ(Call(kfd::kFreeMemory, kfd::FreeMemoryArgs{a.handle}), 0);
  EXPECT_EQ(Call(kfd::kFreeMemory, kfd::FreeMemoryArgs{a.handle}), -EINVAL);
}

TEST_F(SimKfdTest, Mmap) {
  void* mapped = nullptr;
  auto map = [&](int fd, uint64_t size, uint64_t offset) {
    int error = os_->Mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, offset, &mapped);
    if (error == 0) os_->Munmap(mapped, size);
    return error;
  };
  int kfd = driver_->kfd_fd(), render = driver_->render_fd();
  uint64_t doorbells = kfd::kMmapTypeDoorbell | static_cast<uint64_t>(id_) << 46;
  EXPECT_EQ(map(kfd, kfd::kDoorbellSlice, doorbells), 0);
  EXPECT_EQ(map(kfd, 4096, doorbells), -EINVAL);
  EXPECT_EQ(map(kfd, kfd::kDoorbellSlice, kfd::kMmapTypeDoorbell | uint64_t{1} << 46), -ENODEV);
  EXPECT_EQ(map(kfd, 0x8000, kfd::kMmapTypeEvents), -EINVAL) << "no event was created";
  kfd::CreateEventArgs event{};
  ASSERT_EQ(driver_->Ioctl(kfd::kCreateEvent, &event), 0);
  EXPECT_EQ(event.event_page_offset, kfd::kMmapTypeEvents);
  EXPECT_EQ(map(kfd, 0x8000, kfd::kMmapTypeEvents), 0);
  EXPECT_EQ(map(kfd, 0x1000, kfd::kMmapTypeEvents), -EINVAL);
  EXPECT_EQ(map(kfd, 4096, 0), -EINVAL);
  kfd::AllocMemoryArgs visible = GoodAlloc(), hidden = GoodAlloc();
  visible.flags |= kfd::kAllocPublic;
  ASSERT_EQ(driver_->Ioctl(kfd::kAllocMemory, &visible), 0);
  ASSERT_EQ(driver_->Ioctl(kfd::kAllocMemory, &hidden), 0);
  EXPECT_EQ(map(render, 4096, visible.mmap_offset), 0);
  EXPECT_EQ(map(render, 8192, visible.mmap_offset), -EINVAL);
  EXPECT_EQ(map(render, 4096, visible.mmap_offset + 4096), -EINVAL);
  EXPECT_EQ(hidden.mmap_offset, 0u);
  EXPECT_EQ(map(render, 4096, hidden.mmap_offset), -EINVAL);
}

TEST_F(SimKfdTest, Events) {
  kfd::CreateEventArgs a{}, memory{};
  ASSERT_EQ(driver_->Ioctl(kfd::kCreateEvent, &a), 0);
  EXPECT_EQ(a.event_id, 1u) << "0 is nobody's";
  memory.event_type = kfd::kEventMemory;
  ASSERT_EQ(driver_->Ioctl(kfd::kCreateEvent, &memory), 0);
  EXPECT_GE(memory.event_id, kfd::kSignalEventLimit);
  kfd::CreateEventArgs page{};
  page.event_page_offset = ring_.handle;
  EXPECT_EQ(Call(kfd::kCreateEvent, page), -EINVAL) << "there is a page";

  kfd::EventData data{};
  data.event_id = a.event_id;
  kfd::WaitEventsArgs wait{.events_ptr = reinterpret_cast<uint64_t>(&data),
                           .num_events = 1,
                           .wait_for_all = 1,
                           .timeout = 0,
                           .wait_result = 9};
  EXPECT_EQ(driver_->Ioctl(kfd::kWaitEvents, &wait), 0);
  EXPECT_EQ(wait.wait_result, kfd::kWaitTimeout);
  EXPECT_EQ(Call(kfd::kSetEvent, kfd::EventIdArgs{a.event_id, 0}), 0);
  EXPECT_EQ(driver_->Ioctl(kfd::kWaitEvents, &wait), 0);
  EXPECT_EQ(wait.wait_result, kfd::kWaitComplete);
  EXPECT_EQ(driver_->Ioctl(kfd::kWaitEvents, &wait), 0);
  EXPECT_EQ(wait.wait_result, kfd::kWaitComplete) << "it was not created to be reset";
  EXPECT_EQ(Call(kfd::kResetEvent, kfd::EventIdArgs{a.event_id, 0}), 0);
  wait.timeout = ~0u;
  EXPECT_EQ(driver_->Ioctl(kfd::kWaitEvents, &wait), -EIO) << "nobody will signal it";
  EXPECT_EQ(wait.wait_result, kfd::kWaitFail);
  EXPECT_EQ(Call(kfd::kSetEvent, kfd::EventIdArgs{memory.event_id, 0}), -EINVAL);
  EXPECT_EQ(Call(kfd::kSetEvent, kfd::EventIdArgs{99, 0}), -EINVAL);
  EXPECT_EQ(Call(kfd::kResetEvent, kfd::EventIdArgs{99, 0}), -EINVAL);
  wait.events_ptr = kBadPointer;
  EXPECT_EQ(driver_->Ioctl(kfd::kWaitEvents, &wait), -EFAULT);
  wait.events_ptr = reinterpret_cast<uint64_t>(&data);
  data.event_id = 99;
  EXPECT_EQ(driver_->Ioctl(kfd::kWaitEvents, &wait), -EINVAL);
  EXPECT_EQ(Call(kfd::kDestroyEvent, kfd::EventIdArgs{a.event_id, 0}), 0);
  EXPECT_EQ(Call(kfd::kDestroyEvent, kfd::EventIdArgs{a.event_id, 0}), -EINVAL);
  // All slots but the first.
  for (uint32_t i = 1; i < kfd::kSignalEventLimit; ++i) {
    ASSERT_EQ(Call(kfd::kCreateEvent, kfd::CreateEventArgs{}), 0) << i;
  }
  EXPECT_EQ(Call(kfd::kCreateEvent, kfd::CreateEventArgs{}), -ENOSPC);
}

TEST_F(SimKfdTest, TheEventPageIsABufferThatStays) {
  kfd::CreateEventArgs event{};
  event.event_page_offset = eop_.handle;
  EXPECT_EQ(Call(kfd::kCreateEvent, event), -EINVAL) << "too small";
  event.event_page_offset = 5;
  EXPECT_EQ(Call(kfd::kCreateEvent, event), -EINVAL);
  event.event_page_offset = ring_.handle;
  EXPECT_EQ(Call(kfd::kCreateEvent, event), 0);
  EXPECT_EQ(ring_.as<uint64_t>()[1], kfd::kUnsignaledEventSlot);
  EXPECT_EQ(Call(kfd::kUnmapMemory, GoodMap(ring_.handle)), 0);
  EXPECT_EQ(Call(kfd::kFreeMemory, kfd::FreeMemoryArgs{ring_.handle}), -EPERM);
}

TEST_F(SimKfdTest, AcquireVmAndTheRest) {
  uint32_t fd = static_cast<uint32_t>(driver_->render_fd()), other = os_->kfd().gpu_id(1);
  EXPECT_EQ(Call(kfd::kAcquireVm, kfd::AcquireVmArgs{fd, id_}), 0) << "the same once more";
  EXPECT_EQ(Call(kfd::kAcquireVm, kfd::AcquireVmArgs{fd, other}), -EINVAL);
  EXPECT_EQ(Call(kfd::kAcquireVm, kfd::AcquireVmArgs{0, id_}), -EINVAL);
  EXPECT_EQ(Call(kfd::kAcquireVm, kfd::AcquireVmArgs{fd, 1}), -EINVAL);
  int second = os_->Open("/dev/dri/renderD128", O_RDWR);
  EXPECT_EQ(Call(kfd::kAcquireVm, kfd::AcquireVmArgs{static_cast<uint32_t>(second), id_}), -EBUSY);
  os_->Close(second);

  kfd::GetVersionArgs version{};
  EXPECT_EQ(driver_->Ioctl(kfd::kGetVersion, &version), 0);
  EXPECT_EQ(version.major_version, 1u);
  EXPECT_EQ(version.minor_version, 14u);
  kfd::ProcessDeviceApertures apertures[3]{};
  kfd::GetProcessAperturesNewArgs args{};
  EXPECT_EQ(driver_->Ioctl(kfd::kGetProcessAperturesNew, &args), 0);
  EXPECT_EQ(args.num_of_nodes, 2u);
  args = {reinterpret_cast<uint64_t>(apertures), 3, 0};
  EXPECT_EQ(driver_->Ioctl(kfd::kGetProcessAperturesNew, &args), 0);
  EXPECT_EQ(args.num_of_nodes, 2u);
  EXPECT_EQ(apertures[1].gpu_id, other);
  EXPECT_EQ(apertures[0].lds_base, uint64_t{1} << 48);
  args = {kBadPointer, 3, 0};
  EXPECT_EQ(driver_->Ioctl(kfd::kGetProcessAperturesNew, &args), -EFAULT);
  kfd::GetClockCountersArgs clock{};
  clock.gpu_id = id_;
  EXPECT_EQ(driver_->Ioctl(kfd::kGetClockCounters, &clock), 0);
  uint64_t before = clock.gpu_clock_counter;
  EXPECT_EQ(driver_->Ioctl(kfd::kGetClockCounters, &clock), 0);
  EXPECT_GT(clock.gpu_clock_counter, before);

  EXPECT_EQ(Call(kfd::kRuntimeEnableIoctl, kfd::RuntimeEnableArgs{0, 1, 0}), 0);
  EXPECT_EQ(Call(kfd::kRuntimeEnableIoctl, kfd::RuntimeEnableArgs{0, 1, 0}), -EBUSY);
  EXPECT_EQ(Call(kfd::kRuntimeEnableIoctl, kfd::RuntimeEnableArgs{0, 0, 0}), 0);
  EXPECT_EQ(Call(kfd::kCreateQueue, GoodQueue()), 0);
  EXPECT_EQ(Call(kfd::kRuntimeEnableIoctl, kfd::RuntimeEnableArgs{0, 1, 0}), -EEXIST);
  EXPECT_EQ(Call(kfd::kSetScratchBackingVa, kfd::SetScratchBackingVaArgs{0, id_, 0}), 0);
  EXPECT_EQ(Call(kfd::kSetScratchBackingVa, kfd::SetScratchBackingVaArgs{0, other, 0}), -ENODEV);
  EXPECT_EQ(Call(kfd::kSetTrapHandler, kfd::SetTrapHandlerArgs{0, 0, 1, 0}), -EINVAL);
  EXPECT_EQ(Call(kfd::kSetMemoryPolicy, kfd::SetMemoryPolicyArgs{0, 0, id_, 2, 0, 0}), -EINVAL);
  EXPECT_EQ(Call(kfd::kSetMemoryPolicy, kfd::SetMemoryPolicyArgs{0, 0, id_, 0, 1, 0}), 0);

  EXPECT_EQ(driver_->Ioctl(_IOWR('K', 0x20, uint64_t), &args), -EPERM) << "SVM";
  EXPECT_EQ(driver_->Ioctl(_IOWR('K', 0x7f, uint64_t), &args), -EINVAL);
  EXPECT_EQ(driver_->Ioctl(kfd::kGetVersion, nullptr), -EFAULT);
  EXPECT_EQ(os_->Ioctl(12345678, kfd::kGetVersion, &version), -EBADF);
}

// Callers of other versions have shorter structures.
TEST_F(SimKfdTest, StructuresMayBeShorter) {
  kfd::CreateQueueArgs args = GoodQueue();
  args.sdma_engine_id = 77;
  EXPECT_EQ(driver_->Ioctl(_IOC(_IOC_READ | _IOC_WRITE, 'K', 2, 88), &args), 0);
  EXPECT_EQ(args.sdma_engine_id, 77u) << "beyond what the caller says it has";
  EXPECT_NE(args.doorbell_offset, 0u);
}

// By hand, from the kernel's formula.
TEST(ContextSaveSizesTest, OfEachCard) {
  struct Case {
    Arch arch;
    uint32_t ctl_stack, work, debug;
  };
  const Case cases[] = {
      // 96 CUs of 0x60000 + 0x4000 + 0x10000 + 0x1000 bytes; 3072 waves: 40 + 36864 + 8 bytes.
      {Arch::kGfx1100, 0xa000, 96 * 0x75000, 3072 * 32},
      {Arch::kGfx1201, 0x7000, 64 * 0x75000, 2048 * 32},
      // 38 CUs, 40 waves each; 8 bytes a wave.
      {Arch::kGfx942, 0x3000, 38 * 0x95000, 1520 * 32},
      // 32 CUs with 160 KiB of LDS.
      {Arch::kGfx950, 0x3000, 32 * (0x80000 + 0x4000 + 0x28000 + 0x1000), 1280 * 32},
  };
  for (const Case& c : cases) {
    ContextSaveSizes s = ContextSaveSizesOf(*FindGpuModel(c.arch));
    EXPECT_EQ(s.ctl_stack, c.ctl_stack);
    EXPECT_EQ(s.cwsr, c.ctl_stack + c.work);
    EXPECT_EQ(s.debug, c.debug);
  }
  EXPECT_FALSE(FindGpuModel(Arch::kGfx1150).has_value());
}

}  // namespace
}  // namespace tg::amd::sim
