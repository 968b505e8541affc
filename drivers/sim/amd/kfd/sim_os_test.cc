// Whole programs on the simulated machine: what a driver does, on each processor.
#include "drivers/sim/amd/kfd/sim_os.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/runfiles.h"
#include "drivers/amd/abi/amdgpu_drm.h"
#include "drivers/sim/amd/kfd/test_driver.h"
#include "drivers/sim/amd/queue/aql.h"
#include "gtest/gtest.h"

namespace tg::amd::sim {
namespace {

constexpr uint32_t kN = 1000;

class SimOsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto path = base::FindRunfile(std::string("testdata/amd_kernels/kernels_") + GetParam() + ".o");
    ASSERT_TRUE(path.ok()) << path.status();
    bytes_ = *base::ReadFile(*path);
    object_ = std::make_unique<object::AmdCodeObject>(*object::AmdCodeObject::Read(bytes_));
    Arch arch = *FindArch(std::string_view(GetParam()));
    os_ = *SimOs::Create({.gpus = {arch, arch}, .patience = std::chrono::milliseconds(0)});
  }

  // Adds two vectors on the GPU by PM4 and waits for an event; what fails first, or 0. With
  // `copy`, SDMA brings the inputs to VRAM that the host cannot see, and the sums back.
  int Add(TestDriver* driver, bool copy, std::vector<float>* sums) {
    if (int e = driver->Open(); e != 0) return e;
    TestDriver::Buffer page, code, arguments, host;
    if (int e = driver->Alloc(0x8000, kSystem, &page); e != 0) return e;
    kfd::CreateEventArgs event{};
    event.event_page_offset = page.handle;
    event.auto_reset = 1;
    if (int e = driver->Ioctl(kfd::kCreateEvent, &event); e != 0) return e;
    if (int e = driver->Alloc(object_->image_size() + 256, kHostVisible, &code); e != 0) return e;
    if (int e = driver->Alloc(4096, kSystem, &arguments); e != 0) return e;
    if (int e = driver->Alloc(3 * 4 * kN, kSystem, &host); e != 0) return e;
    TestDriver::Buffer data = host;
    if (copy) {
      uint32_t flags = kfd::kAllocVram | kfd::kAllocWritable;
      if (int e = driver->Alloc(3 * 4 * kN, flags, &data); e != 0) return e;
    }
    float* f = host.as<float>();
    for (uint32_t i = 0; i < kN; ++i) f[kN + i] = i * 0.5f, f[2 * kN + i] = 3.0f + i;
    std::string args;
    for (uint32_t i = 0; i < 3; ++i) {
      uint64_t at = data.va + i * 4 * kN;
      args.append(reinterpret_cast<const char*>(&at), 8);
    }
    Dispatch dispatch;
    if (int e = driver->Load(*object_, "add", args, kN, 64, code, arguments, &dispatch); e != 0)
      return e;
    TestDriver::UserQueue compute, sdma;
    if (int e = driver->CreateQueue(kfd::kQueueCompute, &compute); e != 0) return e;
    uint64_t mailbox = page.va + event.event_slot_index * 8;
    uint64_t signal = arguments.va + 2048;
    if (copy) {
      if (int e = driver->CreateQueue(kfd::kQueueSdma, &sdma); e != 0) return e;
      driver->Put(&sdma, SdmaCopy(data.va, host.va, 3 * 4 * kN));
      driver->Put(&sdma, SdmaFence(signal, 1));
      driver->Put(&sdma, SdmaPoll(signal, 2));
      driver->Put(&sdma, SdmaCopy(host.va, data.va, 4 * kN));
      driver->Put(&sdma, SdmaFence(mailbox, event.event_id));
      driver->Put(&sdma, {6, event.event_id});  // TRAP.
      driver->Put(&compute, Pm4Wait(signal, 1));
      driver->Put(&compute, Pm4Dispatch(dispatch));
      driver->Put(&compute, Pm4Signal(signal, 2));
      driver->Ring(&compute);  // Waits for the copy.
      driver->Ring(&sdma);
    } else {
      driver->Put(&compute, Pm4Dispatch(dispatch));
      driver->Put(&compute, Pm4Signal(mailbox, event.event_id, event.event_id));
      driver->Ring(&compute);
    }
    kfd::EventData wanted{};
    wanted.event_id = event.event_id;
    kfd::WaitEventsArgs wait{.events_ptr = reinterpret_cast<uint64_t>(&wanted),
                             .num_events = 1,
                             .wait_for_all = 1,
                             .timeout = 1000,
                             .wait_result = 9};
    if (int e = driver->Ioctl(kfd::kWaitEvents, &wait); e != 0) return e;
    if (wait.wait_result != kfd::kWaitComplete) return -ETIME;
    sums->assign(f, f + kN);
    // The event was reset; everything can be given back.
    wait.timeout = 0;
    if (int e = driver->Ioctl(kfd::kWaitEvents, &wait); e != 0) return e;
    if (wait.wait_result != kfd::kWaitTimeout) return -EALREADY;
    if (int e = driver->DestroyQueue(compute); e != 0) return e;
    if (copy) {
      if (int e = driver->DestroyQueue(sdma); e != 0) return e;
      if (int e = driver->Free(data); e != 0) return e;
    }
    return driver->Free(host);
  }
  static void ExpectSums(const std::vector<float>& sums) {
    ASSERT_EQ(sums.size(), kN);
    for (uint32_t i = 0; i < kN; ++i) ASSERT_EQ(sums[i], i * 0.5f + (3.0f + i)) << i;
  }

