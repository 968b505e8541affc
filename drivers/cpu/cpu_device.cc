#include "drivers/cpu/cpu_device.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/thread_pool.h"
#include "codegen/object/loader.h"
#include "drivers/cpu/host_allocator.h"

namespace tg::drivers {
namespace {

using KernelFunction = void(void* const* buffers, const int64_t* vars, int64_t core_id);

class CpuProgram : public Program {
 public:
  CpuProgram(object::LoadedObject object, KernelFunction* function, int thread_count)
      : object_(std::move(object)), function_(function), thread_count_(thread_count) {}

  absl::Status Run(absl::Span<void* const> buffers, absl::Span<const int64_t> vars,
                   double* seconds) override {
    if (seconds == nullptr) {
      Call(buffers.data(), vars.data());
      return absl::OkStatus();
    }
    const auto start = std::chrono::steady_clock::now();
    Call(buffers.data(), vars.data());
    *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return absl::OkStatus();
  }

 private:
  void Call(void* const* buffers, const int64_t* vars) {
    if (thread_count_ == 1) return function_(buffers, vars, 0);
    base::ThreadPool::Default().ParallelFor(
        thread_count_, [&](int core_id) { function_(buffers, vars, core_id); });
  }

  const object::LoadedObject object_;  // Holds the code of function_.
  KernelFunction* const function_;
  const int thread_count_;
};

class CpuDevice : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options)
      : Device(options.name, std::string(HostArch()), CapabilitiesOf(options)),
        allocator_(AllocatorOptions(options)) {}

  Allocator& allocator() override { return allocator_; }

  absl::StatusOr<std::unique_ptr<Program>> LoadProgram(absl::string_view name,
                                                       absl::string_view binary,
                                                       int thread_count) override {
    if (!capabilities().runs_programs) {
      return absl::UnimplementedError(
          absl::StrCat("device ", this->name(), " does not run machine code"));
    }
    if (thread_count < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("program ", name, ": thread_count is ", thread_count));
    }
    absl::StatusOr<object::LoadedObject> object =
        object::LoadedObject::Load(binary, FindCpuFunction);
    if (!object.ok()) return Describe(name, object.status());
    const absl::StatusOr<void*> symbol = object->Symbol(name);
    if (!symbol.ok()) return Describe(name, symbol.status());
    return std::make_unique<CpuProgram>(*std::move(object),
                                        reinterpret_cast<KernelFunction*>(*symbol), thread_count);
  }

  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  static Capabilities CapabilitiesOf(const CpuOptions& options) {
    Capabilities capabilities;
    capabilities.host_visible = true;
    capabilities.runs_programs = options.run_programs;
    capabilities.max_threads = options.threads;
    return capabilities;
  }

  static HostAllocatorOptions AllocatorOptions(const CpuOptions& options) {
    HostAllocatorOptions result;
    result.device_name = options.name;
    result.pool = options.pool;
    result.memory_limit = options.memory_limit;
    return result;
  }

  static absl::Status Describe(absl::string_view name, const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat("program ", name, ": ", status.message()));
  }

  HostAllocator allocator_;
};

}  // namespace

absl::string_view HostArch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
#error "tg runs on x86-64 and AArch64."
#endif
}

std::shared_ptr<Device> MakeCpuDevice(const CpuOptions& options) {
  return std::make_shared<CpuDevice>(options);
}

}  // namespace tg::drivers
