// A device for tests of what is built on Device: its memory is out of the host's reach, as on a
// GPU, and any call to it can be made to fail.
#ifndef TG_DRIVERS_RUNTIME_FAKE_DEVICE_H_
#define TG_DRIVERS_RUNTIME_FAKE_DEVICE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "drivers/runtime/device.h"

namespace tg::drivers {

class FakeAllocator : public Allocator {
 public:
  absl::StatusOr<Memory> Alloc(int64_t size, const AllocOptions& options) override;
  void Free(const Memory& memory) override;
  absl::Status CopyIn(const Memory& memory, int64_t offset,
                      absl::Span<const std::byte> from) override;
  absl::Status CopyOut(absl::Span<std::byte> to, const Memory& memory, int64_t offset) override;

  int64_t live() const { return live_; }      // Allocations that were not freed.
  int64_t allocs() const { return allocs_; }  // Calls of Alloc.
  int64_t copies() const { return copies_; }  // Calls of CopyIn and CopyOut.

  // The calls of Alloc, CopyIn and CopyOut after the next `calls` fail with Unavailable.
  void FailAfter(int64_t calls) { calls_left_ = calls; }

 private:
  absl::Status CountCall();

  int64_t live_ = 0;
  int64_t allocs_ = 0;
  int64_t copies_ = 0;
  int64_t calls_left_ = std::numeric_limits<int64_t>::max();
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(std::string name, const std::string& arch = "");

  FakeAllocator& allocator() override { return allocator_; }
  absl::StatusOr<std::unique_ptr<Program>> LoadProgram(absl::string_view name,
                                                       absl::string_view binary,
                                                       int thread_count) override;
  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  FakeAllocator allocator_;
};

}  // namespace tg::drivers

#endif  // TG_DRIVERS_RUNTIME_FAKE_DEVICE_H_
