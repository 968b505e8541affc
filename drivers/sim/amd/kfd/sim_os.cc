#include "drivers/sim/amd/kfd/sim_os.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tg::amd::sim {
namespace {

// Numbers that the process's own descriptors do not reach.
constexpr int kFirstDescriptor = 1 << 20;
constexpr char kRenderNodes[] = "/dev/dri/renderD";

// Folders that are wholly simulated: what is not in the tree is not there.
bool IsSimulated(absl::string_view path) {
  for (absl::string_view start :
       {"/sys/devices/virtual/kfd", "/sys/class/drm", "/sys/module/amdgpu", "/dev/dri"}) {
    if (absl::StartsWith(path, start)) return true;
  }
  return path == "/dev/kfd";
}

}  // namespace

absl::StatusOr<std::unique_ptr<SimOs>> SimOs::Create(SimKfdOptions options) {
  absl::StatusOr<std::unique_ptr<SimKfd>> kfd = SimKfd::Create(std::move(options));
  if (!kfd.ok()) return kfd.status();
  return std::unique_ptr<SimOs>(new SimOs(*std::move(kfd)));
}

int SimOs::Count() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (++calls_ != fail_at_) return 0;
  fail_at_ = 0;
  return -fail_error_;
}

void SimOs::FailCall(uint64_t n, int error) {
  std::lock_guard<std::mutex> lock(mutex_);
  fail_at_ = calls_ + n;
  fail_error_ = error;
}

uint64_t SimOs::calls() {
  std::lock_guard<std::mutex> lock(mutex_);
  return calls_;
}

bool SimOs::FindDescriptor(int fd, Descriptor* descriptor) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = descriptors_.find(fd);
  if (it == descriptors_.end()) return false;
  *descriptor = it->second;
  return true;
}

int SimOs::Open(const std::string& path, int flags) {
  if (int error = Count(); error != 0) return error;
  if (!IsSimulated(path)) return rest_.Open(path, flags);
  Descriptor d;
  if (absl::StartsWith(path, kRenderNodes)) {
    for (int i = 0; i < kfd_->num_gpus(); ++i) {
      if (path == absl::StrCat(kRenderNodes, SimKfd::kFirstRenderMinor + i)) d.gpu = i;
    }
    if (d.gpu < 0) return -ENOENT;
  } else if (path != "/dev/kfd") {
    auto it = kfd_->files().find(path);
    if (it == kfd_->files().end()) return -ENOENT;
    if ((flags & O_ACCMODE) != O_RDONLY) return -EACCES;
    d.file = true;
    d.text = it->second;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  int fd = kFirstDescriptor;
  while (descriptors_.count(fd) != 0) ++fd;
  descriptors_[fd] = std::move(d);
  return fd;
}

int SimOs::Close(int fd) {
  // What fails to close is closed: not counted as a call that can fail.
  if (fd < kFirstDescriptor) return rest_.Close(fd);
  std::lock_guard<std::mutex> lock(mutex_);
  return descriptors_.erase(fd) == 1 ? 0 : -EBADF;
}

int SimOs::Ioctl(int fd, unsigned long request, void* argument) {
  if (int error = Count(); error != 0) return error;
  if (fd < kFirstDescriptor) return rest_.Ioctl(fd, request, argument);
  Descriptor d;
  if (!FindDescriptor(fd, &d)) return -EBADF;
  if (d.file) return -ENOTTY;
  uint64_t address = reinterpret_cast<uint64_t>(argument);
  if (d.gpu >= 0) return kfd_->RenderIoctl(d.gpu, request, address);
  auto resolve = [](void* context, int render) {
    Descriptor node;
    bool found = static_cast<SimOs*>(context)->FindDescriptor(render, &node);
    return found ? node.gpu : -1;
  };
  return kfd_->Ioctl(request, address, resolve, this);
}

void SimOs::ForgetMappings(uint64_t address, uint64_t size) {
  kfd_->UserMemoryGone(address, size);
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = doorbells_.begin(); it != doorbells_.end();) {
    bool overlaps = it->first < address + size && address < it->first + it->second.size;
    it = overlaps ? doorbells_.erase(it) : std::next(it);
  }
}

