// Assembles AMD GPU code. See --help.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/flags.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/isa/amd/asm.h"
#include "codegen/isa/amd/asm_object.h"
#include "nlohmann/json.hpp"

namespace tg::tools {
namespace {

constexpr char kDescription[] =
    "Assembles text in LLVM's syntax for AMD GPUs and writes a code object (ELF) that the HSA "
    "loader takes, or "
    "with --raw the bare bytes of the text.\n"
    "\n"
    "A kernel needs a label at a multiple of 256 bytes (.p2align 8) and a description of the same "
    "name between "
    ".amdhsa_kernel and .end_amdhsa_kernel. Errors are printed as file:line:column with the line "
    "and a caret; "
    "nothing is written when there is one.";

constexpr char kJson[] =
    "With --json the last line on stdout is one object: errors (line, column, message), "
    "instructions, "
    "text_bytes, kernels (names), output (file).";

constexpr char kExamples[] =
    "  amd_asm --arch gfx1100 kernel.s -o kernel.co\n"
    "  amd_asm --arch gfx942 --raw loop.s -o loop.bin\n"
    "  echo 's_endpgm' | amd_asm --arch gfx1201 --raw - -o /dev/stdout | xxd";

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}

nlohmann::json Report(const amd::Assembly& assembly, const std::string& output) {
  nlohmann::json errors = nlohmann::json::array();
  for (const amd::AsmError& e : assembly.errors) {
    errors.push_back({{"line", e.line}, {"column", e.column}, {"message", e.message}});
  }
  nlohmann::json kernels = nlohmann::json::array();
  for (const amd::AsmKernel& k : assembly.kernels) kernels.push_back(k.name);
  return {{"errors", errors},
          {"instructions", assembly.instructions},
          {"text_bytes", assembly.text.size()},
          {"kernels", kernels},
          {"output", assembly.ok() ? nlohmann::json(output) : nlohmann::json()}};
}

int Main(int argc, char** argv) {
  std::string arch_name;
  std::string output = "a.out";
  std::string input;
  bool raw = false;
  bool wave64 = false;
  bool json = false;
  base::Flags flags("amd_asm", "assembles AMD GPU code");
  flags.SetDescription(kDescription);
  flags.Add("arch", &arch_name, "ARCH", "processor, for example gfx1100; required");
  flags.Add("raw", &raw, "write the text's bytes alone");
  flags.Add("o", &output, "OUT", "file to write");
  flags.Add("wave64", &wave64, "RDNA: vcc and exec are pairs; kernels have waves of 64");
  flags.Add("json", &json, "end with one JSON object");
  flags.AddArgument("FILE.s", &input, "text to assemble; - is the standard input");
  flags.AddSection("JSON", kJson);
  flags.AddSection("EXAMPLES", kExamples);
  flags.ParseOrExit(argc, argv);

  const std::optional<amd::Arch> arch = amd::FindArch(arch_name);
  if (!arch) {
    std::fprintf(stderr,
                 "error: --arch=%s: %s; gfx1100 to gfx1103, gfx1150 to gfx1153, gfx1200, gfx1201, "
                 "gfx942 and "
                 "gfx950 are known\n",
                 arch_name.c_str(), arch_name.empty() ? "it is required" : "unknown processor");
    return 2;
  }
  const absl::StatusOr<std::string> source =
      base::ReadFile(input == "-" ? "/dev/stdin" : base::ResolveUserPath(input));
  if (!source.ok()) Die(absl::StrCat("reading ", input, ": ", source.status().message()));
  amd::AsmOptions options;
  options.wave64 = wave64;
  const amd::Assembly assembly = amd::Assemble(*source, *arch, options);
  if (!assembly.ok()) {
    std::fputs(amd::FormatErrors(assembly, *source, input).c_str(), stderr);
    if (json) std::printf("%s\n", Report(assembly, output).dump().c_str());
    return 1;
  }
  std::string bytes(assembly.text.begin(), assembly.text.end());
  if (!raw) {
    absl::StatusOr<std::string> object = amd::MakeCodeObject(assembly, *arch);
    if (!object.ok()) Die(absl::StrCat(input, ": ", object.status().message()));
    bytes = *std::move(object);
  }
  const absl::Status written = base::WriteFileAtomically(base::ResolveUserPath(output), bytes);
  if (!written.ok()) Die(absl::StrCat("writing ", output, ": ", written.message()));
  if (json) std::printf("%s\n", Report(assembly, output).dump().c_str());
  return 0;
}

}  // namespace
}  // namespace tg::tools

int main(int argc, char** argv) { return tg::tools::Main(argc, argv); }
