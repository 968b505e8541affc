// A device: its memory, and the programs it can run. One instance per name (registry.h); buffers
// and the engine share it.
//
// A device knows no renderer and no compiler: the engine compiles, and hands it a finished binary.
#ifndef TG_DRIVERS_RUNTIME_DEVICE_H_
#define TG_DRIVERS_RUNTIME_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "drivers/runtime/allocator.h"

namespace tg::drivers {

// A loaded kernel, ready to run any number of times. Safe to call from several threads when the
// buffers differ. Must not outlive its device.
class Program {
 public:
  virtual ~Program() = default;

  // `buffers`: what Buffer::device_pointer() gave, in the order of the kernel's parameters.
  // `vars`: the values of its variables, in order; they include no core number.
  // `seconds`: when not null, Run waits for the end and stores the time that the kernel took;
  // otherwise an asynchronous device may return before it ran (Device::Synchronize waits).
  virtual absl::Status Run(absl::Span<void* const> buffers, absl::Span<const int64_t> vars,
                           double* seconds = nullptr) = 0;
};

// Facts that the layers above plan with.
struct Capabilities {
  bool host_visible = false;  // Every buffer has a host pointer.
  bool runs_programs = false;
  int max_threads = 1;          // Useful values of LoadProgram's thread_count.
  int64_t max_buffer_size = 0;  // Bytes of one buffer; 0: no limit but memory.
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Target::DeviceName(): "CPU", "CPU:1", "DISK:/tmp/x".
  const std::string& name() const { return name_; }
  // What to compile for: "x86_64", "gfx1100"; empty when it runs nothing.
  const std::string& arch() const { return arch_; }
  const Capabilities& capabilities() const { return capabilities_; }

  virtual Allocator& allocator() = 0;

  // `binary`: the file that the compiler made for arch(); copied. `name`: the kernel's symbol in
  // it. The program runs as `thread_count` >= 1 equal parts, where the device has such a notion.
  // Errors: InvalidArgument for a binary that it cannot load; Unimplemented when the device runs
  // no programs.
  virtual absl::StatusOr<std::unique_ptr<Program>> LoadProgram(absl::string_view name,
                                                               absl::string_view binary,
                                                               int thread_count) = 0;

  // Waits for everything that was started.
  virtual absl::Status Synchronize() = 0;

  // Bytes of this device's buffers that are allocated now.
  int64_t mem_used() const { return mem_used_.load(std::memory_order_relaxed); }
  // Called by Buffer; adds to GlobalCounters() as well.
  void AddMemory(int64_t bytes);

 protected:
  Device(std::string name, std::string arch, const Capabilities& capabilities)
      : name_(std::move(name)), arch_(std::move(arch)), capabilities_(capabilities) {}

 private:
  const std::string name_;
  const std::string arch_;
  const Capabilities capabilities_;
  std::atomic<int64_t> mem_used_{0};
};

}  // namespace tg::drivers

#endif  // TG_DRIVERS_RUNTIME_DEVICE_H_
