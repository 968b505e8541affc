#include "drivers/sim/amd/kfd/user_memory.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace tg::amd::sim {
namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kMaxVector = 512;  // Below IOV_MAX.

// The system call itself: wrappers that sanitizers put around it would read wrong addresses. All
// arguments are as wide as registers: what syscall(2) takes from its list is.
long Transfer(long number, const iovec* local, size_t locals, const iovec* remote, size_t remotes) {
  return syscall(number, static_cast<long>(getpid()), local, locals, remote, remotes, 0L);
}

}  // namespace

int CopyFromUser(void* to, uint64_t from, size_t size) {
  if (size == 0) return 0;
  iovec local = {to, size}, remote = {reinterpret_cast<void*>(from), size};
  return Transfer(SYS_process_vm_readv, &local, 1, &remote, 1) == static_cast<long>(size) ? 0
                                                                                          : -EFAULT;
}

int CopyToUser(uint64_t to, const void* from, size_t size) {
  if (size == 0) return 0;
  iovec local = {const_cast<void*>(from), size}, remote = {reinterpret_cast<void*>(to), size};
  return Transfer(SYS_process_vm_writev, &local, 1, &remote, 1) == static_cast<long>(size)
             ? 0
             : -EFAULT;
}

int CheckUserRange(uint64_t address, uint64_t size) {
  if (size == 0 || address + size < address) return -EFAULT;
  uint64_t page = address / kPage * kPage, end = address + size;
  std::vector<char> bytes(kMaxVector);
  while (page < end) {
    std::vector<iovec> remote;
    for (; page < end && remote.size() < kMaxVector; page += kPage) {
      remote.push_back({reinterpret_cast<void*>(std::max(page, address)), 1});
    }
    iovec local = {bytes.data(), remote.size()};
    if (Transfer(SYS_process_vm_readv, &local, 1, remote.data(), remote.size()) !=
        static_cast<long>(remote.size())) {
      return -EFAULT;
    }
  }
  return 0;
}

}  // namespace tg::amd::sim