int SimOs::Mmap(void* address, size_t size, int protection, int flags, int fd, uint64_t offset,
                void** mapped) {
  if (int error = Count(); error != 0) return error;
  SimKfd::Backing backing{.fd = fd, .offset = offset};
  if (fd >= kFirstDescriptor) {
    Descriptor d;
    if (!FindDescriptor(fd, &d)) return -EBADF;
    if (d.file) return -ENODEV;
    // The page in the middle of an offset is the kernel's concern; its lowest bits are a queue's.
    int error = d.gpu >= 0 ? kfd_->RenderMmap(d.gpu, size, offset, &backing)
                           : kfd_->KfdMmap(size, offset & ~(kPageSize - 1), &backing);
    if (error != 0) return error;
  }
  if (flags & MAP_FIXED) ForgetMappings(reinterpret_cast<uint64_t>(address), size);
  int error = rest_.Mmap(address, size, protection, flags, backing.fd, backing.offset, mapped);
  if (error == 0 && backing.doorbell_gpu >= 0) {
    std::lock_guard<std::mutex> lock(mutex_);
    doorbells_[reinterpret_cast<uint64_t>(*mapped)] = {.size = size, .gpu = backing.doorbell_gpu};
  }
  return error;
}

int SimOs::Munmap(void* address, size_t size) {
  // As Close.
  uint64_t start = reinterpret_cast<uint64_t>(address);
  if (size == 0 || start % kPageSize != 0 || start + size < start) return -EINVAL;
  ForgetMappings(start, size);
  return rest_.Munmap(address, size);
}

int64_t SimOs::Read(int fd, void* buffer, size_t size) {
  if (int error = Count(); error != 0) return error;
  if (fd < kFirstDescriptor) return rest_.Read(fd, buffer, size);
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = descriptors_.find(fd);
  if (it == descriptors_.end()) return -EBADF;
  Descriptor& d = it->second;
  if (!d.file) return -EINVAL;
  size_t n = std::min(size, d.text.size() - d.position);
  std::memcpy(buffer, d.text.data() + d.position, n);
  d.position += n;
  return static_cast<int64_t>(n);
}

int SimOs::Poll(pollfd* fds, size_t count, int timeout_ms) {
  if (int error = Count(); error != 0) return error;
  // Files can always be read; devices here have nothing to poll for: their events are ioctls.
  int ready = 0;
  bool simulated = false;
  for (size_t i = 0; i < count; ++i) {
    if (fds[i].fd < kFirstDescriptor) continue;
    simulated = true;
    Descriptor d;
    fds[i].revents = !FindDescriptor(fds[i].fd, &d) ? POLLNVAL
                     : d.file                       ? fds[i].events & POLLIN
                                                    : 0;
    ready += fds[i].revents != 0;
  }
  if (!simulated) return rest_.Poll(fds, count, timeout_ms);
  if (ready > 0) return ready;
  // The others alone, by descriptors that poll(2) leaves out.
  std::vector<pollfd> others(fds, fds + count);
  for (pollfd& p : others) {
    if (p.fd >= kFirstDescriptor) p.fd = -1;
  }
  int n = rest_.Poll(others.data(), others.size(), timeout_ms);
  for (size_t i = 0; n > 0 && i < count; ++i) fds[i].revents = others[i].revents;
  return n;
}

int SimOs::ReadFile(const std::string& path, std::string* text) {
  if (int error = Count(); error != 0) return error;
  if (!IsSimulated(path)) return rest_.ReadFile(path, text);
  auto it = kfd_->files().find(path);
  if (it == kfd_->files().end()) return -ENOENT;
  *text = it->second;
  return 0;
}

int SimOs::ListFolder(const std::string& path, std::vector<std::string>* names) {
  if (int error = Count(); error != 0) return error;
  if (!IsSimulated(path)) return rest_.ListFolder(path, names);
  std::set<std::string> found;
  std::string folder = absl::StrCat(absl::StripSuffix(path, "/"), "/");
  for (const auto& [file, text] : kfd_->files()) {
    absl::string_view rest = file;
    if (!absl::ConsumePrefix(&rest, folder)) continue;
    absl::string_view name = rest.substr(0, rest.find('/'));
    found.insert(std::string(name.data(), name.size()));
  }
  for (int i = 0; folder == "/dev/dri/" && i < kfd_->num_gpus(); ++i) {
    found.insert(absl::StrCat("renderD", SimKfd::kFirstRenderMinor + i));
  }
  if (found.empty()) return -ENOENT;
  names->assign(found.begin(), found.end());
  return 0;
}

void SimOs::RingDoorbell(volatile uint64_t* doorbell, uint64_t value) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *doorbell = value;
  uint64_t address = reinterpret_cast<uint64_t>(doorbell);
  int gpu = -1;
  uint64_t offset = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = doorbells_.upper_bound(address);
    if (it == doorbells_.begin()) return;
    --it;
    offset = address - it->first;
    if (offset >= it->second.size) return;
    gpu = it->second.gpu;
  }
  kfd_->RingDoorbell(gpu, offset, value);
}

absl::Status SimOs::Relax() { return kfd_->Relax(); }

}  // namespace tg::amd::sim
