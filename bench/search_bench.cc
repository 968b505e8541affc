// Prints how many candidates a second a kernel search measures, what it gains over the heuristics,
// and how long a second search takes that finds its result in the cache.
//
//   bazel run //bench:search_bench -- [SIZE [WIDTH]]        a matmul of SIZE (1024), BEAM (2)
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/numbers.h"
#include "base/cpu_count.h"
#include "base/disk_cache.h"
#include "bench/limits.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/testing/kernels.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"
#include "codegen/search/search.h"
#include "drivers/cpu/cpu_timer.h"

namespace tg {
namespace {

int Run(int size, int width) {
  const int cores = base::AvailableCpus();
  const double peak = bench::MeasureFmaGflops(cores);
  const auto renderer = render::MakeLlvmCpuRenderer();
  const opt::NamedKernel kernel = opt::Matmul(size, size, size, false, false);
  const std::string path = std::filesystem::temp_directory_path() / "tg_search_bench.db";
  base::DiskCache cache(path);
  search::SearchOptions options;
  options.width = width;
  options.threads = cores;
  options.parallel = cores;
  options.cache = &cache;
  options.progress = true;
  for (const bool ignore_cache : {true, false}) {
    options.ignore_cache = ignore_cache;
    const auto timer = drivers::MakeCpuTimer({.threads = cores});
    const auto start = std::chrono::steady_clock::now();
    const auto r = search::SearchBest(kernel.ast, *renderer, *timer, options);
    const double s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!r.ok()) {
      std::fprintf(stderr, "error: search: %s\n", r.status().ToString().c_str());
      return 1;
    }
    const double gflops = kernel.flops / r->seconds * 1e-9;
    if (r->from_cache) {
      std::printf("from the cache: %.2f ms\n", s * 1e3);
      continue;
    }
    const int candidates =
        r->measured + r->slow + r->duplicates + r->rejected + r->crashed + r->endless;
    std::printf("%s on %d cores: %.3f ms, %.0f GFLOP/s, %.2f of FMA peak; first %.3f ms\n",
                kernel.name.c_str(), cores, r->seconds * 1e3, gflops, gflops / peak,
                r->curve.empty() ? 0 : r->curve.front().seconds * 1e3);
    std::printf(
        "%.1f s, %.1f candidates/s: %d measured, %d slow, %d duplicates, %d rejected, "
        "%d crashed, %d endless\n%s\n",
        s, candidates / s, r->measured, r->slow, r->duplicates, r->rejected, r->crashed, r->endless,
        opt::ToString(r->opts).c_str());
  }
  std::filesystem::remove(path);
  return 0;
}

}  // namespace
}  // namespace tg

int main(int argc, char** argv) {
  int size = 1024, width = 2;
  if ((argc > 1 && !absl::SimpleAtoi(argv[1], &size)) ||
      (argc > 2 && !absl::SimpleAtoi(argv[2], &width)) || argc > 3 || size < 1 || width < 1) {
    std::fprintf(stderr, "usage: search_bench [SIZE [WIDTH]]\n");
    return 2;
  }
  return tg::Run(size, width);
}