  std::string bytes_;
  std::unique_ptr<object::AmdCodeObject> object_;
  std::unique_ptr<SimOs> os_;
};

TEST_P(SimOsTest, AddsVectorsByPm4) {
  TestDriver driver(os_.get(), os_->kfd().model(0));
  std::vector<float> sums;
  ASSERT_EQ(Add(&driver, false, &sums), 0) << os_->kfd().explanation();
  ExpectSums(sums);
  EXPECT_EQ(os_->kfd().stats(0).workgroups, (kN + 63) / 64);
}

TEST_P(SimOsTest, AddsVectorsInVramThatSdmaFills) {
  TestDriver driver(os_.get(), os_->kfd().model(1), 1);
  std::vector<float> sums;
  ASSERT_EQ(Add(&driver, true, &sums), 0) << os_->kfd().explanation();
  ExpectSums(sums);
}

// Every call that can fail fails once. Nothing crashes, the error comes through, and the machine is
// as good as before.
TEST_P(SimOsTest, SurvivesTheFailureOfEachCall) {
  uint64_t before = os_->calls();
  {
    TestDriver driver(os_.get(), os_->kfd().model(0));
    std::vector<float> sums;
    ASSERT_EQ(Add(&driver, true, &sums), 0);
  }
  uint64_t calls = os_->calls() - before;
  ASSERT_GT(calls, 40u);
  Arch arch = *FindArch(std::string_view(GetParam()));
  for (uint64_t n = 1; n <= calls; ++n) {
    auto os = *SimOs::Create({.gpus = {arch}, .patience = std::chrono::milliseconds(0)});
    os->FailCall(n, EIO);
    {
      TestDriver driver(os.get(), os->kfd().model(0));
      std::vector<float> sums;
      ASSERT_EQ(Add(&driver, true, &sums), -EIO) << "call " << n;
    }
    std::string text;
    ASSERT_EQ(os->ReadFile("/sys/module/amdgpu/initstate", &text), 0) << "call " << n;
  }
}

