#include "drivers/interp/interp_device.h"

#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "codegen/interp/interpreter.h"
#include "codegen/interp/serialize.h"
#include "drivers/cpu/host_allocator.h"

namespace tg::drivers {
namespace {

constexpr int kFreshByte = 0xA5;

// Host memory that knows its blocks.
class InterpAllocator : public HostAllocator {
 public:
  explicit InterpAllocator(const std::string& name) : HostAllocator(OptionsFor(name)) {}

  absl::StatusOr<Memory> Alloc(int64_t size, const AllocOptions& options) override {
    absl::StatusOr<Memory> memory = HostAllocator::Alloc(size, options);
    if (!memory.ok()) return memory;
    if (!options.zero) std::memset(memory->pointer, kFreshByte, size);
    std::lock_guard<std::mutex> lock(mutex_);
    blocks_[reinterpret_cast<uintptr_t>(memory->pointer)] = size;
    return memory;
  }

  void Free(const Memory& memory) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      blocks_.erase(reinterpret_cast<uintptr_t>(memory.pointer));
    }
    HostAllocator::Free(memory);
  }

  // Bytes from `pointer` to the end of its block; `otherwise` for memory that is not ours.
  int64_t BytesFrom(const void* pointer, int64_t otherwise) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(pointer);
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = blocks_.upper_bound(at);
    if (it == blocks_.begin()) return otherwise;
    --it;
    const int64_t offset = static_cast<int64_t>(at - it->first);
    return offset < it->second ? it->second - offset : otherwise;
  }

 private:
  static HostAllocatorOptions OptionsFor(const std::string& name) {
    HostAllocatorOptions options;
    options.device_name = name;
    return options;
  }

  std::mutex mutex_;
  std::map<uintptr_t, int64_t> blocks_;
};

class InterpProgram : public Program {
 public:
  InterpProgram(InterpAllocator* allocator, std::unique_ptr<interp::Interpreter> interpreter)
      : allocator_(allocator), interpreter_(std::move(interpreter)) {}

  absl::Status Run(absl::Span<void* const> buffers, absl::Span<const int64_t> vars,
                   double* seconds) override {
    const lower::LinearProgram& program = interpreter_->program();
    if (buffers.size() != program.params.size()) {
      return absl::InvalidArgumentError(absl::StrCat("kernel ", program.name, " takes ",
                                                     program.params.size(), " buffers, not ",
                                                     buffers.size()));
    }
    std::vector<absl::Span<uint8_t>> spans;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const int64_t wanted = program.params[i].size * program.params[i].dtype.bytes();
      const int64_t bytes = buffers[i] == nullptr ? 0 : allocator_->BytesFrom(buffers[i], wanted);
      spans.push_back({static_cast<uint8_t*>(buffers[i]), static_cast<size_t>(bytes)});
    }
    const auto start = std::chrono::steady_clock::now();
    absl::Status status = interpreter_->Run(spans, vars);
    if (seconds != nullptr) {
      *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    return status;
  }

 private:
  InterpAllocator* const allocator_;
  const std::unique_ptr<interp::Interpreter> interpreter_;
};

class InterpDevice : public Device {
 public:
  explicit InterpDevice(const InterpOptions& options)
      : Device(options.name, /*arch=*/"", CapabilitiesOf(options)), allocator_(options.name) {}

  Allocator& allocator() override { return allocator_; }

  absl::StatusOr<std::unique_ptr<Program>> LoadProgram(absl::string_view name,
                                                       absl::string_view binary,
                                                       int thread_count) override {
    absl::StatusOr<lower::LinearProgram> program = interp::Deserialize(binary);
    if (!program.ok()) return Refused(name, program.status());
    if (program->name != name || program->threads != thread_count) {
      return absl::InvalidArgumentError(
          absl::StrCat(this->name(), ": ", name, ": the binary is kernel ", program->name, " in ",
                       program->threads, " parts, not ", name, " in ", thread_count));
    }
    absl::StatusOr<std::unique_ptr<interp::Interpreter>> interpreter =
        interp::Interpreter::Create(*program);
    if (!interpreter.ok()) return Refused(name, interpreter.status());
    return std::make_unique<InterpProgram>(&allocator_, *std::move(interpreter));
  }

  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  absl::Status Refused(absl::string_view kernel, const absl::Status& why) const {
    return absl::Status(why.code(), absl::StrCat(name(), ": ", kernel, ": ", why.message()));
  }

  static Capabilities CapabilitiesOf(const InterpOptions& options) {
    Capabilities capabilities;
    capabilities.host_visible = true;
    capabilities.runs_programs = true;
    capabilities.max_threads = options.threads;
    return capabilities;
  }

  InterpAllocator allocator_;
};

}  // namespace

std::shared_ptr<Device> MakeInterpDevice(const InterpOptions& options) {
  return std::make_shared<InterpDevice>(options);
}

}  // namespace tg::drivers
