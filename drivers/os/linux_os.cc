#include "drivers/os/linux_os.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace tg::os {
namespace {

constexpr size_t kMaxFile = 1 << 20;

}  // namespace

int LinuxOs::Open(const std::string& path, int flags) {
  int fd = open(path.c_str(), flags | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

int LinuxOs::Close(int fd) { return close(fd) == 0 ? 0 : -errno; }

int LinuxOs::Ioctl(int fd, unsigned long request, void* argument) {
  for (;;) {
    int result = ioctl(fd, request, argument);
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

int LinuxOs::Mmap(void* address, size_t size, int protection, int flags, int fd, uint64_t offset,
                  void** mapped) {
  void* result = mmap(address, size, protection, flags, fd, static_cast<off_t>(offset));
  if (result == MAP_FAILED) return -errno;
  *mapped = result;
  return 0;
}

int LinuxOs::Munmap(void* address, size_t size) { return munmap(address, size) == 0 ? 0 : -errno; }

int64_t LinuxOs::Read(int fd, void* buffer, size_t size) {
  ssize_t n = read(fd, buffer, size);
  return n < 0 ? -errno : n;
}

int LinuxOs::Poll(pollfd* fds, size_t count, int timeout_ms) {
  int n = poll(fds, count, timeout_ms);
  return n < 0 ? -errno : n;
}

int LinuxOs::ReadFile(const std::string& path, std::string* text) {
  int fd = Open(path, O_RDONLY);
  if (fd < 0) return fd;
  text->clear();
  char buffer[4096];
  int result = 0;
  for (;;) {
    int64_t n = Read(fd, buffer, sizeof(buffer));
    if (n <= 0) {
      result = static_cast<int>(n);
      break;
    }
    text->append(buffer, static_cast<size_t>(n));
    if (text->size() > kMaxFile) {
      result = -EFBIG;
      break;
    }
  }
  Close(fd);
  return result;
}

int LinuxOs::ListFolder(const std::string& path, std::vector<std::string>* names) {
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return -errno;
  names->clear();
  while (const dirent* entry = readdir(folder)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names->push_back(name);
  }
  closedir(folder);
  std::sort(names->begin(), names->end());
  return 0;
}

void LinuxOs::RingDoorbell(volatile uint64_t* doorbell, uint64_t value) {
  // Rings may lie in write-combining memory, which only a full fence drains.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *doorbell = value;
}

absl::Status LinuxOs::Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
  return absl::OkStatus();
}

}  // namespace tg::os