TEST_P(SimOsTest, DispatchesByAqlAndASecondGpuReadsTheResult) {
  TestDriver one(os_.get(), os_->kfd().model(0), 0), two(os_.get(), os_->kfd().model(1), 1);
  ASSERT_EQ(one.Open(), 0);
  ASSERT_EQ(two.Open(), 0);
  TestDriver::Buffer code, arguments, data, target;
  ASSERT_EQ(one.Alloc(object_->image_size() + 256, kHostVisible, &code), 0);
  ASSERT_EQ(one.Alloc(4096, kSystem, &arguments), 0);
  ASSERT_EQ(one.Alloc(3 * 4 * kN, kHostVisible, &data, {two.id()}), 0);
  ASSERT_EQ(two.Alloc(4 * kN, kHostVisible, &target), 0);
  float* f = data.as<float>();
  for (uint32_t i = 0; i < kN; ++i) f[kN + i] = i * 0.5f, f[2 * kN + i] = 3.0f + i;
  std::string args;
  for (uint32_t i = 0; i < 3; ++i) {
    uint64_t at = data.va + i * 4 * kN;
    args.append(reinterpret_cast<const char*>(&at), 8);
  }
  Dispatch dispatch;
  ASSERT_EQ(one.Load(*object_, "add", args, kN, 64, code, arguments, &dispatch), 0);
  TestDriver::UserQueue aql, copy;
  ASSERT_EQ(one.CreateQueue(kfd::kQueueComputeAql, &aql), 0);
  ASSERT_EQ(two.CreateQueue(kfd::kQueueSdma, &copy), 0);
  AqlPacket packet;
  packet.header = static_cast<uint16_t>(AqlType::kKernelDispatch);
  packet.setup = 1;
  packet.workgroup_size[0] = 64;
  packet.grid_size[0] = kN;
  packet.kernel_object = code.va + object_->FindKernel("add")->descriptor_address;
  packet.kernarg_address = arguments.va;
  // The signal lies in memory that only the first GPU has: the host takes it further.
  AqlSignal* signal = reinterpret_cast<AqlSignal*>(arguments.va + 2048);
  *signal = {.value = 1};
  packet.completion_signal = reinterpret_cast<uint64_t>(signal);
  Words words(16);
  std::memcpy(words.data(), &packet, 64);
  one.Put(&aql, words);
  one.Ring(&aql);
  EXPECT_EQ(signal->value, 0) << os_->kfd().DescribeQueues();
  EXPECT_EQ(*aql.read_pointer(), 1u);
  two.Put(&copy, SdmaCopy(target.va, data.va, 4 * kN));
  two.Ring(&copy);
  ASSERT_TRUE(os_->Relax().code() == absl::StatusCode::kDeadlineExceeded) << "all is done";
  ExpectSums(std::vector<float>(target.as<float>(), target.as<float>() + kN));
}

TEST_P(SimOsTest, AKernelThatWritesToNothingIsAMemoryEvent) {
  TestDriver driver(os_.get(), os_->kfd().model(0));
  ASSERT_EQ(driver.Open(), 0);
  TestDriver::Buffer code, arguments, data;
  ASSERT_EQ(driver.Alloc(object_->image_size() + 256, kHostVisible, &code), 0);
  ASSERT_EQ(driver.Alloc(4096, kSystem, &arguments), 0);
  ASSERT_EQ(driver.Alloc(2 * 4 * kN, kSystem, &data), 0);
  uint64_t nowhere = 0x123456789000;
  std::string args;
  for (uint64_t at : {nowhere, data.va, data.va + 4 * kN}) {
    args.append(reinterpret_cast<const char*>(&at), 8);
  }
  kfd::CreateEventArgs memory{}, hang{};
  memory.event_type = kfd::kEventMemory;
  hang.event_type = kfd::kEventHwException;
  ASSERT_EQ(driver.Ioctl(kfd::kCreateEvent, &memory), 0);
  ASSERT_EQ(driver.Ioctl(kfd::kCreateEvent, &hang), 0);
  Dispatch dispatch;
  ASSERT_EQ(driver.Load(*object_, "add", args, 64, 64, code, arguments, &dispatch), 0);
  TestDriver::UserQueue queue;
  ASSERT_EQ(driver.CreateQueue(kfd::kQueueCompute, &queue), 0);
  driver.Put(&queue, Pm4Dispatch(dispatch));
  driver.Ring(&queue);
  kfd::EventData events[2]{};
  events[0].event_id = memory.event_id;
  events[1].event_id = hang.event_id;
  kfd::WaitEventsArgs wait{.events_ptr = reinterpret_cast<uint64_t>(events),
                           .num_events = 2,
                           .wait_for_all = 0,
                           .timeout = ~0u,
                           .wait_result = 9};
  ASSERT_EQ(driver.Ioctl(kfd::kWaitEvents, &wait), 0);
  EXPECT_EQ(wait.wait_result, kfd::kWaitComplete);
  EXPECT_EQ(events[0].memory_exception_data.va, nowhere);
  EXPECT_EQ(events[0].memory_exception_data.not_present, 1u);
  EXPECT_EQ(events[0].memory_exception_data.gpu_id, driver.id());
  EXPECT_EQ(events[1].hw_exception_data.gpu_id, 0u) << "a fault is no hang";
  absl::Status status = os_->Relax();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_NE(std::string(status.message()).find("0x123456789000"), std::string::npos) << status;
}

