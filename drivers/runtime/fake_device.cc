#include "drivers/runtime/fake_device.h"

#include <cstring>
#include <utility>

namespace tg::drivers {
namespace {

// Device addresses are host addresses with all bits turned, so that using one by mistake crashes.
std::byte* ToHost(void* pointer) {
  return reinterpret_cast<std::byte*>(~reinterpret_cast<uintptr_t>(pointer));
}

}  // namespace

absl::Status FakeAllocator::CountCall() {
  if (calls_left_ == 0) return absl::UnavailableError("the fake device was told to fail");
  --calls_left_;
  return absl::OkStatus();
}

absl::StatusOr<Memory> FakeAllocator::Alloc(int64_t size, const AllocOptions& options) {
  if (const absl::Status status = CountCall(); !status.ok()) return status;
  ++allocs_;
  ++live_;
  void* host = ::operator new(static_cast<size_t>(size));
  if (options.zero) std::memset(host, 0, static_cast<size_t>(size));
  return Memory{ToHost(host), size, options};
}

void FakeAllocator::Free(const Memory& memory) {
  --live_;
  ::operator delete(ToHost(memory.pointer));
}

absl::Status FakeAllocator::CopyIn(const Memory& memory, int64_t offset,
                                   absl::Span<const std::byte> from) {
  if (const absl::Status status = CountCall(); !status.ok()) return status;
  ++copies_;
  std::memcpy(ToHost(memory.pointer) + offset, from.data(), from.size());
  return absl::OkStatus();
}

absl::Status FakeAllocator::CopyOut(absl::Span<std::byte> to, const Memory& memory,
                                    int64_t offset) {
  if (const absl::Status status = CountCall(); !status.ok()) return status;
  ++copies_;
  std::memcpy(to.data(), ToHost(memory.pointer) + offset, to.size());
  return absl::OkStatus();
}

FakeDevice::FakeDevice(std::string name, const std::string& arch)
    : Device(std::move(name), arch, Capabilities()) {}

absl::StatusOr<std::unique_ptr<Program>> FakeDevice::LoadProgram(absl::string_view /*name*/,
                                                                 absl::string_view /*binary*/,
                                                                 int /*thread_count*/) {
  return absl::UnimplementedError("the fake device runs no programs");
}

}  // namespace tg::drivers
