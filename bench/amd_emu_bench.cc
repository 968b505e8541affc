// Lane-operations a second of the simulated AMD GPU: an FMA loop, and a matrix product through LDS.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/file.h"
#include "base/runfiles.h"
#include "codegen/object/amd_code_object.h"
#include "drivers/sim/amd/wave/kernel.h"
#include "drivers/sim/amd/wave/launch.h"
#include "drivers/sim/amd/wave/memory.h"

namespace tg::amd::sim {
namespace {

template <class T>
void Append(std::string* bytes, T value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Seconds that a launch takes; 0 after an error, which is printed.
double Seconds(const Dispatch& dispatch, Memory* memory, const LaunchOptions& options,
               LaunchStats* stats) {
  auto start = std::chrono::steady_clock::now();
  auto result = Launch(dispatch, memory, options);
  if (!result.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(result.status().message()).c_str());
    return 0;
  }
  *stats = *result;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int Main() {
  for (const char* arch : {"gfx1100", "gfx1201", "gfx942", "gfx950"}) {
    auto path = base::FindRunfile(std::string("testdata/amd_kernels/kernels_") + arch + ".o");
    if (!path.ok()) return 1;
    auto file = base::ReadFile(*path);
    if (!file.ok()) return 1;
    auto object = object::AmdCodeObject::Read(*file);
    if (!object.ok()) return 1;
    for (const char* kernel : {"fma_loop", "mm"}) {
      Memory memory;
      KernelArguments args;
      bool product = std::string(kernel) == "mm";
      int n = product ? 256 : 2000;
      uint64_t bytes = product ? uint64_t{4} * n * n : 4 * 65536;
      for (int i = 0; i < (product ? 3 : 1); ++i)
        Append(&args.explicit_bytes, *memory.Allocate(bytes, "buffer"));
      Append(&args.explicit_bytes, n);
      args.grid =
          product ? std::array<uint32_t, 3>{256, 256, 1} : std::array<uint32_t, 3>{65536, 1, 1};
      args.block =
          product ? std::array<uint32_t, 3>{16, 16, 1} : std::array<uint32_t, 3>{256, 1, 1};
      auto image = LoadImage(*object, &memory);
      if (!image.ok()) return 1;
      auto dispatch = MakeDispatch(*object, kernel, *image, args, &memory);
      if (!dispatch.ok()) return 1;
      LaunchStats stats;
      LaunchOptions counting, fast, strict;
      counting.count = true;
      strict.strict = true;
      if (Seconds(*dispatch, &memory, counting, &stats) == 0) return 1;
      double lane_ops = static_cast<double>(stats.lane_ops);
      double f = Seconds(*dispatch, &memory, fast, &stats);
      double s = Seconds(*dispatch, &memory, strict, &stats);
      if (f == 0 || s == 0) return 1;
      std::printf("%-8s %-9s %7.0f million lane-operations a second, strict %6.0f\n", arch, kernel,
                  lane_ops / f / 1e6, lane_ops / s / 1e6);
    }
  }
  return 0;
}

}  // namespace
}  // namespace tg::amd::sim

int main() { return tg::amd::sim::Main(); }