TEST_P(SimOsTest, QueuesThatWaitForEverAreAHang) {
  TestDriver driver(os_.get(), os_->kfd().model(0));
  ASSERT_EQ(driver.Open(), 0);
  TestDriver::Buffer signals;
  ASSERT_EQ(driver.Alloc(4096, kSystem, &signals), 0);
  TestDriver::UserQueue one, two;
  ASSERT_EQ(driver.CreateQueue(kfd::kQueueCompute, &one), 0);
  ASSERT_EQ(driver.CreateQueue(kfd::kQueueSdma, &two), 0);
  driver.Put(&one, Pm4Wait(signals.va, 1));
  driver.Put(&one, Pm4Signal(signals.va + 8, 1));
  driver.Put(&two, SdmaPoll(signals.va + 8, 1));
  driver.Put(&two, SdmaFence(signals.va, 1));
  driver.Ring(&one);
  driver.Ring(&two);
  absl::Status status = os_->Relax();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(std::string(status.message()).find("(PM4"), std::string::npos) << status;
  EXPECT_NE(std::string(status.message()).find("(SDMA"), std::string::npos) << status;
  kfd::CreateEventArgs hang{};
  hang.event_type = kfd::kEventHwException;
  ASSERT_EQ(driver.Ioctl(kfd::kCreateEvent, &hang), 0);
  kfd::EventData event{};
  event.event_id = hang.event_id;
  kfd::WaitEventsArgs wait{.events_ptr = reinterpret_cast<uint64_t>(&event),
                           .num_events = 1,
                           .wait_for_all = 0,
                           .timeout = ~0u,
                           .wait_result = 9};
  ASSERT_EQ(driver.Ioctl(kfd::kWaitEvents, &wait), 0);
  EXPECT_EQ(event.hw_exception_data.gpu_id, driver.id());
}

// What queues wait for may be what the host writes; doorbells may be written as memory.
TEST_P(SimOsTest, TheHostEndsAWait) {
  TestDriver driver(os_.get(), os_->kfd().model(0));
  ASSERT_EQ(driver.Open(), 0);
  TestDriver::Buffer signals;
  ASSERT_EQ(driver.Alloc(4096, kSystem, &signals), 0);
  TestDriver::UserQueue queue;
  ASSERT_EQ(driver.CreateQueue(kfd::kQueueCompute, &queue), 0);
  driver.Put(&queue, Pm4Wait(signals.va, 1));
  driver.Put(&queue, Pm4Signal(signals.va + 8, 7));
  *queue.doorbell = queue.written;
  EXPECT_FALSE(os_->Relax().ok());
  EXPECT_EQ(signals.as<uint64_t>()[1], 0u);
  signals.as<uint64_t>()[0] = 1;
  EXPECT_TRUE(os_->Relax().ok());
  EXPECT_EQ(signals.as<uint64_t>()[1], 7u);
}

