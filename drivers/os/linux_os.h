// OsInterface of the machine that the program runs on.
#ifndef TG_DRIVERS_OS_LINUX_OS_H_
#define TG_DRIVERS_OS_LINUX_OS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drivers/os/os_interface.h"

namespace tg::os {

class LinuxOs : public OsInterface {
 public:
  int Open(const std::string& path, int flags) override;
  int Close(int fd) override;
  int Ioctl(int fd, unsigned long request, void* argument) override;  // Again after EINTR.
  int Mmap(void* address, size_t size, int protection, int flags, int fd, uint64_t offset,
           void** mapped) override;
  int Munmap(void* address, size_t size) override;
  int64_t Read(int fd, void* buffer, size_t size) override;
  int Poll(pollfd* fds, size_t count, int timeout_ms) override;
  int ReadFile(const std::string& path, std::string* text) override;
  int ListFolder(const std::string& path, std::vector<std::string>* names) override;
  void RingDoorbell(volatile uint64_t* doorbell, uint64_t value) override;
  absl::Status Relax() override;  // A pause of the core; always OK.
};

}  // namespace tg::os

#endif  // TG_DRIVERS_OS_LINUX_OS_H_
