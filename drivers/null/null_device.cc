#include "drivers/null/null_device.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tg::drivers {
namespace {

constexpr double kRunSeconds = 1e-3;
constexpr int64_t kFirstAddress = 1 << 20;
constexpr int64_t kAlign = 4096;

class NullAllocator : public Allocator {
 public:
  NullAllocator(std::string name, bool allow_copyout)
      : name_(std::move(name)), allow_copyout_(allow_copyout) {}

  // Addresses that differ, so that what compares them works.
  absl::StatusOr<Memory> Alloc(int64_t size, const AllocOptions& options) override {
    if (size <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, ": the size of an allocation must be positive, not ", size));
    }
    const uint64_t pages = (static_cast<uint64_t>(size) + kAlign - 1) / kAlign;
    const uint64_t address = next_.fetch_add(pages * kAlign, std::memory_order_relaxed);
    return Memory{reinterpret_cast<void*>(address), size, options};
  }

  void Free(const Memory& /*memory*/) override {}

  absl::Status CopyIn(const Memory& /*memory*/, int64_t /*offset*/,
                      absl::Span<const std::byte> /*from*/) override {
    return absl::OkStatus();
  }

  absl::Status CopyOut(absl::Span<std::byte> to, const Memory& /*memory*/,
                       int64_t /*offset*/) override {
    if (!allow_copyout_) {
      return absl::FailedPreconditionError(absl::StrCat(
          "no copyout on ", name_, ", which holds no data; NULL_ALLOW_COPYOUT=1 gives zeros"));
    }
    std::memset(to.data(), 0, to.size());
    return absl::OkStatus();
  }

  absl::Status CopyWithin(const Memory& /*to*/, int64_t /*to_offset*/, const Memory& /*from*/,
                          int64_t /*from_offset*/, int64_t /*size*/) override {
    return absl::OkStatus();
  }

  absl::Status Transfer(const Memory& /*to*/, int64_t /*to_offset*/, Allocator& /*from_allocator*/,
                        const Memory& /*from*/, int64_t /*from_offset*/,
                        int64_t /*size*/) override {
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  const bool allow_copyout_;
  std::atomic<uint64_t> next_{kFirstAddress};
};

class NullProgram : public Program {
 public:
  absl::Status Run(absl::Span<void* const> /*buffers*/, absl::Span<const int64_t> /*vars*/,
                   double* seconds) override {
    if (seconds != nullptr) *seconds = kRunSeconds;
    return absl::OkStatus();
  }
};

class NullDevice : public Device {
 public:
  explicit NullDevice(const NullOptions& options)
      : Device(options.name, /*arch=*/"", CapabilitiesOfNull()),
        allocator_(options.name, options.allow_copyout) {}

  Allocator& allocator() override { return allocator_; }

  absl::StatusOr<std::unique_ptr<Program>> LoadProgram(absl::string_view /*name*/,
                                                       absl::string_view /*binary*/,
                                                       int /*thread_count*/) override {
    return std::make_unique<NullProgram>();
  }

  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  static Capabilities CapabilitiesOfNull() {
    Capabilities capabilities;
    capabilities.runs_programs = true;
    return capabilities;
  }

  NullAllocator allocator_;
};

}  // namespace

std::shared_ptr<Device> MakeNullDevice(const NullOptions& options) {
  return std::make_shared<NullDevice>(options);
}

}  // namespace tg::drivers
