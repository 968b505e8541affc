// Assembling and disassembling a kernel of 100,000 instructions, next to llvm-mc in the same run.
//
// bazel run -c opt //bench:amd_asm_bench
//
// Times are the best of several runs. llvm-mc's are those of the whole process less those of an
// empty file. Memory is what assembling allocates at its peak, without the source.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/process.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/asm.h"
#include "codegen/isa/amd/print.h"

namespace {

std::atomic<int64_t> allocated{0};
std::atomic<int64_t> peak{0};

void Count(void* p) {
  const int64_t now = allocated += static_cast<int64_t>(malloc_usable_size(p));
  if (now > peak) peak = now;
}

}  // namespace

void* operator new(size_t size) {
  void* p = std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  Count(p);
  return p;
}
void operator delete(void* p) noexcept {
  if (p != nullptr) allocated -= static_cast<int64_t>(malloc_usable_size(p));
  std::free(p);
}
void operator delete(void* p, size_t) noexcept { operator delete(p); }

namespace tg::bench {
namespace {

constexpr int kInstructions = 100000;
constexpr int kRuns = 7;

double Seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Best(int runs, const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < runs; ++i) best = std::min(best, Seconds(work));
  return best;
}

// What compilers write: mostly vector arithmetic, some memory, scalar code, waits and branches.
std::string Source() {
  std::mt19937 random(1);
  const auto n = [&](int limit) { return static_cast<int>(random() % limit); };
  std::string text;
  for (int i = 0; i < kInstructions; ++i) {
    if (i % 64 == 0) absl::StrAppend(&text, ".Lblock", i / 64, ":\n");
    const int v0 = n(256), v1 = n(256), v2 = n(256), v3 = n(120) * 2, s0 = n(100), s2 = n(48) * 2;
    switch (n(12)) {
      case 0:
        absl::StrAppend(&text, "\tv_add_f32_e32 v", v0, ", v", v1, ", v", v2, "\n");
        break;
      case 1:
        absl::StrAppend(&text, "\tv_fma_f32 v", v0, ", v", v1, ", -v", v2, ", s", s0, "\n");
        break;
      case 2:
        absl::StrAppend(&text, "\tv_mul_f32_e32 v", v0, ", 0x3f9d70a4, v", v2, "\n");
        break;
      case 3:
        absl::StrAppend(&text, "\tv_lshlrev_b32_e32 v", v0, ", 2, v", v2, "\n");
        break;
      case 4:
        absl::StrAppend(&text, "\tv_cmp_gt_i32_e32 vcc_lo, s", s0, ", v", v1, "\n");
        break;
      case 5:
        absl::StrAppend(&text, "\tglobal_load_b64 v[", v3, ":", v3 + 1, "], v", v1, ", s[", s2, ":",
                        s2 + 1, "] offset:", n(2048), "\n");
        break;
      case 6:
        absl::StrAppend(&text, "\tds_store_b32 v", v0, ", v", v1, " offset:", n(65536), "\n");
        break;
      case 7:
        absl::StrAppend(&text, "\ts_add_u32 s", s0, ", s", n(100), ", ", n(60), "\n");
        break;
      case 8:
        absl::StrAppend(&text, "\ts_waitcnt vmcnt(", n(60), ") lgkmcnt(0)\n");
        break;
      case 9:
        absl::StrAppend(&text, "\tv_dual_mul_f32 v", v0 & ~3, ", v", v1 & ~3, ", v", v2 & ~3,
                        " :: v_dual_add_f32 v", v0 | 1, ", v", v1 | 1, ", v", v2 | 1, "\n");
        break;
      case 10:
        absl::StrAppend(&text, "\ts_cbranch_scc1 .Lblock",
                        std::min(i / 64 + 1 + n(8), (kInstructions - 1) / 64), "\n");
        break;
      default:
        absl::StrAppend(&text, "\tv_mov_b32_e32 v", v0, ", v", v1, "\n");
        break;
    }
  }
  return text;
}

bool Succeeds(const std::vector<std::string>& args) {
  const absl::StatusOr<base::ProcessResult> run = base::RunProcess(args, {.share_streams = true});
  return run.ok() && run->status == 0;
}

void Report(const char* what, double ours, double llvm) {
  std::printf("%-12s %6.2f M instructions/s", what, kInstructions / ours / 1e6);
  if (llvm > 0) {
    std::printf("   llvm-mc-22 %6.3f M/s   %.1f times as fast\n", kInstructions / llvm / 1e6,
                llvm / ours);
  } else {
    std::printf("   llvm-mc-22 absent\n");
  }
}

int Main() {
  const std::string source = Source();
  amd::Assembly assembly;
  amd::Assemble("s_endpgm\n", amd::Arch::kGfx1100);  // Builds the tables.
  const int64_t before = allocated;
  peak = before;
  assembly = amd::Assemble(source, amd::Arch::kGfx1100);
  const int64_t memory = peak - before;
  TG_CHECK(assembly.ok()) << amd::FormatErrors(assembly, source, "bench.s");
  TG_CHECK_EQ(assembly.instructions, static_cast<uint64_t>(kInstructions));
  const double assemble =
      Best(kRuns, [&] { assembly = amd::Assemble(source, amd::Arch::kGfx1100); });

  std::string text;
  const double disassemble = Best(kRuns, [&] {
    text.clear();
    absl::Span<const uint8_t> rest = assembly.text;
    while (!rest.empty()) {
      rest.remove_prefix(static_cast<size_t>(amd::Disassemble(rest, amd::Arch::kGfx1100, &text)));
      text += '\n';
    }
  });

  // The same work by llvm-mc, as files.
  const char* temp = std::getenv("TMPDIR");
  const std::string base =
      absl::StrCat(temp != nullptr ? temp : "/tmp", "/amd_asm_bench_", getpid());
  std::ofstream(base + ".s") << source;
  std::ofstream(base + ".empty") << "\n";
  {
    std::ofstream hex(base + ".hex");
    std::string line;
    for (const uint8_t byte : assembly.text) {
      char digits[8];
      std::snprintf(digits, sizeof(digits), "0x%02x ", byte);
      line += digits;
      if (line.size() > 400) {
        hex << line;
        line.clear();
      }
    }
    hex << line << "\n";
  }
  const std::vector<std::string> assembler = {
      "llvm-mc-22", "-triple=amdgcn", "-mcpu=gfx1100", "-filetype=obj", "-o", "/dev/null"};
  const std::vector<std::string> disassembler = {
      "llvm-mc-22", "-triple=amdgcn", "-mcpu=gfx1100", "-disassemble", "-o", "/dev/null"};
  const auto with = [](std::vector<std::string> args, const std::string& file) {
    args.push_back(file);
    return args;
  };
  double llvm_assemble = 0;
  double llvm_disassemble = 0;
  if (Succeeds(with(assembler, base + ".empty"))) {
    bool good = true;
    const auto time = [&](const std::vector<std::string>& args, const std::string& file) {
      return Best(3, [&] { good = Succeeds(with(args, file)) && good; });
    };
    const double empty = time(assembler, base + ".empty");
    llvm_assemble = time(assembler, base + ".s") - empty;
    llvm_disassemble = time(disassembler, base + ".hex") - empty;
    if (!good) std::printf("llvm-mc-22 refused a file; its times are worth nothing\n");
  }
  for (const char* suffix : {".s", ".empty", ".hex"}) std::remove((base + suffix).c_str());

  Report("assemble", assemble, llvm_assemble);
  Report("disassemble", disassemble, llvm_disassemble);
  std::printf("memory       %6.1f bytes an instruction (code: %.1f)\n",
              static_cast<double>(memory) / kInstructions,
              static_cast<double>(assembly.text.size()) / kInstructions);
  return 0;
}

}  // namespace
}  // namespace tg::bench

int main() { return tg::bench::Main(); }
