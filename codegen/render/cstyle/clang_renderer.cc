#include "codegen/render/cstyle/clang_renderer.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/settings.h"
#include "codegen/render/cpu_native_ops.h"
#include "codegen/render/cstyle/c_renderer.h"
#include "codegen/render/cstyle/compiler_process.h"
#include "codegen/render/cstyle/dialect.h"

namespace tg::render {
namespace {

using ir::DType;
using ir::ScalarType;

bool Supports(DType d) {
  return !d.IsVoid() && !d.IsWeak() && d.scalar() != ScalarType::kFloat16 &&
         d.scalar() != ScalarType::kBFloat16 && !d.IsFp8();
}

// -march=native means another thing on another machine: names the processor's features.
std::string ProcessorId() {
  std::ifstream file("/proc/cpuinfo");
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (std::string line; std::getline(file, line);) {
    const bool counts = line.rfind("model", 0) == 0 || line.rfind("flags", 0) == 0 ||
                        line.rfind("Features", 0) == 0 || line.rfind("CPU part", 0) == 0;
    if (!counts) continue;
    for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) break;
  }
  return absl::StrFormat("%016x", hash);
}

class ClangRenderer : public Renderer {
 public:
  explicit ClangRenderer(const ClangOptions& options)
      : compiler_(options.compiler.empty() ? base::Get(base::kCc) : options.compiler),
        fallback_(options.compiler.empty() && compiler_ == "clang-22" ? "clang" : "") {
    bool has_fma = true;
#if defined(__x86_64__)
    const char* arch = "x86_64";
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    target_.vector_bytes = avx512 ? 64 : __builtin_cpu_supports("avx2") ? 32 : 16;
    target_.vector_registers = avx512 ? 32 : 16;
    has_fma = __builtin_cpu_supports("fma");
#elif defined(__aarch64__)
    const char* arch = "aarch64";
    target_.vector_registers = 32;
#else
    const char* arch = "unknown";
#endif
    target_.name = absl::StrCat("CPU:CLANG:", arch, ":native-", ProcessorId(), ":", compiler_);
    target_.supports = Supports;
    target_.native_op = has_fma ? CpuNativeWithFma : CpuNativeWithoutFma;
  }

  const Target& target() const override { return target_; }

  absl::StatusOr<std::string> Render(const lower::LinearProgram& program) const override {
    return RenderC(program, ClangDialect());
  }

  absl::StatusOr<std::string> Compile(const lower::LinearProgram& program) const override {
    auto source = Render(program);
    if (!source.ok()) return source.status();
    auto object = Run(compiler_, *source);
    if (absl::IsNotFound(object.status()) && !fallback_.empty()) object = Run(fallback_, *source);
    if (absl::IsNotFound(object.status())) {
      return absl::NotFoundError(absl::StrCat(
          "CPU:CLANG: ", object.status().message(),
          "; install the Debian package clang-22 or name a clang with the setting CC"));
    }
    if (!object.ok()) {
      return absl::Status(object.status().code(), absl::StrCat("CPU:CLANG: ", program.name, ": ",
                                                               object.status().message()));
    }
    return object;
  }

 private:
  absl::StatusOr<std::string> Run(const std::string& compiler, absl::string_view source) const {
    std::vector<std::string> arguments = {
      compiler,
      "-x",
      "c",
      "-c",
      "-w",
      "-O2",
      "-fPIC",
#if defined(__aarch64__)
      "-mcpu=native",
#else
      "-march=native",
      absl::StrCat("-mprefer-vector-width=", target_.vector_bytes * 8),
#endif
      // Wrapping integers and untyped memory are what programs mean.
      "-fwrapv",
      "-fno-strict-aliasing",
      "-ffp-contract=fast",
      "-fno-math-errno",
      "-ffreestanding",
      "-fno-ident",
      "-fno-stack-protector",
      "-fno-asynchronous-unwind-tables",
      "-nostdlib",
      "-o",
      "-",
      "-"
    };
    return RunCompiler(arguments, source);
  }

  const std::string compiler_;
  const std::string fallback_;
  Target target_;
};

}  // namespace

std::unique_ptr<Renderer> MakeClangRenderer(const ClangOptions& options) {
  return std::make_unique<ClangRenderer>(options);
}

}  // namespace tg::render
