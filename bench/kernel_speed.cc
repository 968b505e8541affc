// Prints how fast the optimizer's kernels run on one core, in GFLOP/s and as a part of its FMA
// peak.
//
//   bazel run //bench:kernel_speed -- [--asm] [--ir] [--opts "SPLIT(...), ..."]
//       [--cpu x86-64-v3] [NAME]
//
// Times are processor time, the best of some runs: what other processes take does not count.
//
// A + after a name: for each operand that is read from packed memory. NAME: only kernels whose name
// contains it. --opts replaces the hand-coded steps.
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "codegen/ir/print.h"
#include "codegen/lower/lower.h"
#include "codegen/opt/opt_text.h"
#include "codegen/opt/optimize.h"
#include "codegen/opt/pack.h"
#include "codegen/opt/testing/kernels.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"
#include "codegen/render/testing/run_program.h"

namespace tg::opt {
namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

double CpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Memory in huge pages.
float* Allocate(int64_t elements) {
  const size_t bytes = (static_cast<size_t>(elements) * 4 + (4u << 20)) >> 21 << 21;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::abort();
  madvise(p, bytes, MADV_HUGEPAGE);
  auto* f = static_cast<float*>(p);
  for (int64_t i = 0; i < elements; ++i) f[i] = static_cast<float>(i % 7) * 0.25f;
  return f;
}

struct Options {
  bool assembly = false;
  bool ir = false;
  std::string opts;
  std::string cpu;
  std::string name;
};

void Measure(const NamedKernel& k, const render::Renderer& renderer, const Options& options,
             double peak) {
  auto t = Clock::now();
  ir::UOp ast;
  if (options.opts.empty()) {
    ast = Optimize(k.ast, renderer.target(), 1);
  } else {
    const auto opts = ParseOpts(options.opts);
    if (!opts.ok()) {
      std::printf("%s\n", opts.status().ToString().c_str());
      return;
    }
    const auto applied = ApplyOpts(k.ast, renderer.target(), *opts);
    if (!applied.ok()) {
      std::printf("%s: %s\n", k.name.c_str(), applied.status().ToString().c_str());
      return;
    }
    ast = *applied;
  }
  const double opt_ms = Since(t) * 1e3;
  if (options.ir) std::printf("%s\n", ir::PrintTree(ast).c_str());
  t = Clock::now();
  const auto program = lower::Lower(ast, renderer.target());
  if (!program.ok()) {
    std::printf("%s: %s\n", k.name.c_str(), program.status().ToString().c_str());
    return;
  }
  const double lower_ms = Since(t) * 1e3;
  if (options.ir) std::printf("%s\n", lower::ProgramToString(*program).c_str());
  if (options.assembly) {
    std::printf("%s\n", render::LlvmAssembly(renderer, *program).value().c_str());
  }
  t = Clock::now();
  const auto compiled = render::CompiledProgram::Compile(renderer, *program);
  if (!compiled.ok()) {
    std::printf("%s: %s\n", k.name.c_str(), compiled.status().ToString().c_str());
    return;
  }
  const double compile_ms = Since(t) * 1e3;
  std::vector<void*> buffers;
  double bytes = 0;
  for (const lower::ProgramParam& p : program->params) {
    buffers.push_back(Allocate(p.size));
    bytes += 4.0 * static_cast<double>(p.size);
  }
  double best = 1e9, total = 0;
  for (int run = 0; run < 12 && (run < 2 || total < 0.5); ++run) {
    const double start = CpuSeconds();
    compiled->Run(buffers);
    const double s = CpuSeconds() - start;
    total += s;
    best = std::min(best, s);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    munmap(buffers[i], (static_cast<size_t>(program->params[i].size) * 4 + (4u << 20)) >> 21 << 21);
  }
  const double gflops = k.flops / best * 1e-9;
  std::printf(
      "%-28s %9.3f ms %7.1f GFLOP/s (%.2f) %6.1f GB/s | opt %.1f lower %.1f compile %.1f ms | %s\n",
      k.name.c_str(), best * 1e3, gflops, gflops / peak, bytes / best * 1e-9, opt_ms, lower_ms,
      compile_ms, ToString(ast.arg_as<ir::KernelInfo>().applied).c_str());
  std::fflush(stdout);
}

// The kernel with its operands packed, as the scheduler does it, after the kernels that pack them.
std::vector<NamedKernel> Packed(NamedKernel k, const render::Target& target) {
  std::vector<NamedKernel> kernels;
  while (auto p = FindPack(k.ast, target)) {
    kernels.push_back({.name = "  pack for the next", .ast = p->pack, .flops = 0});
    k.ast = p->kernel;
    k.name += "+";
  }
  kernels.push_back(std::move(k));
  return kernels;
}

void Run(const Options& options) {
  const auto renderer = render::MakeLlvmCpuRenderer({.cpu = options.cpu});
  const double peak = bench::MeasureFmaGflops(1);
  std::printf("FMA peak of a core: %.0f GFLOP/s\n", peak);
  const ConvShape conv1{.b = 512, .y = 24, .x = 24, .co = 32, .ci = 1, .k = 5};
  const ConvShape conv2{.b = 512, .y = 20, .x = 20, .co = 32, .ci = 32, .k = 5};
  const ConvShape conv3{.b = 512, .y = 8, .x = 8, .co = 64, .ci = 32, .k = 3};
  for (const NamedKernel& k : {ConvForward(conv2, false, true),
                               ConvForward(conv2, true, true),
                               ConvInputGrad(conv2, true),
                               ConvInputGrad(conv2, false, true),
                               ConvWeightGrad(conv2, 64),
                               ConvWeightGrad(conv2, 16),
                               ConvForward(conv1, false, true),
                               ConvWeightGrad(conv1, 64),
                               ConvForward(conv3, false, true),
                               ConvInputGrad(conv3, true),
                               ConvWeightGrad(conv3, 64),
                               Matmul(512, 10, 576, false, true),
                               Matmul(512, 576, 10, false, false),
                               Matmul(10, 576, 512, true, false),
                               Matmul(1024, 1024, 1024, false, false),
                               Matmul(1024, 1024, 1024, false, true),
                               Matmul(1024, 1024, 1024, true, false),
                               Matmul(512, 512, 512, false, false),
                               Matmul(512, 512, 512, false, true),
                               Matmul(2048, 2048, 2048, false, false),
                               Matmul(2048, 2048, 2048, false, true),
                               Matmul(128, 3072, 768, false, false),
                               Matmul(128, 768, 3072, false, false),
                               Matmul(128, 4096, 4096, false, true),
                               Matmul(16, 3072, 768, false, false),
                               Matmul(16, 4096, 4096, false, true),
                               Matmul(1, 4096, 4096, false, false),
                               Matmul(1, 4096, 4096, false, true),
                               Elementwise({90000}),
                               Elementwise({512, 32, 48, 48}),
                               Transpose(4096, 4096),
                               Sum(4096, 4096, true),
                               Sum(32, 294912, false),
                               Sum(64, 294912, true),
                               RowWise(4096, 1024),
                               MaxPool(512, 10, 10, 32)}) {
    if (k.name.find(options.name) == std::string::npos) continue;
    for (const NamedKernel& part : Packed(k, renderer->target())) {
      Measure(part, *renderer, options, peak);
    }
  }
}

}  // namespace
}  // namespace tg::opt

int main(int argc, char** argv) {
  tg::opt::Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--asm") == 0) {
      options.assembly = true;
    } else if (std::strcmp(argv[i], "--ir") == 0) {
      options.ir = true;
    } else if (std::strcmp(argv[i], "--opts") == 0 && i + 1 < argc) {
      options.opts = argv[++i];
    } else if (std::strcmp(argv[i], "--cpu") == 0 && i + 1 < argc) {
      options.cpu = argv[++i];
    } else {
      options.name = argv[i];
    }
  }
  tg::opt::Run(options);
  return 0;
}
