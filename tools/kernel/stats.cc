#include "tools/kernel/stats.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "codegen/lower/lower.h"
#include "codegen/opt/opt_text.h"
#include "codegen/render/llvm/llvm_cpu_renderer.h"

namespace tg::kernel_tool {

absl::StatusOr<CompiledKernel> CompileKernel(const std::string& name, const ir::UOp& ast,
                                             const render::Renderer& renderer) {
  CompiledKernel k;
  k.ast = ast;
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<lower::LinearProgram> program = lower::Lower(ast, renderer.target());
  if (!program.ok()) return program.status();
  absl::StatusOr<std::string> object = renderer.Compile(*program);
  if (!object.ok()) return object.status();
  k.stats.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  absl::StatusOr<std::string> assembly = render::LlvmAssembly(renderer, *program);
  if (!assembly.ok()) return assembly.status();
  k.program = *std::move(program);
  k.object = *std::move(object);
  k.assembly = *std::move(assembly);
  const AssemblyCounts counts = CountAssembly(k.assembly);
  k.stats.name = name;
  k.stats.opts = opt::ToString(ast.arg_as<ir::KernelInfo>().applied);
  k.stats.instructions = counts.instructions;
  k.stats.spills = counts.spills;
  k.stats.code_bytes = static_cast<int64_t>(k.object.size());
  k.stats.threads = k.program.threads;
  k.stats.flops = k.program.estimates.ops;
  k.stats.bytes = k.program.estimates.mem_bytes;
  return k;
}

absl::Status TimeKernel(CompiledKernel& kernel, search::Timer& timer) {
  absl::StatusOr<double> seconds =
      timer.Time(kernel.program, kernel.object, std::numeric_limits<double>::infinity());
  if (!seconds.ok()) return seconds.status();
  kernel.stats.seconds = *seconds;
  return absl::OkStatus();
}

AssemblyCounts CountAssembly(absl::string_view assembly) {
  AssemblyCounts counts;
  for (absl::string_view line : absl::StrSplit(assembly, '\n')) {
    // Labels and the names of symbols begin at the margin, directives with a dot.
    if (line.empty() || !absl::ascii_isspace(static_cast<unsigned char>(line[0]))) continue;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '.' || line[0] == '#') continue;
    ++counts.instructions;
    counts.spills += absl::StrContains(line, "(%rsp") || absl::StrContains(line, "(%rbp") ||
                     absl::StrContains(line, "[sp");
  }
  return counts;
}

std::string ToJson(absl::Span<const KernelStats> stats) {
  nlohmann::json list = nlohmann::json::array();
  for (const KernelStats& s : stats) {
    nlohmann::json k = {{"name", s.name},
                        {"opts", s.opts},
                        {"instructions", s.instructions},
                        {"spills", s.spills},
                        {"code_bytes", s.code_bytes},
                        {"threads", s.threads},
                        {"flops", s.flops},
                        {"bytes", s.bytes},
                        {"compile_ms", s.compile_ms}};
    if (!std::isnan(s.seconds)) k["seconds"] = s.seconds;
    list.push_back(std::move(k));
  }
  return list.dump(1) + "\n";
}

absl::StatusOr<std::vector<KernelStats>> FromJson(absl::string_view text) {
  const nlohmann::json list =
      nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return absl::InvalidArgumentError("not a JSON list of kernels");
  std::vector<KernelStats> stats;
  for (const nlohmann::json& k : list) {
    KernelStats s;
    bool ok = k.is_object();
    auto text_of = [&](const char* key, std::string* to) {
      if (ok && (ok = k.contains(key) && k[key].is_string())) *to = k[key].get<std::string>();
    };
    auto number = [&](const char* key, auto* to) {
      if (ok && (ok = k.contains(key) && k[key].is_number())) {
        *to = k[key].get<std::remove_pointer_t<decltype(to)>>();
      }
    };
    text_of("name", &s.name);
    text_of("opts", &s.opts);
    number("instructions", &s.instructions);
    number("spills", &s.spills);
    number("code_bytes", &s.code_bytes);
    number("threads", &s.threads);
    number("flops", &s.flops);
    number("bytes", &s.bytes);
    number("compile_ms", &s.compile_ms);
    if (ok && k.contains("seconds")) number("seconds", &s.seconds);
    if (!ok) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", stats.size(), " is no kernel with all of its numbers"));
    }
    stats.push_back(std::move(s));
  }
  return stats;
}

}  // namespace tg::kernel_tool
