#include "tools/sqtt/trace_set.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace tg::sqtt {
namespace {

using nlohmann::json;

Kernel LoadKernel(std::string name, const std::string& path, const std::string& arch) {
  Kernel kernel{.name = std::move(name), .file = path, .program = std::nullopt, .error = {}};
  absl::StatusOr<std::string> elf = base::ReadFile(path);
  if (!elf.ok()) {
    kernel.error = elf.status();
    return kernel;
  }
  absl::StatusOr<Program> program = Program::Read(*elf, arch);
  if (program.ok()) {
    kernel.program = *std::move(program);
  } else {
    kernel.error =
        absl::Status(program.status().code(), absl::StrCat(path, ": ", program.status().message()));
  }
  return kernel;
}

// The file of a row of meta.json. Rows may name files beside it only.
absl::StatusOr<std::string> FileOf(const json& row, const std::string& meta) {
  const json file = row.is_object() ? row.value("file", json()) : json();
  if (!file.is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(meta, ": a row has no \"file\""));
  }
  const std::string name = file;
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(meta, ": \"file\" is \"", name, "\", not the name of a file beside it"));
  }
  return name;
}

int IntOf(const json& row, const char* key, int otherwise) {
  const auto it = row.find(key);
  return it != row.end() && it->is_number_integer() ? it->get<int>() : otherwise;
}

absl::StatusOr<TraceSet> LoadFolder(const std::string& folder, const std::string& arch) {
  const std::string meta_path = absl::StrCat(folder, "/meta.json");
  absl::StatusOr<std::string> text = base::ReadFile(meta_path, 64 << 20);
  if (!text.ok()) return text.status();
  const json meta = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!meta.is_object() || !meta.value("sqtt", json()).is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat(meta_path, ": no JSON object with a list \"sqtt\""));
  }
  TraceSet set;
  set.arch = arch;
  if (arch.empty() && meta.value("arch", json()).is_string()) set.arch = meta["arch"];
  for (const json& row : meta.value("programs", json::array())) {
    absl::StatusOr<std::string> file = FileOf(row, meta_path);
    if (!file.ok()) return file.status();
    const json name = row.value("name", json());
    set.kernels.push_back(LoadKernel(name.is_string() ? name.get<std::string>() : *file,
                                     absl::StrCat(folder, "/", *file), set.arch));
  }
  for (const json& row : meta["sqtt"]) {
    absl::StatusOr<std::string> file = FileOf(row, meta_path);
    if (!file.ok()) return file.status();
    absl::StatusOr<base::MappedFile> bytes =
        base::MappedFile::Open(absl::StrCat(folder, "/", *file));
    if (!bytes.ok()) return bytes.status();
    Trace trace;
    trace.name = *file;
    trace.shader_engine = IntOf(row, "se", 0);
    trace.kernel = IntOf(row, "kern", -1);
    trace.itrace = row.value("itrace", json()) != json(false);
    trace.file = *std::move(bytes);
    set.traces.push_back(std::move(trace));
  }
  return set;
}

}  // namespace

const Program* TraceSet::ProgramOf(const Trace& trace) const {
  if (trace.kernel < 0 || trace.kernel >= static_cast<int>(kernels.size())) return nullptr;
  const std::optional<Program>& p = kernels[static_cast<size_t>(trace.kernel)].program;
  return p.has_value() ? &*p : nullptr;
}

absl::StatusOr<TraceSet> LoadTraceSet(const std::string& path, const std::string& elf,
                                      const std::string& arch) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    if (!elf.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path,
                       " is a folder, whose meta.json names the programs: --elf is for a "
                       "trace alone"));
    }
    return LoadFolder(path, arch);
  }
  absl::StatusOr<base::MappedFile> bytes = base::MappedFile::Open(path);
  if (!bytes.ok()) return bytes.status();
  TraceSet set;
  set.arch = arch;
  Trace trace;
  trace.name = std::filesystem::path(path).filename().string();
  trace.kernel = elf.empty() ? -1 : 0;
  trace.file = *std::move(bytes);
  set.traces.push_back(std::move(trace));
  if (!elf.empty()) {
    set.kernels.push_back(LoadKernel(std::filesystem::path(elf).filename().string(), elf, arch));
    if (!set.kernels[0].error.ok()) return set.kernels[0].error;
  }
  return set;
}

}  // namespace tg::sqtt