TEST_P(SimOsTest, UserMemoryIsSeenUntilItIsUnmapped) {
  TestDriver driver(os_.get(), os_->kfd().model(0));
  ASSERT_EQ(driver.Open(), 0);
  void* memory = nullptr;
  ASSERT_EQ(
      os_->Mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &memory),
      0);
  uint64_t va = reinterpret_cast<uint64_t>(memory);
  kfd::AllocMemoryArgs alloc{.va_addr = va,
                             .size = 8192,
                             .handle = 0,
                             .mmap_offset = va,
                             .gpu_id = driver.id(),
                             .flags = kfd::kAllocUserptr | kfd::kAllocWritable};
  ASSERT_EQ(driver.Ioctl(kfd::kAllocMemory, &alloc), 0);
  uint32_t id = driver.id();
  kfd::MapMemoryArgs map{.handle = alloc.handle,
                         .device_ids_array_ptr = reinterpret_cast<uint64_t>(&id),
                         .n_devices = 1,
                         .n_success = 0};
  ASSERT_EQ(driver.Ioctl(kfd::kMapMemory, &map), 0);
  TestDriver::UserQueue queue;
  ASSERT_EQ(driver.CreateQueue(kfd::kQueueSdma, &queue), 0);
  driver.Put(&queue, SdmaFence(va, 5));
  driver.Ring(&queue);
  EXPECT_EQ(*static_cast<uint32_t*>(memory), 5u);
  ASSERT_EQ(os_->Munmap(memory, 8192), 0);
  driver.Put(&queue, SdmaFence(va, 6));
  driver.Ring(&queue);
  EXPECT_EQ(os_->Relax().code(), absl::StatusCode::kAborted);
}

TEST_P(SimOsTest, AQueueOutlivesItsUserMemory) {
  TestDriver driver(os_.get(), os_->kfd().model(0));
  ASSERT_EQ(driver.Open(), 0);
  void* memory = nullptr;
  ASSERT_EQ(
      os_->Mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &memory),
      0);
  uint64_t va = reinterpret_cast<uint64_t>(memory);
  uint32_t id = driver.id();
  kfd::AllocMemoryArgs alloc{.va_addr = va,
                             .size = 4096,
                             .handle = 0,
                             .mmap_offset = va,
                             .gpu_id = id,
                             .flags = kfd::kAllocUserptr | kfd::kAllocWritable};
  ASSERT_EQ(driver.Ioctl(kfd::kAllocMemory, &alloc), 0);
  kfd::MapMemoryArgs map{.handle = alloc.handle,
                         .device_ids_array_ptr = reinterpret_cast<uint64_t>(&id),
                         .n_devices = 1,
                         .n_success = 0};
  ASSERT_EQ(driver.Ioctl(kfd::kMapMemory, &map), 0);
  kfd::CreateQueueArgs queue{};
  queue.ring_base_address = queue.read_pointer_address = queue.write_pointer_address = va;
  queue.ring_size = 4096;
  queue.gpu_id = id;
  queue.queue_type = kfd::kQueueSdma;
  queue.queue_percentage = 100;
  ASSERT_EQ(driver.Ioctl(kfd::kCreateQueue, &queue), 0) << os_->kfd().explanation();
  ASSERT_EQ(os_->Munmap(memory, 4096), 0);
  kfd::FreeMemoryArgs free{.handle = alloc.handle};
  ASSERT_EQ(driver.Ioctl(kfd::kFreeMemory, &free), 0);
  kfd::DestroyQueueArgs destroy{.queue_id = queue.queue_id, .pad = 0};
  ASSERT_EQ(driver.Ioctl(kfd::kDestroyQueue, &destroy), 0);
}

