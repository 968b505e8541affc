// The host's processor as a device.
//
// A program is a relocatable object file (codegen/object/loader.h) with a symbol
//
//   extern "C" void NAME(void* const* buffers, const int64_t* vars, int64_t core_id);
//
// which is called once for each core_id in [0, thread_count), on the threads of a pool; with
// thread_count 1 it is called on the caller's own thread. The calls may run at the same time, or
// one after another: they must not wait for each other. Run returns when all are done.
//
// Objects may call memcpy, memmove, memset, the C math library's functions of float and double,
// and the compilers' helpers for half and bfloat16; nothing else.
#ifndef TG_DRIVERS_CPU_CPU_DEVICE_H_
#define TG_DRIVERS_CPU_CPU_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "drivers/runtime/device.h"

namespace tg::drivers {

struct CpuOptions {
  // Canonical name: "CPU", "CPU:1".
  std::string name = "CPU";
  // What Capabilities::max_threads says. Programs run on base::ThreadPool::Default() in any case.
  int threads = 1;
  // Keep freed memory for the next allocation.
  bool pool = true;
  // False: memory only, LoadProgram is Unimplemented.
  bool run_programs = true;
  // Allocations beyond this many bytes fail; 0: as much as the system gives.
  int64_t memory_limit = 0;
};

std::shared_ptr<Device> MakeCpuDevice(const CpuOptions& options);

// Address of a function that a CPU object may call; null when `name` is none of them.
void* FindCpuFunction(absl::string_view name);

// "x86_64", "aarch64": what this process runs on.
absl::string_view HostArch();

}  // namespace tg::drivers

#endif  // TG_DRIVERS_CPU_CPU_DEVICE_H_
