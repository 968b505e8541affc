// A machine with simulated AMD GPUs, as a driver sees it through OsInterface: /dev/kfd, render
// nodes, sysfs. Everything else is `rest`'s, which is the real machine by default: anonymous
// memory, other files.
//
//   auto os = SimOs::Create({.gpus = {Arch::kGfx942, Arch::kGfx942}});
//   int fd = (*os)->Open("/dev/kfd", O_RDWR);
//
// A GPU's memory is at the address that the driver chose for it; the host sees it where the driver
// mapped it. Doorbells that are written with RingDoorbell run the GPUs at once; those written
// as memory are noticed by the next ioctl that waits, RingDoorbell or Relax.
#ifndef TG_DRIVERS_SIM_AMD_KFD_SIM_OS_H_
#define TG_DRIVERS_SIM_AMD_KFD_SIM_OS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drivers/os/linux_os.h"
#include "drivers/os/os_interface.h"
#include "drivers/sim/amd/kfd/sim_kfd.h"

namespace tg::amd::sim {

class SimOs : public os::OsInterface {
 public:
  static absl::StatusOr<std::unique_ptr<SimOs>> Create(SimKfdOptions options);

  int Open(const std::string& path, int flags) override;
  int Close(int fd) override;
  int Ioctl(int fd, unsigned long request, void* argument) override;
  int Mmap(void* address, size_t size, int protection, int flags, int fd, uint64_t offset,
           void** mapped) override;
  int Munmap(void* address, size_t size) override;
  int64_t Read(int fd, void* buffer, size_t size) override;
  int Poll(pollfd* fds, size_t count, int timeout_ms) override;
  int ReadFile(const std::string& path, std::string* text) override;
  int ListFolder(const std::string& path, std::vector<std::string>* names) override;
  void RingDoorbell(volatile uint64_t* doorbell, uint64_t value) override;
  absl::Status Relax() override;

  SimKfd& kfd() { return *kfd_; }

  // Fault injection: the `n`-th call from now on, from 1, of those that can fail does nothing but
  // fail with `error`.
  void FailCall(uint64_t n, int error);
  // Calls that could fail, since the start.
  uint64_t calls();

 private:
  struct Descriptor {
    int gpu = -1;      // Of a render node; -1: /dev/kfd, or a file.
    std::string text;  // Of a file of sysfs.
    size_t position = 0;
    bool file = false;
  };
  struct DoorbellMapping {
    uint64_t size = 0;
    int gpu = 0;
  };

  explicit SimOs(std::unique_ptr<SimKfd> kfd) : kfd_(std::move(kfd)) {}

  // 0, or the injected error.
  int Count();
  bool FindDescriptor(int fd, Descriptor* descriptor);
  void ForgetMappings(uint64_t address, uint64_t size);

  os::LinuxOs rest_;
  std::unique_ptr<SimKfd> kfd_;
  std::mutex mutex_;
  std::map<int, Descriptor> descriptors_;
  std::map<uint64_t, DoorbellMapping> doorbells_;  // By address.
  uint64_t calls_ = 0;
  uint64_t fail_at_ = 0;
  int fail_error_ = 0;
};

}  // namespace tg::amd::sim

#endif  // TG_DRIVERS_SIM_AMD_KFD_SIM_OS_H_
