// What a user-space driver asks of the operating system's kernel drivers: device files, their
// ioctls and mappings, sysfs. LinuxOs (linux_os.h) is the machine that the program runs on;
// simulated kernel drivers implement the same, so a driver that takes an OsInterface runs on both
// unchanged.
//
// Results are those of the system calls with one change: an error is the negative errno, as kernels
// return it. Pointers are the process's own. Implementations may be used by many threads.
#ifndef TG_DRIVERS_OS_OS_INTERFACE_H_
#define TG_DRIVERS_OS_OS_INTERFACE_H_

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tg::os {

class OsInterface {
 public:
  virtual ~OsInterface() = default;

  // open(2); a file descriptor, which may be no number of the process's own table.
  virtual int Open(const std::string& path, int flags) = 0;
  virtual int Close(int fd) = 0;
  virtual int Ioctl(int fd, unsigned long request, void* argument) = 0;
  // mmap(2) and munmap(2); `fd` is -1 for anonymous memory.
  virtual int Mmap(void* address, size_t size, int protection, int flags, int fd, uint64_t offset,
                   void** mapped) = 0;
  virtual int Munmap(void* address, size_t size) = 0;
  virtual int64_t Read(int fd, void* buffer, size_t size) = 0;
  virtual int Poll(pollfd* fds, size_t count, int timeout_ms) = 0;

  // A whole small file, as sysfs has them; 0. At most 1 MiB: -EFBIG.
  virtual int ReadFile(const std::string& path, std::string* text) = 0;
  // Names in a folder without "." and "..", sorted; 0.
  virtual int ListFolder(const std::string& path, std::vector<std::string>* names) = 0;

  // Writes a doorbell in a mapping of a device: after everything that was written to memory before,
  // and as one access.
  virtual void RingDoorbell(volatile uint64_t* doorbell, uint64_t value) = 0;
  // To be called in every turn of a loop that waits for a device to write to memory. An error means
  // that it never will, as far as the implementation can know: real machines cannot.
  virtual absl::Status Relax() = 0;
};

}  // namespace tg::os

#endif  // TG_DRIVERS_OS_OS_INTERFACE_H_