TEST_P(SimOsTest, OneThreadWaitsAnotherRings) {
  Arch arch = *FindArch(std::string_view(GetParam()));
  os_ = *SimOs::Create({.gpus = {arch}});
  TestDriver driver(os_.get(), os_->kfd().model(0));
  ASSERT_EQ(driver.Open(), 0);
  TestDriver::Buffer page;
  ASSERT_EQ(driver.Alloc(0x8000, kSystem, &page), 0);
  kfd::CreateEventArgs event{};
  event.event_page_offset = page.handle;
  ASSERT_EQ(driver.Ioctl(kfd::kCreateEvent, &event), 0);
  TestDriver::UserQueue queue;
  ASSERT_EQ(driver.CreateQueue(kfd::kQueueCompute, &queue), 0);
  driver.Put(&queue,
             Pm4Signal(page.va + event.event_slot_index * 8, event.event_id, event.event_id));
  kfd::EventData data{};
  data.event_id = event.event_id;
  kfd::WaitEventsArgs wait{.events_ptr = reinterpret_cast<uint64_t>(&data),
                           .num_events = 1,
                           .wait_for_all = 1,
                           .timeout = ~0u,
                           .wait_result = 9};
  int result = -1;
  std::thread waiter([&] { result = driver.Ioctl(kfd::kWaitEvents, &wait); });
  driver.Ring(&queue);
  waiter.join();
  EXPECT_EQ(result, 0);
  EXPECT_EQ(wait.wait_result, kfd::kWaitComplete);
}

TEST_P(SimOsTest, FilesSayWhatTheCardIs) {
  std::vector<std::string> names;
  ASSERT_EQ(os_->ListFolder("/sys/devices/virtual/kfd/kfd/topology/nodes", &names), 0);
  EXPECT_EQ(names, (std::vector<std::string>{"0", "1", "2"}));
  ASSERT_EQ(os_->ListFolder("/dev/dri", &names), 0);
  EXPECT_EQ(names, (std::vector<std::string>{"renderD128", "renderD129"}));
  std::string text;
  ASSERT_EQ(os_->ReadFile("/sys/devices/virtual/kfd/kfd/topology/nodes/2/properties", &text), 0);
  const GpuModel& m = os_->kfd().model(1);
  EXPECT_NE(text.find("simd_count " + std::to_string(m.simd_count) + "\n"), std::string::npos);
  EXPECT_NE(text.find("drm_render_minor 129\n"), std::string::npos);
  ASSERT_EQ(os_->ReadFile("/sys/class/drm/renderD128/device/ip_discovery/die/0/GC/0/major", &text),
            0);
  EXPECT_EQ(text, std::to_string(m.gc.major) + "\n");
  EXPECT_EQ(os_->ReadFile("/sys/class/drm/renderD130/device/vendor", &text), -ENOENT);
  EXPECT_EQ(os_->ListFolder("/sys/class/drm/renderD130", &names), -ENOENT);
  int fd = os_->Open("/sys/class/drm/renderD128/device/vendor", O_RDONLY);
  char word[16] = {};
  EXPECT_EQ(os_->Read(fd, word, 6), 6);
  EXPECT_EQ(std::string(word), "0x1002");
  EXPECT_EQ(os_->Read(fd, word, 16), 1);
  EXPECT_EQ(os_->Read(fd, word, 16), 0);
  pollfd p = {fd, POLLIN, 0};
  EXPECT_EQ(os_->Poll(&p, 1, 0), 1);
  EXPECT_EQ(os_->Close(fd), 0);
  EXPECT_EQ(os_->Close(fd), -EBADF);

  fd = os_->Open("/dev/dri/renderD128", O_RDWR);
  drm::InfoDevice device{};
  drm::Info info{.return_pointer = reinterpret_cast<uint64_t>(&device),
                 .return_size = sizeof(device),
                 .query = drm::kInfoDevInfo};
  ASSERT_EQ(os_->Ioctl(fd, drm::kIoctlInfo, &info), 0);
  EXPECT_EQ(device.device_id, m.device_id);
  uint32_t cus = 0;
  for (auto& row : device.cu_bitmap) {
    for (uint32_t bits : row) cus += static_cast<uint32_t>(__builtin_popcount(bits));
  }
  EXPECT_EQ(cus, m.cus());
  info.query = 0x99;
  EXPECT_EQ(os_->Ioctl(fd, drm::kIoctlInfo, &info), -EINVAL);
  EXPECT_EQ(os_->Close(fd), 0);
}

INSTANTIATE_TEST_SUITE_P(All, SimOsTest, testing::Values("gfx1100", "gfx1201", "gfx942", "gfx950"));

}  // namespace
}  // namespace tg::amd::sim
